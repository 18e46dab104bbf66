// Branded strings for transaction ids, block hashes and script hashes, parsed once where they
// enter. All are 64 lower-case hex digits in display order, which reverses the bytes of the hash.

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { PaygateError } from '../lib/errors.ts';

/** Transaction id: double SHA-256 of the transaction without its witness. */
export type Txid = string & { readonly brand: 'Txid' };
/** Block id: double SHA-256 of the 80-byte header. */
export type BlockHash = string & { readonly brand: 'BlockHash' };
/** Electrum's identifier of an output script: single SHA-256. */
export type Scripthash = string & { readonly brand: 'Scripthash' };

const hash256 = /^[0-9a-f]{64}$/;

export const isHash = (value: unknown): value is string =>
  typeof value === 'string' && hash256.test(value);

function parse<T extends string>(value: unknown, what: string): T {
  if (!isHash(value)) throw new PaygateError('invalid', `not a ${what}: 64 hex digits expected`);
  return value as T;
}

/** @throws PaygateError invalid */
export const parseTxid = (value: unknown): Txid => parse<Txid>(value, 'txid');
/** @throws PaygateError invalid */
export const parseBlockHash = (value: unknown): BlockHash => parse<BlockHash>(value, 'block hash');

/** The display form of a hash in internal byte order. */
export const displayHex = <T extends string>(hash: Uint8Array): T =>
  // A copy, because `slice` of a Buffer shares memory.
  bytesToHex(Uint8Array.from(hash).reverse()) as T;

/** The hash in internal byte order. */
export const hashBytes = (id: string): Uint8Array => hexToBytes(id).reverse();
