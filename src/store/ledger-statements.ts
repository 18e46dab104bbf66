// The ledger's statements, prepared once. What they mean stands in ledger.ts.

import { and, asc, count, eq, min, type SQL, sql } from 'drizzle-orm';
import type { Orm } from './database.ts';
import { addresses, headers, payments, stores, transactions } from './schema.ts';

export type PaymentRow = typeof payments.$inferSelect;
export type LedgerStatements = ReturnType<typeof prepareLedger>;

/** Payments, and when the first of them came to be so, epoch milliseconds. */
export interface Counted {
  readonly count: number;
  readonly firstAt: number | undefined;
}

export const counted = (row?: { count: number; firstAt: number | null }): Counted => ({
  count: row?.count ?? 0,
  firstAt: row?.firstAt ?? undefined,
});

const value = (name: string): SQL => sql`${sql.placeholder(name)}`;

export const prepareLedger = (orm: Orm) => ({
  ...preparePayments(orm),
  ...preparePaymentCounts(orm),
  ...prepareAddresses(orm),
  ...prepareTransactions(orm),
});

function preparePayments(orm: Orm) {
  const place = {
    state: value('state'),
    height: value('height'),
    blockHash: value('blockHash'),
    status: value('status'),
    cycle: value('cycle'),
    changedAt: value('now'),
  };
  const ofAddress = eq(payments.addressId, sql.placeholder('addressId'));
  return {
    ofAddress: orm.select().from(payments).where(ofAddress).orderBy(asc(payments.id)).prepare(),
    find: orm
      .select()
      .from(payments)
      .where(and(ofAddress, eq(payments.txid, sql.placeholder('txid'))))
      .prepare(),
    insert: orm
      .insert(payments)
      .values({
        ...place,
        addressId: value('addressId'),
        txid: value('txid'),
        valueSat: value('valueSat'),
        coinbase: value('coinbase'),
        signalsRbf: value('signalsRbf'),
        currency: value('currency'),
        firstSeenAt: value('now'),
      })
      .returning({ id: payments.id })
      .prepare(),
    update: orm
      .update(payments)
      // Whatever becomes of it now, what took its place is told anew.
      .set({ ...place, replacedBy: null })
      .where(eq(payments.id, sql.placeholder('id')))
      .prepare(),
    setReplacedBy: orm
      .update(payments)
      .set({ replacedBy: value('replacedBy') })
      .where(eq(payments.id, sql.placeholder('id')))
      .prepare(),
    maturing: orm
      .select({ id: payments.id })
      .from(payments)
      .where(
        sql`${payments.state} = 'confirming' or (${payments.state} = 'confirmed'
          and ${payments.height} <= ${sql.placeholder('settledBelow')})`,
      )
      .prepare(),
    withPlace: orm
      .select({ payment: payments, address: addresses, store: stores })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .leftJoin(stores, eq(stores.id, addresses.storeId))
      .where(
        sql`${payments.id} in (select value from json_each(${value('ids')}))
          and ${payments.state} in ('confirming', 'confirmed')`,
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

function preparePaymentCounts(orm: Orm) {
  return {
    countByState: orm
      .select({ state: payments.state, count: count() })
      .from(payments)
      .groupBy(payments.state)
      .prepare(),
    reversals: orm
      .select({ count: count(), firstAt: min(payments.changedAt) })
      .from(payments)
      .where(
        sql`${payments.state} = 'dropped' and ${payments.changedAt} > ${sql.placeholder('since')}
          and (${payments.status} <> 0 or ${payments.cycle} > 0)`,
      )
      .prepare(),
    fallen: orm
      .select({ count: count(), firstAt: min(payments.changedAt) })
      .from(payments)
      // Nothing but 1 or 2 is taken back by a 0.
      .where(sql`${payments.state} = 'unconfirmed' and ${payments.cycle} > 0`)
      .prepare(),
  };
}

function prepareAddresses(orm: Orm) {
  return {
    setStatus: orm
      .update(addresses)
      .set({ statusHash: value('statusHash') })
      .where(eq(addresses.id, sql.placeholder('id')))
      .prepare(),
    setForeign: orm
      .update(addresses)
      .set({ origin: 'foreign', statusHash: value('statusHash') })
      .where(eq(addresses.id, sql.placeholder('id')))
      .prepare(),
    storeById: orm
      .select()
      .from(stores)
      .where(eq(stores.id, sql.placeholder('storeId')))
      .prepare(),
  };
}

function prepareTransactions(orm: Orm) {
  const byTxid = eq(transactions.txid, sql.placeholder('txid'));
  return {
    rawOf: orm.select({ raw: transactions.raw }).from(transactions).where(byTxid).prepare(),
    keepRaw: orm
      .insert(transactions)
      .values({
        txid: value('txid'),
        raw: value('raw'),
        firstSeenAt: value('now'),
        broadcastAt: value('now'),
      })
      .onConflictDoNothing()
      .prepare(),
    forgetRaw: orm.delete(transactions).where(byTxid).prepare(),
    setBroadcast: orm
      .update(transactions)
      .set({ broadcastAt: value('now') })
      .where(byTxid)
      .prepare(),
    toBroadcast: orm
      .selectDistinct({ txid: transactions.txid })
      .from(transactions)
      .innerJoin(payments, eq(payments.txid, transactions.txid))
      .where(
        sql`${transactions.broadcastAt} < ${value('broadcastBefore')}
          and ${transactions.firstSeenAt} > ${value('seenAfter')}
          and ${payments.state} = 'unconfirmed'`,
      )
      .limit(sql.placeholder('limit'))
      .prepare(),
  };
}
