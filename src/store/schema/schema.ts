// The tables, as drizzle sees them; `npm run db:generate` turns a change here into a migration.
// Money is integer satoshis, time is integer epoch milliseconds, hashes are display-order hex text.
// The module that writes a table explains its rows.

import { eq, type SQL, sql } from 'drizzle-orm';
import {
  blob,
  index,
  integer,
  sqliteTable,
  text,
  unique,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { BlockHash, Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { KeyPlugin, KeyScope } from '../../domain/access/key-scope.ts';
import type { LatePolicy } from '../../domain/order/order.ts';
import type { CallbackStatus, PaymentState } from '../../domain/payment/payment.ts';
import type { StatusHash } from '../../domain/payment/script-history.ts';
import type { WebhookEvents } from '../../domain/store/store-settings.ts';

const id = () => integer('id').primaryKey();
const flag = (name: string) => integer(name, { mode: 'boolean' }).notNull().default(false);

export const settings = sqliteTable('settings', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

/** One row a normalised descriptor. Never deleted: its counter must outlive every store. */
export const wallets = sqliteTable('wallets', {
  id: id(),
  descriptor: text('descriptor').notNull().unique(),
  /** The key or descriptor as the merchant gave it, which is how their own wallet shows it. */
  account: text('account').notNull(),
  scriptType: text('script_type').notNull(),
  /** The next index to issue on the external branch. It only ever rises. */
  nextIndex: integer('next_index').notNull(),
  /** Null until the first scan of the chain has ended; no address is issued before. */
  scannedAt: integer('scanned_at'),
  createdAt: integer('created_at').notNull(),
});

export const stores = sqliteTable('stores', {
  id: id(),
  /** The id below `/api/v1`: long and random, because plugins search their settings for it. */
  publicId: text('public_id').notNull().unique().default(sql`(lower(hex(randomblob(12))))`),
  name: text('name').notNull(),
  /** Null until a wallet is attached: no address is issued before. */
  walletId: integer('wallet_id').references(() => wallets.id),
  /** Empty for a store that receives events only, at its webhook URL. */
  callbackUrl: text('callback_url').notNull(),
  requiredConfirmations: integer('required_confirmations').notNull(),
  /** JSON: from which amount on a payment must be deeper (confirmation-policy.ts). */
  confirmationBands: text('confirmation_bands').notNull().default('[]'),
  /** Whether a payment that vanished after 1 or 2 sends -1. */
  reversalCallback: flag('reversal_callback'),
  /** Whether callbacks say nothing of `rbf`, for receivers that stop at it. */
  omitRbf: flag('omit_rbf'),
  /** Satoshis: a smaller payment is recorded and sends no callback; null for no minimum. */
  minimumSat: integer('minimum_sat'),
  /** ISO 4217: what its payments are worth in when they are first seen; null asks for no price. */
  currency: text('currency'),
  allowPrivateCallback: flag('allow_private_callback'),
  allowHttpCallback: flag('allow_http_callback'),
  /** PEM: the only authorities that may vouch for the callback's host; null for the usual ones. */
  callbackCa: text('callback_ca'),
  webhookSecret: text('webhook_secret').notNull(),
  /** The secret before the last rotation, which signs beside the new one until then. */
  previousWebhookSecret: text('previous_webhook_secret'),
  previousSecretUntil: integer('previous_secret_until'),
  createdAt: integer('created_at').notNull(),
  /** Set by `store remove`: no more addresses, but what was issued stays watched. */
  archivedAt: integer('archived_at'),
  callbacksStopped: flag('callbacks_stopped'),
  /** What late money counts for an order. */
  latePolicy: text('late_policy').$type<LatePolicy>().notNull().default('worth'),
  /** Defaults of new orders: seconds, 0 for an order that never expires. */
  orderSeconds: integer('order_seconds').notNull().default(3_600),
  quoteSeconds: integer('quote_seconds').notNull().default(900),
  /** Hundredths of a percent. */
  toleranceBasisPoints: integer('tolerance_basis_points').notNull().default(50),
  /** A discount below 0 or a surcharge, in hundredths of a percent. */
  adjustBasisPoints: integer('adjust_basis_points').notNull().default(0),
  returnUrl: text('return_url'),
  /** Whether the page of an order that was just paid leads there by itself. */
  autoReturn: flag('auto_return'),
  /** Name and address of the merchant, on receipts. */
  receiptAddress: text('receipt_address'),
  /** How customers reach the shop (domain/store/store-contact.ts). */
  contact: text('contact'),
  language: text('language'),
  /** Origins whose pages may show the store's pages in a frame, separated by spaces. */
  embedOrigins: text('embed_origins').notNull().default(''),
  /** JSON: a streak of answers (answer-streak.ts); null while there is none. */
  failingCallbacks: text('failing_callbacks'),
  doubtfulAnswers: text('doubtful_answers'),
  /** Whether the receiver at this Callback URL ever accepted a callback explicitly. */
  hasAccepted: flag('has_accepted'),
});

/**
 * What receives the events of a store. Each store has one `standard` webhook, which is among its
 * settings. Plugins add `btcpay` ones (docs/decisions/060-webhooks-of-two-formats.md).
 */
export const webhooks = sqliteTable(
  'webhooks',
  {
    id: id(),
    /** How plugins know it. */
    publicId: text('public_id').notNull().unique().default(sql`(lower(hex(randomblob(12))))`),
    storeId: integer('store_id')
      .notNull()
      .references(() => stores.id),
    format: text('format').$type<WebhookFormat>().notNull(),
    /** Exactly as it was given; null for a webhook that receives nothing. */
    url: text('url'),
    /** Names with commas between them: `order,payment`, or types of BTCPay (empty for all). */
    events: text('events').notNull(),
    /** The text that signs; null for the secrets of the store. */
    secret: text('secret'),
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull().default(true),
    /** JSON: a streak of failures (answer-streak.ts); null while there is none. */
    failingEvents: text('failing_events'),
    /** Its deliveries stay. */
    removedAt: integer('removed_at'),
  },
  (table) => [
    index('webhooks_store').on(table.storeId),
    uniqueIndex('webhooks_standard').on(table.storeId).where(sql`format = 'standard'`),
  ],
);

/** Whether a webhook, joined with its store, receives events. */
export const isReceiving = sql`${webhooks.url} is not null and ${webhooks.isEnabled} = 1
  and ${webhooks.removedAt} is null and ${stores.callbacksStopped} = 0`;

/** The `standard` webhook of a store, beside its columns. */
export const ownWebhook = {
  webhookUrl: sql<string | null>`(select w.url from webhooks w
    where w.store_id = stores.id and w.format = 'standard')`,
  webhookEvents: sql<WebhookEvents>`coalesce((select w.events from webhooks w
    where w.store_id = stores.id and w.format = 'standard'), 'order')`,
};

/** Signed as Standard Webhooks, or as BTCPay Server signs. */
export type WebhookFormat = 'standard' | 'btcpay';

export const apiKeys = sqliteTable('api_keys', {
  id: id(),
  /** SHA-256 of the key's text: how a request finds it. */
  hash: blob('hash', { mode: 'buffer' }).notNull().unique(),
  /**
   * The text of a merchant key, which may be looked up again: the file is a secret. Null for
   * others.
   */
  secret: text('secret'),
  scope: text('scope').$type<KeyScope>().notNull().default('payments'),
  /** The only store that it is for; null for the merchant key, which is for all. */
  storeId: integer('store_id').references(() => stores.id),
  createdAt: integer('created_at').notNull(),
  /**
   * Set by a rotation, a revocation, the removal of its store; the key is dead from then on. 0 for
   * at once.
   */
  expiresAt: integer('expires_at'),
  /** "Connect a plugin": until then the key may write stores. */
  pluginUntil: integer('plugin_until'),
  /** How `/api/v1` answers it (domain/key-scope.ts). */
  plugin: text('plugin').$type<KeyPlugin>().notNull().default('standard'),
});

/**
 * What was changed through the API, by which key, and in the dashboard. Append-only; the oldest
 * entries of a key go (access/audit.ts).
 */
export const audit = sqliteTable(
  'audit',
  {
    id: id(),
    at: integer('at').notNull(),
    /** Null for what was done in the dashboard. */
    keyId: integer('key_id').references(() => apiKeys.id),
    action: text('action').notNull(),
    storeId: integer('store_id').references(() => stores.id),
    /** JSON: the values that were set. */
    detail: text('detail').notNull(),
  },
  (table) => [index('audit_key').on(table.keyId).where(sql`key_id is not null`)],
);

/** The characters that a list shows of its end (`addressEndLength`): search.sql indexes them. */
export const addressEnd = sql`substr(${sql.identifier('address')}, -4)`;

/**
 * An address of a wallet's external branch. Its `origin` is `ahead` (derived and watched), `issued`
 * (given to a store), `skipped` or `foreign`. `skipped`: perhaps issued by a file that this one is
 * a copy of. `foreign`: used by another program before we could issue it.
 */
export const addresses = sqliteTable(
  'addresses',
  {
    id: id(),
    walletId: integer('wallet_id')
      .notNull()
      .references(() => wallets.id),
    branch: integer('branch').notNull(),
    derivationIndex: integer('derivation_index').notNull(),
    address: text('address').notNull(),
    script: blob('script', { mode: 'buffer' }).notNull(),
    scripthash: text('scripthash').$type<Scripthash>().notNull().unique(),
    origin: text('origin').$type<AddressOrigin>().notNull(),
    storeId: integer('store_id').references(() => stores.id),
    issuedAt: integer('issued_at'),
    /** The order that it was issued for; it is never issued again. Null for `new_address`. */
    orderId: integer('order_id'),
    /** Electrum's status of the history we have worked up; null for an empty one. */
    statusHash: text('status_hash').$type<StatusHash>(),
  },
  (table) => [
    unique('addresses_place').on(table.walletId, table.branch, table.derivationIndex),
    index('addresses_origin').on(table.walletId, table.origin, table.derivationIndex),
    index('addresses_issued').on(table.issuedAt).where(sql`issued_at is not null`),
    index('addresses_foreign').on(table.id).where(sql`origin = 'foreign'`),
    // Finds the last paid one, however many unpaid ones follow it.
    index('addresses_seen')
      .on(table.walletId, table.branch, table.derivationIndex)
      .where(sql`status_hash is not null`),
  ],
);

export type AddressOrigin = 'ahead' | 'issued' | 'skipped' | 'foreign';

/** A customer may hold it. */
export const isGivenOut = sql`${addresses.origin} in ('issued', 'skipped')`;

/**
 * Null for addresses of an unknown store: a copy skipped them, and any of several stores can have
 * issued them. They are few, and found by an index.
 */
export const isOfStore = (storeId: number | null): SQL =>
  storeId === null
    ? sql`${addresses.id} in (select a.id from wallets cross join addresses a
        where a.wallet_id = wallets.id and a.origin = 'skipped' and a.store_id is null)`
    : eq(addresses.storeId, storeId);

/** Idempotency keys: two requests with one key get the same address, for a day. */
export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    id: id(),
    storeId: integer('store_id')
      .notNull()
      .references(() => stores.id),
    key: text('key').notNull(),
    addressId: integer('address_id')
      .notNull()
      .references(() => addresses.id),
    /** SHA-256 of the body that made an order; null for `new_address`. */
    bodyHash: blob('body_hash', { mode: 'buffer' }),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    unique('idempotency_keys_identity').on(table.storeId, table.key),
    index('idempotency_keys_age').on(table.createdAt),
  ],
);

/** When a payment was recorded: a settled invoice may be reported long after it was paid. */
export const recordedAt = sql`case when preimage is null then first_seen_at else changed_at end`;

/**
 * One row an (address, transaction), or a settled Lightning invoice of the order of the address.
 * Confirmations are derived from `height`, never stored.
 */
export const payments = sqliteTable(
  'payments',
  {
    id: id(),
    addressId: integer('address_id')
      .notNull()
      .references(() => addresses.id),
    txid: text('txid').$type<Txid>().notNull(),
    valueSat: integer('value_sat').notNull(),
    state: text('state').$type<PaymentState>().notNull(),
    /** The block of the inclusion proof; both null while it is in no block. */
    height: integer('height'),
    blockHash: text('block_hash').$type<BlockHash>(),
    /** The transaction that took its inputs, where one is known. */
    replacedBy: text('replaced_by').$type<Txid>(),
    coinbase: flag('coinbase'),
    signalsRbf: flag('signals_rbf'),
    /** The callback status last decided on, sent or not; null when none was. */
    status: integer('status').$type<CallbackStatus>(),
    /** How often a reorganisation took a sent status back; a part of the event id. */
    cycle: integer('cycle').notNull().default(0),
    /** The store's, when the payment was first seen; null where it had none. */
    currency: text('currency'),
    /** Price of one bitcoin then, in hundredths of the currency; null while unknown. */
    priceCents: integer('price_cents'),
    /** Hosts of the sources behind this price, with spaces between; null for older payments. */
    priceSources: text('price_sources'),
    firstSeenAt: integer('first_seen_at').notNull(),
    /** The last look before an interruption, if the first look after that found it; else null. */
    interruptedAt: integer('interrupted_at'),
    /** The time of the block in which it was first seen; null if that was in a mempool. */
    firstBlockAt: integer('first_block_at'),
    changedAt: integer('changed_at').notNull(),
    /** Hex, of a settled Lightning invoice, whose payment hash is the `txid`; else null. */
    preimage: text('preimage'),
  },
  (table) => [
    unique('payments_identity').on(table.addressId, table.txid),
    index('payments_address').on(table.addressId),
    // Written with OR: SQLite sees that one of the two states implies it.
    index('payments_in_block')
      .on(table.state, table.height)
      .where(sql`state = 'confirming' or state = 'confirmed'`),
    index('payments_txid').on(table.txid),
    index('payments_value').on(table.valueSat),
    index('payments_unsettled')
      .on(table.addressId)
      .where(sql`state in ('unconfirmed', 'confirming', 'confirmed')`),
    // In the order of lists, and with all that a sum by day reads.
    index('payments_seen').on(table.state, table.firstSeenAt, table.id, table.valueSat),
    index('payments_currency')
      .on(table.currency, table.firstSeenAt)
      .where(sql`currency is not null`),
    index('payments_unpriced')
      .on(recordedAt)
      .where(sql`currency is not null and price_cents is null`),
    // Both have hardly any row; see isReversedSince and payment-counts.ts.
    index('payments_reversed')
      .on(table.state, table.changedAt)
      .where(sql`state = 'dropped' and (status <> 0 or cycle > 0)`),
    index('payments_fallen')
      .on(table.state, table.changedAt)
      .where(sql`state = 'unconfirmed' and cycle > 0`),
  ],
);

/** A transaction pays it, so that servers and `/api` know it. */
export const isOnChain = sql`${payments.preimage} is null`;

/** Taken back after a time, and after the shop received 1 or 2 (`wasReportedInBlock`). */
export const isReversedSince = (since: number | SQL): SQL =>
  sql`${payments.state} = 'dropped' and ${payments.changedAt} > ${since}
    and (${payments.status} <> 0 or ${payments.cycle} > 0)`;

/**
 * Raw transactions of payments that are not final, nor dropped long ago: to be broadcast again, and
 * to find conflicts.
 */
export const transactions = sqliteTable(
  'transactions',
  {
    txid: text('txid').$type<Txid>().primaryKey(),
    raw: blob('raw', { mode: 'buffer' }).notNull(),
    firstSeenAt: integer('first_seen_at').notNull(),
    /**
     * When it was last seen to: first seen, broadcast by us, or of use still when we would forget
     * it.
     */
    broadcastAt: integer('broadcast_at').notNull(),
  },
  (table) => [index('transactions_broadcast').on(table.broadcastAt)],
);

/** Verified headers, forks included; `onBest` marks the chain of most work. */
export const headers = sqliteTable(
  'headers',
  {
    hash: text('hash').$type<BlockHash>().primaryKey(),
    height: integer('height').notNull(),
    raw: blob('raw', { mode: 'buffer' }).notNull(),
    /** Work of the whole chain up to here, 32 bytes big-endian. */
    work: blob('work', { mode: 'buffer' }).notNull(),
    onBest: flag('on_best'),
  },
  (table) => [uniqueIndex('headers_best').on(table.height).where(sql`on_best = 1`)],
);

/** What was learnt of Electrum servers: their TLS identity, and which of them lied. */
export const servers = sqliteTable('servers', {
  label: text('label').primaryKey(),
  /**
   * `valid`: its certificate once validated, so it must from then on; `pinned`: `pinSha256` must
   * match.
   */
  trust: text('trust').$type<'valid' | 'pinned'>(),
  pinSha256: text('pin_sha256'),
  learnedAt: integer('learned_at').notNull(),
  bannedUntil: integer('banned_until'),
  banReason: text('ban_reason'),
});
