// Opens the database with all its records and views, and binds a new file to one network.

import { type NetworkName, networks } from '../bitcoin/network.ts';
import { Events } from '../lib/events.ts';
import { type Admin, createAdmin } from './access/admin.ts';
import { createKeys, type Keys } from './access/api-keys.ts';
import { type Audit, createAudit } from './access/audit.ts';
import { createIdempotency, type Idempotency } from './access/idempotency.ts';
import { type Broadcasts, createBroadcasts } from './chain/broadcasts.ts';
import { createHeaders, type Headers } from './chain/headers.ts';
import { createServers, type Servers } from './chain/server-records.ts';
import { truePath } from './db/file-path.ts';
import type { StoreEventMap, StoreEvents } from './db/store-events.ts';
import { createEventRecords } from './delivery/event-records.ts';
import { createEventView, type EventView } from './delivery/event-view.ts';
import { createNotifications, type Notifications } from './delivery/notification-queue.ts';
import { createOutbox, type Outbox } from './delivery/outbox.ts';
import { createWebhookQueue, type WebhookQueue } from './delivery/webhook-queue.ts';
import { createWebhookRecords, type WebhookRecords } from './delivery/webhook-records.ts';
import { type Database, type DatabaseOptions, openDatabase, openFailure } from './file/database.ts';
import { refuseOtherNetwork } from './file/file-guards.ts';
import { Ledger } from './ledger.ts';
import { beginMark } from './mark/high-water-mark.ts';
import { type AccountView, createAccountView } from './orders/account-view.ts';
import { createLinkView, type LinkView } from './orders/link-view.ts';
import { Links } from './orders/links.ts';
import { createOrderCounts, type OrderCounts } from './orders/order-counts.ts';
import { createOrderView, type OrderView } from './orders/order-view.ts';
import { Orders } from './orders/orders.ts';
import { createReceiptPrices, type ReceiptPrices } from './orders/receipt-prices.ts';
import { createRefundedSatOf } from './orders/refunded.ts';
import { createRefunds, type Refunds } from './orders/refunds.ts';
import {
  type ConflictingPayments,
  createConflictingPayments,
} from './payments/conflicting-payments.ts';
import { createPaymentCounts, type PaymentCounts } from './payments/payment-counts.ts';
import { createPaymentView, type PaymentView } from './payments/payment-view.ts';
import { createReceipts, type Receipts } from './payments/receipts.ts';
import { createReceivedView, type ReceivedView } from './payments/received-view.ts';
import { type AddressView, createAddressView } from './wallets/address-view.ts';
import { type Addresses, createAddresses } from './wallets/addresses.ts';
import { Catalog, networkOf } from './wallets/catalog.ts';

export interface Records {
  readonly database: Database;
  readonly network: NetworkName;
  /** A random name given to the database when it was made; a copy keeps it. */
  readonly instance: string;
  readonly events: StoreEvents;
  readonly catalog: Catalog;
  readonly keys: Keys;
  readonly audit: Audit;
  readonly admin: Admin;
  readonly idempotency: Idempotency;
  readonly addresses: Addresses;
  readonly headers: Headers;
  readonly ledger: Ledger;
  readonly broadcasts: Broadcasts;
  readonly receipts: Receipts;
  readonly receiptPrices: ReceiptPrices;
  readonly paymentCounts: PaymentCounts;
  readonly conflicts: ConflictingPayments;
  readonly paymentView: PaymentView;
  readonly accountView: AccountView;
  readonly receivedView: ReceivedView;
  readonly addressView: AddressView;
  readonly outbox: Outbox;
  readonly webhooks: WebhookQueue;
  readonly webhookRecords: WebhookRecords;
  readonly notifications: Notifications;
  readonly orders: Orders;
  readonly orderView: OrderView;
  readonly orderCounts: OrderCounts;
  readonly refunds: Refunds;
  readonly links: Links;
  readonly linkView: LinkView;
  readonly eventView: EventView;
  readonly servers: Servers;
}

export interface OpenOptions extends DatabaseOptions {
  /** The network asked for; undefined takes the file's own, or mainnet for a new one. */
  readonly network: NetworkName | undefined;
  /** See `Addresses.floor`; takes the name of the wallet in the high-water mark. */
  readonly floorOf?: (wallet: string) => number;
  /**
   * Begins the URLs of order pages; has no slash at its end. A server stores its own in the file;
   * undefined takes the stored one.
   */
  readonly baseUrl?: string;
  /** Names a new file. */
  readonly newInstance: () => string;
}

