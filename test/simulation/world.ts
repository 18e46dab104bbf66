// The test world with three differences. Its clock leaps from timer to timer, so hours cost little.
// Tasks that repeat within a minute run once a leap. Its power can be cut: sockets end and no
// connection opens, as for a killed process. Its wall clock may be wrong, or its machine asleep.

import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { PaygateError } from '../../src/lib/errors.ts';
import type { Cancel } from '../../src/world/world.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

export interface SimulationWorld extends TestWorld {
  /** The time of the miners, and of the wall clock while that is right; epoch milliseconds. */
  trueNow(): number;
  /** Time passes for all but the monotonic clock, as while a machine sleeps. */
  sleep(ms: number): void;
  /** By how much the wall clock is ahead of the true time, in milliseconds; negative if behind. */
  wrongMs(): number;
  /** Ends all sockets, and refuses new ones until the power is restored. */
  cutPower(): void;
  restorePower(): void;
}

const startAt = 1_763_650_000_000;
/** Turns of the event loop after each leap: enough for a few exchanges over a socket. */
const turnsPerLeap = 40;
const secondMs = 1_000;
const quarterMinuteMs = 15_000;
/** The periods of paygate's schedules. */
const periods: Readonly<Record<string, number>> = {
  '* * * * * *': secondMs,
  '*/15 * * * * *': quarterMinuteMs,
  '0 * * * * *': 60_000,
  '30 * * * * *': 60_000,
  '0 */10 * * * *': 600_000,
  '0 */15 * * * *': 900_000,
  '0 0 * * * *': 3_600_000,
};

export function createSimulationWorld(seed: number): SimulationWorld {
  const base = createTestWorld({ seed });
  const clock = createClock();
  const sockets = new Set<Socket>();
  const clients = new Set<Dispatcher>();
  let hasPower = true;
  return {
    ...base,
    ...clock,
    turn: () => turn(turnsPerLeap),
    async connect(target, signal) {
      if (!hasPower) throw new PaygateError('unavailable', 'the power is cut');
      const connection = await base.connect(target, signal);
      sockets.add(connection.socket);
      connection.socket.once('close', () => sockets.delete(connection.socket));
      if (!hasPower) connection.socket.destroy();
      return connection;
    },
    http(target) {
      const client = base.http(target);
      if (hasPower) clients.add(client);
      else void client.destroy();
      return client;
    },
    cutPower() {
      hasPower = false;
      for (const socket of sockets) socket.destroy();
      for (const client of clients) void client.destroy(new Error('the power is cut'));
      clients.clear();
    },
    restorePower() {
      hasPower = true;
    },
  };
}

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A schedule, due when the wall clock passes a multiple of the period. */
interface Round {
  readonly periodMs: number;
  dueAt: number;
  readonly run: () => void;
}

type Clock = Pick<
  SimulationWorld,
  | 'now'
  | 'monotonic'
  | 'after'
  | 'schedule'
  | 'advance'
  | 'jumpWallClock'
  | 'sleep'
  | 'trueNow'
  | 'wrongMs'
>;

function createClock(): Clock {
  let elapsedMs = 0;
  let wallStart = startAt;
  let trueStart = startAt;
  const timers = new Set<Timer>();
  const rounds = new Set<Round>();

  // Timers may be due between two milliseconds; the wall clock has whole milliseconds.
  const now = (): number => Math.floor(wallStart + elapsedMs);
  const following = (periodMs: number) => Math.floor(now() / periodMs) * periodMs + periodMs;
  const after = (delayMs: number, run: () => void): Cancel => {
    const timer = { dueMs: elapsedMs + Math.max(0, delayMs), run };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const schedule = (expression: string, run: () => void): Cancel => {
    const periodMs = periods[expression];
    if (periodMs === undefined) throw new Error(`unknown schedule ${expression}; add its period`);
    const round = { periodMs, dueAt: following(periodMs), run };
    rounds.add(round);
    return () => rounds.delete(round);
  };
  /** The time of the next leap. Tasks that repeat within a minute do not count. */
  const nextStop = (untilMs: number): number => {
    let stop = untilMs;
    for (const { dueMs } of timers) stop = Math.min(stop, dueMs);
    for (const { periodMs, dueAt } of rounds) {
      if (periodMs > quarterMinuteMs) stop = Math.min(stop, dueAt - wallStart);
    }
    return Math.max(stop, elapsedMs);
  };
  const runDue = (): boolean => {
    const due = [...timers].filter(({ dueMs }) => dueMs <= elapsedMs);
    for (const timer of due.sort((one, other) => one.dueMs - other.dueMs)) {
      if (timers.delete(timer)) timer.run();
    }
    const turns = [...rounds].filter(({ dueAt }) => dueAt <= now());
    for (const round of turns) {
      round.dueAt = following(round.periodMs);
      round.run();
    }
    return due.length + turns.length > 0;
  };
  const advance = async (ms: number): Promise<void> => {
    const untilMs = elapsedMs + ms;
    await turn(turnsPerLeap);
    for (let ran = true; ran || elapsedMs < untilMs; ) {
      elapsedMs = nextStop(untilMs);
      ran = runDue();
      if (ran) await turn(turnsPerLeap);
    }
  };
  const jumpWallClock = (ms: number): void => {
    wallStart += ms;
    for (const round of rounds) round.dueAt = following(round.periodMs);
  };
  const sleep = (ms: number): void => {
    trueStart += ms;
    jumpWallClock(ms);
  };
  return {
    ...{ now, monotonic: () => elapsedMs, after, schedule, advance, jumpWallClock, sleep },
    trueNow: () => Math.floor(trueStart + elapsedMs),
    wrongMs: () => wallStart - trueStart,
  };
}

async function turn(turns: number): Promise<void> {
  for (let count = 0; count < turns; count += 1) {
    await new Promise<void>((done) => setImmediate(done));
  }
}
