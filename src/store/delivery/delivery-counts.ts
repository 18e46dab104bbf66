// How many deliveries of a queue wait or failed for good: reads alone, each bounded.

import { asc, type SQL, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { prepared } from '../db/prepared.ts';
import { isOf } from '../schema/delivery-schema.ts';
import { stores } from '../schema/schema.ts';
import type { ChannelTerms } from './delivery-claims.ts';

/** Counting more would block the event loop. */
export const maxCounted = 10_000;

export interface DeliveryCounts {
  /** Pending and exhausted deliveries of stores that receive any; each at most `maxCounted`. */
  counts(): { readonly owed: number; readonly exhausted: number };
  /** The same, counted up to a bound at most; all others are done. */
  depths(max: number): {
    readonly owed: number;
    readonly exhausted: number;
    readonly done: number;
  };
  /** The URL of each store with pending deliveries. */
  owing(): string[];
  /** When the oldest exhausted delivery ended, epoch milliseconds. */
  exhaustedSince(): number | undefined;
  /** How many wait for each store that receives any, at most `maxCounted`. */
  owedByStore(): { readonly url: string; readonly owed: number }[];
}

export function createDeliveryCounts(orm: Orm, terms: ChannelTerms): DeliveryCounts {
  const statements = prepare(orm, terms);
  return {
    counts() {
      const { owed = 0, exhausted = 0 } = statements.depths.get({ max: maxCounted }) ?? {};
      return { owed, exhausted };
    },
    depths(max) {
      const { owed = 0, exhausted = 0, all = 0 } = statements.depths.get({ max }) ?? {};
      return { owed, exhausted, done: Math.max(0, all - owed - exhausted) };
    },
    owing: () => statements.owing.all().map(({ url }) => url),
    exhaustedSince: () => statements.exhaustedSince.get()?.at ?? undefined,
    owedByStore: () => statements.owedByStore.all({ max: maxCounted }),
  };
}

function prepare(orm: Orm, { channel, url, isReceiving }: ChannelTerms) {
  const of = (alias: string) => isOf(channel, alias);
  /** The store receives them. NOT IN, because SQLite would use a larger index for IN. */
  const isOfReceiving = sql`q.store_id not in (select id from stores where not (${isReceiving}))`;
  const counted = (state: SQL) => sql<number>`(select count(*) from (select 1 from deliveries q
    where ${of('q')} and ${state} and ${isOfReceiving} limit ${placeholder('max')}))`;
  return {
    owing: prepared(() =>
      orm
        .select({ url })
        .from(stores)
        .where(
          sql`${isReceiving} and exists (select 1 from deliveries d where ${of('d')} and d.store_id = stores.id
          and d.state = 'owed')`,
        ),
    ),
    owedByStore: prepared(() =>
      orm
        .select({
          url,
          owed: sql<number>`(select count(*) from (select 1 from deliveries d
          where ${of('d')} and d.store_id = stores.id and d.state = 'owed' limit ${placeholder('max')}))`,
        })
        .from(stores)
        .where(isReceiving)
        .orderBy(asc(stores.id)),
    ),
    depths: prepared(() =>
      orm
        .select({
          owed: counted(sql`q.state = 'owed'`),
          exhausted: counted(sql`q.state = 'exhausted'`),
          // Only the oldest rows are ever deleted.
          all: sql<number>`(select coalesce(max(d.id), 0) from deliveries d where ${of('d')})
          - (select coalesce(min(d.id), 1) from deliveries d where ${of('d')}) + 1`,
        })
        .from(sql`(select 1)`),
    ),
    exhaustedSince: prepared(() =>
      orm
        .select({
          at: sql<number | null>`(select min(q.settled_at) from deliveries q
          where ${of('q')} and q.state = 'exhausted' and ${isOfReceiving})`,
        })
        .from(sql`(select 1)`),
    ),
  };
}
