// Orders: their facts, and the events that follow from a change of them. `settle` runs in the
// transaction of each change that an order depends on. Payment, order, event and its delivery
// commit together.

import { and, asc, desc, eq, lte, sql } from 'drizzle-orm';
import { invoiceEventsOf } from '../../domain/order/invoice-event.ts';
import type { LinkCounts } from '../../domain/order/link-json.ts';
import {
  accept,
  cancel,
  checkNewQuote,
  decide,
  type LatePolicy,
  type OrderEventType,
  orderEventId,
  orderStateOf,
  type Standing,
} from '../../domain/order/order.ts';
import { eventIdFor } from '../../domain/order/order-id.ts';
import { maxQuoteSeconds } from '../../domain/order/order-input.ts';
import {
  type OrderDetails,
  orderJson,
  paymentJson,
  type ShownPayment,
} from '../../domain/order/order-json.ts';
import { type FiatPrice, type Quote, quoteAt, satoshisOf } from '../../domain/order/quote.ts';
import { maxUnminedMs } from '../../domain/payment/in-time.ts';
import { paymentEventOf } from '../../domain/payment/payment-event.ts';
import { secondMs } from '../../lib/time-units.ts';
import { columnsOf, equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import { maxRowsRead, type TimedPlace } from '../db/searched-list.ts';
import type { ChangedOrderFacts, PaymentMove, StoreEvents } from '../db/store-events.ts';
import type { Tx } from '../db/writer.ts';
import type { EventRecords } from '../delivery/event-records.ts';
import type { Notifications } from '../delivery/notification-queue.ts';
import { links, orders, quotes } from '../schema/order-schema.ts';
import { addresses, payments } from '../schema/schema.ts';
import type { AddressPlace } from '../wallets/address-row.ts';
import type { OrderRecord, OrderRow, OrderView } from './order-view.ts';

export interface NewOrder {
  /** `ord_…`, of random bits. */
  readonly publicId: string;
  readonly storeId: number;
  readonly addressId: number;
  /** The link that made it; missing for an order of the shop. */
  readonly linkId?: number;
  /** The till that made it. */
  readonly tillId?: number | undefined;
  /** A keyed hash of the network of the stranger who ordered; null for an order of the shop. */
  readonly payerNetwork?: string | null;
  readonly price: FiatPrice | { readonly kind: 'sat'; readonly amountSat: number };
  /** The price of one bitcoin now, in hundredths of the currency; null for a price in satoshis. */
  readonly rateCents: number | null;
  readonly toleranceBasisPoints: number;
  readonly latePolicy: LatePolicy;
  readonly quoteSeconds: number;
  readonly expiresAt: number | null;
  readonly reference: string | null;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly returnUrl: string | null;
  readonly language: string | null;
  readonly customerEmail?: string | null;
  /** Missing unless `/api/v1` makes it. */
  readonly invoice?: InvoiceTexts | undefined;
}

/** JSON texts of an invoice (order-schema.ts). */
export type InvoiceTexts = Pick<OrderRow, 'invoice' | 'invoiceMetadata'>;
/** What a customer changes in an order of a link before any money was seen. */
type AmendedText = 'reference' | 'description' | 'language' | 'customerEmail';
export type Amendment = Pick<NewOrder, 'price' | 'rateCents' | 'expiresAt' | AmendedText>;

export type InvoiceChange = Partial<InvoiceTexts & Pick<OrderRow, 'returnUrl'>>;

export interface ChangedPayment {
  readonly txid: string;
  readonly move: PaymentMove;
}

const pageSize = 200;

const noPlace: TimedPlace = { at: 0, id: 0 };

export type SettledAddress = Pick<AddressPlace, 'id' | 'storeId' | 'orderId' | 'address'>;
type Waits = (scripthash: AddressPlace['scripthash']) => boolean;

export interface DueOrder {
  readonly id: number;
  readonly expiresAt: number | null;
  readonly scripthash: AddressPlace['scripthash'];
  readonly statusHash: AddressPlace['statusHash'];
}

interface Parts {
  readonly orm: Orm;
  readonly view: OrderView;
  readonly events: EventRecords;
  readonly notifications: Pick<Notifications, 'orderChanged'>;
  readonly listeners: StoreEvents;
  readonly baseUrl: string;
}

export class Orders {
  readonly #parts: Parts;
  readonly #statements: Statements;
  /** The old unconfirmed payment before those that are looked at. */
  #unminedAfter = noPlace;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#statements = prepare(parts.orm);
  }

  create(tx: Tx, now: number, order: NewOrder): OrderRow {
    const quote = firstQuote(order, now);
    const row = this.#statements.insert.get(insertable(order, now));
    if (quote !== undefined) this.#addQuote(row.id, quote);
    this.#count(row, { orders: 1, paid: 0 });
    const events = [{ type: 'InvoiceCreated', fields: {} }] as const;
    this.#parts.events.appendInvoice(tx, now, { order: row, cause: row.publicId, events });
    this.#statements.mark.run({ addressId: order.addressId, orderId: row.id });
    return row;
  }

  /** Promises a rate. @throws PaygateError conflict if the order needs no quote */
  quote(tx: Tx, now: number, orderId: number, rateCents: number): void {
    const record = this.#record(orderId);
    const { row, facts } = record;
    checkNewQuote(facts, this.#parts.view.standing(record, now), now);
    const { price } = facts;
    if (price.kind === 'sat') return;
    const quote = quoteAt(price, rateCents, now, row.quoteSeconds, row.expiresAt);
    this.#addQuote(orderId, quote);
    this.#change(orderId, { amountSat: quote.amountSat });
    this.#review(tx, now, this.#record(orderId));
  }

  /**
   * Gives an order another price, a new quote and a new end. Only for an order whose address never
   * received money: what came before would count at the other price.
   */
  amend(
    tx: Tx,
    now: number,
    orderId: number,
    { price, rateCents, ...change }: Amendment,
  ): OrderRow {
    const { quoteSeconds } = this.#row(orderId);
    const quote = firstQuote({ price, rateCents, quoteSeconds, expiresAt: change.expiresAt }, now);
    this.#change(orderId, { ...change, ...pricedAs({ price, rateCents }) });
    if (quote !== undefined) this.#addQuote(orderId, quote);
    this.#review(tx, now, this.#record(orderId));
    return this.#row(orderId);
  }

  /** Replaces what only `/api/v1` shows, and where the customer goes afterwards. */
  changeInvoice(_tx: Tx, orderId: number, change: InvoiceChange): void {
    this.#change(orderId, change);
  }

  /** @throws PaygateError conflict if enough was paid */
  cancel(tx: Tx, now: number, orderId: number): void {
    this.#command(tx, now, orderId, cancel);
  }

  /** @throws PaygateError conflict if nothing was received, or enough was */
  accept(tx: Tx, now: number, orderId: number): void {
    this.#command(tx, now, orderId, accept);
  }

  settle(tx: Tx, now: number, address: SettledAddress, changed: readonly ChangedPayment[]): void {
    const { orderId, storeId } = address;
    if (storeId === null || changed.length === 0) return;
    const record = orderId === null ? undefined : this.#record(orderId);
    appendPaymentEvents(this.#parts, tx, now, { address, storeId, changed, record });
    if (record !== undefined) this.#review(tx, now, record);
  }

  repriced(tx: Tx, now: number, addressIds: readonly number[]): void {
    for (const addressId of addressIds) {
      const row = this.#parts.view.byAddressId(addressId);
      if (row !== undefined) this.#review(tx, now, this.#parts.view.record(row));
    }
  }

  /** Whether a quote may end after the first time, or an open order ends before the second one. */
  mayEnd(after: number, before: number): boolean {
    const { newestQuote, ending } = this.#statements;
    const newest = newestQuote.get()?.createdAt ?? Number.NEGATIVE_INFINITY;
    return newest + maxQuoteSeconds * secondMs > after || ending.get({ before }) !== undefined;
  }

  /**
   * Orders whose time is over and that can expire now, the first to expire first.
   * @param waits whether an address may have money that is not recorded
   */
  expiring(now: number, waits: Waits, limit: number): DueOrder[] {
    const found: DueOrder[] = [];
    let last = { expiresAt: 0, id: 0 };
    for (let hasMore = true; hasMore && found.length < limit; ) {
      const page = this.#statements.expiring.all({ ...last, now, pageSize });
      found.push(...page.filter(({ scripthash }) => !waits(scripthash)));
      const { id, expiresAt } = page.at(-1) ?? last;
      last = { id, expiresAt: expiresAt ?? now };
      hasMore = page.length === pageSize;
    }
    return found.slice(0, limit);
  }

  /** Expires the orders that can expire now. @returns how many, at most `limit` */
  expire(tx: Tx, now: number, waits: Waits, limit: number): number {
    const due = this.expiring(now, waits, limit);
    for (const { id } of due) this.#scanned(tx, now, id);
    return due.length;
  }

  /** Orders that expired by a clock that was ahead: their time is not over now. */
  unexpired(now: number, limit: number): number[] {
    return this.#statements.unexpired.all({ now, limit }).map(({ id }) => id);
  }

  /** Opens these orders again, with an event each. @returns how many, at most `limit` */
  reopen(tx: Tx, now: number, limit: number): number {
    const found = this.unexpired(now, limit);
    for (const id of found) this.#scanned(tx, now, id, null);
    return found.length;
  }

  /**
   * Orders that still count money which has been in no block for a day, among the next 5,000
   * payments that are as old.
   */
  unmined(now: number, waits: Waits, limit: number): number[] {
    const { unmined, unminedEnd } = this.#statements;
    const part = { ...this.#unminedAfter, before: now - maxUnminedMs };
    const end = unminedEnd.get(part) ?? { at: part.before, id: Number.MAX_SAFE_INTEGER };
    const found = unmined.all({ ...part, now, endAt: end.at, endId: end.id, pageSize });
    const ready = found.filter(({ scripthash }) => !waits(scripthash)).map(({ id }) => id);
    return [...new Set(ready)].slice(0, limit);
  }

  /** Goes on to the payments behind those, or to the oldest again. */
  passUnmined(now: number): void {
    const part = { ...this.#unminedAfter, before: now - maxUnminedMs };
    this.#unminedAfter = this.#statements.unminedEnd.get(part) ?? noPlace;
  }

  /** Computes these orders anew. @returns how many, at most `limit` */
  reviewUnmined(tx: Tx, now: number, waits: Waits, limit: number): number {
    const ids = this.unmined(now, waits, limit);
    for (const id of ids) this.#scanned(tx, now, id);
    return ids.length;
  }

  lastId(): number {
    return this.#statements.lastId.get()?.id ?? 0;
  }

  /**
   * Deletes the texts of orders that have ended and were created before a time. What they cost and
   * received stays.
   * @param after only orders behind this row, up to the row `to`
   * @returns how many orders
   */
  forget(_tx: Tx, createdBefore: number, after: number, to: number): number {
    // SQLite would leave the bytes of the texts in free parts of its pages.
    this.#parts.orm.$client.pragma('secure_delete = on');
    return this.#statements.forget.run({ createdBefore, after, to }).changes;
  }

  /**
   * Raises all versions in a copy (domain/order/version-raise.ts).
   * @param version above all of them
   */
  raiseVersions(_tx: Tx, version: number): void {
    this.#statements.raiseVersions.run({ version });
  }

  /** The price of an order in satoshis, for the depth of its payments, and its currency. */
  priceOf(orderId: number): Pick<OrderRow, 'amountSat' | 'currency'> {
    return this.#row(orderId);
  }

  #row(orderId: number): OrderRow {
    return this.#parts.view.byId(orderId);
  }

  #record(orderId: number): OrderRecord {
    return this.#parts.view.record(this.#row(orderId));
  }

  /** A server that had caught up shows nothing of its address that is not recorded. */
  #scanned(tx: Tx, now: number, id: number, scannedAt: number | null = now): void {
    this.#change(id, { scannedAt });
    this.#review(tx, now, this.#record(id));
  }

  #change(id: number, values: Partial<OrderRow>): void {
    this.#parts.orm.update(orders).set(values).where(eq(orders.id, id)).run();
  }

  #count({ linkId }: OrderRow, by: LinkCounts): void {
    if (linkId !== null) this.#statements.count.run({ linkId, ...by });
  }

  #addQuote(orderId: number, quote: Quote): void {
    this.#statements.addQuote.run({ ...quote, orderId });
  }

  #command(tx: Tx, now: number, orderId: number, command: typeof cancel | typeof accept): void {
    const record = this.#record(orderId);
    const changed = command(record.facts, this.#parts.view.standing(record, now), now);
    if (changed === undefined) return;
    this.#change(orderId, changed);
    this.#review(tx, now, this.#record(orderId));
  }

  #review(tx: Tx, now: number, record: OrderRecord): void {
    const { view, listeners, events, notifications, baseUrl } = this.#parts;
    const { row, details, linkTitle } = record;
    const orderId = row.id;
    const after = view.standing(record, now);
    const type = decide(row, after);
    const facts = type && changedFacts(type, details, after);
    tx.afterCommit(() => listeners.emit('orderChanged', orderId, facts));
    if (type === undefined) {
      this.#appendInvoice(tx, now, record, after, '');
      return;
    }
    const version = row.version + 1;
    const paidAt = after.status === 'paid' ? (row.paidAt ?? now) : null;
    const { status, fingerprint } = after;
    const firstPaidAt = row.firstPaidAt ?? paidAt;
    const payerNetwork = paidAt === null ? row.payerNetwork : null;
    const paidFacts = { paidAt, firstPaidAt, payerNetwork };
    this.#change(orderId, { status, fingerprint, version, ...paidFacts });
    const paid = Number(status === 'paid') - Number(row.status === 'paid');
    if (paid !== 0) this.#count(row, { orders: 0, paid });
    const order = orderJson({ ...details, version, paidAt }, after, baseUrl);
    const publicId = orderEventId(row.publicId, version, type, row, after);
    events.append(tx, now, {
      type,
      storeId: row.storeId,
      orderId,
      addressId: row.addressId,
      data: { was: row.status, order },
      publicId,
      orderState: orderStateOf(record.facts, after),
    });
    this.#appendInvoice(tx, now, record, after, publicId);
    const change = { type, was: row.status, order, linkTitle, before: row };
    notifications.orderChanged(tx, now, change, publicId);
  }

  /** @param cause the event of the change; empty if only the worth of a payment is known now */
  #appendInvoice(
    tx: Tx,
    now: number,
    { row, details, facts: { minimumSat } }: OrderRecord,
    standing: Standing<ShownPayment>,
    cause: string,
  ): void {
    const order = { ...row, ...details };
    const events = invoiceEventsOf({ was: row.status, order, standing, minimumSat });
    this.#parts.events.appendInvoice(tx, now, { order, cause, events });
  }
}

