import { describe, expect, it } from 'vitest';
import {
  createBacklog,
  maxBacklogMs,
  maxStartMs,
  minBacklog,
  minRestMs,
} from '../../src/watcher/backlog.ts';
import { createTestWorld } from '../support/world.ts';

function setUp() {
  const world = createTestWorld();
  const seen = { over: 0 };
  const backlog = createBacklog(world, () => {
    seen.over += 1;
  });
  backlog.tipKnown();
  seen.over = 0;
  return { world, backlog, seen };
}

it('begins with more than two commits of scripts, and ends when none is pending', () => {
  const { backlog, seen } = setUp();
  backlog.count(minBacklog);
  expect(backlog.isHolding()).toBe(false);
  backlog.count(minBacklog + 1);
  backlog.count(4_000);
  expect([backlog.isHolding(), seen.over]).toEqual([true, 0]);
  backlog.count(minBacklog);
  expect([backlog.isHolding(), seen.over]).toEqual([false, 1]);
});

it('holds for a second at most, however long it lasts, and is reported once', async () => {
  const { world, backlog, seen } = setUp();
  backlog.count(4_000);
  await world.advance(maxBacklogMs - 1);
  expect(backlog.isHolding()).toBe(true);
  await world.advance(1);
  expect([backlog.isHolding(), seen.over]).toEqual([false, 1]);
  backlog.count(5_000);
  backlog.count(0);
  await world.advance(10 * maxBacklogMs);
  expect([backlog.isHolding(), seen.over]).toEqual([false, 1]);
});

it('holds again for the next one after a second', async () => {
  const { world, backlog, seen } = setUp();
  backlog.count(4_000);
  backlog.count(0);
  await world.advance(minRestMs - 1);
  backlog.count(4_000);
  expect(backlog.isHolding()).toBe(false);
  backlog.count(0);
  await world.advance(1);
  backlog.count(4_000);
  expect(backlog.isHolding()).toBe(true);
  backlog.count(0);
  expect([backlog.isHolding(), seen.over]).toEqual([false, 2]);
});

it('holds half of the time at most, however often scripts come and go', async () => {
  const { world, backlog } = setUp();
  let held = 0;
  for (let ms = 0; ms < 20_000; ms += 100) {
    backlog.count(ms % 900 === 0 ? 0 : 4_000);
    if (backlog.isHolding()) held += 100;
    await world.advance(100);
  }
  expect(held).toBeLessThanOrEqual(10_000);
});

describe('at a start', () => {
  const atStart = () => {
    const world = createTestWorld();
    const seen = { over: 0 };
    const backlog = createBacklog(world, () => {
      seen.over += 1;
    });
    return { world, backlog, seen };
  };

  it('holds until paygate has followed a server to its tip, which is reported once', () => {
    const { backlog, seen } = atStart();
    expect(backlog.isHolding()).toBe(true);
    backlog.tipKnown();
    backlog.tipKnown();
    expect([backlog.isHolding(), seen.over]).toEqual([false, 1]);
  });

  it('does not hold for ever without a reachable server', async () => {
    const { world, backlog } = atStart();
    await world.advance(maxStartMs - 1);
    expect(backlog.isHolding()).toBe(true);
    await world.advance(1);
    expect(backlog.isHolding()).toBe(false);
  });
});
