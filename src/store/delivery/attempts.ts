// Attempts to send a delivery. Old ones are deleted.

import { asc, type SQL, sql } from 'drizzle-orm';
import type { AnswerVerdict } from '../../domain/delivery/callback-answer.ts';
import type { AttemptOutcome, AttemptPhase } from '../../domain/delivery/retry.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import { attempts, type Channel, isOf } from '../schema/delivery-schema.ts';

export interface AttemptRecord {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  readonly httpStatus: number | null;
  /** What went wrong, without the URL's secrets. */
  readonly reason: string | null;
  readonly body: string | null;
  readonly address: string | null;
  readonly phases: Readonly<Partial<Record<AttemptPhase, number>>>;
  /** What the answer of a 200 says, or is, that makes it doubtful. */
  readonly doubt: string | null;
  /** What the answer of a delivered one says; null for all others. */
  readonly verdict?: AnswerVerdict | null;
}

export type AttemptRow = typeof attempts.$inferSelect;

const foldLimit = 2_000;

export function createAttempts(orm: Orm, channel: Channel) {
  const statements = prepare(orm, channel);
  return {
    add(deliveryId: number, attempt: AttemptRecord): void {
      statements.insert.run({ ...attempt, deliveryId, phases: JSON.stringify(attempt.phases) });
    },
    /** Oldest first; those that were folded are missing. */
    of: (deliveryId: number): AttemptRow[] => statements.ofDelivery.all({ deliveryId }),
    /** Forgets attempts of all channels from before a time; whether there may be more. */
    fold: (before: number): boolean =>
      statements.fold.run({ before, limit: foldLimit }).changes === foldLimit,
  };
}

const prepare = (orm: Orm, channel: Channel) => ({
  insert: prepared(() =>
    orm.insert(attempts).values({
      channel: sql.raw(`'${channel}'`),
      ...placeholders('deliveryId', 'startedAt', 'durationMs', 'phases', 'address', 'outcome'),
      ...placeholders('httpStatus', 'reason', 'body', 'doubt'),
    }),
  ),
  ofDelivery: prepared(() =>
    orm
      .select()
      .from(attempts)
      .where(sql`${isOf(channel, 'attempts')} and ${equals(attempts.deliveryId, 'deliveryId')}`)
      .orderBy(asc(attempts.id)),
  ),
  // By the key, which `id > 0` has SQLite use.
  fold: prepared(() =>
    orm
      .delete(attempts)
      .where(sql`${attempts.id} <= ${lastOldRow('attempts', 'started_at', 'id > 0')}`),
  ),
});

/**
 * The id of the last of the first `limit` rows, up to one that was made at `before` or later; null
 * without one. A row behind that looks old because the clock was behind, and stays.
 * @param table with rows in the order of their ids
 * @param time its column, epoch milliseconds
 * @param which of its rows, by an index in that order
 */
export const lastOldRow = (table: 'attempts' | 'deliveries', time: string, which: string): SQL =>
  sql`(select max(id) from (select id, max(${sql.raw(time)}) over (order by id) as newest
    from (select id, ${sql.raw(time)} from ${sql.raw(table)} where ${sql.raw(which)}
      order by id limit ${placeholder('limit')}))
    where newest < ${placeholder('before')})`;
