// Branded strings for the hashes that travel through the house, each parsed once at the door.
// All are 64 lower-case hex digits in display order (the reverse of the hash's own bytes).

import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { PaygateError } from '../lib/errors.ts';

/** Transaction id: double SHA-256 of the transaction without its witness. */
export type Txid = string & { readonly brand: 'Txid' };
/** Block id: double SHA-256 of the 80-byte header. */
export type BlockHash = string & { readonly brand: 'BlockHash' };
/** Electrum's name of an output script: single SHA-256. */
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

/** Bytes of a hash, as hashed, to its display form. */
export const displayHex = <T extends string>(hash: Uint8Array): T =>
  // A plain copy: `slice` of a Buffer would be the same memory.
  bytesToHex(Uint8Array.from(hash).reverse()) as T;

/** Display form to the bytes as hashed. */
export const hashBytes = (id: string): Uint8Array => hexToBytes(id).reverse();
