// Proofs. A transaction is in a block only by its inclusion proof to the merkle root of our header.
// Bytes are a transaction only if they hash to its id. Nothing else of a server's answers counts.
// Throws a ServerLie for an answer that no honest server can give; the caller decides when to act
// on it.

import { LRUCache } from 'lru-cache';
import type { Header } from '../../bitcoin/header.ts';
import type { BlockHash, Txid } from '../../bitcoin/ids.ts';
import { ProvenTree } from '../../bitcoin/merkle.ts';
import type { Checkpoint, Network } from '../../bitcoin/network.ts';
import {
  isRelayable,
  maxRelayWeight,
  parseTransaction,
  type Transaction,
  valuePaidTo,
  weightOf,
  withoutWitness,
} from '../../bitcoin/transaction.ts';
import type { Block } from '../../domain/payment/payment.ts';
import type { Session, TransactionOptions } from '../../electrum/session.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import type { Headers } from '../../store/chain/headers.ts';
import type { Records } from '../../store/open-records.ts';
import type { Output } from '../../store/payments/observation.ts';

/** An answer that contradicts a proof. */
export class ServerLie extends Error {
  override readonly name = 'ServerLie';
  /** The server that gave it, where that is not the watched one. */
  by: Session | undefined;
}

/** Attributes a ServerLie to the server that gave it, whichever server is watched. */
export function blame(session: Session, error: unknown): unknown {
  if (error instanceof ServerLie) error.by ??= session;
  return error;
}

/** The first block of the chain that we verify: older blocks prove nothing. */
export const checkpointOf = ({ checkpoint, genesisHash }: Network): Checkpoint =>
  checkpoint ?? { height: 0, hash: genesisHash };

export interface Proven {
  readonly kind: 'proven';
  readonly block: Block;
  /** The length of the inclusion proof; absent for an earlier one. */
  readonly depth?: number;
}

export type Inclusion =
  | Proven
  /** The block is above our tip: its header has not come yet. */
  | { readonly kind: 'ahead' }
  /** The block is below our first header: the address counts as used, nothing more. */
  | { readonly kind: 'unproven' };

export interface PaidOutput {
  readonly output: Output;
  readonly raw: Uint8Array;
  /** Whether nodes relay its weight without a witness; otherwise no mempool can have it. */
  readonly isRelayed: boolean;
}

export type Proofs = ReturnType<typeof createProofs>;

export interface ProofsOptions {
  readonly records: Records;
  readonly network: Network;
  /** Above this amount, the depth of the block's tree must be proven as well. */
  readonly proveDepthAboveSat: number;
}

/** Cached trees of proven hashes: 1 MB for a block with 4,000 payments. */
const maxTrees = 3;

