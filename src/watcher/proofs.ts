// Proofs: what leaves this file is true as far as proof of work can say it. A transaction is in a block
// only by its branch to the root in our header of that height. Raw bytes are the transaction only if
// they hash to its id. A Lie is thrown for what no honest server can say; the caller acts on it.

import { LRUCache } from 'lru-cache';
import type { Header } from '../bitcoin/header.ts';
import type { BlockHash, Txid } from '../bitcoin/ids.ts';
import { ProvenTree } from '../bitcoin/merkle.ts';
import type { Checkpoint, Network } from '../bitcoin/network.ts';
import {
  isRelayable,
  maxRelayWeight,
  parseTransaction,
  type Transaction,
  valuePaidTo,
  weightOf,
  withoutWitness,
} from '../bitcoin/transaction.ts';
import type { Block } from '../domain/payment.ts';
import type { Session, TransactionOptions } from '../electrum/session.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import type { Headers } from '../store/records/headers.ts';
import type { Output } from '../store/records/ledger.ts';

/** Something that contradicts a proof: said of a server, never of ourselves. */
export class Lie extends Error {
  override readonly name = 'Lie';
  /** Whose it is, where it is not that of the server that is watched. */
  by: Session | undefined;
}

/** An error as that of a server: a lie of its own it must answer for, whoever is watched. */
export function blame(session: Session, error: unknown): unknown {
  if (error instanceof Lie) error.by ??= session;
  return error;
}

/** Where the chain that we verify begins to count: what is older is believed for nothing. */
export const checkpointOf = ({ checkpoint, genesisHash }: Network): Checkpoint =>
  checkpoint ?? { height: 0, hash: genesisHash };

export interface Proven {
  readonly kind: 'proven';
  readonly block: Block;
  /** How long its branch was; absent for what was proven earlier. */
  readonly depth?: number;
}

export type Inclusion =
  | Proven
  /** The block is above our tip: its header has not come yet. */
  | { readonly kind: 'ahead' }
  /** The block is below our first header: believed for nothing but "used". */
  | { readonly kind: 'unproven' };

export interface PaidOutput {
  readonly output: Output;
  readonly raw: Uint8Array;
  /** Whether nodes relay it, as far as its weight without a witness goes: what they don't is in no mempool but a liar's. */
  readonly isRelayed: boolean;
}

export interface Proofs {
  /** @throws Lie */
  prove(session: Session, txid: Txid, height: number): Promise<Inclusion>;
  /**
   * For an amount above the limit: whether the block's coinbase stands as deep as the branch that was
   * just proven. @throws Lie
   */
  checkTreeDepth(session: Session, place: Proven, valueSat: number): Promise<void>;
  /**
   * The transaction itself, and what it pays to a script; undefined when nothing.
   * @param fresh it is said to be in no block
   * @throws Lie
   */
  output(
    session: Session,
    txid: Txid,
    script: Uint8Array,
    fresh?: boolean,
  ): Promise<PaidOutput | undefined>;
}

export interface ProofsOptions {
  readonly store: Store;
  readonly network: Network;
  /** Above this, the depth of the block's tree is proven as well. */
  readonly proveDepthAboveSat: number;
}

/** Blocks of whose trees is kept what was proven: 1 MB for 4,000 payments in one. */
const maxTrees = 3;

export function createProofs({ store, network, proveDepthAboveSat }: ProofsOptions): Proofs {
  const checkpoint = checkpointOf(network);
  const transaction = cacheTransactions();
  const standsAt = createTreeDepth(store.headers, transaction);
  const treeOf = cacheTrees(store);
  return {
    async prove(session, txid, height) {
      const before = store.headers.bestHashAt(height);
      if (before === undefined) {
        const tipHeight = store.headers.tipHeight();
        return { kind: tipHeight === undefined || height > tipHeight ? 'ahead' : 'unproven' };
      }
      if (height < checkpoint.height) return { kind: 'unproven' };
      const { branch, pos } = await session.merkle(txid, height);
      const hash = store.headers.bestHashAt(height);
      if (hash === undefined) return { kind: 'ahead' };
      if (!matches(() => treeOf(hash)?.proves(txid, branch, pos))) {
        throw new Lie(`its branch for a transaction in block ${height} does not reach our header`);
      }
      return { kind: 'proven', block: { height, hash }, depth: branch.length };
    },
    async checkTreeDepth(session, { block, depth }, valueSat) {
      if (depth === undefined || valueSat <= proveDepthAboveSat) return;
      if (await standsAt(session, block, depth)) return;
      throw new Lie(`block ${block.height}: its coinbase does not prove how deep its tree is`);
    },
    async output(session, txid, script, fresh = false) {
      const { raw, parsed } = await transaction(session, txid, { fresh });
      const valueSat = valuePaidTo(parsed, script);
      if (valueSat === 0) return undefined;
      const { signalsRbf, isCoinbase: coinbase } = parsed;
      const { strippedSize } = parsed;
      const isRelayed = weightOf({ strippedSize, size: strippedSize }) <= maxRelayWeight;
      return { output: { valueSat, signalsRbf, coinbase }, raw, isRelayed };
    },
  };
}

