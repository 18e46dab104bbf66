// Callbacks owed to shops: enqueued in the transaction of the payment they tell of, claimed by the
// dispatcher, settled by what an attempt brought (wire §4). It sends nothing and knows no schedule.
//
// A payment has at most one row that is owed, exhausted or held, and that is its newest: no status can be
// sent after one that overtook it. None is claimed that the chain has taken back: what tells of a block waits
// while that is not on our chain, and of a payment that is gone all but its -1 is held. It is not superseded: a
// payment that returns with the status it had owes no new one. A lease marks a row whose request is under way; while it lasts,
// nothing else of that address is claimed: shop plugins read and write the order of an address without a lock. The
// earliest event among the due callbacks of an address goes first. A delivered one whose answer was doubtful is due again at
// `confirm_at`, unless a newer one of its payment is enqueued; whatever comes of that, it stays delivered. What a claim costs never depends on what was delivered.

import {
  type CallbackFacts,
  callbackQuery,
  type EventFacts,
  eventId,
} from '../../domain/callback.ts';
import type { AnswerVerdict } from '../../domain/callback-answer.ts';
import type { AttemptOutcome, AttemptPhase, MaxWaits } from '../../domain/retry.ts';
import type { Database } from '../db/database.ts';
import type { CallbackState } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import { type CallbackDesk, createCallbackDesk } from '../views/callback-view.ts';
import { createDoubts, type Doubted } from './doubtful-answers.ts';
import { createUnreceived, type Unreceived } from './failing-shops.ts';
import { type OutboxStatements, prepareOutbox } from './outbox-statements.ts';

export interface NewCallback extends CallbackFacts, EventFacts {
  readonly paymentId: number;
  readonly storeId: number;
}

export interface ClaimLimits {
  /** How many callbacks at most. */
  readonly limit: number;
  /** How many of one store may be under way. */
  readonly perStore: number;
  readonly leaseMs: number;
  /** The store that was served last: the turn goes on behind it. */
  readonly afterStoreId: number;
  /** Addresses of a store whose request is on the wire, where a lease may have ended before it. */
  readonly onWire?: (storeId: number) => readonly number[];
  /** How many of those wanted may go to a callback URL, where so many of the store are under way. */
  readonly allow?: (callbackUrl: string, wanted: number, underWay: number) => number;
}

/** A callback to be sent now, with all that sending it takes. */
export type Claimed = NonNullable<ReturnType<OutboxStatements['dueOfStore']['get']>>;

/** The state of a callback, and where its schedule stands. */
type Course = NonNullable<ReturnType<OutboxStatements['courseOf']['get']>>;

/** Which row was claimed, and where its schedule stood then. */
export type ClaimedRow = Pick<Claimed, 'callbackId' | 'storeId' | 'step' | 'dueAt'>;

