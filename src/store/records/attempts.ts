// Attempts to deliver a callback. Each is recorded in one commit with the callback's next state.
// Old ones are deleted.

import { eq, sql } from 'drizzle-orm';
import type { AnswerVerdict } from '../../domain/callback-answer.ts';
import type { AttemptOutcome, AttemptPhase } from '../../domain/retry.ts';
import type { EventState } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { attempts, type CallbackState, callbacks } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import { prepareNewest } from './callback-conditions.ts';
import { callbackQueue } from './callback-queue.ts';
import type { ClaimedRow } from './delivery-claims.ts';
import { createDoubtfulAnswers, type DoubtfulAnswers } from './doubtful-answers.ts';
import { createFailingShops, type FailingShop } from './failing-shops.ts';

/** What one HTTP try brought. */
export interface AttemptRecord {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  readonly httpStatus: number | null;
  /** What went wrong, without the URL's secrets. */
  readonly reason: string | null;
  /** The beginning of the answer, safe to show. */
  readonly body: string | null;
  /** The IP address that was dialled. */
  readonly address: string | null;
  /** How long each phase took, in milliseconds. */
  readonly phases: Readonly<Partial<Record<AttemptPhase, number>>>;
  /** What the answer of a 200 says, or is, that makes it doubtful. */
  readonly doubt: string | null;
  /** What the answer of a delivered one says; null for all others. */
  readonly verdict?: AnswerVerdict | null;
}

/** The outcome of an attempt that was recorded. */
export interface AttemptReport {
  readonly noun: 'callback' | 'webhook';
  readonly outcome: AttemptOutcome;
  readonly durationMs: number;
  readonly state: CallbackState | EventState;
  /** From the creation of the delivery to this attempt, if this attempt delivered it. */
  readonly deliveredAfterMs: number | undefined;
}

/** When a callback is tried again, or a delivered one is sent again. */
export interface NextAttempt {
  /** How many attempts are charged to that schedule by now. */
  readonly step: number;
  /** Undefined: never. */
  readonly at: number | undefined;
}

export interface Attempts {
  /**
   * Records an attempt and ends its lease. A failed callback is `owed` again at `next.at`, or
   * exhausted without one. It stays superseded or `held` if it became so meanwhile. If it was
   * resent while the request was in flight, it keeps the new schedule. A delivered one with a
   * doubtful answer is sent again at `next.at`, and stays delivered.
   */
  record(
    tx: Tx,
    now: number,
    claimed: ClaimedRow,
    attempt: AttemptRecord,
    next: NextAttempt,
  ): CallbackState;
  /** Forgets attempts from before a time, some thousand at once; whether there may be more. */
  fold(tx: Tx, before: number): boolean;
  /** Stores whose last answer of 200 was doubtful: since when. */
  doubtfulAnswers(): DoubtfulAnswers[];
  /** Whether a store has ever taken a callback with other than an empty answer. */
  hasAccepted(storeId: number): boolean;
  /** Stores with pending callbacks whose shop did not receive its last one, and since when. */
  failingShops(): FailingShop[];
}

/** The state of a callback, and where its schedule stands. */
type CallbackSchedule = NonNullable<ReturnType<Statements['courseOf']['get']>>;

/** How many rows of old attempts go in one transaction. */
const foldLimit = 2_000;

export function createAttempts(orm: Orm): Attempts {
  const statements = prepare(orm);
  const unreceived = createFailingShops(orm, callbackQueue);
  const doubts = createDoubtfulAnswers(orm);
  return {
    record(_tx, now, claimed, attempt, next) {
      unreceived.note(claimed.storeId, attempt);
      doubts.note(claimed.storeId, attempt);
      return settle(statements, now, claimed, attempt, next);
    },
    fold: (_tx, before) =>
      statements.foldAttempts.run({ before, limit: foldLimit }).changes === foldLimit,
    doubtfulAnswers: doubts.list,
    hasAccepted: doubts.hasSpoken,
    failingShops: unreceived.list,
  };
}

function settle(
  statements: Statements,
  now: number,
  claimed: ClaimedRow,
  attempt: AttemptRecord,
  next: NextAttempt,
): CallbackState {
  const { id } = claimed;
  const phases = JSON.stringify(attempt.phases);
  statements.insertAttempt.run({ ...attempt, callbackId: id, phases });
  // Mostly it is delivered without a doubt, and then nothing is read.
  const course = () => statements.courseOf.get({ id });
  const isNewest = () => statements.newestOfPayment.get({ ...course() })?.id === id;
  const { state, step, at, confirmAt } =
    attempt.outcome === 'delivered'
      ? afterAnswer(next, attempt.doubt !== null && isNewest())
      : afterFailure(course(), claimed, next);
  statements.settle.run({
    ...{ id, state, step },
    nextAttemptAt: at ?? null,
    confirmAt: confirmAt ?? null,
    settledAt: state === 'owed' || state === 'held' ? null : now,
  });
  return state;
}

/** What becomes of a row: `at` and `confirmAt` say when it is sent again, undefined for never. */
interface Settled {
  readonly state: CallbackState;
  readonly step: number;
  readonly at?: number | undefined;
  readonly confirmAt?: number | null | undefined;
}

const afterAnswer = ({ step, at }: NextAttempt, isConfirmed: boolean): Settled => ({
  state: 'delivered',
  step,
  confirmAt: isConfirmed ? at : undefined,
});

/** @param course of its row by now; undefined where it is gone */
function afterFailure(
  course: CallbackSchedule | undefined,
  { step, dueAt }: ClaimedRow,
  next: NextAttempt,
): Settled {
  if (course?.state === 'delivered') {
    const { state, confirmAt } = course;
    return confirmAt === dueAt ? { state, step: next.step, confirmAt: next.at } : course;
  }
  if (course !== undefined && (course.step !== step || course.nextAttemptAt !== dueAt)) {
    return { state: course.state, step: course.step, at: course.nextAttemptAt };
  }
  const state = next.at === undefined ? 'exhausted' : 'owed';
  return { ...next, state: course === undefined || course.state === 'owed' ? state : course.state };
}

type Statements = ReturnType<typeof prepare>;

function prepare(orm: Orm) {
  const byId = eq(callbacks.id, placeholder('id'));
  return {
    newestOfPayment: prepareNewest(orm),
    courseOf: orm
      .select({
        paymentId: callbacks.paymentId,
        state: callbacks.state,
        step: callbacks.step,
        nextAttemptAt: callbacks.nextAttemptAt,
        confirmAt: callbacks.confirmAt,
      })
      .from(callbacks)
      .where(byId)
      .prepare(),
    settle: orm
      .update(callbacks)
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
      .where(byId)
      .prepare(),
    insertAttempt: orm
      .insert(attempts)
      .values({
        callbackId: placeholder('callbackId'),
        startedAt: placeholder('startedAt'),
        durationMs: placeholder('durationMs'),
        phases: placeholder('phases'),
        address: placeholder('address'),
        outcome: placeholder('outcome'),
        httpStatus: placeholder('httpStatus'),
        reason: placeholder('reason'),
        body: placeholder('body'),
        doubt: placeholder('doubt'),
      })
      .prepare(),
    /** Rows are in order of time: only the first ones are looked at, by their key (`id > 0`). */
    foldAttempts: orm
      .delete(attempts)
      .where(
        sql`${attempts.id} in (select id from attempts where id > 0 order by id limit ${placeholder('limit')})
          and ${attempts.startedAt} < ${placeholder('before')}`,
      )
      .prepare(),
  };
}
