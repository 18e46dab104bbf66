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
import { type InvoiceEvent, isAskedFor } from '../../domain/order/invoice-event.ts';
import { eventIdFor } from '../../domain/order/order-id.ts';
import type { WebhookEvents } from '../../domain/store/store-settings.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { StoreEvents } from '../db/store-events.ts';
import type { Tx } from '../db/writer.ts';
import { versionsRaisedName } from '../file/file-state.ts';
import {
  deliveries,
  type EventState,
  type EventType,
  isOf,
  nextId,
} from '../schema/delivery-schema.ts';
import { orders } from '../schema/order-schema.ts';
import { isReceiving, stores, webhooks } from '../schema/schema.ts';

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

export interface NewInvoiceEvents {
  readonly order: Pick<typeof orders.$inferSelect, 'id' | 'publicId' | 'storeId' | 'addressId'>;
  /** The event of the order, `evt_…`. */
  readonly cause: string;
  readonly events: readonly InvoiceEvent[];
}

export type EventRecords = ReturnType<typeof createEventRecords>;

export const isEvent = isOf('webhook');

/**
 * Whether a newer event takes the place of an event of the order. In the format of BTCPay Server, a
 * reversal takes back what was settled, because shops ship at that. Nothing else is left out.
 */
export const isTakenBack = sql`(exists (select 1 from deliveries n
  where n.channel = deliveries.channel and n.order_id = deliveries.order_id and n.id > deliveries.id
    and n.type like 'order.%' and (deliveries.type in ('order.processing', 'order.updated')
      or (deliveries.type = 'order.paid' and n.type = 'order.reversed')))
  or exists (select 1 from deliveries n
    where n.channel = deliveries.channel and n.order_id = deliveries.order_id and n.id > deliveries.id
      and n.receiver_id = deliveries.receiver_id
      and deliveries.type in ('InvoicePaymentSettled', 'InvoiceSettled')
      and n.type in ('InvoiceProcessing', 'InvoiceInvalid')))`;

/**
 * Whether a time is after the last time at which the file was found to be a copy
 * (`versionsRaisedAt`). The original may have sent more than the file has of the time before. The
 * plus keeps SQLite from the index of times.
 */
const isSinceCopy = (time: SQLiteColumn): SQL =>
  sql`+${time} > coalesce((select cast(s.value as integer) from settings s
    where s.name = ${versionsRaisedName}), 0)`;

export function createEventRecords(orm: Orm, listeners: StoreEvents) {
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
    append(
      tx: Tx,
      now: number,
      { type, data, publicId, orderState = null, ...place }: NewEvent,
    ): void {
      const { storeId, orderId } = place;
      const body = eventBody(type, now, data);
      const kind = type.startsWith('order.') ? 'order' : 'payment';
      if (kind === 'order') statements.supersede.run({ orderId, now });
      const webhook = statements.terms.get({ storeId });
      const isOwed = webhook !== undefined && isSubscribed(webhook, kind);
      const isMoot = type === 'order.reversed' && takesBackUnsent(orderId, now, orderState);
      const state: EventState = isMoot ? 'superseded' : isOwed ? 'owed' : 'unsent';
      const webhookId = webhook?.webhookId ?? null;
      statements.insert.run({ ...place, webhookId, type, body, orderState, state, publicId, now });
      if (state === 'owed') tx.afterCommit(() => listeners.emit('webhooksDue'));
    },
    appendInvoice(tx: Tx, now: number, { order, cause, events }: NewInvoiceEvents): void {
      if (events.length === 0) return;
      const { id: orderId, publicId, storeId, addressId } = order;
      for (const { webhookId, ...webhook } of statements.invoiceWebhooks.all({ storeId })) {
        const place = { storeId, webhookId, orderId, addressId };
        for (const { type, fields, txid } of events) {
          if (!isAskedFor(webhook.names, type)) continue;
          const facts = txid === undefined ? [cause, type] : [publicId, type, txid];
          const eventId = eventIdFor([webhook.publicId, ...facts]);
          // One that a reversal took back was not sent, and is made again.
          statements.unsettle.run({ eventId });
          if (statements.made.get({ eventId }) !== undefined) continue;
          const common = {
            type,
            timestamp: unixSeconds(now),
            storeId: webhook.storePublicId,
          };
          const body = JSON.stringify({ ...common, invoiceId: publicId, ...fields });
          const state: EventState = 'owed';
          const row = { ...place, type, body, orderState: null, state, publicId: eventId, now };
          statements.insert.run(row);
        }
      }
      statements.takeBackSettled.run({ orderId, now });
      tx.afterCommit(() => listeners.emit('webhooksDue'));
    },
    hasPaymentEvents: (storeId: number): boolean => isReceived(storeId, 'payment'),
  };
}

const prepare = (orm: Orm) => {
  const ofOrder = equals(deliveries.orderId, 'orderId');
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
    ...prepareInvoice(orm, sql`${isEvent} and ${ofOrder} and ${isOwed} and ${isNotInFlight}`),
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
        ...placeholders('storeId', 'webhookId', 'orderId', 'addressId', 'type'),
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
        webhookId: webhooks.id,
        webhookUrl: webhooks.url,
        webhookEvents: sql<WebhookEvents>`${webhooks.events}`,
        callbacksStopped: stores.callbacksStopped,
      })
      .from(webhooks)
      .innerJoin(stores, eq(stores.id, webhooks.storeId))
      .where(
        sql`${webhooks.storeId} = ${placeholder('storeId')} and ${webhooks.format} = 'standard'`,
      ),
  ),
  madeSinceCopy: prepared(() =>
    orm
      .select({ id: orders.id })
      .from(orders)
      .where(and(equals(orders.id, 'orderId'), isSinceCopy(orders.createdAt))),
  ),
});

/** @param isWaiting an event of an order that is due and not in flight */
function prepareInvoice(orm: Orm, isWaiting: SQL) {
  const isNamed = sql`${isEvent} and ${deliveries.type} is not null
    and ${deliveries.eventId} = ${placeholder('eventId')}`;
  return {
    takeBackSettled: prepared(() =>
      orm
        .update(deliveries)
        .set({ state: 'superseded', settledAt: placeholder('now') })
        .where(sql`${isWaiting}
          and ${deliveries.type} in ('InvoicePaymentSettled', 'InvoiceSettled') and ${isTakenBack}`),
    ),
    unsettle: prepared(() =>
      orm.delete(deliveries).where(
        sql`${isEvent} and ${deliveries.type} is not null and ${deliveries.state} = 'superseded'
          and ${deliveries.eventId} = ${placeholder('eventId')}`,
      ),
    ),
    made: prepared(() => orm.select({ id: deliveries.id }).from(deliveries).where(isNamed)),
    invoiceWebhooks: prepared(() =>
      orm
        .select({
          webhookId: webhooks.id,
          publicId: webhooks.publicId,
          names: webhooks.events,
          storePublicId: stores.publicId,
        })
        .from(webhooks)
        .innerJoin(stores, eq(stores.id, webhooks.storeId))
        .where(
          sql`${webhooks.storeId} = ${placeholder('storeId')} and ${webhooks.format} = 'btcpay'
        and ${isReceiving}`,
        ),
    ),
  };
}
