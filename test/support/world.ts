// A World for tests with real sockets, DNS and HTTP. The clock stands still until the test moves
// it, and random values come from a seed. A wait turns the event loop until its condition holds.

import { nextMatch } from '../../src/world/cron.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import type { Cancel, Logger, World } from '../../src/world/world.ts';

/** Turns of the event loop after each step of the clock, for socket input and output to land. */
const turnsPerStep = 10;
/** Turns of the loop after which `until` leaves the processor to others between two looks. */
const eagerTurns = 200;
/** How long `until` waits before it calls the test failed, on a busy machine, too. */
const untilLimitMs = 100_000;

export interface LogEntry {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

export interface TestWorldOptions {
  readonly startAt?: number;
  readonly seed?: number;
  /** Also receives every log message, to debug a failing test. */
  readonly log?: Logger;
}

export interface TestWorld extends World {
  /** Moves the clock, running what falls due in order of time, with turns of the loop between. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock forward or back, as an operator or NTP would; timers do not move. */
  jumpWallClock(ms: number): void;
  /** Turns the event loop, the clock standing still, until the condition holds. */
  until(condition: () => boolean, what?: string): Promise<void>;
  /** Turns the event loop a few times, for what is under way to land. */
  turn(): Promise<void>;
  readonly logs: LogEntry[];
}

export function createTestWorld(options: TestWorldOptions = {}): TestWorld {
  const { connect, resolve, ownAddresses, http } = createNodeWorld({ logLevel: 'silent' });
  const clock = createClock(options.startAt ?? 1_763_650_000_000);
  const random = createRandom(options.seed ?? 1);
  const logs: LogEntry[] = [];
  const logAt =
    (level: keyof Logger) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      logs.push({ level, message, fields });
      options.log?.[level](message, fields);
    };
  return {
    ...clock,
    random,
    randomBytes: (length) => Uint8Array.from({ length }, () => Math.floor(random() * 256)),
    connect,
    resolve,
    ownAddresses,
    http,
    log: { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') },
    until,
    turn,
    logs,
  };
}

type Clock = Pick<
  TestWorld,
  'now' | 'monotonic' | 'after' | 'schedule' | 'advance' | 'jumpWallClock'
>;

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

function createClock(startAt: number): Clock {
  let elapsedMs = 0;
  let wallStart = startAt;
  // In order of insertion, so timers due at the same time run in the order they were set.
  const timers = new Set<Timer>();
  const ticks = new Set<{ rearm: () => void }>();

  // In whole milliseconds, as that of a machine; a timer may fall due between them.
  const now = (): number => Math.floor(wallStart + elapsedMs);
  const after = (delayMs: number, run: () => void): Cancel => {
    const timer = { dueMs: elapsedMs + Math.max(0, delayMs), run };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const schedule = (expression: string, run: () => void): Cancel => {
    const next = nextMatch(expression);
    let cancel: Cancel = () => {};
    const arm = (): void => {
      cancel = after(next(now()) - now(), () => {
        arm();
        run();
      });
    };
    const tick = {
      rearm: () => {
        cancel();
        arm();
      },
    };
    ticks.add(tick);
    arm();
    return () => {
      ticks.delete(tick);
      cancel();
    };
  };
  // All that fall due at once run in one turn, as those of Node do.
  const runDue = (): void => {
    for (const timer of [...timers].filter(({ dueMs }) => dueMs <= elapsedMs)) {
      // The one before may have canceled it.
      if (timers.delete(timer)) timer.run();
    }
  };
  const advance = async (ms: number): Promise<void> => {
    const untilMs = elapsedMs + ms;
    await turn();
    for (let timer = earliest(timers); timer.dueMs <= untilMs; timer = earliest(timers)) {
      elapsedMs = Math.max(elapsedMs, timer.dueMs);
      runDue();
      await turn();
    }
    elapsedMs = untilMs;
  };
  const jumpWallClock = (ms: number): void => {
    wallStart += ms;
    for (const tick of ticks) tick.rearm();
  };
  return { now, monotonic: () => elapsedMs, after, schedule, advance, jumpWallClock };
}

const never: Timer = { dueMs: Number.POSITIVE_INFINITY, run: () => {} };

function earliest(timers: Iterable<Timer>): Timer {
  let found = never;
  for (const timer of timers) if (timer.dueMs < found.dueMs) found = timer;
  return found;
}

/** mulberry32: small, and the same on every machine. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function turn(): Promise<void> {
  for (let turns = 0; turns < turnsPerStep; turns++) {
    await new Promise<void>((done) => setImmediate(done));
  }
}

export async function until(condition: () => boolean, what = 'condition'): Promise<void> {
  const startedAt = performance.now();
  for (let turns = 0; !condition(); turns += 1) {
    if (performance.now() - startedAt > untilLimitMs) throw new Error(`waited in vain: ${what}`);
    await new Promise<void>((done) => {
      if (turns < eagerTurns) setImmediate(done);
      else setTimeout(done, 1);
    });
  }
}
