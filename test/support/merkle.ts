// Merkle roots and branches of a block, computed by other means than the code under test.

import { createHash } from 'node:crypto';
import { displayHex, hashBytes, type Txid } from '../../src/bitcoin/ids.ts';

/** Double SHA-256. */
export function sha256d(bytes: Uint8Array): Uint8Array {
  const once = createHash('sha256').update(bytes).digest();
  return Uint8Array.from(createHash('sha256').update(once).digest());
}

/** The next level of a whole tree: an odd one pairs its last node with itself. */
function levelAbove(level: readonly Uint8Array[]): Uint8Array[] {
  return Array.from({ length: Math.ceil(level.length / 2) }, (_, index) => {
    const left = level[2 * index] as Uint8Array;
    return sha256d(Buffer.concat([left, level[2 * index + 1] ?? left]));
  });
}

/** Root of a block's transactions, 32 bytes as hashed. */
export function merkleRoot(txids: readonly Txid[]): Uint8Array {
  let level = txids.map(hashBytes);
  while (level.length > 1) level = levelAbove(level);
  if (level[0] === undefined) throw new Error('a block has at least one transaction');
  return level[0];
}

/** Root of a branch, valid or not; 32 bytes in internal order. */
export const rootFromBranch = (txid: string, branch: readonly string[], pos: number): Uint8Array =>
  branch.map(hashBytes).reduce((node, sibling, level) => {
    const isRight = ((pos >> level) & 1) === 1;
    return sha256d(Buffer.concat(isRight ? [sibling, node] : [node, sibling]));
  }, hashBytes(txid));

/** The branch for the transaction at a place, as Electrum servers send it. */
export function merkleBranch(txids: readonly Txid[], pos: number): string[] {
  if (txids[pos] === undefined) throw new Error('the block has no transaction there');
  const branch: string[] = [];
  let level = txids.map(hashBytes);
  for (let place = pos; level.length > 1; place >>= 1) {
    const sibling = level[place ^ 1] ?? level[place];
    branch.push(displayHex(sibling as Uint8Array));
    level = levelAbove(level);
  }
  return branch;
}
