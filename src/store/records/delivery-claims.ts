// Claims: which deliveries of a queue are sent now, callbacks or events. A claim is a lease, and an
// address has at most one in each queue. The cost of a claim does not depend on how many were
// delivered.

import { asc, eq, type SQL, sql } from 'drizzle-orm';
import type { MaxWaits } from '../../domain/retry.ts';
import type { events } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { type callbacks, stores } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';

/** A table of deliveries. Both have the same columns, as far as claims use them. */
export interface QueueTable<T extends ClaimedDelivery> {
  readonly name: 'callbacks' | 'events';
  readonly table: typeof callbacks | typeof events;
  /** The URL of a store that receives them. */
  readonly url: SQL<string>;
  /** Whether a store receives them. */
  readonly isReceiving: SQL;
  /** Whether a row may be sent now, although it is due. */
  readonly stands: (alias: 'c' | 'd') => SQL;
  /** Reads a row, joined with its store, by an expression for its id. */
  readonly prepareRow: (
    orm: Orm,
    id: SQL,
  ) => { get(values: Record<string, unknown>): T | undefined };
}

export interface ClaimLimits {
  /** How many deliveries at most. */
  readonly limit: number;
  /** How many of one store may be under way. */
  readonly perStore: number;
  readonly leaseMs: number;
  /** The store that was served last: the turn goes on behind it. */
  readonly afterStoreId: number;
  /** Addresses of a store whose request is on the wire, where a lease may have ended before it. */
  readonly onWire?: (storeId: number) => readonly number[];
  /** How many of those wanted may go to a URL, where so many of the store are under way. */
  readonly allow?: (url: string, wanted: number, underWay: number) => number;
}

/** Which row was claimed, and where its schedule stood then. */
export interface ClaimedRow {
  readonly id: number;
  readonly storeId: number;
  /** How many attempts were charged to the schedule. */
  readonly step: number;
  /** Since when it waits. */
  readonly dueAt: number;
}

/** A delivery to be sent now. */
export interface ClaimedDelivery extends ClaimedRow {
  readonly addressId: number;
  readonly eventId: string;
  /** A delivered callback is sent again to be confirmed. */
  readonly state: string;
  /** How many attempts were made before this one. */
  readonly attemptCount: number;
  readonly createdAt: number;
  readonly url: string;
}

/** What sending takes of a store. */
export const senderColumns = {
  callbackCa: stores.callbackCa,
  webhookSecret: stores.webhookSecret,
  previousWebhookSecret: stores.previousWebhookSecret,
  previousSecretUntil: stores.previousSecretUntil,
  allowPrivateCallback: stores.allowPrivateCallback,
  allowHttpCallback: stores.allowHttpCallback,
};

export interface Claims<T extends ClaimedDelivery> {
  /** Leases what is due, fair between stores, in the order in which it should be served. */
  claim(tx: Tx, now: number, limits: ClaimLimits): T[];
  /**
   * When something is due that neither a lease nor `isHeld` (by URL) holds back, which may have
   * passed; undefined for never.
   */
  nextDueAt(
    now: number,
    isHeld?: (url: string) => boolean,
    onWire?: readonly number[],
  ): number | undefined;
  /** At a start: the leases of the process before mean nothing any more. */
  releaseLeases(tx: Tx): void;
  /**
   * Corrects times from a clock that was ahead. A delivery that waits longer than its step allows
   * is due now, and leases that are too long end.
   */
  recall(tx: Tx, now: number, maxWaits: MaxWaits, leaseMs: number): void;
}

export function createClaims<T extends ClaimedDelivery>(orm: Orm, queue: QueueTable<T>): Claims<T> {
  const statements = prepare(orm, queue);
  return {
    claim(_tx, now, { limit, perStore, leaseMs, afterStoreId, onWire, allow }) {
      const claimed: T[] = [];
      for (const store of statements.storesDue.all({ now, afterStoreId })) {
        const { storeId, url } = store;
        const flying = onWire?.(storeId) ?? [];
        const underWay = Math.max(store.underWay, flying.length);
        const wanted = Math.min(perStore - underWay, limit - claimed.length);
        const room = wanted > 0 ? (allow?.(url, wanted, underWay) ?? wanted) : 0;
        const values = { now, storeId, onWire: JSON.stringify(flying) };
        for (let taken = 0; taken < room; taken += 1) {
          const delivery = statements.dueOfStore.get(values);
          if (delivery === undefined) break;
          statements.lease.run({ id: delivery.id, leasedUntil: now + leaseMs });
          claimed.push(delivery);
        }
      }
      return claimed;
    },
    nextDueAt(now, isHeld, onWire = []) {
      const free = statements.nextDue
        .all({ now, onWire: JSON.stringify(onWire) })
        .flatMap(({ at, url }) => (at === null || isHeld?.(url) ? [] : [at]));
      return free.length === 0 ? undefined : Math.min(...free);
    },
    releaseLeases: () => void statements.releaseLeases.run(),
    recall(_tx, now, { retryMs }, leaseMs) {
      const last = retryMs.length - 1;
      statements.recall.run({ now, maxWaits: JSON.stringify(retryMs), last });
      statements.endLeases.run({ latest: now + leaseMs });
    },
  };
}

