// A clock that is ahead, behind, jumps or sleeps, compared with blocks and the monotonic clock.

import { describe, expect, test } from 'vitest';
import { hourMs, minuteMs, secondMs } from '../../src/lib/time-units.ts';
import { ClockWatch, trustedClock } from '../../src/world/clock-watch.ts';

const start = 1_763_650_000_000;
const wrong = expect.stringContaining('the clock of this machine is wrong');

interface Given {
  /** How old the newest block is by the clock of the start. */
  readonly ageMs?: number;
  readonly maxAgeMs?: number | undefined;
  readonly releasedAt?: number;
}

function watch({ ageMs = 10 * minuteMs, releasedAt, ...given }: Given = {}) {
  let wall = start;
  let elapsed = 0;
  let isCaughtUp = true;
  let blockMs: number | undefined = start - ageMs;
  const clock = new ClockWatch({
    world: { now: () => wall, monotonic: () => elapsed },
    releasedAt,
    newestBlockTime: () => blockMs && blockMs / secondMs,
    isCaughtUp: () => isCaughtUp,
    maxAgeMs: 'maxAgeMs' in given ? given.maxAgeMs : 3 * hourMs,
  });
  return {
    clock,
    /** Time passes. */
    pass(ms: number) {
      wall += ms;
      elapsed += ms;
    },
    /** Somebody sets the clock, or the machine sleeps. */
    jump(ms: number) {
      wall += ms;
    },
    /** A block of this age arrives. */
    block(ageMs = 0) {
      blockMs = wall - ageMs;
    },
    forgetBlocks() {
      blockMs = undefined;
    },
    setCaughtUp(is: boolean) {
      isCaughtUp = is;
    },
    now: () => wall,
    blockMs: () => blockMs,
  };
}

describe('at a start', () => {
  test('the clock is right if the newest block is recent', () => {
    const { clock, now } = watch();
    expect(clock.fault()).toBeUndefined();
    expect(clock.isSure()).toBe(true);
    expect(clock.passed(now())).toBe(now());
  });

  test('it is wrong hours after the newest block, which is what has certainly passed', () => {
    const { clock, now, blockMs } = watch({ ageMs: 3 * hourMs + secondMs });
    expect(clock.fault()).toEqual(wrong);
    expect(clock.isSure()).toBe(false);
    expect(clock.passed(now())).toBe(blockMs());
    expect(clock.passed(1)).toBe(1);
  });

  test('it is not sure before a server is compared, and shows no fault', () => {
    const { clock, setCaughtUp, now, blockMs } = watch({ ageMs: 90 * hourMs });
    setCaughtUp(false);
    expect(clock.fault()).toBeUndefined();
    expect(clock.isSure()).toBe(false);
    expect(clock.passed(now())).toBe(blockMs());
    setCaughtUp(true);
    expect(clock.fault()).toEqual(wrong);
  });

  test('without any block nothing has certainly passed', () => {
    const { clock, setCaughtUp, forgetBlocks, now } = watch();
    forgetBlocks();
    setCaughtUp(false);
    expect([clock.fault(), clock.isSure(), clock.passed(now())]).toEqual([undefined, false, 0]);
  });

  test('it is wrong before the release, and behind the newest block', () => {
    const early = watch({ releasedAt: start + 1 });
    expect(early.clock.fault()).toContain('was released on');
    expect(early.clock.isSure()).toBe(false);
    const behind = watch({ ageMs: -2 * hourMs - secondMs });
    expect(behind.clock.fault()).toEqual(wrong);
    expect(behind.clock.isSure()).toBe(false);
    expect(behind.clock.passed(behind.now())).toBe(behind.now());
  });
});

describe('once a block agreed', () => {
  test('a long time without one is no fault of the clock', () => {
    const { clock, pass, setCaughtUp } = watch();
    clock.tick();
    pass(9 * hourMs);
    expect(clock.fault()).toBeUndefined();
    expect(clock.isSure()).toBe(true);
    setCaughtUp(false);
    expect(clock.isSure()).toBe(true);
  });

  test('a jump ahead is a fault, until the clock is put right', () => {
    const { clock, jump, now, blockMs } = watch();
    clock.tick();
    jump(5 * hourMs);
    expect(clock.fault()).toEqual(wrong);
    expect(clock.isSure()).toBe(false);
    expect(clock.passed(now())).toBe(blockMs());
    jump(-5 * hourMs);
    expect(clock.fault()).toBeUndefined();
    expect(clock.isSure()).toBe(true);
  });

  test('a jump is noticed although no server is there, and a block ends it', () => {
    const { clock, jump, setCaughtUp, block } = watch();
    clock.tick();
    setCaughtUp(false);
    // Asleep: the connections are lost.
    jump(8 * hourMs);
    expect(clock.fault()).toBeUndefined();
    expect(clock.isSure()).toBe(false);
    setCaughtUp(true);
    expect(clock.isSure()).toBe(false);
    block(5 * minuteMs);
    expect(clock.fault()).toBeUndefined();
    expect(clock.isSure()).toBe(true);
  });

  test('a step of less than a minute is a correction', () => {
    const { clock, jump, pass, setCaughtUp } = watch();
    clock.tick();
    setCaughtUp(false);
    jump(minuteMs - 1);
    expect(clock.isSure()).toBe(true);
    jump(1);
    expect(clock.isSure()).toBe(false);
    jump(-2 * minuteMs + 1);
    expect(clock.isSure()).toBe(true);
    jump(-1);
    pass(hourMs);
    expect(clock.isSure()).toBe(false);
  });

  test('a block agrees only where it is the newest one', () => {
    const { clock, setCaughtUp, pass } = watch();
    setCaughtUp(false);
    clock.tick();
    expect(clock.isSure()).toBe(false);
    setCaughtUp(true);
    clock.tick();
    setCaughtUp(false);
    pass(hourMs);
    expect(clock.isSure()).toBe(true);
  });

  test('a clock that was set back behind a block is wrong', () => {
    const { clock, jump } = watch();
    clock.tick();
    jump(-3 * hourMs);
    expect(clock.fault()).toEqual(wrong);
    expect(clock.isSure()).toBe(false);
    jump(3 * hourMs);
    expect(clock.isSure()).toBe(true);
  });
});

test('without a schedule of blocks a clock is sure unless it is behind', () => {
  const { clock, jump, now } = watch({ maxAgeMs: undefined, ageMs: 900 * hourMs });
  jump(9_000 * hourMs);
  expect([clock.fault(), clock.isSure(), clock.passed(now())]).toEqual([undefined, true, now()]);
  jump(-9_903 * hourMs);
  expect(clock.fault()).toEqual(wrong);
  expect(clock.isSure()).toBe(false);
});

test('parts without a chain trust the clock', () => {
  expect([trustedClock.isSure(), trustedClock.passed(7)]).toEqual([true, 7]);
});
