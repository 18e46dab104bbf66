// Rows of payments, and the raw transactions behind them. The ledger decides what they become.

import { and, asc, eq, isNotNull, sql } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { isSubscribed } from '../../domain/delivery/event-body.ts';
import { columnsOf, equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import {
  addresses,
  headers,
  isOnChain,
  ownWebhook,
  payments,
  stores,
  transactions,
} from '../schema/schema.ts';
import { addressPlace } from '../wallets/address-row.ts';
import type { StoreRow } from '../wallets/catalog.ts';

const paymentFacts = {
  ...columnsOf(payments, 'id', 'txid', 'valueSat', 'state', 'height', 'blockHash', 'coinbase'),
  ...columnsOf(payments, 'signalsRbf', 'status', 'cycle'),
};

export type PaymentRow = Pick<typeof payments.$inferSelect, keyof typeof paymentFacts>;
export const storeTerms = {
  ...columnsOf(stores, 'id', 'requiredConfirmations', 'confirmationBands', 'reversalCallback'),
  ...columnsOf(stores, 'omitRbf', 'minimumSat', 'currency'),
  ...ownWebhook,
  ...columnsOf(stores, 'callbacksStopped', 'callbackUrl'),
};

export type StoreTerms = Pick<StoreRow, keyof typeof storeTerms>;

/** Whether a change of a payment can concern an order or an event. */
export const isFollowed = (
  { orderId }: { readonly orderId: number | null },
  store: StoreTerms | null,
): boolean => orderId !== null || (store !== null && isSubscribed(store, 'payment'));

type Payment = typeof payments.$inferSelect;
type NewPayment = Pick<
  Payment,
  | 'addressId'
  | 'txid'
  | 'valueSat'
  | 'coinbase'
  | 'signalsRbf'
  | 'currency'
  | 'interruptedAt'
  | 'firstBlockAt'
>;
type PaymentChange = Pick<Payment, 'state' | 'height' | 'blockHash' | 'status' | 'cycle'>;

export type PaymentRecords = ReturnType<typeof createPaymentRecords>;

export function createPaymentRecords(orm: Orm) {
  const statements = prepare(orm);
  return {
    insert(_tx: Tx, now: number, row: NewPayment & PaymentChange): number {
      const { coinbase, signalsRbf } = row;
      const flags = { coinbase: Number(coinbase), signalsRbf: Number(signalsRbf) };
      return statements.insert.get({ ...row, ...flags, now }).id;
    },
    /** Also forgets what replaced the payment: that is recorded anew. */
    update: (_tx: Tx, now: number, id: number, change: PaymentChange): void =>
      void statements.update.run({ ...change, id, now }),
    setReplacedBy: (_tx: Tx, id: number, replacedBy: Txid | null): void =>
      void statements.setReplacedBy.run({ id, replacedBy }),
    keepRaw: (_tx: Tx, now: number, txid: Txid, raw: Uint8Array): void =>
      void statements.keepRaw.run({ txid, raw: Buffer.from(raw), now }),
    forgetRaw: (_tx: Tx, txid: Txid): void => void statements.forgetRaw.run({ txid }),
    find: (addressId: number, txid: Txid): PaymentRow | undefined =>
      statements.find.get({ addressId, txid }),
    ofAddress: (addressId: number): PaymentRow[] => statements.ofAddress.all({ addressId }),
    /**
     * What replaced a transaction, as any address that it paid knows: the new one need not pay each
     * of them.
     */
    replacedBy: (txid: Txid): Txid | undefined =>
      statements.replacedBy.get({ txid })?.replacedBy ?? undefined,
    /**
     * Payments that are confirming, and confirmed ones at this height or below it; those of an
     * address together.
     */
    maturing: (settledBelow: number): number[] =>
      statements.maturing
        .all({ settledBelow })
        .sort((one, other) => one.addressId - other.addressId || one.id - other.id)
        .map(({ id }) => id),
    withPlace: (ids: readonly number[]) => statements.withPlace.all({ ids: JSON.stringify(ids) }),
    offChain: (): Scripthash[] => statements.offChain.all().map(({ scripthash }) => scripthash),
    rawOf: (txid: Txid): Uint8Array | undefined => statements.rawOf.get({ txid })?.raw,
  };
}

function prepare(orm: Orm) {
  const place = {
    ...placeholders('state', 'height', 'blockHash', 'status', 'cycle'),
    changedAt: placeholder('now'),
  };
  return {
    ...prepareRecorded(orm),
    ...prepareTransactions(orm),
    insert: prepared(() =>
      orm
        .insert(payments)
        .values({
          ...place,
          ...placeholders('addressId', 'txid', 'valueSat', 'coinbase', 'signalsRbf', 'currency'),
          firstSeenAt: placeholder('now'),
          ...placeholders('interruptedAt', 'firstBlockAt'),
        })
        .returning({ id: payments.id }),
    ),
    update: prepared(() =>
      orm
        .update(payments)
        // The replacement is recorded anew with each change.
        .set({ ...place, replacedBy: null })
        .where(equals(payments.id, 'id')),
    ),
    maturing: prepared(() =>
      orm
        .select({ id: payments.id, addressId: payments.addressId })
        .from(payments)
        .where(
          sql`${payments.state} = 'confirming' or (${payments.state} = 'confirmed'
          and ${payments.height} <= ${placeholder('settledBelow')})`,
        ),
    ),
    withPlace: prepared(() =>
      orm
        .select({ payment: paymentFacts, address: addressPlace, store: storeTerms })
        .from(payments)
        .innerJoin(addresses, eq(addresses.id, payments.addressId))
        .leftJoin(stores, eq(stores.id, addresses.storeId))
        // A plus keeps SQLite from going through all that are in a block for each part of them.
        .where(
          sql`${payments.id} in (select value from json_each(${placeholder('ids')}))
          and +${payments.state} in ('confirming', 'confirmed')`,
        ),
    ),
    offChain: prepared(() =>
      orm
        .selectDistinct({ scripthash: addresses.scripthash })
        .from(payments)
        .innerJoin(addresses, eq(addresses.id, payments.addressId))
        .leftJoin(headers, and(eq(headers.hash, payments.blockHash), sql`${headers.onBest} = 1`))
        .where(
          sql`(${payments.state} = 'confirming' or ${payments.state} = 'confirmed')
          and ${headers.hash} is null`,
        ),
    ),
  };
}

function prepareRecorded(orm: Orm) {
  const ofAddress = equals(payments.addressId, 'addressId');
  return {
    setReplacedBy: prepared(() =>
      orm.update(payments).set(placeholders('replacedBy')).where(equals(payments.id, 'id')),
    ),
    replacedBy: prepared(() =>
      orm
        .select({ replacedBy: payments.replacedBy })
        .from(payments)
        .where(and(equals(payments.txid, 'txid'), isNotNull(payments.replacedBy)))
        .limit(1),
    ),
    ofAddress: prepared(() =>
      orm
        .select(paymentFacts)
        .from(payments)
        .where(and(ofAddress, isOnChain))
        .orderBy(asc(payments.id)),
    ),
    find: prepared(() =>
      orm
        .select(paymentFacts)
        .from(payments)
        .where(and(ofAddress, equals(payments.txid, 'txid'))),
    ),
  };
}

const byTxid = equals(transactions.txid, 'txid');

/** The raw transaction: absent once a payment is final, and long after it was dropped. */
export const prepareRaw = (orm: Orm) =>
  prepared(() => orm.select({ raw: transactions.raw }).from(transactions).where(byTxid));

function prepareTransactions(orm: Orm) {
  return {
    rawOf: prepareRaw(orm),
    keepRaw: prepared(() =>
      orm
        .insert(transactions)
        .values({
          ...placeholders('txid', 'raw'),
          firstSeenAt: placeholder('now'),
          broadcastAt: placeholder('now'),
        })
        .onConflictDoNothing(),
    ),
    forgetRaw: prepared(() => orm.delete(transactions).where(byTxid)),
  };
}
