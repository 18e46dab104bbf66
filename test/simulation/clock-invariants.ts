// The invariants of the clock. While it is wrong, nothing is exhausted and no order expires before
// its time, and an alarm says so. Deletions are noticed by what is missing (order-invariants.ts).

import SqliteDatabase from 'better-sqlite3';
import { noticedMs, type Run } from './run.ts';

/** What may have been settled by a wrong clock. */
export interface Settled {
  /** Numbers of callbacks and events, such as `webhook 7`. */
  readonly exhausted: ReadonlySet<string>;
  /** When each order that expired should have, by the number of its event; epoch milliseconds. */
  readonly expired: ReadonlyMap<number, number>;
}

export function readSettled(path: string): Settled {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    const exhausted = file
      .prepare<[], string>(`select channel || ' ' || id from deliveries where state = 'exhausted'`)
      .pluck()
      .all();
    const expired = file
      .prepare<[], [number, number]>(
        `select e.id, o.expires_at from deliveries e join orders o on o.id = e.order_id
        where e.type = 'order.expired'`,
      )
      .raw()
      .all();
    return { exhausted: new Set(exhausted), expired: new Map(expired) };
  } finally {
    file.close();
  }
}

/** Holds after each step. @param before at the begin of the step @returns what does not */
export function wrongByClock(run: Run, before: Settled): string[] {
  const after = readSettled(run.app.path);
  const trueNow = run.world.trueNow();
  const isWrong = run.clockWrongSince !== undefined;
  const isRestored = /^restore/.test(run.steps.at(-1) ?? '');
  const exhausted = [...after.exhausted].filter((each) => !before.exhausted.has(each));
  const early = [...after.expired].filter(
    ([id, expiresAt]) => !before.expired.has(id) && expiresAt > trueNow + noticedMs,
  );
  const isSilent = isNoticed(run) && !warnsOfClock(run);
  return [
    ...(isWrong && !isRestored
      ? exhausted.map((each) => `exhausted by a clock that is wrong: ${each}`)
      : []),
    ...early.map(([id, expiresAt]) => `expired before its time: event ${id}, ${expiresAt}`),
    ...(isSilent ? [`the clock is wrong by ${run.world.wrongMs()} ms, and no alarm says so`] : []),
  ];
}

/** Records since when the clock is wrong. */
export function noteClock(run: Run): void {
  const isWrong = Math.abs(run.world.wrongMs()) > noticedMs;
  run.clockWrongSince = isWrong ? (run.clockWrongSince ?? run.step) : undefined;
}

/** Whether paygate has a server that shows it that the clock is wrong. */
function isNoticed({ clockWrongSince, activeFaults, app, world }: Run): boolean {
  const isWrong = clockWrongSince !== undefined && Math.abs(world.wrongMs()) > noticedMs;
  // The wrong clock is one of the faults.
  return isWrong && activeFaults.length <= 1 && app.running.health().electrum.caught_up;
}

const warnsOfClock = ({ app }: Run): boolean =>
  app.running.health().warnings.some((text) => text.includes('the clock of this machine is wrong'));
