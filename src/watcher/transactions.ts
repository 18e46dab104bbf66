// Transactions that servers were asked for lately: one often pays several of our addresses. Bytes that do
// not hash to the id that was asked for are a lie, and never kept. What is in no block costs a server nothing
// to make up, however large: so many bytes are kept, and not so many transactions.

import type { Txid } from '../bitcoin/ids.ts';
import { parseTransaction, type Transaction } from '../bitcoin/transaction.ts';
import type { Session, TransactionCall } from '../electrum/session.ts';
import { reasonOf } from '../errors.ts';
import { createMemory } from '../memory.ts';
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

/** 10,000 ordinary ones, or a block's largest one. */
const keptBytes = 20_000_000;
/** What an input or an output takes once it is read, seen in a heap: 200 to 270. */
const bytesOfPart = 270;

/** Read, its scripts lie there a second time. */
const bytesOf = ({ raw, parsed }: KnownTransaction): number =>
  2 * raw.length + bytesOfPart * (parsed.inputs.length + parsed.outputs.length);

/** Asks a server for a transaction, unless it is known; what another server tells of it is waited for. */
export function keepTransactions(): FetchTransaction {
  const underWay = new Map<Txid, Fetched>();
  const kept = createMemory<Txid, KnownTransaction>(keptBytes, bytesOf);

  const fetch: FetchTransaction = (session, txid, how) => {
    const known = session.transaction(txid, how).then((raw) => {
      const transaction = { raw, parsed: parsed(raw, txid) };
      kept.set(txid, transaction);
      return transaction;
    });
    const fetched = { by: session, known };
    underWay.set(txid, fetched);
    const over = () => underWay.get(txid) === fetched && underWay.delete(txid);
    known.then(over, over);
    return known;
  };

  return async (session, txid, how) => {
    const transaction = kept.get(txid);
    if (transaction !== undefined) return transaction;
    const fetched = underWay.get(txid);
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
