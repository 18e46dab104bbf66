// Inclusion proofs: a branch of hashes from a transaction to the merkle root of its block's header.
// It rejects branches that lead to the right root and still prove nothing. The caller verifies the
// header.
// Source: https://electrum-protocol.readthedocs.io, blockchain.transaction.get_merkle

import { concatBytes } from '@noble/hashes/utils.js';
import { equalBytes, sha256x2 } from '@scure/btc-signer/utils.js';
import { throwInvalid } from '../lib/errors.ts';
import { displayHex, hashBytes, isHash, type Txid } from './ids.ts';
import { isTransaction } from './transaction.ts';

/** 2^16 transactions of the minimum size weigh far more than a block may. */
const maxBranchLength = 16;

/** The parent of a node and its sibling. */
function parent(node: Uint8Array, sibling: Uint8Array, nodeIsRight: boolean): Uint8Array {
  // Only the last node of an odd level is paired with itself, and it is the left one. On the right
  // it is a copy at a position where the block has no transaction (CVE-2012-2459).
  if (nodeIsRight && equalBytes(node, sibling))
    throwInvalid('no merkle proof: a duplicate at its place');
  const pair = nodeIsRight ? concatBytes(sibling, node) : concatBytes(node, sibling);
  // A transaction of 64 bytes could pass as the parent of one that is not in the block
  // (CVE-2017-12842).
  if (isTransaction(pair)) throwInvalid('no merkle proof: an inner node is a transaction');
  return sha256x2(pair);
}

function checkForm(branch: readonly string[], pos: number): void {
  if (branch.length > maxBranchLength) throwInvalid('no merkle proof: the branch is too long');
  if (!branch.every(isHash))
    throwInvalid('no merkle proof: the branch has an item that is not a hash');
  if (!Number.isInteger(pos) || pos < 0 || pos >= 2 ** branch.length) {
    throwInvalid('no merkle proof: the place lies outside the tree');
  }
}

/**
 * The proven nodes of one block's merkle tree. Verification of a branch ends at the first node that
 * another branch has proven. All proofs of a block hash each node once: 4,000 proofs need 4,000
 * hashes instead of 48,000.
 */
export class ProvenTree {
  readonly #root: string;
  /** Proven nodes in display order, by length of the branch, level and position. */
  readonly #nodes = new Map<number, string>();

  /** @param root 32 bytes in internal byte order, from the block's header */
  constructor(root: Uint8Array) {
    this.#root = displayHex(root);
  }

  /**
   * Whether a branch leads to the root.
   * @param branch siblings from the leaf upwards in display order, as Electrum servers send them.
   *   It is empty for a block with a coinbase alone.
   * @param pos position of the transaction in the block, from 0
   * @throws PaygateError invalid for a branch that proves nothing
   */
  proves(txid: Txid, branch: readonly string[], pos: number): boolean {
    checkForm(branch, pos);
    const climbed: [key: number, node: string][] = [];
    let node: string = txid;
    for (const [level, sibling] of branch.entries()) {
      const place = pos >> level;
      if (this.#nodes.get(keyOf(branch, level, place)) === node) return this.#store(climbed);
      climbed.push([keyOf(branch, level, place), node]);
      // A duplicate stands for a missing node: no transaction has that position.
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