/** What one HTTP try brought. */
export interface AttemptRecord {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  readonly httpStatus: number | null;
  /** What went wrong, in words, without the URL's secrets. */
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

/** When a callback is tried again, or a delivered one is sent again. */
export interface Next {
  /** How many attempts are charged to that schedule by now. */
  readonly step: number;
  /** Undefined: never. */
  readonly at: number | undefined;
}

export interface Outbox extends CallbackDesk {
  /** Owes the shop a callback from now on; what it was owed before of this payment is superseded. */
  enqueue(tx: Tx, now: number, callback: NewCallback): void;
  /** What the payment is still owed, or was given up on, waits: it is gone. */
  hold(tx: Tx, paymentId: number): void;
  /** The payment has returned: what was held is owed again, with the rest of its schedule. */
  release(tx: Tx, paymentId: number): void;
  /** Whether a callback was ever owed for a payment. */
  hasTold(paymentId: number): boolean;
  /** Leases what is due, fair between stores, in the order in which it should be served. */
  claim(tx: Tx, now: number, limits: ClaimLimits): Claimed[];
  /**
   * Records an attempt and ends its lease. A failed one is owed again at `next.at`, exhausted
   * without one, and stays superseded or held when it came to be so meanwhile. What was resent while the
   * request was under way keeps the schedule that began then. A delivered one whose answer is doubtful is sent
   * again at `next.at`, and stays delivered whatever comes of that.
   */
  record(
    tx: Tx,
    now: number,
    claimed: ClaimedRow,
    attempt: AttemptRecord,
    next: Next,
  ): CallbackState;
  /**
   * When something is due that neither a lease nor `isHeld` (by callback URL) holds back, which may
   * have passed; undefined for never.
   */
  nextDueAt(
    now: number,
    isHeld?: (callbackUrl: string) => boolean,
    onWire?: readonly number[],
  ): number | undefined;
  /** At a start: the leases of the process before mean nothing any more. */
  releaseLeases(tx: Tx): void;
  /**
   * What is owed later than a wait of its step can be, because the clock was ahead then, is due now, and leases that
   * are longer than any are over.
   */
  recall(tx: Tx, now: number, longestWaits: MaxWaits, leaseMs: number): void;
  /** Forgets attempts from before a time, some thousand at once; whether there may be more. */
  fold(tx: Tx, before: number): boolean;
  /** Of stores that are called: how many wait, and how many were given up on; of each at most `mostCounted`. */
  counts(): { readonly owed: number; readonly exhausted: number };
  /** The same, counted up to a bound at most; all others are done. */
  depths(most: number): {
    readonly owed: number;
    readonly exhausted: number;
    readonly done: number;
  };
  /** Where something is owed to, one URL a store. */
  owing(): string[];
  /** When the oldest of those was given up on, epoch milliseconds. */
  exhaustedSince(): number | undefined;
  /** Stores whose last answer of 200 was doubtful: since when. */
  doubted(): Doubted[];
  /** Whether a store has ever taken a callback with other than an empty answer. */
  hasSpoken(storeId: number): boolean;
  /** Stores that are owed something and whose shop did not receive its last callback: since when. */
  unreceived(): Unreceived[];
  /** How many wait for each store that is called back, at most `mostCounted`. */
  owedByStore(): { readonly callbackUrl: string; readonly owed: number }[];
}

/** Counting more would hold up everything else; nobody looks at them one by one. */
export const mostCounted = 10_000;

/** Whether it may be sent still, now or later. */
const isOpen = (state: CallbackState): boolean => state !== 'delivered' && state !== 'superseded';

/** How many rows of old attempts go in one transaction. */
const foldLimit = 2_000;

export function createOutbox({ orm }: Pick<Database, 'orm'>): Outbox {
  const statements = prepareOutbox(orm);
  const unreceived = createUnreceived(orm);
  const doubts = createDoubts(orm);

  return {
    ...createCallbackDesk(orm),
    enqueue(_tx, now, callback) {
      const { paymentId } = callback;
      // No other than the newest is open: each supersedes the one before, and no older one is resent.
      const newest = statements.newestOfPayment.get({ paymentId });
      const isSent = newest && (isOpen(newest.state) || newest.confirmAt !== null);
      if (isSent) statements.supersede.run({ paymentId, now });
      const facts = { eventId: eventId(callback), query: callbackQuery(callback) };
      statements.insert.run({ ...callback, ...facts, version: (newest?.version ?? 0) + 1, now });
    },
    hold: (_tx, paymentId) => void statements.hold.run({ paymentId }),
    release: (_tx, paymentId) => void statements.release.run({ paymentId }),
    hasTold: (paymentId) => statements.newestOfPayment.get({ paymentId }) !== undefined,
    claim(_tx, now, { limit, perStore, leaseMs, afterStoreId, onWire, allow }) {
      const claimed: Claimed[] = [];
      for (const store of statements.storesDue.all({ now, afterStoreId })) {
        const { storeId, callbackUrl } = store;
        const flying = onWire?.(storeId) ?? [];
        const underWay = Math.max(store.underWay, flying.length);
        const wanted = Math.min(perStore - underWay, limit - claimed.length);
        const room = wanted > 0 ? (allow?.(callbackUrl, wanted, underWay) ?? wanted) : 0;
        const given = { now, storeId, onWire: JSON.stringify(flying) };
        for (let taken = 0; taken < room; taken += 1) {
          const callback = statements.dueOfStore.get(given);
          if (callback === undefined) break;
          statements.lease.run({ id: callback.callbackId, leasedUntil: now + leaseMs });
          claimed.push(callback);
        }
      }
      return claimed;
    },
    record(_tx, now, claimed, attempt, next) {
      unreceived.note(claimed.storeId, attempt);
      doubts.note(claimed.storeId, attempt);
      return settle(statements, now, claimed, attempt, next);
    },
    nextDueAt(now, isHeld, onWire = []) {
      const free = statements.nextDue
        .all({ now, onWire: JSON.stringify(onWire) })
        .flatMap(({ at, callbackUrl }) => (at === null || isHeld?.(callbackUrl) ? [] : [at]));
      return free.length === 0 ? undefined : Math.min(...free);
    },
    releaseLeases: () => void statements.releaseLeases.run(),
    recall(_tx, now, { retryMs: retry, confirmMs: confirm }, leaseMs) {
      const last = retry.length - 1;
      statements.recall.run({ now, longestWaits: JSON.stringify(retry), last });
      statements.recallConfirmations.run({ now, latest: now + confirm });
      statements.endLeases.run({ latest: now + leaseMs });
    },
    fold: (_tx, before) =>
      statements.foldAttempts.run({ before, limit: foldLimit }).changes === foldLimit,
    counts() {
      const { owed = 0, exhausted = 0 } = statements.depths.get({ most: mostCounted }) ?? {};
      return { owed, exhausted };
    },
    depths(most) {
      const { owed = 0, exhausted = 0, newest } = statements.depths.get({ most }) ?? {};
      // No row is ever deleted: the newest id is their number.
      return { owed, exhausted, done: Math.max(0, (newest ?? 0) - owed - exhausted) };
    },
    owing: () => statements.owing.all().map(({ callbackUrl }) => callbackUrl),
    exhaustedSince: () => statements.exhaustedSince.get()?.at ?? undefined,
    doubted: doubts.list,
    hasSpoken: doubts.hasSpoken,
    unreceived: unreceived.list,
    owedByStore: () => statements.owedByStore.all({ most: mostCounted }),
  };
}

function settle(
  statements: OutboxStatements,
  now: number,
  claimed: ClaimedRow,
  attempt: AttemptRecord,
  next: Next,
): CallbackState {
  const { callbackId: id } = claimed;
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

const afterAnswer = ({ step, at }: Next, isConfirmed: boolean): Settled => ({
  state: 'delivered',
  step,
  confirmAt: isConfirmed ? at : undefined,
});

/** @param course of its row by now; undefined where it is gone */
function afterFailure(
  course: Course | undefined,
  { step, dueAt }: ClaimedRow,
  next: Next,
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
