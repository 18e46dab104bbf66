// Events: changes of orders and payments as shops receive them, appended in the commit of the
// change. An event that the store's webhook subscribes to is due in that same commit.

// Each event of an order holds the whole order. A newer one therefore supersedes a due
// `order.processing` or `order.updated`. An `order.reversed` also supersedes an `order.paid`. If
// that had no request yet, and the shop certainly knows the state that is left, neither of the two
// is sent. An event whose request is in flight is superseded when the request fails
// (webhook-queue.ts). An event of a payment supersedes nothing.

import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { eventBody, isSubscribed } from '../../domain/delivery/event-body.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { prepared } from '../db/prepared.ts';
import type { StoreEvents } from '../db/store-events.ts';
import type { Tx } from '../db/writer.ts';
import {
  deliveries,
  type EventState,
  type EventType,
  isOf,
  nextId,
} from '../schema/delivery-schema.ts';
import { orders } from '../schema/order-schema.ts';
import { stores } from '../schema/schema.ts';

export interface NewEvent {
  readonly storeId: number;
  readonly orderId: number | null;
  readonly addressId: number;
  readonly type: EventType;
  readonly data: unknown;
  /** What it shows of its order (`orderStateOf`); missing for an event of a payment. */
  readonly orderState?: string | null;
  /** `evt_…`, a hash of what the event is about. */
  readonly publicId: string;
}

export interface EventRecords {
  append(tx: Tx, now: number, event: NewEvent): void;
  /** Whether the store's webhook subscribes to events of payments. */
  hasPaymentEvents(storeId: number): boolean;
}

export const isEvent = isOf('webhook');

/** Whether a newer `order.*` event takes the place of an event of the order. */
export const isTakenBack = sql`exists (select 1 from deliveries n
  where n.channel = deliveries.channel and n.order_id = deliveries.order_id and n.id > deliveries.id
    and n.type like 'order.%' and (deliveries.type in ('order.processing', 'order.updated')
      or (deliveries.type = 'order.paid' and n.type = 'order.reversed')))`;

/**
 * Whether a time is after the last time at which the file was found to be a copy
 * (`noteRaisedVersions`). The original may have sent more than the file has of the time before. The
 * plus keeps SQLite from the index of times.
 */
const isSinceCopy = (time: SQLiteColumn): SQL =>
  sql`+${time} > coalesce((select cast(s.value as integer) from settings s
    where s.name = 'versions_raised_at'), 0)`;

export function createEventRecords(orm: Orm, listeners: StoreEvents): EventRecords {
  const statements = prepare(orm);

  function isReceived(storeId: number, kind: 'order' | 'payment'): boolean {
    const terms = statements.terms.get({ storeId });
    return terms !== undefined && isSubscribed(terms, kind);
  }

  /**
   * Takes a pending `order.paid` back.
   * @returns whether it had no request yet, and the shop knows the state of the order without it
   */
  function takesBackUnsent(orderId: number | null, now: number, left: string | null): boolean {
    const isUnsent = statements.supersedeUnsentPaid.run({ orderId, now }).changes > 0;
    statements.supersedePaid.run({ orderId, now });
    if (!isUnsent) return false;
    const known = statements.newestKnown.get({ orderId });
    if (known !== undefined) return known.isCertain === 1 && known.orderState === left;
    return left === null && statements.madeSinceCopy.get({ orderId }) !== undefined;
  }

  return {
    append(tx, now, { type, data, publicId, orderState = null, ...place }) {
      const { storeId, orderId } = place;
      const body = eventBody(type, now, data);
      const kind = type.startsWith('order.') ? 'order' : 'payment';
      if (kind === 'order') statements.supersede.run({ orderId, now });
      const isOwed = isReceived(storeId, kind);
      const isMoot = type === 'order.reversed' && takesBackUnsent(orderId, now, orderState);
      const state: EventState = isMoot ? 'superseded' : isOwed ? 'owed' : 'unsent';
      statements.insert.run({ ...place, type, body, orderState, state, publicId, now });
      if (state === 'owed') tx.afterCommit(() => listeners.emit('webhooksDue'));
    },
    hasPaymentEvents: (storeId) => isReceived(storeId, 'payment'),
  };
}

const prepare = (orm: Orm) => {
  const ofOrder = eq(deliveries.orderId, placeholder('orderId'));
  const isOwed = sql`${deliveries.state} = 'owed'`;
  const isNotInFlight = sql`coalesce(${deliveries.leasedUntil}, 0) <= ${placeholder('now')}`;
  const supersedePaid = (which: SQL) =>
    prepared(() =>
      orm
        .update(deliveries)
        .set({ state: 'superseded', settledAt: placeholder('now') })
        .where(
          sql`${isEvent} and ${ofOrder} and ${isOwed} and ${deliveries.type} = 'order.paid' and ${isNotInFlight}${which}`,
        ),
    );
  return {
    ...prepareFacts(orm),
    supersede: prepared(() =>
      orm
        .update(deliveries)
        .set({ state: 'superseded', settledAt: placeholder('now') })
        .where(
          and(
            isEvent,
            ofOrder,
            isOwed,
            sql`${deliveries.type} in ('order.processing', 'order.updated')`,
            isNotInFlight,
          ),
        ),
    ),
    supersedeUnsentPaid: supersedePaid(
      sql` and ${deliveries.attemptCount} = 0 and ${deliveries.leasedUntil} is null
        and ${isSinceCopy(deliveries.createdAt)}`,
    ),
    supersedePaid: supersedePaid(sql``),
    /** The newest event of an order that the shop received, will receive, or may have received. */
    newestKnown: prepared(() =>
      orm
        .select({
          orderState: deliveries.orderState,
          isCertain: sql<number>`${deliveries.state} = 'delivered' and ${isSinceCopy(deliveries.createdAt)}`,
        })
        .from(deliveries)
        .where(
          sql`${isEvent} and ${ofOrder} and ${deliveries.type} like 'order.%' and (${deliveries.state} <> 'superseded'
          or ${deliveries.attemptCount} > 0 or ${deliveries.leasedUntil} is not null)`,
        )
        .orderBy(desc(deliveries.id))
        .limit(1),
    ),
    insert: prepared(() =>
      orm.insert(deliveries).values({
        channel: 'webhook',
        id: nextId('webhook'),
        eventId: placeholder('publicId'),
        storeId: placeholder('storeId'),
        orderId: placeholder('orderId'),
        addressId: placeholder('addressId'),
        type: placeholder('type'),
        content: placeholder('body'),
        orderState: placeholder('orderState'),
        createdAt: placeholder('now'),
        state: placeholder('state'),
        nextAttemptAt: placeholder('now'),
      }),
    ),
  };
};

const prepareFacts = (orm: Orm) => ({
  terms: prepared(() =>
    orm
      .select({
        webhookUrl: stores.webhookUrl,
        webhookEvents: stores.webhookEvents,
        callbacksStopped: stores.callbacksStopped,
      })
      .from(stores)
      .where(eq(stores.id, placeholder('storeId'))),
  ),
  madeSinceCopy: prepared(() =>
    orm
      .select({ id: orders.id })
      .from(orders)
      .where(and(eq(orders.id, placeholder('orderId')), isSinceCopy(orders.createdAt))),
  ),
});
