// Opens the database with all its records and views, and binds a new file to one network.

import { type NetworkName, networks, parseNetworkName } from '../bitcoin/network.ts';
import { Events } from '../lib/events.ts';
import { createAdmin } from './access/admin.ts';
import { createKeys } from './access/api-keys.ts';
import { createAudit } from './access/audit.ts';
import { createIdempotency } from './access/idempotency.ts';
import { createBroadcasts } from './chain/broadcasts.ts';
import { createHeaders } from './chain/headers.ts';
import { createServers } from './chain/server-records.ts';
import { truePath } from './db/file-path.ts';
import type { StoreEventMap, StoreEvents } from './db/store-events.ts';
import { createEventRecords } from './delivery/event-records.ts';
import { createEventView } from './delivery/event-view.ts';
import { createNotifications } from './delivery/notification-queue.ts';
import { createOutbox } from './delivery/outbox.ts';
import { createWebhookQueue } from './delivery/webhook-queue.ts';
import { createWebhookRecords } from './delivery/webhook-records.ts';
import { type Database, type DatabaseOptions, openDatabase, openFailure } from './file/database.ts';
import { refuseOtherNetwork } from './file/file-guards.ts';
import { createFileState, type FileState } from './file/file-state.ts';
import { Ledger } from './ledger.ts';
import { beginMark } from './mark/high-water-mark.ts';
import { createAccountView } from './orders/account-view.ts';
import { createLightningInvoices } from './orders/lightning-invoices.ts';
import { createLinkView } from './orders/link-view.ts';
import { Links } from './orders/links.ts';
import { createOrderCounts, createOrderView } from './orders/order-view.ts';
import { Orders } from './orders/orders.ts';
import { createReceiptPrices } from './orders/receipt-prices.ts';
import { createRefunds } from './orders/refunds.ts';
import { SaleSearch } from './orders/sale-search.ts';
import { createTills } from './orders/tills.ts';
import { createTypedEmails } from './orders/typed-emails.ts';
import { createConflictingPayments } from './payments/conflicting-payments.ts';
import { createPaymentCounts } from './payments/payment-counts.ts';
import { createPaymentView } from './payments/payment-view.ts';
import { createReceipts } from './payments/receipts.ts';
import { createReceivedView } from './payments/received-view.ts';
import { createAddressView } from './wallets/address-view.ts';
import { createAddresses } from './wallets/addresses.ts';
import { Catalog } from './wallets/catalog.ts';

/** All that reads and writes the file. */
export type Records = Awaited<ReturnType<typeof openRecords>>;

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
  readonly newInstance: () => string;
}

/** @throws PaygateError when the file is not ours, damaged, or of another network */
export async function openRecords(asked: OpenOptions) {
  const options = { ...asked, path: truePath(asked.path) };
  const database = openDatabase(options);
  const { orm } = database;
  try {
    const state = createFileState(orm);
    const network = await claim(database, state, options);
    const catalog = new Catalog(orm, network);
    const events: StoreEvents = new Events<StoreEventMap>();
    const addresses = createAddresses(orm, catalog, state, options.floorOf ?? (() => 0));
    const headers = createHeaders(orm, events);
    const outbox = createOutbox(database);
    const baseUrl = await baseUrlFor(database, state, options);
    const conflicts = createConflictingPayments(orm);
    const paymentView = createPaymentView(orm);
    const orderView = createOrderView({ orm, headers, conflicts, baseUrl });
    const notifications = createNotifications(orm, catalog, state);
    const orderParts = { orm, view: orderView, listeners: events, baseUrl, notifications };
    const orders = new Orders({ ...orderParts, events: createEventRecords(orm, events) });
    const linkView = createLinkView(orm, baseUrl);
    const idempotency = createIdempotency(orm);
    const typedEmails = createTypedEmails(orm);
    const linkParts = { orm, view: linkView, orderView, catalog, addresses, orders };
    const paymentCounts = createPaymentCounts(orm);
    events.on('paymentChanged', (_paymentId, move) => paymentCounts.moved(move));
    return {
      database,
      network,
      /** A random name given to the database when it was made; a copy keeps it. */
      instance: state.instance.read(),
      events,
      state,
      catalog,
      keys: createKeys(orm),
      audit: createAudit(orm),
      admin: createAdmin(orm),
      idempotency,
      addresses,
      headers,
      receipts: createReceipts(orm),
      receiptPrices: createReceiptPrices(orm, orders),
      paymentCounts,
      conflicts,
      paymentView,
      accountView: createAccountView({ orm, paymentView, orderView, headers }),
      receivedView: createReceivedView(orm),
      addressView: createAddressView(orm),
      outbox,
      webhooks: createWebhookQueue(orm),
      webhookRecords: createWebhookRecords(orm),
      notifications,
      orders,
      orderView,
      lightningInvoices: createLightningInvoices({ orm, orders, state, events }),
      orderCounts: createOrderCounts(orm),
      saleSearch: new SaleSearch(orm),
      refunds: createRefunds(orm, events),
      links: new Links({ ...linkParts, idempotency, typedEmails }),
      linkView,
      typedEmails,
      tills: createTills(orm),
      eventView: createEventView(orm),
      ledger: new Ledger({ orm, headers, outbox, orders, conflicts, state, events }),
      broadcasts: createBroadcasts(orm),
      servers: createServers(database),
    };
  } catch (error) {
    await database.close();
    throw openFailure(options.path, error);
  }
}

async function claim(
  database: Database,
  { network, instance }: FileState,
  options: OpenOptions,
): Promise<NetworkName> {
  if (network.read() === undefined) {
    await database.write((tx) => {
      // Another process can have been first.
      if (network.read() !== undefined) return;
      network.write(tx, options.network ?? networks.mainnet.name);
      const name = options.newInstance();
      instance.write(tx, name);
      beginMark(options.path, name);
    });
  }
  const own = parseNetworkName(network.read() ?? '');
  refuseOtherNetwork(options.path, own, options.network);
  return own;
}

async function baseUrlFor(
  database: Database,
  state: FileState,
  { baseUrl, hasLock }: OpenOptions,
): Promise<string> {
  const stored = state.baseUrl.read();
  if (baseUrl === undefined) return stored;
  if (hasLock && baseUrl !== stored) {
    // A disk that refuses the write must not keep a server from starting.
    await database.write((tx) => state.baseUrl.write(tx, baseUrl)).catch(() => undefined);
  }
  return baseUrl;
}
