// Merkle trees of blocks: a branch of hashes up to the root in its header proves that a transaction
// stands in a block. It owns the guards against branches that lead to the right root and yet
// prove nothing; that the root is of a verified header is the caller's part.
// Source: https://electrum-protocol.readthedocs.io, blockchain.transaction.get_merkle

import { concatBytes } from '@noble/hashes/utils.js';
import { equalBytes, sha256x2 } from '@scure/btc-signer/utils.js';
import { displayHex, hashBytes, isHash, type Txid } from './ids.ts';
import { refuse } from './refuse.ts';
import { isTransaction } from './transaction.ts';

/** 2^16 transactions of the smallest size weigh far more than a block may. */
const maxBranchLength = 16;

/** One step up from a node and its sibling. */
function parent(node: Uint8Array, sibling: Uint8Array, nodeIsRight: boolean): Uint8Array {
  // Only the last node of an odd level is paired with itself, and it stands on the left. On the
  // right it would be a copy, at a place where the block has no transaction (CVE-2012-2459).
  if (nodeIsRight && equalBytes(node, sibling)) refuse('no merkle proof: a duplicate at its place');
  const pair = nodeIsRight ? concatBytes(sibling, node) : concatBytes(node, sibling);
  // A transaction of 64 bytes in the block could pass as the parent of one that is not
  // in it (CVE-2017-12842).
  if (isTransaction(pair)) refuse('no merkle proof: an inner node is a transaction');
  return sha256x2(pair);
}

function checkForm(branch: readonly string[], pos: number): void {
  if (branch.length > maxBranchLength) refuse('no merkle proof: the branch is too long');
  if (!branch.every(isHash)) refuse('no merkle proof: the branch has an item that is not a hash');
  if (!Number.isInteger(pos) || pos < 0 || pos >= 2 ** branch.length) {
    refuse('no merkle proof: the place lies outside the tree');
  }
}

/**
 * What branches have proven of one block's tree. A branch ends where it meets a node that another one has
 * proven, so that all the proofs of a block hash each node once: 4,000 of them 4,000 times, not 48,000.
 */
export class ProvenTree {
  readonly #root: string;
  /** By length of the branch, level and place there; in display order. */
  readonly #nodes = new Map<number, string>();

  /** @param root 32 bytes as hashed, of the block's header */
  constructor(root: Uint8Array) {
    this.#root = displayHex(root);
  }

  /**
   * Whether a branch leads to the root.
   * @param branch siblings from the leaf upwards in display order, as Electrum servers send them;
   *   empty for a block that holds the coinbase alone
   * @param pos place of the transaction in the block, from 0
   * @throws PaygateError invalid, naming the guard
   */
  proves(txid: Txid, branch: readonly string[], pos: number): boolean {
    checkForm(branch, pos);
    const climbed: [key: number, node: string][] = [];
    let node: string = txid;
    for (const [level, sibling] of branch.entries()) {
      const place = pos >> level;
      if (this.#nodes.get(keyOf(branch, level, place)) === node) return this.#store(climbed);
      climbed.push([keyOf(branch, level, place), node]);
      // A copy stands in for what is not there: nothing has a place of its own there.
      if (sibling !== node) climbed.push([keyOf(branch, level, place ^ 1), sibling]);
      node = displayHex(parent(hashBytes(node), hashBytes(sibling), (place & 1) === 1));
    }
    return node === this.#root && this.#store(climbed);
  }

  #store(climbed: readonly [key: number, node: string][]): true {
    for (const [key, node] of climbed) this.#nodes.set(key, node);
    return true;
  }
}

const keyOf = ({ length }: readonly string[], level: number, place: number): number =>
  (length * (maxBranchLength + 1) + level) * 2 ** maxBranchLength + place;
