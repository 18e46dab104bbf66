// Claims: which callbacks are sent now. A claim is a lease, and an address has at most one. The
// cost of a claim does not depend on how many callbacks were delivered.

import { asc, eq, type SQL, sql } from 'drizzle-orm';
import type { MaxWaits } from '../../domain/retry.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { callbacks, stores } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import { isCalled, isOwed, stands } from './callback-conditions.ts';

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
  /**
   * How many of those wanted may go to a callback URL, where so many of the store are under way.
   */
  readonly allow?: (callbackUrl: string, wanted: number, underWay: number) => number;
}

/** A callback to be sent now, with all that sending it takes. */
export type ClaimedCallback = NonNullable<ReturnType<Statements['dueOfStore']['get']>>;

/** Which row was claimed, and where its schedule stood then. */
export type ClaimedRow = Pick<ClaimedCallback, 'callbackId' | 'storeId' | 'step' | 'dueAt'>;

export interface Claims {
  /** Leases what is due, fair between stores, in the order in which it should be served. */
  claim(tx: Tx, now: number, limits: ClaimLimits): ClaimedCallback[];
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
   * Corrects times from a clock that was ahead. A callback that waits longer than its step allows
   * is due now, and leases that are too long end.
   */
  recall(tx: Tx, now: number, maxWaits: MaxWaits, leaseMs: number): void;
}

export function createClaims(orm: Orm): Claims {
  const statements = prepare(orm);
  return {
    claim(_tx, now, { limit, perStore, leaseMs, afterStoreId, onWire, allow }) {
      const claimed: ClaimedCallback[] = [];
      for (const store of statements.storesDue.all({ now, afterStoreId })) {
        const { storeId, callbackUrl } = store;
        const flying = onWire?.(storeId) ?? [];
        const underWay = Math.max(store.underWay, flying.length);
        const wanted = Math.min(perStore - underWay, limit - claimed.length);
        const room = wanted > 0 ? (allow?.(callbackUrl, wanted, underWay) ?? wanted) : 0;
        const values = { now, storeId, onWire: JSON.stringify(flying) };
        for (let taken = 0; taken < room; taken += 1) {
          const callback = statements.dueOfStore.get(values);
          if (callback === undefined) break;
          statements.lease.run({ id: callback.callbackId, leasedUntil: now + leaseMs });
          claimed.push(callback);
        }
      }
      return claimed;
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
      statements.recall.run({ now, maxWaits: JSON.stringify(retry), last });
      statements.recallConfirmations.run({ now, latest: now + confirm });
      statements.endLeases.run({ latest: now + leaseMs });
    },
  };
}

type Statements = ReturnType<typeof prepare>;

const prepare = (orm: Orm) => ({
  lease: orm
    .update(callbacks)
    .set({ leasedUntil: placeholder('leasedUntil') })
    .where(eq(callbacks.id, placeholder('id')))
    .prepare(),
  ...prepareRecall(orm),
  ...prepareDue(orm),
});

/** What ends leases and waits otherwise than an attempt does. */
const prepareRecall = (orm: Orm) => ({
  releaseLeases: orm
    .update(callbacks)
    .set({ leasedUntil: null })
    .where(sql`${callbacks.leasedUntil} is not null`)
    .prepare(),
  recall: orm
    .update(callbacks)
    .set({ nextAttemptAt: placeholder('now') })
    .where(
      sql`${isOwed} and ${callbacks.nextAttemptAt} > ${placeholder('now')}
        and ${callbacks.nextAttemptAt} - ${placeholder('now')}
          > json_extract(${placeholder('maxWaits')}, printf('$[%d]', min(${callbacks.step}, ${placeholder('last')})))`,
    )
    .prepare(),
  recallConfirmations: orm
    .update(callbacks)
    .set({ confirmAt: placeholder('now') })
    .where(sql`${callbacks.dueAt} > ${placeholder('latest')} and ${callbacks.state} = 'delivered'`)
    .prepare(),
  endLeases: orm
    .update(callbacks)
    .set({ leasedUntil: null })
    .where(sql`${callbacks.leasedUntil} > ${placeholder('latest')}`)
    .prepare(),
});

/**
 * No request of the address is under way. The list is made once a statement.
 * @param ofStore the store whose addresses are asked for; of all without it
 */
const isFree = (addressId: SQL, ofStore: SQL = sql``): SQL =>
  sql`${addressId} not in (select f.address_id from callbacks f
    where f.leased_until > ${placeholder('now')}${ofStore}
    union all select value from json_each(${placeholder('onWire')}))`;

function prepareDue(orm: Orm) {
  return {
    /** Stores with something due, in turn, and how many requests each has under way. */
    storesDue: orm
      .select({
        storeId: stores.id,
        callbackUrl: stores.callbackUrl,
        underWay: sql<number>`(select count(*) from callbacks b
          where b.store_id = stores.id and b.leased_until > ${placeholder('now')})`,
      })
      .from(stores)
      .where(
        sql`${isCalled} and exists (select 1 from callbacks d where d.store_id = stores.id
          and d.due_at <= ${placeholder('now')} and ${stands('d')})`,
      )
      .orderBy(sql`stores.id <= ${placeholder('afterStoreId')}`, asc(stores.id))
      .prepare(),
    /**
     * The next callback of a store: of the address that waits longest the event that came first.
     */
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
            (select d.address_id from callbacks d where d.store_id = ${placeholder('storeId')}
              and d.due_at <= ${placeholder('now')} and ${stands('d')}
              and ${isFree(sql`d.address_id`, sql` and f.store_id = ${placeholder('storeId')}`)}
              order by d.due_at limit 1)
          and c.due_at <= ${placeholder('now')} and c.store_id = ${placeholder('storeId')} and ${stands('c')}
          order by c.id limit 1)`,
      )
      .prepare(),
    /** For each store the first callback that no lease blocks. */
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
