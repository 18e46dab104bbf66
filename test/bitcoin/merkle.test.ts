import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHeader } from '../../src/bitcoin/header.ts';
import { displayHex, hashBytes, parseTxid, type Txid } from '../../src/bitcoin/ids.ts';
import { ProvenTree } from '../../src/bitcoin/merkle.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { merkleBranch, merkleRoot, rootFromBranch, sha256d } from '../support/merkle.ts';
import { block170, block100002, genesisCoinbase } from './vectors/blocks.ts';

const rootOf = (headerHex: string) => parseHeader(hexToBytes(headerHex)).merkleRoot;
const id = (hex: string) => parseTxid(hex);
const txid = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => bytesToHex(bytes) as Txid);

/** Proves in a tree without proven nodes. */
const isProof = (root: Uint8Array, leaf: Txid, branch: readonly string[], pos: number): boolean =>
  new ProvenTree(root).proves(leaf, branch, pos);

describe('real blocks', () => {
  test('genesis: the coinbase alone', () => {
    const coinbase = id(genesisCoinbase.txid);
    const root = hexToBytes('3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a');
    expect(isProof(root, coinbase, [], 0)).toBe(true);
    expect(merkleRoot([coinbase])).toEqual(root);
    expect(merkleBranch([coinbase], 0)).toEqual([]);
  });

  test('block 170: two transactions', () => {
    const [coinbase, payment] = block170.txids.map(id) as [Txid, Txid];
    const root = rootOf(block170.header);
    expect(isProof(root, payment, [coinbase], 1)).toBe(true);
    expect(isProof(root, coinbase, [payment], 0)).toBe(true);
    expect(isProof(root, payment, [coinbase], 0)).toBe(false);
  });

  test('block 100002: nine transactions, three odd levels', () => {
    const txids = block100002.txids.map(id);
    const root = rootOf(block100002.header);
    expect(merkleRoot(txids)).toEqual(root);
    for (const [pos, txid] of txids.entries()) {
      expect(isProof(root, txid, merkleBranch(txids, pos), pos)).toBe(true);
    }
    // The last transaction is its own sibling at each odd level.
    expect(merkleBranch(txids, 8)[0]).toBe(txids[8]);
  });
});

describe('guards', () => {
  const leaf = id('11'.repeat(32));
  const sibling = '22'.repeat(32);
  const root = new Uint8Array(32);

  const cases: [string, readonly string[], number, string][] = [
    ['17 items', Array.from({ length: 17 }, () => sibling), 0, 'too long'],
    ['31 bytes', ['22'.repeat(31)], 0, 'not a hash'],
    ['33 bytes', ['22'.repeat(33)], 0, 'not a hash'],
    ['no hex', ['zz'.repeat(32)], 0, 'not a hash'],
    ['a number', [1 as unknown as string], 0, 'not a hash'],
    ['a place left of the tree', [sibling], -1, 'outside the tree'],
    ['a place right of the tree', [sibling], 2, 'outside the tree'],
    ['a place right of a tree of one', [], 1, 'outside the tree'],
    ['a place beyond 32 bits', [sibling], 2 ** 32, 'outside the tree'],
    ['half a place', [sibling, sibling], 1.5, 'outside the tree'],
    ['no place', [sibling], Number.NaN, 'outside the tree'],
  ];
  test.each(cases)('%s', (_, branch, pos, refusal) => {
    expect(() => isProof(root, leaf, branch, pos)).toThrow(PaygateError);
    expect(() => isProof(root, leaf, branch, pos)).toThrow(refusal);
  });

  test('16 items are not too many', () => {
    const branch = Array.from({ length: 16 }, (_, level) => level.toString(16).padStart(64, '0'));
    const far = 2 ** 16 - 1;
    expect(isProof(rootFromBranch(leaf, branch, far), leaf, branch, far)).toBe(true);
  });

  test('CVE-2012-2459: the same root, for a position beyond the transactions of the block', () => {
    const txids = block100002.txids.slice(0, 6).map(id);
    const doubled = [...txids, ...txids.slice(4)];
    const same = merkleRoot(txids);
    expect(merkleRoot(doubled)).toEqual(same);
    // The first position is real, the second is a copy.
    const fifth = txids[4] as Txid;
    expect(isProof(same, fifth, merkleBranch(doubled, 4), 4)).toBe(true);
    expect(() => isProof(same, fifth, merkleBranch(doubled, 6), 6)).toThrow('a duplicate');
  });

  test('CVE-2017-12842: a transaction of 64 bytes is no inner node', () => {
    // Its last 32 bytes are the id of a transaction that does not exist.
    const inBlock = hexToBytes(
      `0200000001${'aa'.repeat(32)}0000000000ffffffff010100000000000000045151515100000000`,
    );
    expect(inBlock).toHaveLength(64);
    const other = id('33'.repeat(32));
    const blockRoot = merkleRoot([displayHex<Txid>(sha256d(inBlock)), other]);

    const forged = displayHex<Txid>(inBlock.slice(32));
    const branch = [displayHex(inBlock.slice(0, 32)), other];
    const steps = sha256d(Uint8Array.of(...sha256d(inBlock), ...hashBytes(other)));
    expect(steps).toEqual(blockRoot);
    expect(() => isProof(blockRoot, forged, branch, 1)).toThrow('an inner node is a transaction');
  });
});

