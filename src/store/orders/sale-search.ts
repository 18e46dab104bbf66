// One search over orders and payments (domain/order/search-text.ts). It shows the newest order or
// payment first, by its id. Parts of texts are found by an index of trigrams (schema/search.sql),
// which names too many orders: their texts are compared.

import { and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm';
import { paymentHashOf } from '../../domain/order/lightning-invoice.ts';
import {
  addressEndLength,
  type Ends,
  foldText,
  readSearchText,
  type SearchedAmount,
  type SearchText,
} from '../../domain/order/search-text.ts';
import { minorDigitsOf } from '../../domain/payment/money.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import type { ListPlace } from '../../lib/row-pages.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import { findIds, inMemory, type SearchedPage } from '../db/searched-list.ts';
import { orders, refunds } from '../schema/order-schema.ts';
import { addressEnd, addresses, isGivenOut, payments, stores } from '../schema/schema.ts';
import type { OrderQuery, OrderRow } from './order-view.ts';

export type SaleFilter = Omit<OrderQuery, 'reference' | 'beforeId' | 'limit'>;

export interface FoundPayments {
  readonly ids: readonly number[];
  /** More may match than are looked up. */
  readonly isCut: boolean;
}

/** Orders whose payments are looked up, and payments of one amount. */
export const maxFoundSales = 500;
/** Orders, addresses or transactions with the same beginning. */
const maxNamed = 200;
/** The comparison does the rest. */
const maxTrigrams = 20;

interface Found {
  readonly id: number;
}
const newestId = (one: Found, other: Found): number => other.id - one.id;

export class SaleSearch {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(orm: Orm) {
    this.#statements = prepare(orm);
  }

  orders(
    text: string,
    filter: SaleFilter,
    { beforeId = Number.MAX_SAFE_INTEGER, limit }: ListPlace,
  ): SearchedPage<OrderRow> {
    const search = readSearchText(text);
    const named = this.#named(search);
    const found = new Map<number, OrderRow | undefined>();
    const isFound = (row: OrderRow) =>
      named.has(row.id) ||
      search.amounts.some((amount) => isOf(row, amount)) ||
      foldText(this.#statements.textOf.get({ id: row.id })?.text ?? '').includes(search.folded);
    const page = findIds<Found>(
      {
        read: (last = { id: beforeId }, size) =>
          mergeLists(this.#listsOf(search, named, last), newestId, size),
        matches: ({ id }) => {
          if (found.has(id)) return false;
          const row = this.#statements.byId.get({ id });
          found.set(id, row);
          return row !== undefined && fits(row, filter) && isFound(row);
        },
      },
      limit,
    );
    return { rows: page.ids.flatMap((id) => found.get(id) ?? []), goesOnAt: page.goesOnAt };
  }

  payments(text: string): FoundPayments {
    const { ofValue, ofAddress } = this.#statements;
    const search = readSearchText(text);
    const limit = maxFoundSales + 1;
    const { rows, goesOnAt } = this.orders(text, {}, { beforeId: undefined, limit });
    const ofAmounts = search.amounts
      .filter(({ digits }) => digits === null)
      .map(({ minor }) => ofValue.all({ minor, limit }));
    const addressIds = [
      ...rows.map(({ addressId }) => addressId),
      ...this.#addresses(search).map(({ id }) => id),
    ];
    const found = [
      ...this.#payments(search),
      ...ofAmounts.flat(),
      ...addressIds.flatMap((addressId) => ofAddress.all({ addressId })),
    ];
    return {
      ids: [...new Set(found.map(({ id }) => id))],
      isCut: goesOnAt !== undefined || [rows, ...ofAmounts].some((each) => each.length === limit),
    };
  }

  /** Ids of the orders that are named, and not merely described. */
  #named(search: SearchText): Set<number> {
    const { orderId, whole, folded, txid } = search;
    const { ofPublicId, ofReference, ofRefund } = this.#statements;
    const ofId =
      orderId === undefined ? [] : ofPublicId.all({ from: orderId, to: `${orderId}\u{10ffff}` });
    const ofShort = isShort(folded) ? ofReference.all({ reference: whole }) : [];
    const ofRefunds = txid === undefined ? [] : ofRefund.all(spanOf(txid)).filter(endsAs(txid));
    const places = [...this.#addresses(search), ...this.#payments(search), ...ofRefunds];
    return new Set([
      ...[...ofId, ...ofShort].map(({ id }) => id),
      ...places.flatMap(({ orderId }) => orderId ?? []),
    ]);
  }

  #addresses({ address }: SearchText) {
    if (address === undefined) return [];
    return [address, ...(isLower(address) ? [] : [lower(address)])].flatMap((ends) =>
      this.#statements.ofEnd
        .all({ end: ends.end.slice(-addressEndLength) })
        .filter((row) => isBetween(ends, row.address)),
    );
  }

  #payments({ txid }: SearchText) {
    if (txid === undefined) return [];
    // The proof of a Lightning payment that a customer has.
    const isPreimage = txid.start.length === 64;
    const ofPreimage = isPreimage ? [{ start: paymentHashOf(txid.start), end: '' }] : [];
    return [txid, ...ofPreimage].flatMap((each) =>
      this.#statements.ofTxid.all(spanOf(each)).filter(endsAs(each)),
    );
  }

  /** Lists of orders that can match, behind an order. */
  #listsOf(search: SearchText, named: ReadonlySet<number>, begin: Found): ReadList<Found>[] {
    const { ofText, ofMinor, ofSat } = this.#statements;
    const match = trigramsOf(search.folded);
    return [
      inMemory(
        [...named].map((id) => ({ id })),
        begin.id,
      ),
      ...search.amounts.map(({ digits, minor }): ReadList<Found> => {
        const amount = digits === null ? ofSat : ofMinor;
        return ({ id } = begin, limit) => amount.all({ minor, id, limit });
      }),
      ({ id } = begin, limit) => (match === undefined ? [] : ofText.all({ match, id, limit })),
    ];
  }
}