const changedFacts = (
  type: OrderEventType,
  { storeId, publicId, address }: OrderDetails,
  { amountSat, receivedSat, status }: Standing,
): ChangedOrderFacts => ({ type, storeId, publicId, address, amountSat, receivedSat, status });

interface PaymentChanges {
  readonly address: SettledAddress;
  readonly storeId: number;
  readonly changed: readonly ChangedPayment[];
  readonly record: OrderRecord | undefined;
}

function appendPaymentEvents(
  { events, view }: Parts,
  tx: Tx,
  now: number,
  { address, storeId, changed, record }: PaymentChanges,
): void {
  if (!events.hasPaymentEvents(storeId)) return;
  const rated =
    record === undefined
      ? view.paymentsOf(address.id).map(unrated)
      : view.standing(record, now).payments;
  const byTxid = new Map(rated.map((each) => [each.payment.txid, each]));
  for (const { txid, move } of changed) {
    const type = paymentEventOf(move.before, move.after);
    const payment = byTxid.get(txid);
    if (type === undefined || payment === undefined) continue;
    events.append(tx, now, {
      type,
      storeId,
      orderId: address.orderId,
      addressId: address.id,
      data: {
        payment: { ...paymentJson(payment), address: address.address },
        order_id: record?.row.publicId ?? null,
      },
      // The same payment may have the same event again, after a reorganisation.
      publicId: eventIdFor([address.address, txid, type, now]),
    });
  }
}

