// The ledger's statements, prepared once. What they mean stands in ledger.ts.

import { and, asc, eq, isNotNull, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { given } from '../db/placeholder.ts';
import { addresses, headers, payments, stores, transactions } from '../db/schema.ts';
import { addressPlace } from './address-statements.ts';

/** What of a recorded payment the decisions on it ask for. */
const paymentFacts = {
  id: payments.id,
  txid: payments.txid,
  valueSat: payments.valueSat,
  state: payments.state,
  height: payments.height,
  blockHash: payments.blockHash,
  coinbase: payments.coinbase,
  signalsRbf: payments.signalsRbf,
  status: payments.status,
  cycle: payments.cycle,
};

export type PaymentRow = Pick<typeof payments.$inferSelect, keyof typeof paymentFacts>;
export type LedgerStatements = ReturnType<typeof prepareLedger>;

/** What of a store the decisions on its payments ask for. */
const storeTerms = {
  id: stores.id,
  requiredConfirmations: stores.requiredConfirmations,
  confirmationBands: stores.confirmationBands,
  reversalCallback: stores.reversalCallback,
  omitRbf: stores.omitRbf,
  minimumSat: stores.minimumSat,
  currency: stores.currency,
};

export type StoreTerms = Pick<typeof stores.$inferSelect, keyof typeof storeTerms>;

export const prepareLedger = (orm: Orm) => ({
  ...preparePayments(orm),
  ...prepareAddresses(orm),
  ...prepareTransactions(orm),
});

function preparePayments(orm: Orm) {
  const place = {
    state: given('state'),
    height: given('height'),
    blockHash: given('blockHash'),
    status: given('status'),
    cycle: given('cycle'),
    changedAt: given('now'),
  };
  return {
    ...prepareRecorded(orm),
    insert: orm
      .insert(payments)
      .values({
        ...place,
        addressId: given('addressId'),
        txid: given('txid'),
        valueSat: given('valueSat'),
        coinbase: given('coinbase'),
        signalsRbf: given('signalsRbf'),
        currency: given('currency'),
        firstSeenAt: given('now'),
      })
      .returning({ id: payments.id })
      .prepare(),
    update: orm
      .update(payments)
      // Whatever becomes of it now, what took its place is told anew.
      .set({ ...place, replacedBy: null })
      .where(eq(payments.id, given('id')))
      .prepare(),
    setReplacedBy: orm
      .update(payments)
      .set({ replacedBy: given('replacedBy') })
      .where(eq(payments.id, given('id')))
      .prepare(),
    /** What took its inputs, as another address that it paid knows: the new one need not pay each of them. */
    replacedBy: orm
      .select({ replacedBy: payments.replacedBy })
      .from(payments)
      .where(and(eq(payments.txid, given('txid')), isNotNull(payments.replacedBy)))
      .limit(1)
      .prepare(),
    maturing: orm
      .select({ id: payments.id })
      .from(payments)
      .where(
        sql`${payments.state} = 'confirming' or (${payments.state} = 'confirmed'
          and ${payments.height} <= ${given('settledBelow')})`,
      )
      .prepare(),
    withPlace: orm
      .select({ payment: paymentFacts, address: addressPlace, store: storeTerms })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .leftJoin(stores, eq(stores.id, addresses.storeId))
      // A plus keeps SQLite from going through all that are in a block for each part of them.
      .where(
        sql`${payments.id} in (select value from json_each(${given('ids')}))
          and +${payments.state} in ('confirming', 'confirmed')`,
      )
      .prepare(),
    offChain: orm
      .selectDistinct({ scripthash: addresses.scripthash })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .leftJoin(headers, and(eq(headers.hash, payments.blockHash), sql`${headers.onBest} = 1`))
      .where(sql`${payments.state} in ('confirming', 'confirmed') and ${headers.hash} is null`)
      .prepare(),
  };
}

function prepareRecorded(orm: Orm) {
  const ofAddress = eq(payments.addressId, given('addressId'));
  return {
    ofAddress: orm
      .select(paymentFacts)
      .from(payments)
      .where(ofAddress)
      .orderBy(asc(payments.id))
      .prepare(),
    find: orm
      .select(paymentFacts)
      .from(payments)
      .where(and(ofAddress, eq(payments.txid, given('txid'))))
      .prepare(),
  };
}

function prepareAddresses(orm: Orm) {
  return {
    setStatus: orm
      .update(addresses)
      .set({ statusHash: given('statusHash') })
      .where(eq(addresses.id, given('id')))
      .prepare(),
    setForeign: orm
      .update(addresses)
      .set({ origin: 'foreign', statusHash: given('statusHash') })
      .where(eq(addresses.id, given('id')))
      .prepare(),
    addressOf: orm
      .select(addressPlace)
      .from(addresses)
      .where(eq(addresses.id, given('id')))
      .prepare(),
    termsOf: orm
      .select(storeTerms)
      .from(stores)
      .where(eq(stores.id, given('storeId')))
      .prepare(),
  };
}

function prepareTransactions(orm: Orm) {
  const byTxid = eq(transactions.txid, given('txid'));
  return {
    rawOf: orm.select({ raw: transactions.raw }).from(transactions).where(byTxid).prepare(),
    keepRaw: orm
      .insert(transactions)
      .values({
        txid: given('txid'),
        raw: given('raw'),
        firstSeenAt: given('now'),
        broadcastAt: given('now'),
      })
      .onConflictDoNothing()
      .prepare(),
    forgetRaw: orm.delete(transactions).where(byTxid).prepare(),
  };
}
