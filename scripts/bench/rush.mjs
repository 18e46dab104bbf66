// A rush on `new_address`: so many requests at once as a wallet has addresses derived ahead, which paygate
// derives in quiet times (1,000 for a wallet that issued as many). Between two rushes it is left in peace
// until they are there again, so that what is measured is the issuing and not the derivation.

import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { atEnd } from './ending.mjs';
import { burst, load } from './load.mjs';

/** As src/domain/allocation.ts has it. */
const RESERVE = 1_000;
/** Together with the requests that make the connections, less than the reserve. */
export const RUSH = 900;
/** As many as it needs to have issued before it keeps a full reserve, and then less than half of one left. */
const FIRST = 2 * RESERVE;
/** Issued by the time that `createRush` is done. */
export const ISSUED_BEFORE = FIRST + RUSH;
/** Longer than paygate waits for quiet. */
const REST_MS = 400;

/**
 * @param {string} path the database
 * @param {import('./load.mjs').Target} target
 */
export async function createRush(path, target) {
  const reader = new SqliteDatabase(path, { readonly: true });
  atEnd(() => reader.close());
  const ahead = reader.prepare("SELECT count(*) FROM addresses WHERE origin = 'ahead'").pluck();
  const issued = new Set();

  /** Until nothing more is derived. @returns how many are ahead */
  async function rest() {
    for (let before = -1; ; ) {
      await sleep(REST_MS);
      const now = Number(ahead.get());
      if (now === before) return now;
      before = now;
    }
  }

  /** @param {number} count */
  async function rush(count) {
    const run = await burst(target, count);
    for (const { address } of run.answers) {
      if (issued.has(address)) throw new Error(`${address} was issued twice`);
      issued.add(address);
    }
    return run;
  }

  await load(target, 0, FIRST);
  await rest();
  await rush(RUSH);
  return {
    async rush() {
      const found = await rest();
      if (found < RESERVE) throw new Error(`${found} addresses are derived ahead, not ${RESERVE}`);
      return rush(RUSH);
    },
  };
}
