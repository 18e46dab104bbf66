// The tables of what is sent to shops (schema.ts has the units).

import { type SQL, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  foreignKey,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { InvoiceEventType } from '../../domain/order/invoice-event.ts';
import type { OrderEventType } from '../../domain/order/order.ts';
import type { DeliveryState } from '../../domain/order/state-words.ts';
import type { CallbackStatus } from '../../domain/payment/payment.ts';
import type { PaymentEventType } from '../../domain/payment/payment-event.ts';
import { orders } from './order-schema.ts';
import { addresses, payments, stores, webhooks } from './schema.ts';

/** How a shop receives deliveries: GET requests of its Callback URL, or events at its webhook. */
export type Channel = 'callback' | 'webhook';

export type EventType = OrderEventType | PaymentEventType | InvoiceEventType;

/**
 * `held`: the payment is dropped; the callback is `owed` again if the payment returns with the same
 * status.
 */
export type CallbackState = Exclude<DeliveryState, 'unsent'>;

/** `unsent`: the store had no webhook for it. `superseded`: a newer event of its order is sent. */
export type EventState = Exclude<DeliveryState, 'held'>;

/**
 * A callback of a payment, or an event: a change of an order or a payment, as the shop receives it.
 * A channel adds one more kind of rows, not one more queue.
 */
export const deliveries = sqliteTable(
  'deliveries',
  {
    channel: text('channel').$type<Channel>().notNull(),
    /** Counts the deliveries of the channel. */
    id: integer('id').notNull(),
    storeId: integer('store_id')
      .notNull()
      .references(() => stores.id),
    /** Null for a callback. */
    webhookId: integer('webhook_id').references(() => webhooks.id),
    /** The number of its store for a callback, that of its webhook for an event. */
    receiverId: integer('receiver_id').generatedAlwaysAs(sql`coalesce(webhook_id, store_id)`, {
      mode: 'virtual',
    }),
    /** Deliveries of one address to one receiver never overlap on their way. */
    addressId: integer('address_id')
      .notNull()
      .references(() => addresses.id),
    /** By which the shop knows one that it receives twice; of an event `evt_…`. */
    eventId: text('event_id').notNull(),
    /** The query that is appended to the Callback URL, or the body, exactly as it is sent. */
    content: text('content').notNull(),
    /** A callback has it and the next two; null for an event. */
    paymentId: integer('payment_id').references(() => payments.id),
    /** Counts the callbacks of the payment. */
    version: integer('version'),
    status: integer('status').$type<CallbackStatus>(),
    /** An event has it and the next two; null for a callback. */
    type: text('type').$type<EventType>(),
    /** Null for a payment to an address without an order. */
    orderId: integer('order_id').references(() => orders.id),
    /** What it shows of its order (domain/order/order.ts); null for an order as it was made. */
    orderState: text('order_state'),
    state: text('state').$type<DeliveryState>().notNull(),
    /** All that were ever made, also those whose rows are gone. */
    attemptCount: integer('attempt_count').notNull().default(0),
    /**
     * How many of them were charged to the schedule since it began; once delivered, to that of the
     * confirmations.
     */
    step: integer('step').notNull().default(0),
    nextAttemptAt: integer('next_attempt_at').notNull(),
    /** When a delivered callback is sent again because its answer was doubtful; null for never. */
    confirmAt: integer('confirm_at'),
    /** When it is sent; null for never. */
    dueAt: integer('due_at').generatedAlwaysAs(
      sql`case state when 'owed' then next_attempt_at when 'delivered' then confirm_at end`,
      { mode: 'virtual' },
    ),
    leasedUntil: integer('leased_until'),
    createdAt: integer('created_at').notNull(),
    settledAt: integer('settled_at'),
  },
  (table) => [
    primaryKey({ columns: [table.channel, table.id] }),
    uniqueIndex('deliveries_version')
      .on(table.paymentId, table.version)
      .where(sql`payment_id is not null`),
    // The event id of a callback is a hash that holds its payment: one of the ids alone would touch
    // a page for each row.
    uniqueIndex('deliveries_callback')
      .on(table.paymentId, table.eventId)
      .where(sql`payment_id is not null`),
    uniqueIndex('deliveries_event').on(table.channel, table.eventId).where(sql`type is not null`),
    index('deliveries_store').on(table.channel, table.storeId, table.id),
    index('deliveries_type')
      .on(table.channel, table.storeId, table.type, table.id)
      .where(sql`type is not null`),
    index('deliveries_order')
      .on(table.orderId, table.channel, table.id)
      .where(sql`order_id is not null`),
    index('deliveries_age').on(table.channel, table.createdAt).where(sql`type is not null`),
    // This and deliveries_given_up have the receiver, so that counting reads no row.
    index('deliveries_owed')
      .on(table.channel, table.storeId, table.id, table.receiverId)
      .where(sql`state = 'owed'`),
    index('deliveries_sendable')
      .on(table.channel, table.receiverId, table.dueAt, table.addressId)
      .where(sql`due_at is not null`),
    index('deliveries_of_address')
      .on(table.channel, table.addressId, table.id)
      .where(sql`due_at is not null`),
    index('deliveries_exhausted')
      .on(table.channel, table.storeId, table.id)
      .where(sql`state = 'exhausted'`),
    index('deliveries_given_up')
      .on(table.channel, table.settledAt, table.receiverId)
      .where(sql`state = 'exhausted'`),
    index('deliveries_leased')
      .on(table.channel, table.receiverId)
      .where(sql`leased_until is not null`),
  ],
);

/** Whether a delivery is of the channel; as text, because an index may depend on it. */
export const isOf = (channel: Channel, alias = 'deliveries'): SQL =>
  sql.raw(`${alias}.channel = '${channel}'`);

/** The number of a new delivery. */
export const nextId = (channel: Channel): SQL<number> =>
  sql<number>`(select coalesce(max(d.id), 0) + 1 from deliveries d where ${isOf(channel, 'd')})`;

/** A column that no row of the channel lacks. */
const always = <T>(column: AnySQLiteColumn): SQL<T> => sql<T>`${column}`;

const commonColumns = {
  id: deliveries.id,
  storeId: deliveries.storeId,
  addressId: deliveries.addressId,
  attemptCount: deliveries.attemptCount,
  step: deliveries.step,
  nextAttemptAt: deliveries.nextAttemptAt,
  leasedUntil: deliveries.leasedUntil,
  createdAt: deliveries.createdAt,
  settledAt: deliveries.settledAt,
};

/** What a callback has. */
export const callbackColumns = {
  ...commonColumns,
  eventId: deliveries.eventId,
  query: deliveries.content,
  paymentId: always<number>(deliveries.paymentId),
  version: always<number>(deliveries.version),
  status: always<CallbackStatus>(deliveries.status),
  state: always<CallbackState>(deliveries.state),
  confirmAt: deliveries.confirmAt,
};

/** What an event has. */
export const eventColumns = {
  ...commonColumns,
  publicId: deliveries.eventId,
  body: deliveries.content,
  type: always<EventType>(deliveries.type),
  webhookId: deliveries.webhookId,
  orderId: deliveries.orderId,
  orderState: deliveries.orderState,
  state: always<EventState>(deliveries.state),
};

/** HTTP requests of deliveries; the rows of old ones go, their number stays (`attempt_count`). */
export const attempts = sqliteTable(
  'attempts',
  {
    id: integer('id').primaryKey(),
    channel: text('channel').$type<Channel>().notNull(),
    deliveryId: integer('delivery_id').notNull(),
    startedAt: integer('started_at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    /** JSON: how long each phase took, in milliseconds (delivery/sender.ts). */
    phases: text('phases').notNull().default('{}'),
    /** The IP address that was dialled; null where none was reached. */
    address: text('address'),
    /** `delivered`, or the class of what went wrong. */
    outcome: text('outcome').notNull(),
    httpStatus: integer('http_status'),
    /** What went wrong, without the URL's secrets. */
    reason: text('reason'),
    /** The first 1 KiB of the answer, control characters stripped. */
    body: text('body'),
    /**
     * What makes the answer of a 200 doubtful: its sentence, or what it is
     * (domain/delivery/callback-answer.ts).
     */
    doubt: text('doubt'),
  },
  (table) => [
    foreignKey({
      columns: [table.channel, table.deliveryId],
      foreignColumns: [deliveries.channel, deliveries.id],
    }).onDelete('cascade'),
    index('attempts_delivery').on(table.channel, table.deliveryId),
    index('attempts_doubted').on(table.channel, table.deliveryId).where(sql`doubt is not null`),
  ],
);
