// Payments for people: lists by page, one with its callbacks. Reads alone, and only of
// addresses that customers can have. Pages go by id, which rises as payments are first seen. Pages
// of a span of time go by the time that each was first seen.

import { and, asc, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { PaymentState } from '../../domain/payment.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import {
  addresses,
  callbacks,
  isGivenOut,
  isOfStore,
  isReversedSince,
  payments,
  stores,
} from '../db/schema.ts';

export interface PaymentFilter {
  readonly scripthash?: Scripthash | undefined;
  readonly txid?: Txid | undefined;
  /** Null for payments of an unknown store. */
  readonly storeId?: number | null | undefined;
  /** Payments in any of these states; undefined for all. */
  readonly states?: readonly PaymentState[] | undefined;
  /** Taken back after this time, and after the shop received 1 or 2. */
  readonly reversedSince?: number | undefined;
  /** First seen at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** First seen before this time. */
  readonly until?: number | undefined;
  /** Only older ones than this id: the next page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** A payment with its address and its store, where it has one. */
export type PaymentEntry = ReturnType<typeof list>[number];

export type PaymentView = ReturnType<typeof createPaymentView>;

export function createPaymentView(orm: Orm) {
  return {
    /** Newest first. */
    list: (filter: PaymentFilter): PaymentEntry[] => list(orm, filter),
    /** @throws PaygateError not_found */
    payment(id: number): PaymentEntry {
      const [row] = list(orm, { limit: 1, id });
      if (row === undefined) throw new PaygateError('not_found', `there is no payment ${id}`);
      return row;
    },
    /** All callbacks of a payment, in order. */
    callbacksOf: (paymentId: number) =>
      orm
        .select()
        .from(callbacks)
        .where(eq(callbacks.paymentId, paymentId))
        .orderBy(asc(callbacks.version))
        .all(),
  };
}

/** In the order of a span: by time, those of one moment by number. */
const isBehind = (id: number): SQL =>
  sql`(${payments.firstSeenAt}, ${payments.id}) <
    ((select seen.first_seen_at from payments seen where seen.id = ${id}), ${id})`;

function list(orm: Orm, filter: PaymentFilter & { readonly id?: number }) {
  const { id, scripthash, txid, storeId, states, reversedSince } = filter;
  const { since, until, beforeId, limit } = filter;
  // All but settled ones are few: found by their index. A plus keeps SQLite from the other way.
  const isFew =
    reversedSince !== undefined || (states !== undefined && !states.includes('settled'));
  // A span of time is found by its index: it may be far from the newest, or hold nothing.
  const isSpan = !isFew && (since !== undefined || until !== undefined);
  const hold = sql.raw(isSpan ? '' : '+');
  const order = isSpan
    ? sql`${payments.firstSeenAt} desc`
    : sql`${sql.raw(isFew ? '+' : '')}${payments.id} desc`;
  const where: (SQL | undefined)[] = [
    id === undefined ? undefined : eq(payments.id, id),
    scripthash === undefined ? undefined : eq(addresses.scripthash, scripthash),
    txid === undefined ? undefined : eq(payments.txid, txid),
    storeId === undefined ? undefined : isOfStore(storeId),
    states === undefined
      ? undefined
      : sql`${sql.raw(isFew ? '' : '+')}${payments.state} in ${states}`,
    reversedSince === undefined ? undefined : isReversedSince(reversedSince),
    since === undefined ? undefined : sql`${hold}${payments.firstSeenAt} >= ${since}`,
    // Behind a row, that is where the search begins.
    until === undefined
      ? undefined
      : sql`${beforeId === undefined ? hold : sql.raw('+')}${payments.firstSeenAt} < ${until}`,
    beforeId === undefined ? undefined : isSpan ? isBehind(beforeId) : lt(payments.id, beforeId),
  ];
  return orm
    .select({
      ...getTableColumns(payments),
      address: addresses.address,
      storeId: addresses.storeId,
      orderId: addresses.orderId,
      storeName: stores.name,
    })
    .from(payments)
    .innerJoin(addresses, eq(addresses.id, payments.addressId))
    .leftJoin(stores, eq(stores.id, addresses.storeId))
    .where(and(isGivenOut, ...where))
    .orderBy(order, desc(payments.id))
    .limit(limit)
    .all();
}
