// Block headers and their consensus rules: proof of work, difficulty, earliest time. The caller
// looks up earlier headers. domain/payment/chain.ts decides which chain is the best one.
// Sources: Bitcoin Core's src/pow.cpp and src/arith_uint256.cpp, BIP94 (testnet4), BIP113.

import { sha256x2 } from '@scure/btc-signer/utils.js';
import { throwInvalid } from '../lib/errors.ts';
import { type BlockHash, displayHex } from './ids.ts';
import type { Network } from './network.ts';

export interface Header {
  readonly hash: BlockHash;
  readonly previous: BlockHash;
  /** 32 bytes, in internal byte order. */
  readonly merkleRoot: Uint8Array;
  /** Epoch seconds, as the miner claims. */
  readonly time: number;
  /** Target in compact form. */
  readonly bits: number;
  readonly raw: Uint8Array;
}

/** Returns the ancestor at a height on one branch. */
type Ancestor = (height: number) => Header;

const headerSize = 80;
/** Blocks between two changes of difficulty (a difficulty period). */
export const retargetPeriod = 2016;
const periodSeconds = 14 * 24 * 60 * 60;
/** On testnets, a block that comes this long after its parent may have the minimum difficulty. */
const lateSeconds = 20 * 60;
/** BIP94: how far the first block of a period may be before the last block of the period before. */
const maxTimewarpSeconds = 600;

/** The time in the 80 bytes of a header, epoch seconds. */
export const headerTime = ({ buffer, byteOffset }: Uint8Array): number =>
  new DataView(buffer, byteOffset).getUint32(68, true);

/** Checks no consensus rule. @throws PaygateError invalid unless there are 80 bytes */
export function parseHeader(raw: Uint8Array): Header {
  if (raw.length !== headerSize) throwInvalid(`not a block header: ${headerSize} bytes expected`);
  return readHeader(raw, displayHex<BlockHash>(sha256x2(raw)));
}

/** A header of 80 bytes whose hash is known. */
export function readHeader(raw: Uint8Array, hash: BlockHash): Header {
  const bytes = Uint8Array.from(raw);
  const view = new DataView(bytes.buffer);
  return {
    hash,
    previous: displayHex<BlockHash>(bytes.slice(4, 36)),
    merkleRoot: bytes.slice(36, 68),
    time: view.getUint32(68, true),
    bits: view.getUint32(72, true),
    raw: bytes,
  };
}

/**
 * The target that compact bits encode, or what is wrong with them. A negative shift shifts right.
 */
function decodeBits(bits: number): bigint | string {
  const target = BigInt(bits & 0x7fffff) << (8n * BigInt((bits >>> 24) - 3));
  if (target === 0n) return 'zero';
  if ((bits & 0x800000) !== 0) return 'negative';
  return target < 2n ** 256n ? target : 'too large';
}

/**
 * The target: the number that a block's hash must not exceed.
 * @param bits compact form: one byte of length, a sign bit, 23 bits of mantissa
 * @throws PaygateError invalid for a target that is zero, negative or beyond 256 bits
 */
export function bitsToTarget(bits: number): bigint {
  const target = decodeBits(bits);
  return typeof target === 'bigint'
    ? target
    : throwInvalid(`not a proof-of-work target: ${target}`);
}

/**
 * The compact form of a target, with the precision of its first 16 to 23 bits.
 * @throws PaygateError invalid outside 0..2^256-1
 */
export function targetToBits(target: bigint): number {
  if (target < 0n || target >= 2n ** 256n) throwInvalid('not a proof-of-work target: out of range');
  const length = target === 0n ? 0 : Math.ceil(target.toString(16).length / 2);
  const digits = Number(target >> (8n * BigInt(length - 3)));
  // The top bit of the mantissa is the sign, so a mantissa that sets it is shifted by a byte.
  return digits < 0x800000 ? length * 2 ** 24 + digits : (length + 1) * 2 ** 24 + (digits >>> 8);
}

/**
 * The work of a block: the expected number of hashes. The best chain has the most work.
 * @throws PaygateError invalid like `bitsToTarget`
 */
export function workOfBits(bits: number): bigint {
  return 2n ** 256n / (bitsToTarget(bits) + 1n);
}

/** Whether the hash meets the target of the header's own bits; false for invalid bits. */
export function meetsTarget(header: Header): boolean {
  const target = decodeBits(header.bits);
  return typeof target === 'bigint' && BigInt(`0x${header.hash}`) <= target;
}

/** Bits of the first block of a period: the last target, scaled by the duration of that period. */
function retargetedBits(network: Network, height: number, previous: Header, at: Ancestor): number {
  const first = at(height - retargetPeriod);
  const seconds = previous.time - first.time;
  const clamped = Math.min(Math.max(seconds, periodSeconds / 4), periodSeconds * 4);
  // BIP94: the last block of a testnet4 period may have the minimum difficulty, the first never
  // has.
  const base = network.retarget === 'testnet4' ? first.bits : previous.bits;
  const target = (bitsToTarget(base) * BigInt(clamped)) / BigInt(periodSeconds);
  const limit = bitsToTarget(network.powLimitBits);
  return targetToBits(target < limit ? target : limit);
}

/**
 * The bits that a block must have.
 *
 * On testnet3 and testnet4 a block more than 20 minutes after its parent may have the minimum
 * difficulty. The next block in time must have the bits of the last regular block. Bitcoin Core
 * walks back to that block. Its bits are always those of the period's first block.
 * @param height of the block, at least 1
 * @param previous the block before it
 * @param time of the block, epoch seconds
 * @param at is called with heights from `height - 2016` on
 */
export function expectedBits(
  network: Network,
  height: number,
  previous: Header,
  time: number,
  at: Ancestor,
): number {
  if (network.retarget === 'none') return network.powLimitBits;
  if (height % retargetPeriod === 0) return retargetedBits(network, height, previous, at);
  if (network.retarget === 'bitcoin') return previous.bits;
  if (time > previous.time + lateSeconds) return network.powLimitBits;
  return at(height - (height % retargetPeriod)).bits;
}

/**
 * The median of times in any order (BIP113); of an even number, the later middle.
 * @throws PaygateError invalid for an empty list
 */
export function medianTimePast(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? throwInvalid('a median needs at least one time');
}

/**
 * The earliest time that BIP94 allows, epoch seconds; 0 if BIP94 does not apply. The median time
 * past is a rule of its own.
 * @param previous the block before it
 */
export function minimumTime(network: Network, height: number, previous: Header): number {
  const startsPeriod = height % retargetPeriod === 0;
  return network.retarget === 'testnet4' && startsPeriod ? previous.time - maxTimewarpSeconds : 0;
}