const unrated = (payment: ShownPayment) => ({ payment, rateCents: null, isLate: false });

function firstQuote(
  {
    price,
    rateCents,
    quoteSeconds,
    expiresAt,
  }: Pick<NewOrder, 'price' | 'rateCents' | 'quoteSeconds' | 'expiresAt'>,
  now: number,
): Quote | undefined {
  if (price.kind === 'sat') return undefined;
  if (rateCents === null) throw new Error('a price in a currency needs a rate');
  return quoteAt(price, rateCents, now, quoteSeconds, expiresAt);
}

const pricedAs = ({ price, rateCents }: Pick<NewOrder, 'price' | 'rateCents'>) => ({
  currency: price.kind === 'sat' ? null : price.currency,
  amountMinor: price.kind === 'sat' ? null : Number(price.minor),
  adjustBasisPoints: price.kind === 'sat' ? 0 : (price.adjustBasisPoints ?? 0),
  amountSat: satoshisOf(price, rateCents),
});

function insertable(order: NewOrder, now: number) {
  return {
    ...order,
    linkId: order.linkId ?? null,
    tillId: order.tillId ?? null,
    payerNetwork: order.payerNetwork ?? null,
    customerEmail: order.customerEmail ?? null,
    ...pricedAs(order),
    metadata: JSON.stringify(order.metadata),
    invoiceMetadata: order.invoice?.invoiceMetadata ?? null,
    invoice: order.invoice?.invoice ?? null,
    now,
  };
}

