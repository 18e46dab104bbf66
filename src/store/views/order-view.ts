// Orders as they are shown: their facts, quotes and payments, with what these come to at a time.

import { and, asc, desc, eq, gt, type SQL, sql } from 'drizzle-orm';
import { headerTime } from '../../bitcoin/header.ts';
import type { LinkView } from '../../domain/link-input.ts';
import { type OrderFacts, type OrderStatus, type Standing, standing } from '../../domain/order.ts';
import {
  type OrderDetails,
  type OrderJson,
  orderJson,
  type ShownPayment,
} from '../../domain/order-json.ts';
import { depthOf } from '../../domain/payment.ts';
import type { Quote } from '../../domain/quote.ts';
import { events, links, orders, quotes } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { addresses, headers, payments, stores } from '../db/schema.ts';
import type { Headers } from '../records/headers.ts';
import type { ConflictingPayments } from './conflicting-payments.ts';

export type OrderRow = typeof orders.$inferSelect;

/** An order with all that its standing is computed from. */
export interface OrderRecord {
  readonly row: OrderRow;
  readonly details: OrderDetails;
  /** How the page of its link looks; null for an order of the shop. */
  readonly linkView: LinkView | null;
  readonly facts: OrderFacts;
  readonly quotes: readonly Quote[];
  readonly payments: readonly ShownPayment[];
}

export interface OrderQuery {
  readonly storeId?: number | undefined;
  readonly status?: OrderStatus | undefined;
  readonly reference?: string | undefined;
  readonly linkId?: number | undefined;
  /** Epoch milliseconds. */
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
  /** Only orders behind this row: the next page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

export interface OrderView {
  /** Begins the URLs of order pages, and has no slash at its end. */
  readonly baseUrl: string;
  byPublicId(publicId: string): OrderRow | undefined;
  byAddressId(addressId: number): OrderRow | undefined;
  /** The newest first. */
  list(query: OrderQuery): OrderRow[];
  /** Ids of orders with an event after this time, epoch milliseconds. */
  changedSince(since: number): number[];
  record(row: OrderRow): OrderRecord;
  /** Payments to an address, the oldest first, with those that are gone or replaced. */
  paymentsOf(addressId: number): ShownPayment[];
  standing(record: OrderRecord, now: number): Standing<ShownPayment>;
  json(row: OrderRow, now: number): OrderJson;
}

interface Parts {
  readonly orm: Orm;
  readonly headers: Pick<Headers, 'tipHeight'>;
  readonly conflicts: Pick<ConflictingPayments, 'withoutReplaced'>;
  /** Begins the URLs of order pages, and has no slash at its end. */
  readonly baseUrl: string;
}

export function createOrderView({ orm, headers: chain, conflicts, baseUrl }: Parts): OrderView {
  const statements = prepare(orm);

  function paymentsOf(addressId: number): ShownPayment[] {
    const tipHeight = chain.tipHeight();
    const found = conflicts.withoutReplaced(statements.payments.all({ addressId }));
    return found.map(({ raw, ...payment }) => {
      // A block off the best chain counts no confirmations, and its time is not the payment's.
      const height = raw === null ? null : payment.height;
      return {
        ...payment,
        minedAt: raw && headerTime(raw) * 1000,
        confirmations:
          height === null || tipHeight === undefined ? 0 : Math.max(0, depthOf(height, tipHeight)),
      };
    });
  }

  function record(row: OrderRow): OrderRecord {
    const found = statements.place.get({ id: row.id });
    if (found === undefined) throw new Error(`order ${row.id} has no address or no store`);
    const { minimumSat, linkView, ...place } = found;
    return {
      row,
      details: { ...row, ...place },
      linkView,
      facts: factsOf(row, minimumSat),
      quotes: row.currency === null ? [] : statements.quotes.all({ orderId: row.id }),
      payments: paymentsOf(row.addressId),
    };
  }

  const standingOf: OrderView['standing'] = ({ facts, quotes, payments }, now) =>
    standing(facts, quotes, payments, now);

  return {
    baseUrl,
    byPublicId: (publicId) => statements.byPublicId.get({ publicId }),
    byAddressId: (addressId) => statements.byAddressId.get({ addressId }),
    list: (query) =>
      orm
        .select()
        .from(orders)
        .where(and(...conditionsOf(query)))
        .orderBy(...(isSpan(query) ? [desc(orders.createdAt)] : []), desc(orders.id))
        .limit(query.limit)
        .all(),
    changedSince: (since) =>
      statements.changed.all({ since }).flatMap(({ orderId }) => orderId ?? []),
    record,
    paymentsOf,
    standing: standingOf,
    json(row, now) {
      const found = record(row);
      return orderJson(found.details, standingOf(found, now), baseUrl);
    },
  };
}

