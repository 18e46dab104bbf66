// Events: changes of orders and payments as shops receive them, appended in the commit of the
// change. An event that the store's webhook subscribes to is due in that same commit.

// Each event of an order holds the whole order. A newer one therefore supersedes a due
// `order.processing` or `order.updated`. An `order.reversed` also supersedes an `order.paid`. If
// that had no request yet, neither of the two is sent, unless the shop never received the status
// that is left. An event whose request is in flight is superseded when the request fails
// (webhook-queue.ts). An event of a payment supersedes nothing.

import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import { eventBody, isSubscribed } from '../../domain/event-body.ts';
import { type EventState, type EventType, events } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { stores } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import type { StoreEvents } from '../store-events.ts';

export interface NewEvent {
  readonly storeId: number;
  readonly orderId: number | null;
  readonly addressId: number;
  readonly type: EventType;
  readonly data: unknown;
  /** `evt_…`, a hash of what the event is about. */
  readonly publicId: string;
}

export type EventRow = typeof events.$inferSelect;

export interface EventRecords {
  append(tx: Tx, now: number, event: NewEvent): void;
  /** Whether the store's webhook subscribes to events of payments. */
  hasPaymentEvents(storeId: number): boolean;
}

/** Whether a newer `order.*` event takes the place of an event of the order. */
export const isTakenBack = (event: 'events'): SQL => {
  const of = sql.raw(event);
  return sql`exists (select 1 from events n where n.order_id = ${of}.order_id and n.id > ${of}.id
    and n.type like 'order.%' and (${of}.type in ('order.processing', 'order.updated')
      or (${of}.type = 'order.paid' and n.type = 'order.reversed')))`;
};

export function createEventRecords(orm: Orm, listeners: StoreEvents): EventRecords {
  const statements = prepare(orm);

  function isReceived(storeId: number, kind: 'order' | 'payment'): boolean {
    const terms = statements.terms.get({ storeId });
    return terms !== undefined && isSubscribed(terms, kind);
  }

  /**
   * Takes a pending `order.paid` back.
   * @returns whether it had no request yet, and the shop knows what the order is without it
   */
  function takesBackUnsent(orderId: number | null, now: number, body: string): boolean {
    const isUnsent = statements.supersedeUnsentPaid.run({ orderId, now }).changes > 0;
    statements.supersedePaid.run({ orderId, now });
    if (!isUnsent) return false;
    const sent = statements.newestSent.get({ orderId });
    if (sent === undefined) return statusIn(body) === 'open';
    return sent.state === 'delivered' && statusIn(sent.body) === statusIn(body);
  }

  return {
    append(tx, now, { type, data, publicId, ...place }) {
      const { storeId, orderId } = place;
      const body = eventBody(type, now, data);
      const kind = type.startsWith('order.') ? 'order' : 'payment';
      if (kind === 'order') statements.supersede.run({ orderId, now });
      const isOwed = isReceived(storeId, kind);
      const isMoot = type === 'order.reversed' && takesBackUnsent(orderId, now, body);
      const state: EventState = isMoot ? 'superseded' : isOwed ? 'owed' : 'unsent';
      statements.insert.run({ ...place, type, body, state, publicId, now });
      if (state === 'owed') tx.afterCommit(() => listeners.emit('webhooksDue'));
    },
    hasPaymentEvents: (storeId) => isReceived(storeId, 'payment'),
  };
}

/** The status of the order in the body of an event. */
const statusIn = (body: string): unknown =>
  (JSON.parse(body) as { data: { order?: { status?: string } } }).data.order?.status;

const prepare = (orm: Orm) => {
  const ofOrder = eq(events.orderId, placeholder('orderId'));
  const isOwed = sql`${events.state} = 'owed'`;
  const isNotInFlight = sql`coalesce(${events.leasedUntil}, 0) <= ${placeholder('now')}`;
  const supersedePaid = (which: SQL) =>
    orm
      .update(events)
      .set({ state: 'superseded', settledAt: placeholder('now') })
      .where(
        sql`${ofOrder} and ${isOwed} and ${events.type} = 'order.paid' and ${isNotInFlight}${which}`,
      )
      .prepare();
  return {
    terms: orm
      .select({
        webhookUrl: stores.webhookUrl,
        webhookEvents: stores.webhookEvents,
        callbacksStopped: stores.callbacksStopped,
      })
      .from(stores)
      .where(eq(stores.id, placeholder('storeId')))
      .prepare(),
    supersede: orm
      .update(events)
      .set({ state: 'superseded', settledAt: placeholder('now') })
      .where(
        and(
          ofOrder,
          isOwed,
          sql`${events.type} in ('order.processing', 'order.updated')`,
          isNotInFlight,
        ),
      )
      .prepare(),
    supersedeUnsentPaid: supersedePaid(
      sql` and ${events.attemptCount} = 0 and ${events.leasedUntil} is null`,
    ),
    supersedePaid: supersedePaid(sql``),
    /** The newest event of an order that is or was sent. */
    newestSent: orm
      .select({ state: events.state, body: events.body })
      .from(events)
      .where(sql`${ofOrder} and ${events.type} like 'order.%' and ${events.state} <> 'superseded'`)
      .orderBy(desc(events.id))
      .limit(1)
      .prepare(),
    insert: orm
      .insert(events)
      .values({
        publicId: placeholder('publicId'),
        storeId: placeholder('storeId'),
        orderId: placeholder('orderId'),
        addressId: placeholder('addressId'),
        type: placeholder('type'),
        body: placeholder('body'),
        createdAt: placeholder('now'),
        state: placeholder('state'),
        nextAttemptAt: placeholder('now'),
      })
      .prepare(),
  };
};
