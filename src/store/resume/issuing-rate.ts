// How fast a wallet was issuing when its database was last written. A copy without a mark file uses
// it to estimate how many addresses its original issued since.

import { and, count, desc, gt, isNotNull, max, min, sql } from 'drizzle-orm';
import type { IssuingRate } from '../../domain/store/allocation.ts';
import { dayMs } from '../../lib/time-units.ts';
import type { Records } from '../open-records.ts';
import { attempts } from '../schema/delivery-schema.ts';
import { addresses } from '../schema/schema.ts';

/** Long enough for a rate, short enough for a shop that grows. */
const periodMs = 30 * dayMs;

export function issuingRate(records: Records, walletId: number, now: number): IssuingRate {
  const { orm } = records.database;
  const lastWriteAt = lastWrite(records);
  const since = lastWriteAt - periodMs;
  // A plus keeps SQLite from the indexes of all addresses of a wallet.
  const lately = and(
    sql`+${addresses.walletId} = ${walletId}`,
    sql`+${addresses.origin} = 'issued'`,
    gt(addresses.issuedAt, since),
  );
  const found = orm
    .select({ issued: count(), firstAt: min(addresses.issuedAt) })
    .from(addresses)
    .where(lately)
    .get();
  const { issued = 0, firstAt } = found ?? {};
  return {
    issued,
    // A shop of yesterday has issued for a day, not for a month.
    periodMs: Math.max(dayMs, lastWriteAt - (firstAt ?? since)),
    silentMs: now - lastWriteAt,
  };
}

/** When the last address was issued or skipped, epoch milliseconds; 0 for never. */
export function lastIssue({ database: { orm } }: Records): number {
  const issued = orm
    .select({ at: max(addresses.issuedAt) })
    .from(addresses)
    // SQLite uses the index of issued ones only with this condition.
    .where(isNotNull(addresses.issuedAt))
    .get();
  return issued?.at ?? 0;
}

/** The latest time in the file, epoch ms: blocks arrive even if nothing else does. */
function lastWrite(records: Records): number {
  const { orm } = records.database;
  const attempt = orm
    .select({ at: attempts.startedAt })
    .from(attempts)
    .orderBy(desc(attempts.id))
    .limit(1)
    .get();
  const tipAt = (records.headers.tip()?.header.time ?? 0) * 1000;
  return Math.max(lastIssue(records), attempt?.at ?? 0, tipAt);
}