function factsOf(row: OrderRow, minimumSat: number | null): OrderFacts {
  const { currency, amountMinor, amountSat } = row;
  return {
    ...row,
    minimumSat,
    price:
      currency === null || amountMinor === null
        ? { kind: 'sat', amountSat }
        : { kind: 'fiat', currency, minor: BigInt(amountMinor) },
  };
}

/** Whether a list is found by an index of a reference or a link, which few orders share. */
const isNarrow = ({ reference, linkId }: Pick<OrderQuery, 'reference' | 'linkId'>): boolean =>
  reference !== undefined || linkId !== undefined;

/** Whether a list is sorted by time: a span of time is found by its index, wherever it is. */
const isSpan = ({ createdAfter, createdBefore, ...query }: OrderQuery): boolean =>
  !isNarrow(query) && (createdAfter !== undefined || createdBefore !== undefined);

/** The order of the list of a query, for the merged lists of several stores. */
export const newestFirst =
  (query: OrderQuery) =>
  (one: OrderRow, other: OrderRow): number =>
    (isSpan(query) ? other.createdAt - one.createdAt : 0) || other.id - one.id;

/** In the order of a span: by time, those of one moment by number. */
const isBehind = (id: number): SQL =>
  sql`(${orders.createdAt}, ${orders.id}) <
    ((select seen.created_at from orders seen where seen.id = ${id}), ${id})`;

/** A plus keeps SQLite from an index: it uses that of the reference, the link, or the span. */
function conditionsOf(query: OrderQuery): SQL[] {
  const { storeId, status, reference, linkId, createdAfter, createdBefore, beforeId } = query;
  const held = sql.raw(isNarrow(query) || isSpan(query) ? '+' : '');
  const heldStore = sql.raw(isNarrow(query) ? '+' : '');
  const heldLink = sql.raw(reference === undefined ? '' : '+');
  const heldTime = sql.raw(isSpan(query) ? '' : '+');
  const isOlder = (id: number) => (isSpan(query) ? isBehind(id) : sql`${orders.id} < ${id}`);
  return [
    ...(storeId === undefined ? [] : [sql`${heldStore}${orders.storeId} = ${storeId}`]),
    ...(status === undefined ? [] : [sql`${held}${orders.status} = ${status}`]),
    ...(reference === undefined ? [] : [eq(orders.reference, reference)]),
    ...(linkId === undefined ? [] : [sql`${heldLink}${orders.linkId} = ${linkId}`]),
    ...(createdAfter === undefined ? [] : [sql`${heldTime}${orders.createdAt} >= ${createdAfter}`]),
    ...(createdBefore === undefined
      ? []
      : [sql`${heldTime}${orders.createdAt} < ${createdBefore}`]),
    ...(beforeId === undefined ? [] : [isOlder(beforeId)]),
  ];
}

const prepare = (orm: Orm) => ({
  byPublicId: orm
    .select()
    .from(orders)
    .where(eq(orders.publicId, placeholder('publicId')))
    .prepare(),
  byAddressId: orm
    .select()
    .from(orders)
    .where(eq(orders.addressId, placeholder('addressId')))
    .prepare(),
  changed: orm
    .selectDistinct({ orderId: events.orderId })
    .from(events)
    .where(gt(events.createdAt, placeholder('since')))
    .prepare(),
  place: orm
    .select({
      address: addresses.address,
      storeName: stores.name,
      linkPublicId: links.publicId,
      linkView: links.view,
      minimumSat: stores.minimumSat,
    })
    .from(orders)
    .innerJoin(addresses, eq(addresses.id, orders.addressId))
    .innerJoin(stores, eq(stores.id, orders.storeId))
    .leftJoin(links, eq(links.id, orders.linkId))
    .where(eq(orders.id, placeholder('id')))
    .prepare(),
  quotes: orm
    .select()
    .from(quotes)
    .where(eq(quotes.orderId, placeholder('orderId')))
    .orderBy(asc(quotes.id))
    .prepare(),
  payments: orm
    .select({
      txid: payments.txid,
      valueSat: payments.valueSat,
      state: payments.state,
      replacedBy: payments.replacedBy,
      priceCents: payments.priceCents,
      firstSeenAt: payments.firstSeenAt,
      interruptedAt: payments.interruptedAt,
      firstBlockAt: payments.firstBlockAt,
      height: payments.height,
      signalsRbf: payments.signalsRbf,
      /** The header of its block, if that is on the best chain. */
      raw: headers.raw,
    })
    .from(payments)
    .leftJoin(headers, and(eq(headers.hash, payments.blockHash), sql`${headers.onBest} = 1`))
    .where(eq(payments.addressId, placeholder('addressId')))
    .orderBy(asc(payments.id))
    .prepare(),
});
