// Transactions that servers were asked for lately: one often pays several of our addresses. Bytes that do
// not hash to the id that was asked for are a lie, and never kept. What is in no block costs a server nothing
// to make up, however large: so many bytes are kept, and not so many transactions. A witness is no part of the id: what a
// server shows with a witness that no node would take is kept without it, and stands for no other server's bytes.

import { LRUCache } from 'lru-cache';
import type { Txid } from '../bitcoin/ids.ts';
import {
  isWhole,
  mostRelayed,
  parseTransaction,
  type Transaction,
  weightOf,
  withoutWitness,
} from '../bitcoin/transaction.ts';
import type { Session, TransactionOptions } from '../electrum/session.ts';
import { reasonOf } from '../lib/errors.ts';
import { Lie } from './lie.ts';

export interface KnownTransaction {
  /** As a node would take it, else without any witness. */
  readonly raw: Uint8Array;
  readonly parsed: Transaction;
}

/** @throws Lie */
export type FetchTransaction = (
  session: Session,
  txid: Txid,
  how?: TransactionOptions,
) => Promise<KnownTransaction>;

interface Fetched {
  readonly by: Session;
  readonly known: Promise<KnownTransaction>;
}

interface Kept {
  readonly by: Session;
  readonly transaction: KnownTransaction;
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
  const kept = new LRUCache<Txid, Kept>({
    maxSize: keptBytes,
    sizeCalculation: ({ transaction }) => bytesOf(transaction),
  });

  const fetch: FetchTransaction = (session, txid, how) => {
    const known = session.transaction(txid, how).then((raw) => {
      const transaction = keptForm(raw, parsed(raw, txid));
      const before = kept.get(txid);
      if (before === undefined || !standsForAll(before.transaction)) {
        kept.set(txid, { by: session, transaction });
      }
      return transaction;
    });
    const fetched = { by: session, known };
    underWay.set(txid, fetched);
    const over = () => underWay.get(txid) === fetched && underWay.delete(txid);
    known.then(over, over);
    return known;
  };

  return async (session, txid, how) => {
    const known = kept.get(txid);
    if (known !== undefined && (known.by === session || standsForAll(known.transaction))) {
      return known.transaction;
    }
    const fetched = underWay.get(txid);
    if (fetched === undefined) return fetch(session, txid, how);
    if (fetched.by === session) return fetched.known;
    // What hashes to its id is true whoever sent it, but for the witness; a lie is only its teller's.
    const theirs = await fetched.known.catch(() => undefined);
    const isEnough = theirs !== undefined && standsForAll(theirs);
    return isEnough ? theirs : fetch(session, txid, how);
  };
}

/** Whether other servers need not be asked for their bytes. */
const standsForAll = ({ parsed }: KnownTransaction): boolean => isWhole(parsed);

const keptForm = (raw: Uint8Array, parsed: Transaction): KnownTransaction => {
  const isTaken = parsed.witness !== 'excess' && weightOf(parsed) <= mostRelayed;
  return { raw: isTaken ? raw : withoutWitness(raw), parsed };
};

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
