// Transactions that servers were asked for lately: one often pays several of our addresses. Bytes that do
// not hash to the id that was asked for are a lie, and never kept.

import type { Txid } from '../bitcoin/ids.ts';
import { parseTransaction, type Transaction } from '../bitcoin/transaction.ts';
import type { Priority, Session } from '../electrum/session.ts';
import { reasonOf } from '../errors.ts';
import { Lie } from './lie.ts';

export interface KnownTransaction {
  readonly raw: Uint8Array;
  readonly parsed: Transaction;
}

/** @throws Lie */
export type FetchTransaction = (
  session: Session,
  txid: Txid,
  priority?: Priority,
) => Promise<KnownTransaction>;

/** Asks a server for a transaction, unless it was asked for lately. */
export function keepTransactions(most: number): FetchTransaction {
  const transactions = new Map<Txid, Promise<KnownTransaction>>();
  return (session, txid, priority) => {
    const known = transactions.get(txid);
    if (known !== undefined) return known;
    const fetched = session
      .transaction(txid, priority)
      .then((raw) => ({ raw, parsed: parsed(raw, txid) }));
    if (transactions.size >= most) {
      for (const oldest of transactions.keys()) {
        transactions.delete(oldest);
        break;
      }
    }
    transactions.set(txid, fetched);
    fetched.catch(() => transactions.delete(txid));
    return fetched;
  };
}

function parsed(raw: Uint8Array, txid: Txid): Transaction {
  let transaction: Transaction;
  try {
    transaction = parseTransaction(raw);
  } catch (error) {
    throw new Lie(`not a transaction: ${reasonOf(error)}`);
  }
  if (transaction.txid !== txid) throw new Lie('its transaction hashes to another id');
  return transaction;
}