const prepare = <T extends ClaimedDelivery>(orm: Orm, queue: QueueTable<T>) => ({
  ...prepareLeases(orm, queue),
  ...prepareDue(orm, queue),
});

/** What begins and ends leases, and ends waits otherwise than an attempt does. */
const prepareLeases = <T extends ClaimedDelivery>(orm: Orm, { table }: QueueTable<T>) => ({
  lease: orm
    .update(table)
    .set({ leasedUntil: placeholder('leasedUntil') })
    .where(eq(table.id, placeholder('id')))
    .prepare(),
  releaseLeases: orm
    .update(table)
    .set({ leasedUntil: null })
    .where(sql`${table.leasedUntil} is not null`)
    .prepare(),
  recall: orm
    .update(table)
    .set({ nextAttemptAt: placeholder('now') })
    .where(
      sql`${table.state} = 'owed' and ${table.nextAttemptAt} > ${placeholder('now')}
        and ${table.nextAttemptAt} - ${placeholder('now')}
          > json_extract(${placeholder('maxWaits')}, printf('$[%d]', min(${table.step}, ${placeholder('last')})))`,
    )
    .prepare(),
  endLeases: orm
    .update(table)
    .set({ leasedUntil: null })
    .where(sql`${table.leasedUntil} > ${placeholder('latest')}`)
    .prepare(),
});

function prepareDue<T extends ClaimedDelivery>(
  orm: Orm,
  { name, url, isReceiving, stands, prepareRow }: QueueTable<T>,
) {
  const queue = sql.raw(name);
  /**
   * No request of the address is under way. The list is made once a statement.
   * @param ofStore the store whose addresses are asked for; of all without it
   */
  const isFree = (addressId: SQL, ofStore: SQL = sql``): SQL =>
    sql`${addressId} not in (select f.address_id from ${queue} f
      where f.leased_until > ${placeholder('now')}${ofStore}
      union all select value from json_each(${placeholder('onWire')}))`;
  return {
    /** Stores with something due, in turn, and how many requests each has under way. */
    storesDue: orm
      .select({
        storeId: stores.id,
        url,
        underWay: sql<number>`(select count(*) from ${queue} b
          where b.store_id = stores.id and b.leased_until > ${placeholder('now')})`,
      })
      .from(stores)
      .where(
        sql`${isReceiving} and exists (select 1 from ${queue} d where d.store_id = stores.id
          and d.due_at <= ${placeholder('now')} and ${stands('d')})`,
      )
      .orderBy(sql`stores.id <= ${placeholder('afterStoreId')}`, asc(stores.id))
      .prepare(),
    /**
     * The next one of a store: of the address that waits longest the event that came first. One
     * that was never sent precedes a newer one, although a clock that was ahead gave it a later
     * time. The plus keeps SQLite from the index of the store, by which it would walk all that is
     * due.
     */
    dueOfStore: prepareRow(
      orm,
      sql`(select c.id from ${queue} c where c.address_id =
            (select d.address_id from ${queue} d where d.store_id = ${placeholder('storeId')}
              and d.due_at <= ${placeholder('now')} and ${stands('d')}
              and ${isFree(sql`d.address_id`, sql` and f.store_id = ${placeholder('storeId')}`)}
              order by d.due_at limit 1)
          and c.due_at is not null and (c.due_at <= ${placeholder('now')} or c.step = 0)
          and +c.store_id = ${placeholder('storeId')} and ${stands('c')}
          order by c.id limit 1)`,
    ),
    /** For each store the first one that no lease blocks. */
    nextDue: orm
      .select({
        url,
        at: sql<number | null>`(select d.due_at from ${queue} d
          where d.store_id = stores.id and d.due_at is not null and ${isFree(sql`d.address_id`)}
            and ${stands('d')}
          order by d.due_at limit 1)`,
      })
      .from(stores)
      .where(isReceiving)
      .prepare(),
  };
}