/** @throws PaygateError when the file is not ours, damaged, or of another network */
export async function openRecords(asked: OpenOptions): Promise<Records> {
  const options = { ...asked, path: truePath(asked.path) };
  const database = openDatabase(options);
  try {
    const catalog = new Catalog(database.orm);
    await claim(database, catalog, options);
    const events: StoreEvents = new Events<StoreEventMap>();
    const addresses = createAddresses(database.orm, catalog, options.floorOf ?? (() => 0));
    const headers = createHeaders(database.orm, events);
    const outbox = createOutbox(database);
    const baseUrl = await baseUrlFor(database, catalog, options);
    const conflicts = createConflictingPayments(database.orm);
    const paymentView = createPaymentView(database.orm);
    const refundedSatOf = createRefundedSatOf(database.orm);
    const orderView = createOrderView({ orm: database.orm, headers, conflicts, baseUrl });
    const notifications = createNotifications(database.orm, catalog);
    const orders = new Orders({
      notifications,
      orm: database.orm,
      view: orderView,
      listeners: events,
      baseUrl,
      events: createEventRecords(database.orm, events),
    });
    const linkView = createLinkView(database.orm, baseUrl);
    const idempotency = createIdempotency(database.orm);
    const linkParts = { orm: database.orm, view: linkView, catalog, addresses, orders };
    const paymentCounts = createPaymentCounts(database.orm);
    events.on('paymentChanged', (_paymentId, move) => paymentCounts.moved(move));
    return {
      database,
      network: networkOf(catalog.setting('network')),
      instance: catalog.setting('instance') ?? '',
      events,
      catalog,
      keys: createKeys(database.orm),
      audit: createAudit(database.orm),
      admin: createAdmin(database.orm),
      idempotency,
      addresses,
      headers,
      receipts: createReceipts(database.orm),
      receiptPrices: createReceiptPrices(database.orm, orders),
      paymentCounts,
      conflicts,
      paymentView,
      accountView: createAccountView({ paymentView, orderView, headers, refundedSatOf }),
      receivedView: createReceivedView(database.orm),
      addressView: createAddressView(database.orm),
      outbox,
      webhooks: createWebhookQueue(database.orm),
      webhookRecords: createWebhookRecords(database.orm),
      notifications,
      orders,
      orderView,
      orderCounts: createOrderCounts(database.orm),
      refunds: createRefunds(database.orm),
      links: new Links({ ...linkParts, idempotency }),
      linkView,
      eventView: createEventView(database.orm),
      ledger: new Ledger({
        orm: database.orm,
        headers,
        outbox,
        orders,
        conflicts,
        catalog,
        events,
      }),
      broadcasts: createBroadcasts(database.orm),
      servers: createServers(database),
    };
  } catch (error) {
    await database.close();
    throw openFailure(options.path, error);
  }
}

/** Binds a new file to its network and makes its mark file; another network later is an error. */
async function claim(database: Database, catalog: Catalog, options: OpenOptions): Promise<void> {
  if (catalog.setting('network') === undefined) {
    await database.write((tx) => {
      // Another process can have been first.
      if (catalog.setting('network') !== undefined) return;
      catalog.putSetting(tx, 'network', options.network ?? networks.mainnet.name);
      const instance = options.newInstance();
      catalog.putSetting(tx, 'instance', instance);
      beginMark(options.path, instance);
    });
  }
  refuseOtherNetwork(options.path, catalog.setting('network'), options.network);
}

/** The base URL for this process. A server stores it for commands. */
async function baseUrlFor(
  database: Database,
  catalog: Catalog,
  { baseUrl, hasLock }: OpenOptions,
): Promise<string> {
  const stored = catalog.setting('base_url') ?? '';
  if (baseUrl === undefined) return stored;
  if (hasLock && baseUrl !== stored) {
    // A disk that refuses the write must not keep a server from starting.
    await database
      .write((tx) => catalog.putSetting(tx, 'base_url', baseUrl))
      .catch(() => undefined);
  }
  return baseUrl;
}
