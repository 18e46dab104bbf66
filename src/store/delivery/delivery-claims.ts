// Claims: which deliveries of a channel are sent now. A claim is a lease, and an address has at
// most one in each channel. The cost of a claim does not depend on how many were delivered.

import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import type { MaxWaits } from '../../domain/delivery/retry.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { prepared } from '../db/prepared.ts';
import type { Tx } from '../db/writer.ts';
import { type Channel, deliveries, isOf } from '../schema/delivery-schema.ts';
import { stores } from '../schema/schema.ts';

/** What is particular to a channel, as SQL. */
export interface ChannelTerms {
  readonly channel: Channel;
  /** The URL of a store that receives them. */
  readonly url: SQL<string>;
  /** Whether a store receives them. */
  readonly isReceiving: SQL;
  /** Whether a delivery may be sent now, although it is due. */
  readonly stands: (alias: 'deliveries' | 'c' | 'd') => SQL;
  /** Whether a newer delivery takes the place of one. */
  readonly isReplaced: SQL;
  /**
   * How many attempts a process counts that ended before it recorded its attempt. The shop may have
   * received the delivery.
   */
  readonly lostAttempts: 0 | 1;
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

/** A delivery to be sent now, with all that sending it takes. */
export type ClaimedDelivery = NonNullable<ReturnType<ReturnType<typeof prepareRow>['get']>>;

/** Reads a delivery, joined with its store, by an expression for its id. */
const prepareRow = (orm: Orm, { channel, url }: ChannelTerms, id: SQL) =>
  prepared(() =>
    orm
      .select({
        id: deliveries.id,
        storeId: deliveries.storeId,
        addressId: deliveries.addressId,
        eventId: deliveries.eventId,
        content: deliveries.content,
        type: deliveries.type,
        // A delivered callback is sent again to be confirmed.
        state: deliveries.state,
        // How many attempts were made before this one.
        attemptCount: deliveries.attemptCount,
        step: deliveries.step,
        dueAt: sql<number>`${deliveries.dueAt}`,
        createdAt: deliveries.createdAt,
        url,
        callbackCa: stores.callbackCa,
        webhookSecret: stores.webhookSecret,
        previousWebhookSecret: stores.previousWebhookSecret,
        previousSecretUntil: stores.previousSecretUntil,
        allowPrivateCallback: stores.allowPrivateCallback,
        allowHttpCallback: stores.allowHttpCallback,
      })
      .from(deliveries)
      .innerJoin(stores, eq(stores.id, deliveries.storeId))
      .where(sql`${isOf(channel)} and ${deliveries.id} = ${id}`),
  );

export interface Claims {
  /** Leases what is due, fair between stores, in the order in which it should be served. */
  claim(tx: Tx, now: number, limits: ClaimLimits): ClaimedDelivery[];
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

export function createClaims(orm: Orm, terms: ChannelTerms): Claims {
  const statements = prepare(orm, terms);
  return {
    claim(_tx, now, { limit, perStore, leaseMs, afterStoreId, onWire, allow }) {
      const claimed: ClaimedDelivery[] = [];
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
    releaseLeases() {
      statements.supersedeLeased.run();
      statements.releaseLeases.run();
    },
    recall(_tx, now, { retryMs, confirmMs }, leaseMs) {
      const last = retryMs.length - 1;
      statements.recall.run({ now, maxWaits: JSON.stringify(retryMs), last });
      statements.recallConfirmations.run({ now, latest: now + confirmMs });
      statements.endLeases.run({ latest: now + leaseMs });
    },
  };
}

const prepare = (orm: Orm, terms: ChannelTerms) => ({
  ...prepareLeases(orm, terms),
  ...prepareDue(orm, terms),
});

/** What begins and ends leases, and ends waits otherwise than an attempt does. */
function prepareLeases(orm: Orm, { channel, isReplaced, lostAttempts }: ChannelTerms) {
  const isOfChannel = isOf(channel);
  return {
    lease: prepared(() =>
      orm
        .update(deliveries)
        .set({ leasedUntil: placeholder('leasedUntil') })
        .where(and(isOfChannel, eq(deliveries.id, placeholder('id')))),
    ),
    /** In flight when the process ended: the newer one did not supersede it. */
    supersedeLeased: prepared(() =>
      orm
        .update(deliveries)
        .set({ state: 'superseded', settledAt: sql`${deliveries.leasedUntil}` })
        .where(
          sql`${isOfChannel} and ${deliveries.leasedUntil} is not null
          and ${deliveries.state} = 'owed' and ${isReplaced}`,
        ),
    ),
    releaseLeases: prepared(() =>
      orm
        .update(deliveries)
        .set({ leasedUntil: null, attemptCount: sql.raw(`attempt_count + ${lostAttempts}`) })
        .where(sql`${isOfChannel} and ${deliveries.leasedUntil} is not null`),
    ),
    recall: prepared(() =>
      orm
        .update(deliveries)
        .set({ nextAttemptAt: placeholder('now') })
        .where(
          sql`${isOfChannel} and ${deliveries.state} = 'owed'
          and ${deliveries.nextAttemptAt} > ${placeholder('now')}
          and ${deliveries.nextAttemptAt} - ${placeholder('now')} > json_extract(${placeholder('maxWaits')},
            printf('$[%d]', min(${deliveries.step}, ${placeholder('last')})))`,
        ),
    ),
    recallConfirmations: prepared(() =>
      orm
        .update(deliveries)
        .set({ confirmAt: placeholder('now') })
        .where(
          sql`${isOfChannel} and ${deliveries.dueAt} > ${placeholder('latest')}
          and ${deliveries.state} = 'delivered'`,
        ),
    ),
    endLeases: prepared(() =>
      orm
        .update(deliveries)
        .set({ leasedUntil: null })
        .where(sql`${isOfChannel} and ${deliveries.leasedUntil} > ${placeholder('latest')}`),
    ),
  };
}

function prepareDue(orm: Orm, terms: ChannelTerms) {
  const { channel, url, isReceiving, stands } = terms;
  const of = (alias: string) => isOf(channel, alias);
  /**
   * No request of the address is under way. The list is made once a statement.
   * @param ofStore the store whose addresses are asked for; of all without it
   */
  const isFree = (addressId: SQL, ofStore: SQL = sql``): SQL =>
    sql`${addressId} not in (select f.address_id from deliveries f
      where ${of('f')} and f.leased_until > ${placeholder('now')}${ofStore}
      union all select value from json_each(${placeholder('onWire')}))`;
  return {
    /** Stores with something due, in turn, and how many requests each has under way. */
    storesDue: prepared(() =>
      orm
        .select({
          storeId: stores.id,
          url,
          underWay: sql<number>`(select count(*) from deliveries b
          where ${of('b')} and b.store_id = stores.id and b.leased_until > ${placeholder('now')})`,
        })
        .from(stores)
        .where(
          sql`${isReceiving} and exists (select 1 from deliveries d where ${of('d')} and d.store_id = stores.id
          and d.due_at <= ${placeholder('now')} and ${stands('d')})`,
        )
        .orderBy(sql`stores.id <= ${placeholder('afterStoreId')}`, asc(stores.id)),
    ),
    /**
     * The next one of a store: of the address that waits longest the event that came first. One
     * that was never sent precedes a newer one, although a clock that was ahead gave it a later
     * time. The plus keeps SQLite from the index of the store, by which it would walk all that is
     * due.
     */
    dueOfStore: prepareRow(
      orm,
      terms,
      sql`(select c.id from deliveries c where ${of('c')} and c.address_id =
            (select d.address_id from deliveries d where ${of('d')} and d.store_id = ${placeholder('storeId')}
              and d.due_at <= ${placeholder('now')} and ${stands('d')}
              and ${isFree(sql`d.address_id`, sql` and f.store_id = ${placeholder('storeId')}`)}
              order by d.due_at limit 1)
          and c.due_at is not null and (c.due_at <= ${placeholder('now')} or c.step = 0)
          and +c.store_id = ${placeholder('storeId')} and ${stands('c')}
          order by c.id limit 1)`,
    ),
    /** For each store the first one that no lease blocks. */
    nextDue: prepared(() =>
      orm
        .select({
          url,
          at: sql<number | null>`(select d.due_at from deliveries d
          where ${of('d')} and d.store_id = stores.id and d.due_at is not null and ${isFree(sql`d.address_id`)}
            and ${stands('d')}
          order by d.due_at limit 1)`,
        })
        .from(stores)
        .where(isReceiving),
    ),
  };
}