/** The Magento plugin asks for each old invoice, and stops at one that lacks these. */
const isAskedLater = sql`key in ('orderId', 'magentoOrderId', 'magentoStoreId')`;

/** As the index has it. */
const isOpen = sql`${orders.status} = 'open'`;

type Statements = ReturnType<typeof prepare>;

const prepare = (orm: Orm) => ({
  ...prepareTimes(orm),
  lastId: prepared(() =>
    orm.select({ id: orders.id }).from(orders).orderBy(desc(orders.id)).limit(1),
  ),
  forget: prepared(() =>
    orm
      .update(orders)
      .set({
        reference: sql`case when ${orders.invoiceMetadata} is not null then ${orders.reference} end`,
        description: null,
        payerNetwork: null,
        customerEmail: null,
        metadata: '{}',
        returnUrl: null,
        invoice: sql`json_remove(${orders.invoice}, '$.redirectURL')`,
        invoiceMetadata: sql`(select json_group_object(key, json(${orders.invoiceMetadata} -> key))
          from json_each(${orders.invoiceMetadata}) where ${isAskedLater})`,
      })
      .where(
        sql`${orders.id} > ${placeholder('after')} and ${orders.id} <= ${placeholder('to')}
        and +${orders.createdAt} < ${placeholder('createdBefore')}
        and ${orders.status} not in ('open', 'processing')
        and ((${orders.reference} is not null and ${orders.invoiceMetadata} is null)
          or coalesce(${orders.description}, ${orders.payerNetwork}, ${orders.returnUrl}) is not null
          or ${orders.customerEmail} is not null or ${orders.metadata} <> '{}'
          or json_extract(${orders.invoice}, '$.redirectURL') is not null
          or exists (select 1 from json_each(${orders.invoiceMetadata}) where not ${isAskedLater}))`,
      ),
  ),
  raiseVersions: prepared(() => orm.update(orders).set(placeholders('version'))),
  insert: prepareInsert(orm),
  addQuote: prepared(() =>
    orm
      .insert(quotes)
      .values(placeholders('orderId', 'rateCents', 'amountSat', 'createdAt', 'expiresAt')),
  ),
  mark: prepared(() =>
    orm.update(addresses).set(placeholders('orderId')).where(equals(addresses.id, 'addressId')),
  ),
  count: prepared(() =>
    orm
      .update(links)
      .set({
        orderCount: sql`order_count + ${placeholder('orders')}`,
        paidCount: sql`paid_count + ${placeholder('paid')}`,
      })
      .where(equals(links.id, 'linkId')),
  ),
});

