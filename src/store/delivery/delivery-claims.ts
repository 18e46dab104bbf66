// Claims: which deliveries of a channel are sent now. A claim is a lease, and an address has at
// most one in each channel. The cost of a claim does not depend on how many were delivered.

import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { MaxWaits } from '../../domain/delivery/retry.ts';
import { columnsOf, equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { type Channel, deliveries, isOf } from '../schema/delivery-schema.ts';
import { orders } from '../schema/order-schema.ts';
import { stores, webhooks } from '../schema/schema.ts';

export interface ChannelTerms {
  readonly channel: Channel;
  /** The tables of its receivers, one row for each: stores, or their webhooks. */
  readonly receivers: SQL;
  /** The number of a receiver, as `deliveries.receiver_id` has it. */
  readonly receiverId: SQL<number>;
  readonly url: SQL<string>;
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
  readonly limit: number;
  readonly perReceiver: number;
  readonly leaseMs: number;
  /** The receiver that was served last: the turn goes on behind it. */
  readonly afterReceiverId: number;
  /** Addresses whose request to a receiver is on the wire, although their lease may have ended. */
  readonly onWire?: (receiverId: number) => readonly number[];
  /** How many of those wanted may go to a URL, where so many of the receiver are under way. */
  readonly allow?: (url: string, wanted: number, underWay: number) => number;
}

/** Which row was claimed, and where its schedule stood then. */
export interface ClaimedRow {
  readonly id: number;
  readonly storeId: number;
  readonly receiverId: number;
  readonly step: number;
  /** Since when it waits. */
  readonly dueAt: number;
}

export type ClaimedDelivery = NonNullable<ReturnType<ReturnType<typeof prepareRow>['get']>>;

const prepareRow = (orm: Orm, { channel, url }: ChannelTerms, id: SQL) =>
  prepared(() =>
    orm
      .select({
        ...columnsOf(deliveries, 'id', 'storeId'),
        receiverId: sql<number>`${deliveries.receiverId}`,
        ...columnsOf(deliveries, 'addressId', 'eventId', 'content', 'type'),
        // A delivered callback is sent again to be confirmed.
        ...columnsOf(deliveries, 'state', 'attemptCount', 'step'),
        dueAt: sql<number>`${deliveries.dueAt}`,
        createdAt: deliveries.createdAt,
        url,
        webhook: { publicId: webhooks.publicId, format: webhooks.format, secret: webhooks.secret },
        // As SQL, because drizzle makes null of a group whose columns are all null.
        invoice: {
          invoiceMetadata: sql<string | null>`${orders.invoiceMetadata}`,
          metadata: sql<string>`coalesce(${orders.metadata}, '{}')`,
          reference: sql<string | null>`${orders.reference}`,
        },
        ...columnsOf(stores, 'callbackCa', 'webhookSecret', 'previousWebhookSecret'),
        ...columnsOf(stores, 'previousSecretUntil', 'allowPrivateCallback', 'allowHttpCallback'),
      })
      .from(deliveries)
      .innerJoin(stores, eq(stores.id, deliveries.storeId))
      .leftJoin(webhooks, eq(webhooks.id, deliveries.webhookId))
      .leftJoin(orders, eq(orders.id, deliveries.orderId))
      .where(sql`${isOf(channel)} and ${deliveries.id} = ${id}`),
  );

export type Claims = ReturnType<typeof createClaims>;

export function createClaims(orm: Orm, terms: ChannelTerms) {
  const statements = prepare(orm, terms);
  return {
    /** Leases what is due, fair between receivers, in the order in which it should be served. */
    claim(
      _tx: Tx,
      now: number,
      { limit, perReceiver, leaseMs, afterReceiverId, onWire, allow }: ClaimLimits,
    ): ClaimedDelivery[] {
      const claimed: ClaimedDelivery[] = [];
      for (const receiver of statements.receiversDue.all({ now, afterReceiverId })) {
        const { receiverId, url } = receiver;
        const flying = onWire?.(receiverId) ?? [];
        const underWay = Math.max(receiver.underWay, flying.length);
        const wanted = Math.min(perReceiver - underWay, limit - claimed.length);
        const room = wanted > 0 ? (allow?.(url, wanted, underWay) ?? wanted) : 0;
        const values = { now, receiverId, onWire: JSON.stringify(flying) };
        for (let taken = 0; taken < room; taken += 1) {
          const delivery = statements.dueOfReceiver.get(values);
          if (delivery === undefined) break;
          statements.lease.run({ id: delivery.id, leasedUntil: now + leaseMs });
          claimed.push(delivery);
        }
      }
      return claimed;
    },
    /**
     * When something is due that neither a lease nor `isHeld` (by URL) holds back, which may have
     * passed; undefined for never.
     */
    nextDueAt(
      now: number,
      isHeld?: (url: string) => boolean,
      onWire: readonly (readonly [receiverId: number, addressId: number])[] = [],
    ): number | undefined {
      const free = statements.nextDue
        .all({ now, onWire: JSON.stringify(onWire) })
        .flatMap(({ at, url }) => (at === null || isHeld?.(url) ? [] : [at]));
      return free.length === 0 ? undefined : Math.min(...free);
    },
    /** At a start: the leases of the process before mean nothing any more. */
    releaseLeases(_tx: Tx): void {
      statements.supersedeLeased.run();
      statements.releaseLeases.run();
    },
    /**
     * Corrects times from a clock that was ahead. A delivery that waits longer than its step allows
     * is due now, and leases that are too long end.
     */
    recall(_tx: Tx, now: number, { retryMs, confirmMs }: MaxWaits, leaseMs: number): void {
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

function prepareLeases(orm: Orm, { channel, isReplaced, lostAttempts }: ChannelTerms) {
  const isOfChannel = isOf(channel);
  return {
    lease: prepared(() =>
      orm
        .update(deliveries)
        .set(placeholders('leasedUntil'))
        .where(and(isOfChannel, equals(deliveries.id, 'id'))),
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
  const { channel, receivers, receiverId, url, isReceiving, stands } = terms;
  const of = (alias: string) => isOf(channel, alias);
  const asked = placeholder('receiverId');
  const leased = sql`${of('f')} and f.leased_until > ${placeholder('now')}`;
  const onWire = sql`json_each(${placeholder('onWire')})`;
  return {
    receiversDue: prepared(() =>
      orm
        .select({
          receiverId,
          url,
          underWay: sql<number>`(select count(*) from deliveries b
          where ${of('b')} and b.receiver_id = ${receiverId} and b.leased_until > ${placeholder('now')})`,
        })
        .from(receivers)
        .where(
          sql`${isReceiving} and exists (select 1 from deliveries d where ${of('d')} and d.receiver_id = ${receiverId}
          and d.due_at <= ${placeholder('now')} and ${stands('d')})`,
        )
        .orderBy(sql`${receiverId} <= ${placeholder('afterReceiverId')}`, receiverId),
    ),
    /**
     * The next one of a receiver: of the address that waits longest the event that came first. One
     * that was never sent precedes a newer one, although a clock that was ahead gave it a later
     * time. The plus keeps SQLite from the index of the receiver, by which it would walk all that
     * is due. No request of the address to the receiver is under way: that list is made once.
     */
    dueOfReceiver: prepareRow(
      orm,
      terms,
      sql`(select c.id from deliveries c where ${of('c')} and c.address_id =
            (select d.address_id from deliveries d where ${of('d')} and d.receiver_id = ${asked}
              and d.due_at <= ${placeholder('now')} and ${stands('d')}
              and d.address_id not in (select f.address_id from deliveries f
                where ${leased} and f.receiver_id = ${asked}
                union all select value from ${onWire})
              order by d.due_at limit 1)
          and c.due_at is not null and (c.due_at <= ${placeholder('now')} or c.step = 0)
          and +c.receiver_id = ${asked} and ${stands('c')}
          order by c.id limit 1)`,
    ),
    /** For each receiver the first one that no lease blocks. */
    nextDue: prepared(() =>
      orm
        .select({
          url,
          at: sql<number | null>`(select d.due_at from deliveries d
          where ${of('d')} and d.receiver_id = ${receiverId} and d.due_at is not null
            and (d.receiver_id, d.address_id) not in (
              select f.receiver_id, f.address_id from deliveries f where ${leased}
              union all select value ->> 0, value ->> 1 from ${onWire})
            and ${stands('d')}
          order by d.due_at limit 1)`,
        })
        .from(receivers)
        .where(isReceiving),
    ),
  };
}
