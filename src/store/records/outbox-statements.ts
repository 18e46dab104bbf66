// The SQL of the outbox, prepared once. What a statement costs never depends on what was delivered.

import { asc, desc, eq, min, type SQL, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { given } from '../db/placeholder.ts';
import { attempts, callbacks, stores } from '../db/schema.ts';

// SQLite uses a partial index only where the condition stands as in the index, not as a parameter.
export const isOwed = sql`${callbacks.state} = 'owed'`;
export const isExhausted = sql`${callbacks.state} = 'exhausted'`;

const isCalled = sql`${stores.callbacksStopped} = 0`;

/** Of a store that is called: nobody can do anything for the others. Not IN, which no larger index serves. */
const isOfCalled = (callback: 'callbacks' | 'c'): SQL =>
  sql`${sql.raw(callback)}.store_id not in (select id from stores where callbacks_stopped = 1)`;

/**
 * What tells of a block waits while that is not on our chain: the reorganisation may take it back. Nor is a
 * delivered one sent again while its payment is gone.
 */
export const stands = (callback: 'callbacks' | 'c' | 'd'): SQL => {
  const of = sql.raw(callback);
  return sql`(${of}.status < 1 or exists (select 1 from payments p
      join headers h on h.hash = p.block_hash where p.id = ${of}.payment_id and h.on_best = 1))
    and (${of}.state <> 'delivered' or ${of}.status = -1 or exists (select 1 from payments p
      where p.id = ${of}.payment_id and p.state <> 'dropped'))`;
};

/**
 * No request of the address is under way. The list is made once a statement.
 * @param ofStore the store whose addresses are asked for; of all without it
 */
const isFree = (addressId: SQL, ofStore: SQL = sql``): SQL =>
  sql`${addressId} not in (select f.address_id from callbacks f
    where f.leased_until > ${given('now')}${ofStore}
    union all select value from json_each(${given('onWire')}))`;

export type OutboxStatements = ReturnType<typeof prepareOutbox>;

export const prepareOutbox = (orm: Orm) => ({
  ...prepareWrites(orm),
  ...prepareTurns(orm),
  ...prepareRecall(orm),
  ...prepareReads(orm),
  ...prepareCounts(orm),
});

function prepareWrites(orm: Orm) {
  const byId = eq(callbacks.id, given('id'));
  return {
    insert: orm
      .insert(callbacks)
      .values({
        paymentId: given('paymentId'),
        addressId: sql`(select address_id from payments where id = ${given('paymentId')})`,
        storeId: given('storeId'),
        version: given('version'),
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
        state: given('state'),
        attemptCount: sql`attempt_count + 1`,
        step: given('step'),
        nextAttemptAt: sql`coalesce(${given('nextAttemptAt')}, next_attempt_at)`,
        confirmAt: given('confirmAt'),
        // A delivered one was acknowledged when it first was.
        settledAt: sql`case state when 'delivered' then settled_at else ${given('settledAt')} end`,
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
        phases: given('phases'),
        address: given('address'),
        outcome: given('outcome'),
        httpStatus: given('httpStatus'),
        reason: given('reason'),
        body: given('body'),
        doubt: given('doubt'),
      })
      .prepare(),
    /** Rows are in order of time: only the first ones are looked at, by their key (`id > 0`). */
    foldAttempts: orm
      .delete(attempts)
      .where(
        sql`${attempts.id} in (select id from attempts where id > 0 order by id limit ${given('limit')})
          and ${attempts.startedAt} < ${given('before')}`,
      )
      .prepare(),
  };
}

/** What ends leases and waits otherwise than an attempt does. */
const prepareRecall = (orm: Orm) => ({
  releaseLeases: orm
    .update(callbacks)
    .set({ leasedUntil: null })
    .where(sql`${callbacks.leasedUntil} is not null`)
    .prepare(),
  recall: orm
    .update(callbacks)
    .set({ nextAttemptAt: given('now') })
    .where(
      sql`${isOwed} and ${callbacks.nextAttemptAt} > ${given('now')}
        and ${callbacks.nextAttemptAt} - ${given('now')}
          > json_extract(${given('longestWaits')}, printf('$[%d]', min(${callbacks.step}, ${given('last')})))`,
    )
    .prepare(),
  recallConfirmations: orm
    .update(callbacks)
    .set({ confirmAt: given('now') })
    .where(sql`${callbacks.dueAt} > ${given('latest')} and ${callbacks.state} = 'delivered'`)
    .prepare(),
  endLeases: orm
    .update(callbacks)
    .set({ leasedUntil: null })
    .where(sql`${callbacks.leasedUntil} > ${given('latest')}`)
    .prepare(),
});

/** What becomes of a payment's callback by another one, or by what became of the payment. */
function prepareTurns(orm: Orm) {
  const ofPayment = sql`${callbacks.paymentId} = ${given('paymentId')}`;
  return {
    supersede: orm
      .update(callbacks)
      .set({
        state: sql`case state when 'delivered' then state else 'superseded' end`,
        settledAt: sql`case state when 'delivered' then settled_at else ${given('now')} end`,
        confirmAt: null,
      })
      .where(
        sql`${ofPayment} and (${callbacks.state} in ('owed', 'exhausted', 'held')
          or ${callbacks.confirmAt} is not null)`,
      )
      .prepare(),
    hold: orm
      .update(callbacks)
      .set({ state: 'held', settledAt: null })
      .where(sql`${ofPayment} and ${callbacks.state} in ('owed', 'exhausted')`)
      .prepare(),
    release: orm
      .update(callbacks)
      .set({ state: 'owed' })
      .where(sql`${ofPayment} and ${callbacks.state} = 'held'`)
      .prepare(),
  };
}

/** The newest callback of a payment, the only one that is told or sent again. */
export const prepareNewest = (orm: Orm) =>
  orm
    .select({
      id: callbacks.id,
      version: callbacks.version,
      state: callbacks.state,
      confirmAt: callbacks.confirmAt,
    })
    .from(callbacks)
    .where(eq(callbacks.paymentId, given('paymentId')))
    .orderBy(desc(callbacks.version))
    .prepare();

function prepareReads(orm: Orm) {
  return {
    /** Stores with something due, in turn, and how many requests each has under way. */
    storesDue: orm
      .select({
        storeId: stores.id,
        callbackUrl: stores.callbackUrl,
        underWay: sql<number>`(select count(*) from callbacks b
          where b.store_id = stores.id and b.leased_until > ${given('now')})`,
      })
      .from(stores)
      .where(
        sql`${isCalled} and exists (select 1 from callbacks d where d.store_id = stores.id
          and d.due_at <= ${given('now')} and ${stands('d')})`,
      )
      .orderBy(sql`stores.id <= ${given('afterStoreId')}`, asc(stores.id))
      .prepare(),
    /** The next callback of a store: of the address that waits longest the event that came first. */
    dueOfStore: orm
      .select({
        callbackId: callbacks.id,
        paymentId: callbacks.paymentId,
        addressId: sql<number>`${callbacks.addressId}`,
        storeId: callbacks.storeId,
        eventId: callbacks.eventId,
        query: callbacks.query,
        /** A delivered one is sent again to be confirmed. */
        state: callbacks.state,
        /** How many attempts were made before this one. */
        attemptCount: callbacks.attemptCount,
        /** How many of them were charged to the schedule. */
        step: callbacks.step,
        /** Since when it waits. */
        dueAt: sql<number>`${callbacks.dueAt}`,
        createdAt: callbacks.createdAt,
        callbackUrl: stores.callbackUrl,
        callbackCa: stores.callbackCa,
        webhookSecret: stores.webhookSecret,
        previousWebhookSecret: stores.previousWebhookSecret,
        previousSecretUntil: stores.previousSecretUntil,
        allowPrivateCallback: stores.allowPrivateCallback,
        allowHttpCallback: stores.allowHttpCallback,
      })
      .from(callbacks)
      .innerJoin(stores, eq(stores.id, callbacks.storeId))
      .where(
        sql`${callbacks.id} = (select c.id from callbacks c where c.address_id =
            (select d.address_id from callbacks d where d.store_id = ${given('storeId')}
              and d.due_at <= ${given('now')} and ${stands('d')}
              and ${isFree(sql`d.address_id`, sql` and f.store_id = ${given('storeId')}`)}
              order by d.due_at limit 1)
          and c.due_at <= ${given('now')} and c.store_id = ${given('storeId')} and ${stands('c')}
          order by c.id limit 1)`,
      )
      .prepare(),
    newestOfPayment: prepareNewest(orm),
    /** Of each store the first that no lease holds back. */
    nextDue: orm
      .select({
        callbackUrl: stores.callbackUrl,
        at: sql<number | null>`(select d.due_at from callbacks d
          where d.store_id = stores.id and d.due_at is not null and ${isFree(sql`d.address_id`)}
            and ${stands('d')}
          order by d.due_at limit 1)`,
      })
      .from(stores)
      .where(isCalled)
      .prepare(),
  };
}

function prepareCounts(orm: Orm) {
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
          where d.store_id = stores.id and d.state = 'owed' limit ${given('most')}))`,
      })
      .from(stores)
      .where(isCalled)
      .orderBy(asc(stores.id))
      .prepare(),
    depths: orm
      .select({
        owed: sql<number>`(select count(*) from (select 1 from callbacks c
          where c.state = 'owed' and ${isOfCalled('c')} limit ${given('most')}))`,
        exhausted: sql<number>`(select count(*) from (select 1 from callbacks c
          where c.state = 'exhausted' and ${isOfCalled('c')} limit ${given('most')}))`,
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
