// The multisig script of several keys, and the order of keys that gives every signer the same
// script.
// Sources: BIP11, BIP67 (order of the keys), BIP383 (`sortedmulti`, up to 20 keys).

import { bytesToHex, concatBytes } from '@noble/hashes/utils.js';

/** BIP383: inside `wsh`. */
export const maxKeys = 20;

const opcode = { one: 0x51, checkMultisig: 0xae };
const keySize = 33;

/** Sorted by the bytes of each key, like `sortedmulti`. Hex sorts like bytes. */
export function sortedKeys<T extends { readonly publicKey: Uint8Array }>(keys: readonly T[]): T[] {
  return keys
    .map((key) => ({ key, hex: bytesToHex(key.publicKey) }))
    .sort((one, other) => (one.hex < other.hex ? -1 : 1))
    .map(({ key }) => key);
}

/** Pushes a number from 1 to 20 in its shortest form; opcodes exist up to 16. */
const pushNumber = (number: number): number[] =>
  number <= 16 ? [opcode.one + number - 1] : [1, number];

/**
 * @param threshold how many of them must sign
 * @param publicKeys compressed, 33 bytes each, in the order of the script
 */
export function multisigScript(threshold: number, publicKeys: readonly Uint8Array[]): Uint8Array {
  return concatBytes(
    Uint8Array.from(pushNumber(threshold)),
    ...publicKeys.flatMap((key) => [Uint8Array.of(keySize), key]),
    Uint8Array.from(pushNumber(publicKeys.length)),
    Uint8Array.of(opcode.checkMultisig),
  );
}