function matches(proves: () => boolean | undefined): boolean {
  try {
    return proves() === true;
  } catch (error) {
    throw new Lie(reasonOf(error));
  }
}

/** The trees of the blocks that were proven in last; a block is what its hash says, whichever chain it is on. */
function cacheTrees({ headers }: Store): (block: BlockHash) => ProvenTree | undefined {
  const trees = new LRUCache<BlockHash, ProvenTree>({ max: maxTrees });
  return (block) => {
    const known = trees.get(block);
    if (known !== undefined) return known;
    const header = headers.byHash(block)?.header;
    if (header === undefined) return undefined;
    const tree = new ProvenTree(header.merkleRoot);
    trees.set(block, tree);
    return tree;
  };
}

/** The transaction itself, verified against its id. */
type FetchById = (session: Session, txid: Txid) => Promise<{ readonly parsed: Transaction }>;

/** Blocks whose depth is remembered. */
const maxDepths = 100;

/**
 * @returns asks a server whether transactions of a block stand so deep as a branch was long. It throws
 *   what the session and `fetch` throw
 */
export function createTreeDepth(headers: Headers, fetch: FetchById) {
  const depths = new LRUCache<BlockHash, number>({ max: maxDepths });

  async function depthOf(session: Session, { height, hash }: Block): Promise<number | undefined> {
    const known = depths.get(hash);
    if (known !== undefined) return known;
    const depth = await provenDepth(session, height, headers.byHash(hash)?.header);
    if (depth !== undefined) depths.set(hash, depth);
    return depth;
  }

  async function provenDepth(
    session: Session,
    height: number,
    header: Header | undefined,
  ): Promise<number | undefined> {
    const { txid, branch } = await session.coinbase(height);
    const { parsed } = await fetch(session, txid);
    if (header === undefined || !parsed.isCoinbase) return undefined;
    return reachesRoot(txid, branch, header) ? branch.length : undefined;
  }

  return async (session: Session, block: Block, depth: number): Promise<boolean> =>
    (await depthOf(session, block)) === depth;
}

function reachesRoot(txid: Txid, branch: readonly string[], { merkleRoot }: Header): boolean {
  try {
    return new ProvenTree(merkleRoot).proves(txid, branch, 0);
  } catch (error) {
    if (error instanceof PaygateError) return false;
    throw error;
  }
}

export interface VerifiedTransaction {
  /** As a node would take it, else without any witness. */
  readonly raw: Uint8Array;
  readonly parsed: Transaction;
}

/** @throws Lie */
export type FetchTransaction = (
  session: Session,
  txid: Txid,
  how?: TransactionOptions,
) => Promise<VerifiedTransaction>;

interface PendingTransaction {
  readonly by: Session;
  readonly known: Promise<VerifiedTransaction>;
}

interface CachedTransaction {
  readonly by: Session;
  readonly transaction: VerifiedTransaction;
}

/** 10,000 ordinary ones, or a block's largest one. */
const maxCachedBytes = 20_000_000;
/** What an input or an output takes once it is read, seen in a heap: 200 to 270. */
const bytesPerPart = 270;

/** Read, its scripts lie there a second time. */
const bytesOf = ({ raw, parsed }: VerifiedTransaction): number =>
  2 * raw.length + bytesPerPart * (parsed.inputs.length + parsed.outputs.length);

/** Asks a server for a transaction, unless it is known; what another server tells of it is waited for. */
export function cacheTransactions(): FetchTransaction {
  const underWay = new Map<Txid, PendingTransaction>();
  const kept = new LRUCache<Txid, CachedTransaction>({
    maxSize: maxCachedBytes,
    sizeCalculation: ({ transaction }) => bytesOf(transaction),
  });

  const fetch: FetchTransaction = (session, txid, how) => {
    const known = session.transaction(txid, how).then((raw) => {
      const transaction = relayableForm(raw, parsed(raw, txid));
      const before = kept.get(txid);
      if (before === undefined || !isEnoughForAll(before.transaction)) {
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
    if (known !== undefined && (known.by === session || isEnoughForAll(known.transaction))) {
      return known.transaction;
    }
    const fetched = underWay.get(txid);
    if (fetched === undefined) return fetch(session, txid, how);
    if (fetched.by === session) return fetched.known;
    // What hashes to its id is true whoever sent it, but for the witness; a lie is only its teller's.
    const theirs = await fetched.known.catch(() => undefined);
    const isEnough = theirs !== undefined && isEnoughForAll(theirs);
    return isEnough ? theirs : fetch(session, txid, how);
  };
}

/** Whether other servers need not be asked for their bytes. */
const isEnoughForAll = ({ parsed }: VerifiedTransaction): boolean => isRelayable(parsed);

const relayableForm = (raw: Uint8Array, parsed: Transaction): VerifiedTransaction => {
  const isTaken = parsed.witness !== 'excess' && weightOf(parsed) <= maxRelayWeight;
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
