// Payments for the API and the live socket: reads alone, newest first, and only of addresses that
// customers can have.

import { and, desc, eq, getTableColumns, type SQL } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { columnsOf, equals, type Orm, prepared } from '../db/orm.ts';
import { addresses, isGivenOut, isOnChain, payments } from '../schema/schema.ts';

export type Receipt = ReturnType<Receipts['byTxid']>[number];

export type Receipts = ReturnType<typeof createReceipts>;

/** Payments of one address or transaction that are looked at. */
const maxReceipts = 200;

export function createReceipts(orm: Orm) {
  const statements = prepare(orm);
  return {
    byTxid: (txid: Txid, storeId: number | null = null) =>
      storeId === null
        ? statements.byTxid.all({ txid })
        : statements.byTxidOfStore.all({ txid, storeId }),
    byPlace: (scripthash: Scripthash, txid: Txid) => statements.byPlace.get({ scripthash, txid }),
    byScripthash: (scripthash: Scripthash) => statements.byScripthash.all({ scripthash }),
    byId: (paymentId: number) => statements.byId.get({ paymentId }),
  };
}

function prepare(orm: Orm) {
  const isOf = equals(addresses.scripthash, 'scripthash');
  const isBy = equals(payments.txid, 'txid');
  const receipts = (condition: SQL | undefined) =>
    prepared(() =>
      orm
        .select({
          ...getTableColumns(payments),
          ...columnsOf(addresses, 'address', 'storeId'),
        })
        .from(payments)
        .innerJoin(addresses, eq(addresses.id, payments.addressId))
        .where(and(condition, isGivenOut, isOnChain))
        .orderBy(desc(payments.id))
        .limit(maxReceipts),
    );
  return {
    byTxid: receipts(isBy),
    byTxidOfStore: receipts(and(isBy, equals(addresses.storeId, 'storeId'))),
    byScripthash: receipts(isOf),
    byPlace: receipts(and(isOf, isBy)),
    byId: receipts(equals(payments.id, 'paymentId')),
  };
}