describe('laws', () => {
  const tree = fc.uniqueArray(txid, { minLength: 1, maxLength: 40 });

  test('the branch of every position leads to the root', () => {
    fc.assert(
      fc.property(tree, (txids) => {
        const root = merkleRoot(txids);
        for (const [pos, leaf] of txids.entries()) {
          expect(isProof(root, leaf, merkleBranch(txids, pos), pos)).toBe(true);
        }
      }),
    );
  });

  /** Whether a proof is accepted; false for a thrown error, too. */
  function proves(root: Uint8Array, leaf: Txid, branch: readonly string[], pos: number): boolean {
    try {
      return isProof(root, leaf, branch, pos);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(PaygateError);
      return false;
    }
  }

  test('nothing of a proof can be changed', () => {
    fc.assert(
      fc.property(tree, txid, fc.nat(), fc.nat(), (txids, foreign, placeSeed, itemSeed) => {
        fc.pre(!txids.includes(foreign));
        const pos = placeSeed % txids.length;
        const leaf = txids[pos] as Txid;
        const root = merkleRoot(txids);
        const branch = merkleBranch(txids, pos);
        expect(proves(root, foreign, branch, pos)).toBe(false);
        for (let other = -1; other <= 2 ** branch.length; other += 1) {
          expect(proves(root, leaf, branch, other)).toBe(other === pos);
        }
        expect(proves(root, leaf, [...branch, foreign], pos)).toBe(false);
        if (branch.length === 0) return;
        const item = itemSeed % branch.length;
        expect(proves(root, leaf, branch.with(item, foreign), pos)).toBe(false);
        expect(proves(root, leaf, branch.toSpliced(item, 1), pos)).toBe(false);
      }),
    );
  });
});

describe('a tree with proven transactions', () => {
  const tree = fc.uniqueArray(txid, { minLength: 1, maxLength: 40 });

  /** A tree in which the positions of the seeds are proven. */
  function proven(txids: readonly Txid[], seeds: readonly number[]): ProvenTree {
    const known = new ProvenTree(merkleRoot(txids));
    for (const seed of seeds) {
      const pos = seed % txids.length;
      expect(known.proves(txids[pos] as Txid, merkleBranch(txids, pos), pos)).toBe(true);
    }
    return known;
  }

  const isProven = (known: ProvenTree, leaf: Txid, branch: readonly string[], pos: number) => {
    try {
      return known.proves(leaf, branch, pos);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(PaygateError);
      return false;
    }
  };

  test('accepts each transaction only at its own position', () => {
    fc.assert(
      fc.property(tree, fc.array(fc.nat(), { maxLength: 60 }), fc.nat(), (txids, seeds, seed) => {
        const known = proven(txids, seeds);
        const leaf = txids[seed % txids.length] as Txid;
        const places = 2 ** merkleBranch(txids, 0).length;
        for (let pos = 0; pos < places; pos += 1) {
          // The branch of that position, also of positions that are copies.
          const branch = merkleBranch(filled(txids, places), pos);
          expect(isProven(known, leaf, branch, pos)).toBe(txids[pos] === leaf);
        }
      }),
    );
  });

  test('accepts nothing else, whatever is proven', () => {
    fc.assert(
      fc.property(tree, txid, fc.array(fc.nat()), fc.nat(), (txids, foreign, seeds, seed) => {
        fc.pre(txids.length > 1 && !txids.includes(foreign));
        const known = proven(txids, seeds);
        const pos = seed % txids.length;
        const branch = merkleBranch(txids, pos);
        expect(isProven(known, foreign, branch, pos)).toBe(false);
        expect(isProven(known, txids[pos] as Txid, [...branch, foreign], pos)).toBe(false);
        expect(isProven(known, txids[pos] as Txid, branch.slice(1), pos >> 1)).toBe(false);
      }),
    );
  });

  test('has the same guards as a tree without proofs', () => {
    const [first, second] = block170.txids.map(id) as [Txid, Txid];
    const known = new ProvenTree(rootOf(block170.header));
    expect(known.proves(first, [second], 0)).toBe(true);
    expect(() => known.proves(second, [first], 2)).toThrow('outside the tree');
    expect(() => known.proves(second, ['zz'], 1)).toThrow('not a hash');
    expect(known.proves(second, [first], 1)).toBe(true);
  });

  /** The levels of a tree, filled to a power of two with copies. */
  function filled(txids: readonly Txid[], places: number): Txid[] {
    const all = [...txids];
    for (let size = 1; all.length < places; size *= 2) {
      if ((all.length / size) % 2 === 1) all.push(...all.slice(-size));
    }
    return all;
  }
});
