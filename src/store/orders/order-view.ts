// Orders as they are shown: their facts, quotes and payments, with what these come to at a time.

import { and, asc, desc, eq, gt, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm';
import { headerTime } from '../../bitcoin/header.ts';
import {
  type OrderFacts,
  type OrderStatus,
  type Standing,
  standing,
} from '../../domain/order/order.ts';
import {
  type OrderDetails,
  type OrderJson,
  orderJson,
  type ShownPayment,
} from '../../domain/order/order-json.ts';
import { type Quote, storedPriceOf } from '../../domain/order/quote.ts';
import type { ShownRefund } from '../../domain/order/refund.ts';
import { type ConfirmationPolicy, policyOf } from '../../domain/payment/confirmation-policy.ts';
import { depthOf } from '../../domain/payment/payment.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import type { Headers } from '../chain/headers.ts';
import { columnsOf, equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import {
  createStoreIds,
  listBegin,
  newestFirst,
  rowsBehind,
  type TimedPlace,
} from '../db/searched-list.ts';
import { isEvent } from '../delivery/event-records.ts';
import type { ConflictingPayments } from '../payments/conflicting-payments.ts';
import { deliveries } from '../schema/delivery-schema.ts';
import { lightningInvoices, links, orders, quotes, refunds } from '../schema/order-schema.ts';
import { addresses, headers, payments, stores } from '../schema/schema.ts';

export type OrderRow = typeof orders.$inferSelect;

export interface OrderRecord {
  readonly row: OrderRow;
  readonly details: OrderDetails;
  readonly linkTitle: string | null;
  /** How customers reach the shop. */
  readonly contact: string | null;
  /** Name and address of the merchant. */
  readonly receiptAddress: string | null;
  /** The page leads to the return URL by itself after the payment. */
  readonly autoReturn: boolean;
  /** How many confirmations the store requires. */
  readonly policy: ConfirmationPolicy;
  /** The payer chose the amount on the page of a link. */
  readonly isDonation: boolean;
  readonly facts: OrderFacts;
  readonly quotes: readonly Quote[];
  readonly payments: readonly ShownPayment[];
}

export interface OrderQuery {
  readonly storeId?: number | undefined;
  readonly status?: OrderStatus | undefined;
  readonly reference?: string | undefined;
  readonly linkId?: number | undefined;
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

export type OrderView = ReturnType<typeof createOrderView>;

interface Parts {
  readonly orm: Orm;
  readonly headers: Pick<Headers, 'tipHeight'>;
  readonly conflicts: Pick<ConflictingPayments, 'withoutReplaced'>;
  readonly baseUrl: string;
}

export function createOrderView({ orm, headers: chain, conflicts, baseUrl }: Parts) {
  const statements = prepare(orm);

  function paymentsOf(addressId: number): ShownPayment[] {
    const tipHeight = chain.tipHeight();
    const found = conflicts.withoutReplaced(statements.payments.all({ addressId }));
    return found.map(({ raw, ...payment }) => {
      // A block off the best chain counts no confirmations, and its time is not the payment's.
      const height = raw === null ? null : payment.height;
      return {
        ...payment,
        // A settled invoice is final when it is paid.
        minedAt: payment.preimage === null ? raw && headerTime(raw) * 1000 : payment.firstSeenAt,
        confirmations:
          height === null || tipHeight === undefined ? 0 : Math.max(0, depthOf(height, tipHeight)),
      };
    });
  }

  const refundsOf = (orderId: number): ShownRefund[] =>
    statements.refunds
      .all({ orderId })
      .map(({ minedIn, ...refund }) => ({ ...refund, isMined: minedIn !== null }));

  function record(row: OrderRow): OrderRecord {
    const found = statements.place.get({ id: row.id });
    if (found === undefined) throw new Error(`order ${row.id} has no address or no store`);
    const { minimumSat, linkTitle, linkId, linkAmount, contact, ...rest } = found;
    const { receiptAddress, autoReturn, requiredConfirmations, confirmationBands, ...place } = rest;
    return {
      row,
      details: { ...row, ...place, refunds: refundsOf(row.id) },
      linkTitle,
      contact,
      receiptAddress,
      autoReturn,
      policy: policyOf({ requiredConfirmations, confirmationBands }),
      isDonation: linkId !== null && linkAmount === null,
      facts: factsOf(row, minimumSat),
      quotes: row.currency === null ? [] : statements.quotes.all({ orderId: row.id }),
      payments: paymentsOf(row.addressId),
    };
  }

  const standingOf = (
    { facts, quotes, payments }: OrderRecord,
    now: number,
  ): Standing<ShownPayment> => standing(facts, quotes, payments, now);

  return {
    /** Begins the URLs of order pages, and has no slash at its end. */
    baseUrl,
    byPublicId: (publicId: string): OrderRow | undefined => statements.byPublicId.get({ publicId }),
    byId(id: number): OrderRow {
      const row = statements.byId.get({ id });
      if (row === undefined) throw new Error(`there is no order ${id}`);
      return row;
    },
    byAddressId: (addressId: number): OrderRow | undefined =>
      statements.byAddressId.get({ addressId }),
    /** The newest first, by the time at which they were created. */
    list: createOrderList(orm),
    /** Ids of orders with an event after this time, epoch milliseconds. */
    changedSince: (since: number): number[] => [
      ...new Set(statements.changed.all({ since }).flatMap(({ orderId }) => orderId ?? [])),
    ],
    record,
    /** Payments to an address, the oldest first, with those that are gone or replaced. */
    paymentsOf,
    standing: standingOf,
    json(row: OrderRow, now: number): OrderJson {
      const found = record(row);
      return orderJson(found.details, standingOf(found, now), baseUrl);
    },
  };
}

function factsOf(row: OrderRow, minimumSat: number | null): OrderFacts {
  return {
    ...row,
    minimumSat,
    price: storedPriceOf(row) ?? { kind: 'sat', amountSat: row.amountSat },
  };
}

const placeOf = ({ createdAt, id }: Pick<OrderRow, 'createdAt' | 'id'>): TimedPlace => ({
  at: createdAt,
  id,
});

const statuses: readonly OrderStatus[] = ['open', 'processing', 'paid', 'expired', 'canceled'];

/**
 * Lists orders. Each statement reads the orders of one store and one status, because an index has
 * exactly these in the order of the list. The cost of a page thus does not depend on how many
 * orders do not match.
 */
function createOrderList(orm: Orm) {
  const statements = prepareList(orm);
  const storeIds = createStoreIds(orm);

  /** The place before which a list begins; undefined if the row of the page before is unknown. */
  function beginOf({ createdBefore, beforeId }: OrderQuery): TimedPlace | undefined {
    const begin = { ...listBegin, at: createdBefore ?? listBegin.at };
    if (beforeId === undefined) return begin;
    const last = statements.place.get({ id: beforeId });
    if (last === undefined) return undefined;
    return newestFirst(begin, placeOf(last)) < 0 ? placeOf(last) : begin;
  }

  return (query: OrderQuery): OrderRow[] => {
    const { storeId, status, reference, linkId, createdAfter = 0, limit } = query;
    const begin = beginOf(query);
    if (begin === undefined) return [];
    const byLink = linkId === undefined ? statements.all : statements.ofLink;
    const statement = reference === undefined ? byLink.all : byLink.ofReference;
    const lists = storeIds(storeId).flatMap((ofStore) =>
      (status === undefined ? statuses : [status]).map((ofStatus): ReadList<OrderRow> => {
        const part = { storeId: ofStore, status: ofStatus, reference, linkId };
        return (last, size) =>
          rowsBehind(statement, part, last === undefined ? begin : placeOf(last), size).filter(
            ({ createdAt }) => createdAt >= createdAfter,
          );
      }),
    );
    return mergeLists(lists, (one, other) => newestFirst(placeOf(one), placeOf(other)), limit);
  };
}

/** For each set of filters: the orders of one moment, and older ones. */
function prepareList(orm: Orm) {
  const list = (...conditions: SQL[]) => {
    const rows = (...place: SQL[]) =>
      prepared(() =>
        orm
          .select()
          .from(orders)
          .where(
            and(
              equals(orders.storeId, 'storeId'),
              equals(orders.status, 'status'),
              ...conditions,
              ...place,
            ),
          )
          .orderBy(desc(orders.createdAt), desc(orders.id))
          .limit(sql.placeholder('limit')),
      );
    const at = placeholder('at');
    return {
      sameMoment: rows(eq(orders.createdAt, at), lt(orders.id, placeholder('id'))),
      // Without the other end of a span, for which SQLite would take an index that knows less.
      older: rows(lt(orders.createdAt, at)),
    };
  };
  const isOfReference = equals(orders.reference, 'reference');
  const isOfLink = equals(orders.linkId, 'linkId');
  return {
    all: { all: list(), ofReference: list(isOfReference) },
    ofLink: { all: list(isOfLink), ofReference: list(isOfLink, isOfReference) },
    place: prepared(() =>
      orm
        .select({ createdAt: orders.createdAt, id: orders.id })
        .from(orders)
        .where(equals(orders.id, 'id')),
    ),
  };
}

const prepare = (orm: Orm) => ({
  byPublicId: prepared(() => orm.select().from(orders).where(equals(orders.publicId, 'publicId'))),
  byId: prepared(() => orm.select().from(orders).where(equals(orders.id, 'id'))),
  byAddressId: prepared(() =>
    orm.select().from(orders).where(equals(orders.addressId, 'addressId')),
  ),
  changed: prepared(() =>
    orm
      .select({ orderId: deliveries.orderId })
      .from(deliveries)
      .where(
        and(isEvent, isNotNull(deliveries.type), gt(deliveries.createdAt, placeholder('since'))),
      ),
  ),
  place: prepared(() =>
    orm
      .select({
        address: addresses.address,
        storeName: stores.name,
        contact: stores.contact,
        receiptAddress: stores.receiptAddress,
        autoReturn: stores.autoReturn,
        requiredConfirmations: stores.requiredConfirmations,
        confirmationBands: stores.confirmationBands,
        linkPublicId: links.publicId,
        linkTitle: links.title,
        linkId: links.id,
        linkAmount: links.amount,
        minimumSat: stores.minimumSat,
        lightning: columnsOf(lightningInvoices, 'paymentHash', 'invoice', 'amountSat', 'expiresAt'),
      })
      .from(orders)
      .innerJoin(addresses, eq(addresses.id, orders.addressId))
      .innerJoin(stores, eq(stores.id, orders.storeId))
      .leftJoin(links, eq(links.id, orders.linkId))
      .leftJoin(
        lightningInvoices,
        and(eq(lightningInvoices.orderId, orders.id), isNull(lightningInvoices.endedAt)),
      )
      .where(equals(orders.id, 'id')),
  ),
  refunds: prepared(() =>
    orm
      .select({
        ...columnsOf(refunds, 'amountSat', 'feeSat', 'address', 'txid', 'createdAt', 'doneAt'),
        minedIn: headers.hash,
      })
      .from(refunds)
      .leftJoin(headers, and(eq(headers.hash, refunds.blockHash), sql`${headers.onBest} = 1`))
      .where(equals(refunds.orderId, 'orderId'))
      .orderBy(asc(refunds.id)),
  ),
  quotes: prepared(() =>
    orm.select().from(quotes).where(equals(quotes.orderId, 'orderId')).orderBy(asc(quotes.id)),
  ),
  payments: prepared(() =>
    orm
      .select({
        ...columnsOf(payments, 'txid', 'valueSat', 'state', 'replacedBy', 'priceCents'),
        ...columnsOf(payments, 'firstSeenAt', 'interruptedAt', 'firstBlockAt', 'height'),
        ...columnsOf(payments, 'signalsRbf', 'preimage'),
        /** The header of its block, if that is on the best chain. */
        raw: headers.raw,
      })
      .from(payments)
      .leftJoin(headers, and(eq(headers.hash, payments.blockHash), sql`${headers.onBest} = 1`))
      .where(equals(payments.addressId, 'addressId'))
      .orderBy(asc(payments.id)),
  ),
});

/** Counts of orders for the metrics, by index and up to a bound. */
export function createOrderCounts(orm: Orm) {
  // By store, because the index of the status begins with the store.
  const counted = sql<number>`(select count(*) from (select 1 from ${stores} s cross join ${orders} o
    where o.store_id = s.id and o.status = ${placeholder('status')} limit ${placeholder('max')}))`;
  const statement = prepared(() => orm.select({ counted }).from(sql`(select 1)`));
  return {
    /** Orders of all stores with this status, at most `max`. */
    withStatus: (status: OrderStatus, max: number): number =>
      statement.get({ status, max })?.counted ?? 0,
  };
}
