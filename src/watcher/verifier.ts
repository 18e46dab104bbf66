// Proofs: what leaves this room is true as far as proof of work can say it, and nothing else of a server's
// word does. A header joins the chain by chain-sync.ts alone; a transaction is in a block only by its branch
// to the root in *our* header of that height; raw bytes are the transaction only if they hash to its id.
// A `Lie` is thrown for what no honest server can say; the caller decides when to act on it.

import { LRUCache } from 'lru-cache';
import type { BlockHash, Txid } from '../bitcoin/ids.ts';
import { ProvenTree } from '../bitcoin/merkle.ts';
import type { Network } from '../bitcoin/network.ts';
import { mostRelayed, valuePaidTo, weightOf } from '../bitcoin/transaction.ts';
import type { Block } from '../domain/payment.ts';
import type { Session } from '../electrum/session.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import type { Output } from '../store/records/ledger.ts';
import { checkpointOf } from './chain-sync.ts';
import { Lie } from './lie.ts';
import { keepTransactions } from './transactions.ts';
import { createTreeDepth } from './tree-depth.ts';

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
  checkDepth(session: Session, place: Proven, valueSat: number): Promise<void>;
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
const keptTrees = 3;

export function createProofs({ store, network, proveDepthAboveSat }: ProofsOptions): Proofs {
  const checkpoint = checkpointOf(network);
  const transaction = keepTransactions();
  const standsAt = createTreeDepth(store.headers, transaction);
  const treeOf = keepTrees(store);
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
    async checkDepth(session, { block, depth }, valueSat) {
      if (depth === undefined || valueSat <= proveDepthAboveSat) return;
      if (await standsAt(session, block, depth)) return;
      throw new Lie(`block ${block.height}: its coinbase does not prove how deep its tree is`);
    },
    async output(session, txid, script, fresh = false) {
      const { raw, parsed } = await transaction(session, txid, { fresh });
      const valueSat = valuePaidTo(parsed, script);
      if (valueSat === 0) return undefined;
      const { signalsRbf, coinbase } = parsed;
      const { strippedSize } = parsed;
      const isRelayed = weightOf({ strippedSize, size: strippedSize }) <= mostRelayed;
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
function keepTrees({ headers }: Store): (block: BlockHash) => ProvenTree | undefined {
  const trees = new LRUCache<BlockHash, ProvenTree>({ max: keptTrees });
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
