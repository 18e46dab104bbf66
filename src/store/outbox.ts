// Callbacks owed to shops: enqueued in the transaction of the payment they tell of, claimed by the
// dispatcher, settled by what an attempt brought (wire §4). It sends nothing and knows no schedule.
//
// A payment has at most one row that is owed or exhausted, and that is its newest: no status can be
// sent after one that overtook it. A lease marks a row whose request is under way; while it lasts,
// nothing else of that payment is claimed. What a claim costs never depends on what was delivered.

import { and, asc, count, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { type CallbackFacts, callbackQuery, type EventFacts, eventId } from '../domain/callback.ts';
import type { Outcome } from '../domain/retry.ts';
import type { Database, Orm, Tx } from './database.ts';
import { addresses, attempts, type CallbackState, callbacks, payments, stores } from './schema.ts';

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
}

/** A callback to be sent now, with all that sending it takes. */
export type Claimed = ReturnType<Statements['dueOfStore']['all']>[number];

/** What one HTTP try brought. */
export interface AttemptRecord {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly httpStatus: number | null;
  /** What went wrong, in words, without the URL's secrets. */
  readonly reason: string | null;
  /** The beginning of the answer, safe to show. */
  readonly body: string | null;
}

export interface CallbackFilter {
  readonly storeId?: number | undefined;
  readonly state?: CallbackState | undefined;
  /** Only older ones than this id: the next page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** A callback as it is listed, with the outcome of its last attempt. */
export type CallbackRow = ReturnType<typeof list>[number];

export interface Outbox {
  /** Owes the shop a callback from now on; what it was owed before of this payment is superseded. */
  enqueue(tx: Tx, now: number, callback: NewCallback): void;
  /** Leases what is due, fair between stores, in the order in which it should be served. */
  claim(tx: Tx, now: number, limits: ClaimLimits): Claimed[];
  /**
   * Records an attempt and ends its lease. A failed one is owed again at `nextAttemptAt`, exhausted
   * without one, and superseded when a newer callback of the payment came meanwhile.
   */
  record(
    tx: Tx,
    now: number,
    callbackId: number,
    attempt: AttemptRecord,
    nextAttemptAt: number | undefined,
  ): CallbackState;
  /** When something that no lease holds back is due, which may have passed; undefined for never. */
  nextDueAt(now: number): number | undefined;
  /** At a start: the leases of the process before mean nothing any more. */
  releaseLeases(tx: Tx): void;
  /** Newest first. */
  list(filter: CallbackFilter): CallbackRow[];
  /** How many wait, and how many were given up on. */
  counts(): { readonly owed: number; readonly exhausted: number };
}

export function createOutbox({ orm }: Pick<Database, 'orm'>): Outbox {
  const statements = prepare(orm);
  return {
    enqueue(_tx, now, callback) {
      statements.supersede.run({ paymentId: callback.paymentId, now });
      const facts = { eventId: eventId(callback), query: callbackQuery(callback) };
      statements.insert.run({ ...callback, ...facts, now });
    },
    claim(_tx, now, { limit, perStore, leaseMs, afterStoreId }) {
      const claimed: Claimed[] = [];
      for (const { storeId, underWay } of statements.storesDue.all({ now, afterStoreId })) {
        const room = Math.min(perStore - underWay, limit - claimed.length);
        if (room > 0) claimed.push(...statements.dueOfStore.all({ storeId, now, room }));
      }
      for (const { callbackId } of claimed) {
        statements.lease.run({ id: callbackId, leasedUntil: now + leaseMs });
      }
      return claimed;
    },
    record(_tx, now, callbackId, attempt, nextAttemptAt) {
      statements.insertAttempt.run({ callbackId, ...attempt });
      const before = statements.stateOf.get({ id: callbackId })?.state;
      const state = stateAfter(before, attempt.outcome, nextAttemptAt);
      statements.settle.run({
        id: callbackId,
        state,
        nextAttemptAt: nextAttemptAt ?? null,
        settledAt: state === 'owed' ? null : now,
      });
      return state;
    },
    nextDueAt: (now) => statements.nextDueAt.get({ now })?.at ?? undefined,
    releaseLeases: () => void statements.releaseLeases.run(),
    list: (filter) => list(orm, filter),
    counts: () => ({
      owed: statements.countOwed.get()?.count ?? 0,
      exhausted: statements.countExhausted.get()?.count ?? 0,
    }),
  };
}

function stateAfter(
  before: CallbackState | undefined,
  outcome: Outcome,
  nextAttemptAt: number | undefined,
): CallbackState {
  if (outcome === 'delivered') return 'delivered';
  if (before === 'superseded') return 'superseded';
  return nextAttemptAt === undefined ? 'exhausted' : 'owed';
}

const given = (name: string): SQL => sql`${sql.placeholder(name)}`;

// SQLite uses a partial index only where the condition stands as in the index, not as a parameter.
const isOwed = sql`${callbacks.state} = 'owed'`;
const isExhausted = sql`${callbacks.state} = 'exhausted'`;

/** No request of the payment is under way. */
const isFree = (paymentId: SQL): SQL =>
  sql`not exists (select 1 from callbacks f where f.payment_id = ${paymentId} and f.leased_until > ${given('now')})`;

type Statements = ReturnType<typeof prepare>;

const prepare = (orm: Orm) => ({ ...prepareWrites(orm), ...prepareReads(orm) });

function prepareWrites(orm: Orm) {
  const byId = eq(callbacks.id, sql.placeholder('id'));
  return {
    supersede: orm
      .update(callbacks)
      .set({ state: 'superseded', settledAt: given('now') })
      .where(
        sql`${callbacks.paymentId} = ${given('paymentId')} and ${callbacks.state} in ('owed', 'exhausted')`,
      )
      .prepare(),
    insert: orm
      .insert(callbacks)
      .values({
        paymentId: given('paymentId'),
        storeId: given('storeId'),
        version: sql`(select coalesce(max(version), 0) + 1 from callbacks
          where payment_id = ${given('paymentId')})`,
        eventId: given('eventId'),
        status: given('status'),
        query: given('query'),
        state: 'owed',
        nextAttemptAt: given('now'),
        createdAt: given('now'),
      })
      .prepare(),
    lease: orm
      .update(callbacks)
      .set({ leasedUntil: given('leasedUntil') })
      .where(byId)
      .prepare(),
    stateOf: orm.select({ state: callbacks.state }).from(callbacks).where(byId).prepare(),
    settle: orm
      .update(callbacks)
      .set({
        state: given('state'),
        attemptCount: sql`attempt_count + 1`,
        nextAttemptAt: sql`coalesce(${given('nextAttemptAt')}, next_attempt_at)`,
        settledAt: given('settledAt'),
        leasedUntil: null,
      })
      .where(byId)
      .prepare(),
    insertAttempt: orm
      .insert(attempts)
      .values({
        callbackId: given('callbackId'),
        startedAt: given('startedAt'),
        durationMs: given('durationMs'),
        outcome: given('outcome'),
        httpStatus: given('httpStatus'),
        reason: given('reason'),
        body: given('body'),
      })
      .prepare(),
    releaseLeases: orm
      .update(callbacks)
      .set({ leasedUntil: null })
      .where(sql`${callbacks.leasedUntil} is not null`)
      .prepare(),
  };
}

function prepareReads(orm: Orm) {
  const isCalled = sql`${stores.callbacksStopped} = 0`;
  return {
    /** Stores with something due, in turn, and how many requests each has under way. */
    storesDue: orm
      .select({
        storeId: stores.id,
        underWay: sql<number>`(select count(*) from callbacks b
          where b.store_id = stores.id and b.leased_until > ${given('now')})`,
      })
      .from(stores)
      .where(
        sql`${isCalled} and exists (select 1 from callbacks d where d.store_id = stores.id
          and d.state = 'owed' and d.next_attempt_at <= ${given('now')})`,
      )
      .orderBy(sql`stores.id <= ${given('afterStoreId')}`, asc(stores.id))
      .prepare(),
    dueOfStore: orm
      .select({
        callbackId: callbacks.id,
        paymentId: callbacks.paymentId,
        storeId: callbacks.storeId,
        eventId: callbacks.eventId,
        query: callbacks.query,
        /** How many attempts were recorded before this one. */
        attemptCount: callbacks.attemptCount,
        callbackUrl: stores.callbackUrl,
        webhookSecret: stores.webhookSecret,
        allowPrivate: stores.allowPrivateCallback,
        allowHttp: stores.allowHttpCallback,
      })
      .from(callbacks)
      .innerJoin(stores, eq(stores.id, callbacks.storeId))
      .where(
        sql`${callbacks.storeId} = ${given('storeId')} and ${isOwed}
          and ${callbacks.nextAttemptAt} <= ${given('now')} and ${isFree(sql`${callbacks.paymentId}`)}`,
      )
      .orderBy(asc(callbacks.nextAttemptAt), asc(callbacks.id))
      .limit(sql.placeholder('room'))
      .prepare(),
    nextDueAt: orm
      .select({
        at: sql<number | null>`min((select d.next_attempt_at from callbacks d
          where d.store_id = stores.id and d.state = 'owed' and ${isFree(sql`d.payment_id`)}
          order by d.next_attempt_at limit 1))`,
      })
      .from(stores)
      .where(isCalled)
      .prepare(),
    countOwed: orm.select({ count: count() }).from(callbacks).where(isOwed).prepare(),
    countExhausted: orm.select({ count: count() }).from(callbacks).where(isExhausted).prepare(),
  };
}

function list(orm: Orm, { storeId, state, beforeId, limit }: CallbackFilter) {
  // Open ones are few and have an index of their own; a plus keeps SQLite from the larger ones.
  const hold = sql.raw(state === 'owed' || state === 'exhausted' ? '+' : '');
  const ofLastAttempt = <T>(column: string): SQL<T | null> =>
    sql`(select a.${sql.raw(column)} from attempts a where a.callback_id = callbacks.id
      order by a.id desc limit 1)`;
  return orm
    .select({
      ...getTableColumns(callbacks),
      address: addresses.address,
      txid: payments.txid,
      valueSat: payments.valueSat,
      outcome: ofLastAttempt<Outcome>('outcome'),
      reason: ofLastAttempt<string>('reason'),
    })
    .from(callbacks)
    .innerJoin(payments, eq(payments.id, callbacks.paymentId))
    .innerJoin(addresses, eq(addresses.id, payments.addressId))
    .where(
      and(
        state === undefined ? undefined : stateIs(state),
        storeId === undefined ? undefined : sql`${hold}${callbacks.storeId} = ${storeId}`,
        beforeId === undefined ? undefined : sql`${hold}${callbacks.id} < ${beforeId}`,
      ),
    )
    .orderBy(sql`${hold}${callbacks.id} desc`)
    .limit(limit)
    .all();
}

const stateIs = (state: CallbackState): SQL =>
  state === 'owed' ? isOwed : state === 'exhausted' ? isExhausted : eq(callbacks.state, state);