export function createProofs({ records, network, proveDepthAboveSat }: ProofsOptions) {
  const checkpoint = checkpointOf(network);
  const transaction = cacheTransactions();
  const standsAt = createTreeDepth(records.headers, transaction);
  const treeOf = cacheTrees(records);
  return {
    /** @throws ServerLie */
    async prove(session: Session, txid: Txid, height: number): Promise<Inclusion> {
      const before = records.headers.bestHashAt(height);
      if (before === undefined) {
        const tipHeight = records.headers.tipHeight();
        return { kind: tipHeight === undefined || height > tipHeight ? 'ahead' : 'unproven' };
      }
      if (height < checkpoint.height) return { kind: 'unproven' };
      const { branch, pos } = await session.merkle(txid, height);
      const hash = records.headers.bestHashAt(height);
      if (hash === undefined) return { kind: 'ahead' };
      if (!matches(() => treeOf(hash)?.proves(txid, branch, pos))) {
        throw new ServerLie(
          `its branch for a transaction in block ${height} does not reach our header`,
        );
      }
      return { kind: 'proven', block: { height, hash }, depth: branch.length };
    },
    /**
     * For an amount above the limit: checks that the block's coinbase is as deep in the tree as the
     * inclusion proof is long.
     * @throws ServerLie
     */
    async checkTreeDepth(
      session: Session,
      { block, depth }: Proven,
      valueSat: number,
    ): Promise<void> {
      if (depth === undefined || valueSat <= proveDepthAboveSat) return;
      if (await standsAt(session, block, depth)) return;
      throw new ServerLie(
        `block ${block.height}: its coinbase does not prove how deep its tree is`,
      );
    },
    /**
     * The transaction and its payment to a script; undefined when it pays nothing.
     * @param fresh whether the server reports it as unconfirmed
     * @throws ServerLie
     */
    async output(
      session: Session,
      txid: Txid,
      script: Uint8Array,
      fresh: boolean = false,
    ): Promise<PaidOutput | undefined> {
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
    throw new ServerLie(reasonOf(error));
  }
}

/** Caches the trees of the last proven blocks, by block hash. */
function cacheTrees({ headers }: Records): (block: BlockHash) => ProvenTree | undefined {
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

type FetchById = (session: Session, txid: Txid) => Promise<{ readonly parsed: Transaction }>;

/** Blocks whose depth is cached. */
const maxDepths = 100;

/**
 * An inclusion proof may reach the root from a wrong level: a miner can disguise an inner node as a
 * transaction (CVE-2017-12842). The coinbase is certainly a transaction, on the lowest level. All
 * true proofs of its block are as long as its own.
 * @returns whether a proof has that length
 */
function createTreeDepth(headers: Headers, fetch: FetchById) {
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
  /** As nodes relay it; without any witness where they would refuse that. */
  readonly raw: Uint8Array;
  readonly parsed: Transaction;
}

/** @throws ServerLie */
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

/** 10,000 ordinary transactions, or the largest one that fits a block. */
const maxCachedBytes = 20_000_000;
/** Memory of a parsed input or output. */
const bytesPerPart = 270;

/** The parsed form has the scripts a second time. */
const bytesOf = ({ raw, parsed }: VerifiedTransaction): number =>
  2 * raw.length + bytesPerPart * (parsed.inputs.length + parsed.outputs.length);

/**
 * Fetches a transaction unless it is cached: one often pays several of our addresses. The cache is
 * bounded in bytes, because unconfirmed transactions cost a server nothing to invent. A witness
 * that no node would relay is removed, and does not stand for other servers' bytes.
 */
export function cacheTransactions(): FetchTransaction {
  const underWay = new Map<Txid, PendingTransaction>();
  const cached = new LRUCache<Txid, CachedTransaction>({
    maxSize: maxCachedBytes,
    sizeCalculation: ({ transaction }) => bytesOf(transaction),
  });

  const fetch: FetchTransaction = (session, txid, how) => {
    const known = session.transaction(txid, how).then((raw) => {
      const transaction = relayableForm(raw, parsed(raw, txid));
      const before = cached.get(txid);
      if (before === undefined || !isEnoughForAll(before.transaction)) {
        cached.set(txid, { by: session, transaction });
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
    const known = cached.get(txid);
    if (known !== undefined && (known.by === session || isEnoughForAll(known.transaction))) {
      return known.transaction;
    }
    const fetched = underWay.get(txid);
    if (fetched === undefined) return fetch(session, txid, how);
    if (fetched.by === session) return fetched.known;
    // Bytes that hash to the id are true from any server, except the witness; a ServerLie counts
    // for its server.
    const other = await fetched.known.catch(() => undefined);
    const isEnough = other !== undefined && isEnoughForAll(other);
    return isEnough ? other : fetch(session, txid, how);
  };
}

/** Whether no other server's bytes are needed. */
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
    throw new ServerLie(`not a transaction: ${reasonOf(error)}`);
  }
  if (transaction.txid !== txid) throw new ServerLie('its transaction hashes to another id');
  return transaction;
}
