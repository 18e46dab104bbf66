// What becomes of a delivery: an attempt is recorded in one commit with the next state of its row,
// and a person sends it again.

import { and, type SQL, sql } from 'drizzle-orm';
import type { DeliveryState } from '../../domain/order/state-words.ts';
import { columnsOf, equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { deliveries, isOf } from '../schema/delivery-schema.ts';
import { type AttemptRecord, createAttempts } from './attempts.ts';
import type { ChannelTerms, ClaimedRow } from './delivery-claims.ts';
import { createFailingShops } from './failing-shops.ts';

/** When a delivery is tried again, or a delivered one is sent again. */
export interface NextAttempt {
  /** How many attempts are charged to that schedule by now. */
  readonly step: number;
  readonly at: number | undefined;
}

export type DeliveryRecords = ReturnType<typeof createDeliveryRecords>;

export function createDeliveryRecords(orm: Orm, terms: ChannelTerms) {
  const statements = prepare(orm, terms);
  const shops = createFailingShops(orm, terms);
  const made = createAttempts(orm, terms.channel);
  return {
    /**
     * Records an attempt and ends its lease. A failed delivery is `owed` again at `next.at`, or
     * exhausted without one. It stays superseded or `held` if it became so meanwhile, and is
     * superseded if a newer one took its place. If it was resent while the request was in flight,
     * it keeps the new schedule. A delivered one with a doubtful answer is sent again at `next.at`,
     * and stays delivered.
     */
    record(
      _tx: Tx,
      now: number,
      claimed: ClaimedRow,
      attempt: AttemptRecord,
      next: NextAttempt,
    ): DeliveryState {
      const { id } = claimed;
      shops.note(claimed.receiverId, attempt);
      made.add(id, attempt);
      // Mostly it is delivered without a doubt, and then nothing is read.
      const course = () => statements.courseOf.get({ id });
      const { state, step, at, confirmAt } =
        attempt.outcome === 'delivered'
          ? afterAnswer(next, attempt.doubt !== null && !course()?.isReplaced)
          : afterFailure(course(), claimed, next);
      statements.settle.run({
        id,
        state,
        step,
        nextAttemptAt: at ?? null,
        confirmAt: confirmAt ?? null,
        settledAt: state === 'owed' || state === 'held' ? null : now,
      });
      return state;
    },
    attempts: made.of,
    fold: (_tx: Tx, before: number): boolean => made.fold(before),
    /** Stores with pending deliveries whose shop did not receive its last one, and since when. */
    failingShops: shops.list,
  };
}

/** What becomes of a row: `at` and `confirmAt` say when it is sent again, undefined for never. */
interface Settled {
  readonly state: DeliveryState;
  readonly step: number;
  readonly at?: number | undefined;
  readonly confirmAt?: number | null | undefined;
}

const afterAnswer = ({ step, at }: NextAttempt, isConfirmed: boolean): Settled => ({
  state: 'delivered',
  step,
  confirmAt: isConfirmed ? at : undefined,
});

type Course = NonNullable<ReturnType<ReturnType<typeof prepare>['courseOf']['get']>>;

function afterFailure(
  course: Course | undefined,
  { step, dueAt }: ClaimedRow,
  next: NextAttempt,
): Settled {
  const failed = next.at === undefined ? 'exhausted' : 'owed';
  if (course === undefined) return { ...next, state: failed };
  const { state, confirmAt } = course;
  if (state === 'delivered') {
    return confirmAt === dueAt ? { state, step: next.step, confirmAt: next.at } : course;
  }
  if (state === 'owed' && course.isReplaced) return { state: 'superseded', step: next.step };
  if (course.step !== step || course.nextAttemptAt !== dueAt) {
    return { state, step: course.step, at: course.nextAttemptAt };
  }
  return { ...next, state: state === 'owed' ? failed : state };
}

function prepare(orm: Orm, { channel, isReplaced }: ChannelTerms) {
  const byId = and(isOf(channel), equals(deliveries.id, 'id'));
  return {
    courseOf: prepared(() =>
      orm
        .select({
          ...columnsOf(deliveries, 'state', 'step', 'nextAttemptAt', 'confirmAt'),
          isReplaced: sql<number>`${isReplaced}`,
        })
        .from(deliveries)
        .where(byId),
    ),
    settle: prepared(() =>
      orm
        .update(deliveries)
        .set({
          state: placeholder('state'),
          attemptCount: sql`attempt_count + 1`,
          step: placeholder('step'),
          nextAttemptAt: sql`coalesce(${placeholder('nextAttemptAt')}, next_attempt_at)`,
          confirmAt: placeholder('confirmAt'),
          // A delivered one was acknowledged when it first was.
          settledAt: sql`case state when 'delivered' then settled_at else ${placeholder('settledAt')} end`,
          leasedUntil: null,
        })
        .where(byId),
    ),
  };
}

/**
 * Makes deliveries of a channel due now that fulfil a condition, with a new schedule and the same
 * event id. It takes `now`.
 */
export const prepareResend = (orm: Orm, { channel }: Pick<ChannelTerms, 'channel'>, which: SQL) =>
  prepared(() =>
    orm
      .update(deliveries)
      .set({
        state: 'owed',
        step: 0,
        nextAttemptAt: placeholder('now'),
        confirmAt: null,
        settledAt: null,
      })
      .where(and(isOf(channel), which)),
  );

/**
 * Resends exhausted deliveries of a store and those that wait after a failure, if they were made at
 * `since` or later.
 * @returns a function that answers how many
 */
export function createResendFailed(orm: Orm, terms: ChannelTerms) {
  const ofStore = sql`${deliveries.storeId} = ${placeholder('storeId')}
    and ${deliveries.createdAt} >= ${placeholder('since')} and ${deliveries.receiverId} in
    (select ${terms.receiverId} from ${terms.receivers} where ${terms.isReceiving})`;
  const statements = [
    sql`${deliveries.state} = 'exhausted' and ${ofStore} and not ${terms.isReplaced}`,
    sql`${deliveries.state} = 'owed' and ${deliveries.step} > 0 and ${ofStore}`,
  ].map((which) => prepareResend(orm, terms, which));
  return (now: number, storeId: number, since: number): number =>
    statements.reduce((sum, each) => sum + each.run({ now, storeId, since }).changes, 0);
}
