// The tables of links, orders and refunds (schema.ts has the units).

import { sql } from 'drizzle-orm';
import { blob, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { BlockHash } from '../../bitcoin/ids.ts';
import type { NoteRule } from '../../domain/order/link-input.ts';
import type { LatePolicy, OrderStatus } from '../../domain/order/order.ts';
import type { RefundChoice } from '../../domain/order/refund.ts';
import { addresses, stores } from './schema.ts';

const id = () => integer('id').primaryKey();

/** What strangers may order (domain/order/link-input.ts). Never deleted: its orders refer to it. */
export const links = sqliteTable(
  'links',
  {
    id: id(),
    /** `lnk_…`: who has it may order. */
    publicId: text('public_id').notNull().unique(),
    storeId: integer('store_id')
      .notNull()
      .references(() => stores.id),
    title: text('title').notNull(),
    description: text('description'),
    /** ISO 4217; null for satoshis. The amounts are in its minor units, or in satoshis. */
    currency: text('currency'),
    /** Null where the payer types the amount. */
    amount: integer('amount'),
    minAmount: integer('min_amount'),
    maxAmount: integer('max_amount'),
    /** JSON: a list of amounts. */
    suggested: text('suggested').notNull().default('[]'),
    /** A discount below 0 or a surcharge, in hundredths of a percent; null for the store's. */
    adjustBasisPoints: integer('adjust_basis_points'),
    note: text('note').$type<NoteRule>().notNull(),
    asksEmail: integer('asks_email', { mode: 'boolean' }).notNull(),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    /** How many paid orders end it; null for no limit. */
    maxOrders: integer('max_orders'),
    /** Its orders, and those of them that are paid now; counting them would read all of them. */
    orderCount: integer('order_count').notNull().default(0),
    paidCount: integer('paid_count').notNull().default(0),
    createdAt: integer('created_at').notNull(),
    /** The key of the request that made it, and SHA-256 of its body; null without a key. */
    idempotencyKey: text('idempotency_key'),
    bodyHash: blob('body_hash', { mode: 'buffer' }),
  },
  (table) => [
    index('links_store').on(table.storeId, table.id),
    index('links_active').on(table.storeId, table.currency).where(sql`is_active = 1`),
    index('links_idempotency')
      .on(table.storeId, table.idempotencyKey)
      .where(sql`idempotency_key is not null`),
  ],
);

/** Devices at a counter, each with a credential. Never deleted: their orders refer to them. */
export const tills = sqliteTable('tills', {
  id: id(),
  storeId: integer('store_id')
    .notNull()
    .references(() => stores.id),
  name: text('name').notNull(),
  /** The price, in minor units of the store's currency, up to which `seen` lets a customer go. */
  seenUpTo: integer('seen_up_to'),
  /** SHA-256 of the code that pairs a device, once and for some minutes. */
  codeHash: blob('code_hash', { mode: 'buffer' }).unique(),
  codeUntil: integer('code_until'),
  /** SHA-256 of the device's cookie; null before it is paired, and after the till was removed. */
  tokenHash: blob('token_hash', { mode: 'buffer' }).unique(),
  createdAt: integer('created_at').notNull(),
  seenAt: integer('seen_at'),
  removedAt: integer('removed_at'),
});

/**
 * A price, one address, and what the payments to it come to (order.ts). Facts first; the
 * columns from `status` on are computed from them.
 */
export const orders = sqliteTable(
  'orders',
  {
    id: id(),
    /** `ord_…`: who has it may see the order. */
    publicId: text('public_id').notNull().unique(),
    storeId: integer('store_id')
      .notNull()
      .references(() => stores.id),
    addressId: integer('address_id')
      .notNull()
      .unique()
      .references(() => addresses.id),
    /** The link that made it; null for an order of the shop. */
    linkId: integer('link_id').references(() => links.id),
    /** The till that made it. */
    tillId: integer('till_id').references(() => tills.id),
    /** ISO 4217; null for a price in satoshis. */
    currency: text('currency'),
    /** The price in the currency's minor units; null for a price in satoshis. */
    amountMinor: integer('amount_minor'),
    /** Its discount below 0 or surcharge, in hundredths of a percent. */
    adjustBasisPoints: integer('adjust_basis_points').notNull().default(0),
    /** What is due in satoshis, by the newest quote if the price has a currency. */
    amountSat: integer('amount_sat').notNull(),
    toleranceBasisPoints: integer('tolerance_basis_points').notNull(),
    latePolicy: text('late_policy').$type<LatePolicy>().notNull(),
    quoteSeconds: integer('quote_seconds').notNull(),
    reference: text('reference'),
    description: text('description'),
    /** JSON: pairs of text. */
    metadata: text('metadata').notNull().default('{}'),
    returnUrl: text('return_url'),
    language: text('language'),
    createdAt: integer('created_at').notNull(),
    /** Null for never. */
    expiresAt: integer('expires_at'),
    canceledAt: integer('canceled_at'),
    acceptedAt: integer('accepted_at'),
    acceptedSat: integer('accepted_sat'),
    /** When a server that had caught up last reported its address, after its expiry. */
    scannedAt: integer('scanned_at'),
    status: text('status').$type<OrderStatus>().notNull(),
    /** Rises by one with each event. */
    version: integer('version').notNull(),
    fingerprint: text('fingerprint').notNull(),
    paidAt: integer('paid_at'),
    /** When it was paid for the first time; it stays after a reversal. */
    firstPaidAt: integer('first_paid_at'),
    /** JSON: what `/api/v1` answers of the request (domain/invoice.ts); null for another order. */
    invoice: text('invoice'),
    /** The metadata of that request, as its text was; only a key of the store may see it. */
    invoiceMetadata: text('invoice_metadata'),
    /** A keyed hash of the network of the stranger who ordered by the link, while that counts. */
    payerNetwork: text('payer_network'),
    /** Receives a mail when money is seen, and when it is paid. Never on the customer's page. */
    customerEmail: text('customer_email'),
  },
  (table) => [
    // One for each set of filters of a list (views/order-view.ts).
    index('orders_status').on(table.storeId, table.status, table.createdAt),
    index('orders_reference')
      .on(table.storeId, table.reference, table.status, table.createdAt)
      .where(sql`reference is not null`),
    index('orders_link')
      .on(table.storeId, table.linkId, table.status, table.createdAt)
      .where(sql`link_id is not null`),
    index('orders_link_reference')
      .on(table.storeId, table.linkId, table.reference, table.status, table.createdAt)
      .where(sql`link_id is not null and reference is not null`),
    // For the search, which shows the newest order first.
    index('orders_minor').on(table.amountMinor).where(sql`amount_minor is not null`),
    index('orders_sat').on(table.amountSat),
    index('orders_till').on(table.tillId, table.createdAt).where(sql`till_id is not null`),
    index('orders_network').on(table.payerNetwork).where(sql`payer_network is not null`),
    index('orders_expiring').on(table.expiresAt).where(sql`status = 'open'`),
    index('orders_expired').on(table.expiresAt).where(sql`status = 'expired'`),
  ],
);

/**
 * Orders by links to which a stranger gave a mail address, for a day. A paid order has no network
 * any more, and still counts.
 */
export const typedEmails = sqliteTable(
  'typed_emails',
  {
    orderId: integer('order_id')
      .primaryKey()
      .references(() => orders.id),
    /** A keyed hash of the network of the stranger. */
    network: text('network').notNull(),
    typedAt: integer('typed_at').notNull(),
  },
  (table) => [
    index('typed_emails_network').on(table.network, table.typedAt),
    index('typed_emails_age').on(table.typedAt),
  ],
);

/** A rate that is promised to an order for some minutes; the newest has the highest id. */
export const quotes = sqliteTable(
  'quotes',
  {
    id: id(),
    orderId: integer('order_id')
      .notNull()
      .references(() => orders.id),
    /** Price of one bitcoin in hundredths of the order's currency. */
    rateCents: integer('rate_cents').notNull(),
    amountSat: integer('amount_sat').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [index('quotes_order').on(table.orderId)],
);

/** Lightning invoices of an order. One that was paid is a row of `payments`, too. */
export const lightningInvoices = sqliteTable(
  'lightning_invoices',
  {
    id: id(),
    orderId: integer('order_id')
      .notNull()
      .references(() => orders.id),
    paymentHash: text('payment_hash').notNull().unique(),
    /** BOLT 11; empty once it has ended. */
    invoice: text('invoice').notNull(),
    amountSat: integer('amount_sat').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    /** When it was settled, canceled or replaced; it is not shown since. Money to it counts. */
    endedAt: integer('ended_at'),
    /** Why the report that it was paid is not believed; else null. */
    fault: text('fault'),
  },
  (table) => [
    uniqueIndex('lightning_invoices_open').on(table.orderId).where(sql`ended_at is null`),
    index('lightning_invoices_fault').on(table.endedAt).where(sql`fault is not null`),
  ],
);

/**
 * Money of an order that the merchant pays back from a wallet of their own. A row is made before it
 * is sent; one that is not done can be deleted.
 */
export const refunds = sqliteTable(
  'refunds',
  {
    id: id(),
    orderId: integer('order_id')
      .notNull()
      .references(() => orders.id),
    /** Null while the customer is asked for it. */
    address: text('address'),
    /** What the amount was chosen as: it must still be left when the refund is sent. */
    choice: text('choice').$type<RefundChoice>().notNull(),
    /** What the customer receives. */
    amountSat: integer('amount_sat').notNull(),
    /** What the merchant deducted for the network fee. */
    feeSat: integer('fee_sat').notNull(),
    /** Null until it is done. */
    txid: text('txid'),
    /** What it was worth when it was sent: price of one bitcoin in hundredths, if known. */
    currency: text('currency'),
    priceCents: integer('price_cents'),
    createdAt: integer('created_at').notNull(),
    doneAt: integer('done_at'),
    /** The block that a proof has its transaction in. */
    height: integer('height'),
    blockHash: text('block_hash').$type<BlockHash>(),
  },
  (table) => [
    index('refunds_order').on(table.orderId),
    index('refunds_done').on(table.doneAt).where(sql`done_at is not null`),
    index('refunds_txid').on(table.txid).where(sql`txid is not null`),
  ],
);
