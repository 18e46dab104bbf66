// How many callbacks wait or failed for good: reads alone, each bounded.

import { asc, min, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { callbacks, stores } from '../db/schema.ts';
import { isCalled, isExhausted, isOfCalled } from '../records/callback-conditions.ts';

/** Counting more would block the event loop. */
export const maxCounted = 10_000;

export interface CallbackCounts {
  /** Pending and exhausted callbacks of stores that receive any; each at most `maxCounted`. */
  counts(): { readonly owed: number; readonly exhausted: number };
  /** The same, counted up to a bound at most; all others are done. */
  depths(max: number): {
    readonly owed: number;
    readonly exhausted: number;
    readonly done: number;
  };
  /** The callback URL of each store with pending callbacks. */
  owing(): string[];
  /** When the oldest exhausted callback ended, epoch milliseconds. */
  exhaustedSince(): number | undefined;
  /** How many wait for each store that is called back, at most `maxCounted`. */
  owedByStore(): { readonly callbackUrl: string; readonly owed: number }[];
}

export function createCallbackCounts(orm: Orm): CallbackCounts {
  const statements = prepare(orm);
  return {
    counts() {
      const { owed = 0, exhausted = 0 } = statements.depths.get({ max: maxCounted }) ?? {};
      return { owed, exhausted };
    },
    depths(max) {
      const { owed = 0, exhausted = 0, newest } = statements.depths.get({ max }) ?? {};
      // No row is ever deleted: the newest id is their number.
      return { owed, exhausted, done: Math.max(0, (newest ?? 0) - owed - exhausted) };
    },
    owing: () => statements.owing.all().map(({ callbackUrl }) => callbackUrl),
    exhaustedSince: () => statements.exhaustedSince.get()?.at ?? undefined,
    owedByStore: () => statements.owedByStore.all({ max: maxCounted }),
  };
}

function prepare(orm: Orm) {
  return {
    owing: orm
      .select({ callbackUrl: stores.callbackUrl })
      .from(stores)
      .where(
        sql`${isCalled} and exists (select 1 from callbacks d where d.store_id = stores.id
          and d.state = 'owed')`,
      )
      .prepare(),
    owedByStore: orm
      .select({
        callbackUrl: stores.callbackUrl,
        owed: sql<number>`(select count(*) from (select 1 from callbacks d
          where d.store_id = stores.id and d.state = 'owed' limit ${placeholder('max')}))`,
      })
      .from(stores)
      .where(isCalled)
      .orderBy(asc(stores.id))
      .prepare(),
    depths: orm
      .select({
        owed: sql<number>`(select count(*) from (select 1 from callbacks c
          where c.state = 'owed' and ${isOfCalled('c')} limit ${placeholder('max')}))`,
        exhausted: sql<number>`(select count(*) from (select 1 from callbacks c
          where c.state = 'exhausted' and ${isOfCalled('c')} limit ${placeholder('max')}))`,
        newest: sql<number | null>`(select max(id) from callbacks)`,
      })
      .from(sql`(select 1)`)
      .prepare(),
    exhaustedSince: orm
      .select({ at: min(callbacks.settledAt) })
      .from(callbacks)
      .where(sql`${isExhausted} and ${isOfCalled('callbacks')}`)
      .prepare(),
  };
}
