// One block of the simulated chain: coinbase (BIP34 height, BIP141 witness commitment) and merkle
// tree. Its 80-byte header has valid proof of work, at regtest's easiest target.

import { concatBytes } from '@noble/hashes/utils.js';
import { RawTx, Script } from '@scure/btc-signer';
import { sha256x2 } from '@scure/btc-signer/utils.js';
import { meetsTarget, parseHeader } from '../../bitcoin/header.ts';
import { type BlockHash, displayHex, hashBytes, type Txid } from '../../bitcoin/ids.ts';
import {
  readTransaction,
  type SimulatedTransaction,
  totalFeeSat,
} from './simulated-transaction.ts';

export interface SimulatedBlock {
  readonly height: number;
  readonly hash: BlockHash;
  /** The 80 bytes. */
  readonly header: Uint8Array;
  /** Epoch seconds. */
  readonly time: number;
  /** The coinbase first. Empty for the genesis block, whose coinbase is unspendable. */
  readonly transactions: readonly SimulatedTransaction[];
  readonly txids: readonly Txid[];
  /** Every level of the merkle tree: the txids first, the root alone last. */
  readonly tree: readonly (readonly Uint8Array[])[];
}

interface BlockPlan {
  readonly height: number;
  readonly previous: BlockHash;
  readonly bits: number;
  readonly time: number;
  readonly transactions: readonly SimulatedTransaction[];
  /** Script that the coinbase pays. */
  readonly to: Uint8Array;
  /** Makes two coinbases of one height and script different. */
  readonly extraNonce: number;
}

const halvingBlocks = 150;
const firstSubsidySat = 50_0000_0000;
const blockVersion = 0x20000000;
const commitmentPrefix = Uint8Array.of(0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed);
const noHash = new Uint8Array(32);

/** New coins of a block, by regtest's halving every 150 blocks. */
export function subsidySat(height: number): number {
  return Math.floor(firstSubsidySat / 2 ** Math.floor(height / halvingBlocks));
}

/** Levels of the merkle tree over the leaves; an odd level pairs its last hash with itself. */
export function merkleLevels(leaves: readonly Uint8Array[]): Uint8Array[][] {
  const levels = [[...leaves]];
  for (let level = levels[0]; level !== undefined && level.length > 1; ) {
    const above: Uint8Array[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const left = level[at] ?? noHash;
      above.push(sha256x2(left, level[at + 1] ?? left));
    }
    levels.push(above);
    level = above;
  }
  return levels;
}

export const rootOf = (levels: readonly (readonly Uint8Array[])[]): Uint8Array =>
  levels.at(-1)?.[0] ?? noHash;

/** The merkle branch from a leaf to the root, deepest first, in display order. */
export function merkleBranch({ tree }: Pick<SimulatedBlock, 'tree'>, position: number): string[] {
  return tree.slice(0, -1).map((level, depth) => {
    const at = position >> depth;
    return displayHex(level[at ^ 1] ?? level[at] ?? noHash);
  });
}

/** BIP34: the height as a script number. BIP141: a commitment if a transaction has a witness. */
function coinbase(plan: BlockPlan): SimulatedTransaction {
  const { height, transactions } = plan;
  const valueSat = subsidySat(height) + totalFeeSat(transactions);
  const outputs = [{ amount: BigInt(valueSat), script: plan.to }];
  const segwit = transactions.some((transaction) => transaction.segwit);
  if (segwit) {
    const leaves = [noHash, ...transactions.map(({ wtxidBytes }) => wtxidBytes)];
    const commitment = sha256x2(rootOf(merkleLevels(leaves)), noHash);
    outputs.push({ amount: 0n, script: concatBytes(commitmentPrefix, commitment) });
  }
  const extraNonce = new Uint8Array(8);
  new DataView(extraNonce.buffer).setBigUint64(0, BigInt(plan.extraNonce));
  const raw = RawTx.encode({
    version: 2,
    segwitFlag: segwit,
    inputs: [
      {
        txid: noHash,
        index: 0xffffffff,
        finalScriptSig: Script.encode([height, extraNonce]),
        sequence: 0xffffffff,
      },
    ],
    outputs,
    witnesses: segwit ? [[noHash]] : undefined,
    lockTime: 0,
  });
  return readTransaction(raw, []);
}

function mineHeader(plan: BlockPlan, merkleRoot: Uint8Array): Uint8Array {
  const header = new Uint8Array(80);
  const view = new DataView(header.buffer);
  view.setUint32(0, blockVersion, true);
  header.set(hashBytes(plan.previous), 4);
  header.set(merkleRoot, 36);
  view.setUint32(68, plan.time, true);
  view.setUint32(72, plan.bits, true);
  return solveHeader(header);
}

/** Finds a nonce with which the header meets the target of its `bits`. */
export function solveHeader(header: Uint8Array): Uint8Array {
  const worked = header.slice();
  const view = new DataView(worked.buffer);
  for (let nonce = 0; ; nonce++) {
    view.setUint32(76, nonce, true);
    if (meetsTarget(parseHeader(worked))) return worked;
  }
}

/** Builds the block that the plan describes, with valid proof of work. */
export function assembleBlock(plan: BlockPlan): SimulatedBlock {
  const transactions = [coinbase(plan), ...plan.transactions];
  const txids = transactions.map(({ txid }) => txid);
  const tree = merkleLevels(txids.map(hashBytes));
  const header = mineHeader(plan, rootOf(tree));
  const { height, time } = plan;
  return { height, hash: displayHex(sha256x2(header)), header, time, transactions, txids, tree };
}

/** The first block of every chain, from its header alone. */
export function genesisBlock(header: Uint8Array): SimulatedBlock {
  const { hash, time } = parseHeader(header);
  const merkleRoot = header.slice(36, 68);
  const txids = [displayHex<Txid>(merkleRoot)];
  return { height: 0, hash, header, time, transactions: [], txids, tree: [[merkleRoot]] };
}