/** The index has parts of three characters. */
const isShort = (folded: string): boolean => [...folded].length < 3;

const spanOf = ({ start }: Ends) => ({ from: start, to: `${start}g` });
const endsAs =
  ({ end }: Ends) =>
  ({ txid }: { readonly txid: string | null }): boolean =>
    txid?.endsWith(end) ?? false;

const lower = ({ start, end }: Ends): Ends => ({
  start: start.toLowerCase(),
  end: end.toLowerCase(),
});

const isLower = ({ start, end }: Ends): boolean => start + end === (start + end).toLowerCase();

const isBetween = ({ start, end }: Ends, text: string): boolean =>
  text.startsWith(start) && text.endsWith(end);

const isOf = (
  { amountSat, amountMinor, currency }: OrderRow,
  { minor, digits, currency: only }: SearchedAmount,
): boolean =>
  digits === null
    ? amountSat === minor
    : currency !== null &&
      amountMinor === minor &&
      minorDigitsOf(currency) === digits &&
      (only === undefined || only === currency);

const fits = (row: OrderRow, filter: SaleFilter): boolean =>
  (filter.storeId === undefined || row.storeId === filter.storeId) &&
  (filter.status === undefined || row.status === filter.status) &&
  (filter.linkId === undefined || row.linkId === filter.linkId) &&
  row.createdAt >= (filter.createdAfter ?? 0) &&
  row.createdAt < (filter.createdBefore ?? Number.POSITIVE_INFINITY);

/**
 * A query that every order with the text matches; undefined for a text that is too short. Trigrams
 * without a common character suffice, because texts are compared afterwards.
 */
function trigramsOf(folded: string): string | undefined {
  if (isShort(folded)) return undefined;
  const characters = [...folded];
  const starts = characters.flatMap((_, at) =>
    at % 3 === 0 && at + 3 <= characters.length ? [at] : [],
  );
  const trigrams = [...starts.slice(0, maxTrigrams), characters.length - 3].map((at) =>
    characters.slice(at, at + 3).join(''),
  );
  // A text ends at a NUL for FTS5 (https://sqlite.org/fts5.html#fts5_strings).
  return [...new Set(trigrams)]
    .filter((trigram) => !trigram.includes('\0'))
    .map((trigram) => `"${trigram.replaceAll('"', '""')}"`)
    .join(' AND ');
}

const prepare = (orm: Orm) => {
  const limit = sql.placeholder('limit');
  const isBefore = lt(orders.id, placeholder('id'));
  const ofAmount = (isOfAmount: SQL | undefined) =>
    prepared(() =>
      orm
        .select({ id: orders.id })
        .from(orders)
        .where(and(isOfAmount, isBefore))
        .orderBy(desc(orders.id))
        .limit(limit),
    );
  const minor = placeholder('minor');
  return {
    ofText: prepared(() =>
      orm
        .select({ id: sql<number>`rowid` })
        .from(sql`order_texts`)
        .where(sql`order_texts match ${placeholder('match')} and rowid < ${placeholder('id')}`)
        .orderBy(sql`rowid desc`)
        .limit(limit),
    ),
    textOf: prepared(() =>
      orm
        .select({ text: sql<string>`text` })
        .from(sql`searched_orders`)
        .where(sql`id = ${placeholder('id')}`),
    ),
    ofMinor: ofAmount(eq(orders.amountMinor, minor)),
    ofSat: ofAmount(eq(orders.amountSat, minor)),
    byId: prepared(() => orm.select().from(orders).where(equals(orders.id, 'id'))),
    ofPublicId: prepared(() =>
      orm
        .select({ id: orders.id })
        .from(orders)
        .where(
          and(gte(orders.publicId, placeholder('from')), lt(orders.publicId, placeholder('to'))),
        )
        .limit(maxNamed),
    ),
    ofReference: prepared(() =>
      orm
        .select({ id: orders.id })
        .from(stores)
        .crossJoin(orders)
        .where(and(eq(orders.storeId, stores.id), equals(orders.reference, 'reference')))
        .limit(maxNamed),
    ),
    ofEnd: prepared(() =>
      orm
        .select({ id: addresses.id, orderId: addresses.orderId, address: addresses.address })
        .from(addresses)
        .where(and(isGivenOut, eq(addressEnd, placeholder('end'))))
        .limit(maxNamed),
    ),
    ...preparePayments(orm),
  };
};

const preparePayments = (orm: Orm) => ({
  ofTxid: prepared(() =>
    orm
      .select({ id: payments.id, txid: payments.txid, orderId: addresses.orderId })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .where(
        and(
          isGivenOut,
          gte(payments.txid, placeholder('from')),
          lt(payments.txid, placeholder('to')),
        ),
      )
      .limit(maxNamed),
  ),
  ofRefund: prepared(() =>
    orm
      .select({ txid: refunds.txid, orderId: refunds.orderId })
      .from(refunds)
      .where(
        and(
          sql`${refunds.txid} is not null`,
          gte(refunds.txid, placeholder('from')),
          lt(refunds.txid, placeholder('to')),
        ),
      )
      .limit(maxNamed),
  ),
  ofValue: prepared(() =>
    orm
      .select({ id: payments.id })
      .from(payments)
      .where(equals(payments.valueSat, 'minor'))
      .orderBy(desc(payments.id))
      .limit(sql.placeholder('limit')),
  ),
  ofAddress: prepared(() =>
    orm.select({ id: payments.id }).from(payments).where(equals(payments.addressId, 'addressId')),
  ),
});
