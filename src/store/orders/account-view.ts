// The rows of a shop's accounts, read page by page so that a file of a million payments needs
// little memory. It adds to a payment what its order and its block have. Refunds are typed by hand,
// so they are few.

import { and, desc, eq, getTableColumns, gte, lt, sql } from 'drizzle-orm';
import type { BlockHash } from '../../bitcoin/ids.ts';
import type { AccountOrder, AccountRow, AccountSums } from '../../domain/payment/account-row.ts';
import { addUp, isBooked, noSums } from '../../domain/payment/account-row.ts';
import { pagesOf } from '../../lib/row-pages.ts';
import type { Headers } from '../chain/headers.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { PaymentEntry, PaymentFilter, PaymentView } from '../payments/payment-view.ts';
import { links, orders, refunds } from '../schema/order-schema.ts';
import { payments, stores } from '../schema/schema.ts';
import type { OrderView } from './order-view.ts';

export type AccountFilter = Omit<PaymentFilter, 'beforeId' | 'limit'>;

interface Parts {
  readonly orm: Orm;
  readonly paymentView: Pick<PaymentView, 'page'>;
  readonly orderView: Pick<OrderView, 'byAddressId' | 'record' | 'standing'>;
  readonly headers: Pick<Headers, 'bestAt'>;
}

type OfPayment = ReadonlyMap<string, AccountOrder>;

export function createAccountView({ orm, paymentView, orderView, headers }: Parts) {
  const refundRows = createRefundRows(orm, headers);

  const entries = (filter: AccountFilter) =>
    pagesOf<PaymentEntry>((place) => paymentView.page({ ...filter, ...place }));

  function readOrder(addressId: number, now: number): OfPayment | undefined {
    const row = orderView.byAddressId(addressId);
    if (row === undefined) return undefined;
    const record = orderView.record(row);
    const { linkTitle } = record;
    return new Map(
      orderView
        .standing(record, now)
        .payments.map(({ payment, rateCents, isLate }) => [
          payment.txid,
          { ...row, linkTitle, rateCents, isLate },
        ]),
    );
  }

  function rowOf(entry: PaymentEntry, order: OfPayment | undefined): AccountRow {
    return {
      ...entry,
      ...placeOf(headers, entry.height, entry.blockHash),
      order: order?.get(entry.txid) ?? null,
    };
  }

  return {
    /**
     * All payments of a filter and the refunds of their time, the newest first. Each page is a turn
     * of the event loop.
     */
    async *pages(filter: AccountFilter, now: number): AsyncGenerator<readonly AccountRow[], void> {
      const left = refundRows(filter);
      for await (const page of entries(filter)) {
        const orders = new Map<number, OfPayment | undefined>();
        const rows = page.map((entry) => {
          const { addressId, orderId } = entry;
          if (orderId === null) return rowOf(entry, undefined);
          if (!orders.has(addressId)) orders.set(addressId, readOrder(addressId, now));
          return rowOf(entry, orders.get(addressId));
        });
        const end = page.at(-1)?.firstSeenAt ?? 0;
        const newer = left.filter(({ firstSeenAt }) => firstSeenAt >= end).length;
        const all = [...rows, ...left.splice(0, newer)];
        yield newer === 0 ? rows : all.sort((one, other) => other.firstSeenAt - one.firstSeenAt);
      }
      if (left.length > 0) yield left;
    },
    /** Refunds that were sent, the newest first. */
    refunds: refundRows,
    async sums(filter: AccountFilter): Promise<AccountSums> {
      let sums = addUp(noSums, refundRows(filter));
      for await (const page of entries(filter)) sums = addUp(sums, page);
      return sums;
    },
  };
}

/** The block of a transaction, if the best chain has it. */
function placeOf(
  { bestAt }: Parts['headers'],
  height: number | null,
  blockHash: BlockHash | null,
): Pick<AccountRow, 'height' | 'minedAt'> {
  const header = height === null ? undefined : bestAt(height)?.header;
  if (header === undefined || header.hash !== blockHash) return { height: null, minedAt: null };
  return { height, minedAt: header.time * 1000 };
}

function createRefundRows(orm: Orm, headers: Parts['headers']) {
  const statements = prepare(orm);
  return (filter: AccountFilter): AccountRow[] => {
    const { ids, storeId, states, since = 0, until = Number.MAX_SAFE_INTEGER } = filter;
    const isOfSent = states?.some((state) => isBooked({ state })) ?? true;
    if (!isOfSent || filter.reversedSince !== undefined) return [];
    const named = ids && new Set(ids);
    const isNamed = (addressId: number) =>
      named === undefined ||
      statements.paymentsOf.all({ addressId }).some(({ id }) => named.has(id));
    return statements.refunds
      .all({ since, until })
      .filter((row) => (storeId === undefined || row.storeId === storeId) && isNamed(row.addressId))
      .map(({ doneAt, amountSat, order, linkTitle, height, blockHash, ...row }) => ({
        ...row,
        ...placeOf(headers, height, blockHash),
        address: row.address ?? '',
        state: 'settled',
        preimage: null,
        valueSat: -amountSat,
        firstSeenAt: doneAt ?? 0,
        priceSources: null,
        order: { ...order, linkTitle, rateCents: null, isLate: false },
      }));
  };
}

const prepare = (orm: Orm) => ({
  paymentsOf: prepared(() =>
    orm.select({ id: payments.id }).from(payments).where(equals(payments.addressId, 'addressId')),
  ),
  refunds: prepared(() =>
    orm
      .select({
        doneAt: refunds.doneAt,
        amountSat: refunds.amountSat,
        currency: refunds.currency,
        priceCents: refunds.priceCents,
        address: refunds.address,
        txid: refunds.txid,
        height: refunds.height,
        blockHash: refunds.blockHash,
        addressId: orders.addressId,
        order: getTableColumns(orders),
        linkTitle: links.title,
        storeId: stores.id,
        storeName: stores.name,
      })
      .from(refunds)
      .innerJoin(orders, eq(orders.id, refunds.orderId))
      .innerJoin(stores, eq(stores.id, orders.storeId))
      .leftJoin(links, eq(links.id, orders.linkId))
      .where(
        and(
          sql`${refunds.doneAt} is not null`,
          gte(refunds.doneAt, placeholder('since')),
          lt(refunds.doneAt, placeholder('until')),
        ),
      )
      .orderBy(desc(refunds.doneAt), desc(refunds.id)),
  ),
});
