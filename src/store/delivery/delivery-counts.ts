// How many deliveries of a queue wait or failed for good: reads alone, each bounded.

import { type SQL, sql } from 'drizzle-orm';
import { type Orm, placeholder, prepared } from '../db/orm.ts';
import { isOf } from '../schema/delivery-schema.ts';
import type { ChannelTerms } from './delivery-claims.ts';

/** Counting more would block the event loop. */
export const maxCounted = 10_000;

export type DeliveryCounts = ReturnType<typeof createDeliveryCounts>;

export function createDeliveryCounts(orm: Orm, terms: ChannelTerms) {
  const statements = prepare(orm, terms);
  return {
    /** Pending and exhausted deliveries to receivers that get any; each at most `maxCounted`. */
    counts(): { readonly owed: number; readonly exhausted: number } {
      const { owed = 0, exhausted = 0 } = statements.depths.get({ max: maxCounted }) ?? {};
      return { owed, exhausted };
    },
    /** The same, counted up to a bound at most; all others are done. */
    depths(max: number): {
      readonly owed: number;
      readonly exhausted: number;
      readonly done: number;
    } {
      const { owed = 0, exhausted = 0, all = 0 } = statements.depths.get({ max }) ?? {};
      return { owed, exhausted, done: Math.max(0, all - owed - exhausted) };
    },
    owing: (): string[] => statements.owing.all().map(({ url }) => url),
    exhaustedSince: (): number | undefined => statements.exhaustedSince.get()?.at ?? undefined,
    owedByStore: (): { readonly url: string; readonly owed: number }[] =>
      statements.owedByStore.all({ max: maxCounted }),
  };
}

function prepare(orm: Orm, { channel, receivers, receiverId, url, isReceiving }: ChannelTerms) {
  const of = (alias: string) => isOf(channel, alias);
  /** The receiver gets them. NOT IN, because SQLite would use a larger index for IN. */
  const isOfReceiving = sql`q.receiver_id not in
    (select ${receiverId} from ${receivers} where not (${isReceiving}))`;
  const isPending = sql`${of('d')} and d.receiver_id = ${receiverId} and d.due_at is not null
    and d.state = 'owed'`;
  const counted = (state: SQL) => sql<number>`(select count(*) from (select 1 from deliveries q
    where ${of('q')} and ${state} and ${isOfReceiving} limit ${placeholder('max')}))`;
  return {
    owing: prepared(() =>
      orm
        .select({ url })
        .from(receivers)
        .where(sql`${isReceiving} and exists (select 1 from deliveries d where ${isPending})`),
    ),
    owedByStore: prepared(() =>
      orm
        .select({
          url,
          owed: sql<number>`(select count(*) from (select 1 from deliveries d
          where ${isPending} limit ${placeholder('max')}))`,
        })
        .from(receivers)
        .where(isReceiving)
        .orderBy(receiverId),
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
