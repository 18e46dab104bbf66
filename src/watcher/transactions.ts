// Transactions that servers were asked for lately: one often pays several of our addresses. Bytes that do
// not hash to the id that was asked for are a lie, and never kept.

import type { Txid } from '../bitcoin/ids.ts';
import { parseTransaction, type Transaction } from '../bitcoin/transaction.ts';
import type { Session, TransactionCall } from '../electrum/session.ts';
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
  how?: TransactionCall,
) => Promise<KnownTransaction>;

interface Fetched {
  readonly by: Session;
  readonly known: Promise<KnownTransaction>;
}

/** Asks a server for a transaction, unless it is known; what another server tells of it is waited for. */
export function keepTransactions(most: number): FetchTransaction {
  const transactions = new Map<Txid, Fetched>();

  const fetch: FetchTransaction = (session, txid, how) => {
    const known = session
      .transaction(txid, how)
      .then((raw) => ({ raw, parsed: parsed(raw, txid) }));
    if (transactions.size >= most) {
      for (const oldest of transactions.keys()) {
        transactions.delete(oldest);
        break;
      }
    }
    const fetched = { by: session, known };
    transactions.set(txid, fetched);
    known.catch(() => transactions.get(txid) === fetched && transactions.delete(txid));
    return known;
  };

  return (session, txid, how) => {
    const fetched = transactions.get(txid);
    if (fetched === undefined) return fetch(session, txid, how);
    if (fetched.by === session) return fetched.known;
    // Bytes that hash to their id are true whoever sent them; a lie is only its teller's.
    return fetched.known.catch(() => fetch(session, txid, how));
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