const isOldUnconfirmed = sql`${payments.state} = 'unconfirmed'
  and ${payments.firstSeenAt} < ${placeholder('before')}
  and (${payments.firstSeenAt}, ${payments.id}) > (${placeholder('at')}, ${placeholder('id')})`;

const prepareTimes = (orm: Orm) => ({
  newestQuote: prepared(() =>
    orm.select({ createdAt: quotes.createdAt }).from(quotes).orderBy(desc(quotes.id)).limit(1),
  ),
  ending: prepared(() =>
    orm
      .select({ id: orders.id })
      .from(orders)
      .where(and(isOpen, lte(orders.expiresAt, placeholder('before'))))
      .limit(1),
  ),
  unexpired: prepared(() =>
    orm
      .select({ id: orders.id })
      .from(orders)
      .where(sql`${orders.status} = 'expired' and ${orders.expiresAt} > ${placeholder('now')}`)
      .orderBy(asc(orders.expiresAt))
      .limit(sql.placeholder('limit')),
  ),
  unmined: prepared(() =>
    orm
      .select({ id: orders.id, scripthash: addresses.scripthash })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .innerJoin(orders, eq(orders.id, addresses.orderId))
      .where(
        sql`${isOldUnconfirmed}
        and (${payments.firstSeenAt}, ${payments.id}) <= (${placeholder('endAt')}, ${placeholder('endId')})
        and ${orders.currency} is not null and ${orders.acceptedSat} is null
        and coalesce(${orders.scannedAt}, 0) <= ${payments.firstSeenAt} + ${sql.raw(String(maxUnminedMs))}
        and not (${orders.status} = 'open' and ${orders.expiresAt} is not null
          and ${orders.expiresAt} <= ${placeholder('now')})`,
      )
      .orderBy(asc(payments.firstSeenAt), asc(payments.id))
      .limit(sql.placeholder('pageSize')),
  ),
  unminedEnd: prepared(() =>
    orm
      .select({ at: payments.firstSeenAt, id: payments.id })
      .from(payments)
      .where(isOldUnconfirmed)
      .orderBy(asc(payments.firstSeenAt), asc(payments.id))
      .limit(1)
      .offset(maxRowsRead - 1),
  ),
  expiring: prepared(() =>
    orm
      .select({
        ...columnsOf(orders, 'id', 'expiresAt'),
        ...columnsOf(addresses, 'scripthash', 'statusHash'),
      })
      .from(orders)
      .innerJoin(addresses, eq(addresses.id, orders.addressId))
      .where(
        and(
          isOpen,
          lte(orders.expiresAt, placeholder('now')),
          sql`(${orders.expiresAt}, ${orders.id}) >
          (${placeholder('expiresAt')}, ${placeholder('id')})`,
        ),
      )
      .orderBy(asc(orders.expiresAt), asc(orders.id))
      .limit(sql.placeholder('pageSize')),
  ),
});

const prepareInsert = (orm: Orm) =>
  prepared(() =>
    orm
      .insert(orders)
      .values({
        ...placeholders('publicId', 'storeId', 'addressId', 'linkId', 'currency', 'amountMinor'),
        ...placeholders('amountSat', 'toleranceBasisPoints', 'latePolicy', 'quoteSeconds'),
        ...placeholders('reference', 'description', 'metadata', 'returnUrl', 'language', 'invoice'),
        ...placeholders('invoiceMetadata', 'tillId', 'payerNetwork', 'adjustBasisPoints'),
        ...placeholders('customerEmail'),
        createdAt: placeholder('now'),
        expiresAt: placeholder('expiresAt'),
        status: 'open',
        version: 1,
        fingerprint: '',
      })
      .returning(),
  );
