// Block headers and the rules that tie one to those before it: proof of work, the bits that the
// network's difficulty rule asks for, the earliest time. Pure functions over headers that the
// caller looks up; which chain is the best one is decided in domain/chain.ts.
// Sources: Bitcoin Core's src/pow.cpp and src/arith_uint256.cpp, BIP94 (testnet4), BIP113.

import { sha256x2 } from '@scure/btc-signer/utils.js';
import { type BlockHash, displayHex } from './ids.ts';
import type { Network } from './network.ts';
import { refuse } from './refuse.ts';

export interface Header {
  readonly hash: BlockHash;
  readonly previous: BlockHash;
  /** 32 bytes as hashed. */
  readonly merkleRoot: Uint8Array;
  /** Seconds since the epoch, as its miner claims. */
  readonly time: number;
  /** Target in compact form. */
  readonly bits: number;
  /** The 80 bytes. */
  readonly raw: Uint8Array;
}

/** Answers the ancestor at a height, on the branch in question. */
type Ancestor = (height: number) => Header;

const headerSize = 80;
/** Blocks between two changes of difficulty. */
export const retargetPeriod = 2016;
const periodSeconds = 14 * 24 * 60 * 60;
/** On testnets, a block this late after the one before may have the least work. */
const lateSeconds = 20 * 60;
/** BIP94: how far the first block of a period may step back in time. */
const maxTimewarpSeconds = 600;

/** Seconds since the epoch, of the 80 bytes of a header. */
export const headerTime = ({ buffer, byteOffset }: Uint8Array): number =>
  new DataView(buffer, byteOffset).getUint32(68, true);

/** @throws PaygateError invalid unless it has 80 bytes; what they claim is not checked here */
export function parseHeader(raw: Uint8Array): Header {
  if (raw.length !== headerSize) refuse(`not a block header: ${headerSize} bytes expected`);
  return readHeader(raw, displayHex<BlockHash>(sha256x2(raw)));
}

/** A header of 80 bytes whose hash was computed before. */
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

/** The target that 32 bits stand for, or what is wrong with them. To shift by less than nothing is to shift back. */
function decodeBits(bits: number): bigint | string {
  const target = BigInt(bits & 0x7fffff) << (8n * BigInt((bits >>> 24) - 3));
  if (target === 0n) return 'zero';
  if ((bits & 0x800000) !== 0) return 'negative';
  return target < 2n ** 256n ? target : 'too large';
}

/**
 * The number that a block's hash must not exceed.
 * @param bits compact form: one byte of length, a sign, 23 bits of digits
 * @throws PaygateError invalid when it is zero, negative or beyond 256 bits
 */
export function bitsToTarget(bits: number): bigint {
  const target = decodeBits(bits);
  return typeof target === 'bigint' ? target : refuse(`not a proof-of-work target: ${target}`);
}

/**
 * The compact form of a target, which keeps its first 16 to 23 bits.
 * @throws PaygateError invalid outside 0..2^256-1
 */
export function targetToBits(target: bigint): number {
  if (target < 0n || target >= 2n ** 256n) refuse('not a proof-of-work target: out of range');
  const length = target === 0n ? 0 : Math.ceil(target.toString(16).length / 2);
  const digits = Number(target >> (8n * BigInt(length - 3)));
  // The top bit of the digits is the sign: a number that would set it moves down by a byte.
  return digits < 0x800000 ? length * 2 ** 24 + digits : (length + 1) * 2 ** 24 + (digits >>> 8);
}

/**
 * Hashes that a block took on average: what chains are compared by.
 * @throws PaygateError invalid as `bitsToTarget`
 */
export function workOfBits(bits: number): bigint {
  return 2n ** 256n / (bitsToTarget(bits) + 1n);
}

/** Whether the hash is as small as the header's own bits ask; meaningless bits are never met. */
export function meetsTarget(header: Header): boolean {
  const target = decodeBits(header.bits);
  return typeof target === 'bigint' && BigInt(`0x${header.hash}`) <= target;
}

/** Bits of the first block of a period: the last target, scaled by the time the period took. */
function retargetedBits(network: Network, height: number, previous: Header, at: Ancestor): number {
  const first = at(height - retargetPeriod);
  const seconds = previous.time - first.time;
  const clamped = Math.min(Math.max(seconds, periodSeconds / 4), periodSeconds * 4);
  // BIP94: the last block of a testnet4 period may be an easy one, the first never is.
  const base = network.retarget === 'testnet4' ? first.bits : previous.bits;
  const target = (bitsToTarget(base) * BigInt(clamped)) / BigInt(periodSeconds);
  const limit = bitsToTarget(network.powLimitBits);
  return targetToBits(target < limit ? target : limit);
}

/**
 * The bits that a block must have.
 *
 * On testnet3 and testnet4 a block that is more than 20 minutes late may be easy, and the next one
 * in time must have the bits of the last block that was not. Bitcoin Core walks back for those;
 * they are always the bits of the period's first block, because every block since has either
 * them or the easy ones.
 * @param height of the block, at least 1
 * @param previous the block before it
 * @param time that the block claims, in seconds
 * @param at asked for heights from `height - 2016` on
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
 * BIP113: the middle one of the last times, in any order; the later middle of an even number.
 * @throws PaygateError invalid without any
 */
export function medianTimePast(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? refuse('a median needs at least one time');
}

/**
 * The earliest time that BIP94 lets a block claim, in seconds; 0 where the network or the height is
 * none of its concern. That a time is above the median of the 11 before is a rule beside this one.
 * @param previous the block before it
 */
export function minimumTime(network: Network, height: number, previous: Header): number {
  const startsPeriod = height % retargetPeriod === 0;
  return network.retarget === 'testnet4' && startsPeriod ? previous.time - maxTimewarpSeconds : 0;
}
