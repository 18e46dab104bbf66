// Converts between output scripts and addresses, and makes the script hashes of the Electrum
// protocol. An address of another network is an error that names that network.
// Sources: BIP16, BIP141, BIP173 and BIP350 (segwit addresses), BIP86 (taproot with one key).

import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { bech32, bech32m, createBase58check } from '@scure/base';
import { hash160, taprootTweakPubkey } from '@scure/btc-signer/utils.js';
import { throwInvalid } from '../lib/errors.ts';
import { displayHex, type Scripthash } from './ids.ts';
import { type Network, networks } from './network.ts';

export type ScriptType = 'p2pkh' | 'p2sh-p2wpkh' | 'p2wpkh' | 'p2tr';

export type WitnessType = 'p2wsh' | 'p2sh-p2wsh';

const base58check = createBase58check(sha256);

const op = { dup: 0x76, hash160: 0xa9, equal: 0x87, equalVerify: 0x88, checkSig: 0xac, one: 0x51 };
const hashSize = 20;
const keySize = 33;
/** BIP173: the limit of a bech32 text. Base58 addresses are far shorter. */
const maxAddressLength = 90;

const bytes = (...parts: number[]) => Uint8Array.from(parts);

const p2pkhScript = (hash: Uint8Array) =>
  concatBytes(bytes(op.dup, op.hash160, hashSize), hash, bytes(op.equalVerify, op.checkSig));

const p2shScript = (hash: Uint8Array) =>
  concatBytes(bytes(op.hash160, hashSize), hash, bytes(op.equal));

const witnessScript = (version: number, program: Uint8Array) =>
  concatBytes(bytes(version === 0 ? 0 : op.one + version - 1, program.length), program);

/**
 * The output script that pays a key.
 * @param publicKey compressed, 33 bytes, a valid point
 * @throws PaygateError invalid unless it has 33 bytes
 */
export function scriptForKey(publicKey: Uint8Array, type: ScriptType): Uint8Array {
  if (publicKey.length !== keySize) throwInvalid(`not a public key of ${keySize} bytes`);
  switch (type) {
    case 'p2pkh':
      return p2pkhScript(hash160(publicKey));
    case 'p2sh-p2wpkh':
      return p2shScript(hash160(witnessScript(0, hash160(publicKey))));
    case 'p2wpkh':
      return witnessScript(0, hash160(publicKey));
    case 'p2tr':
      return witnessScript(1, taprootTweakPubkey(publicKey.slice(1), bytes())[0]);
  }
}

/** The output script that pays a witness script. */
export function scriptForWitness(witness: Uint8Array, type: WitnessType): Uint8Array {
  const script = witnessScript(0, sha256(witness));
  return type === 'p2wsh' ? script : p2shScript(hash160(script));
}

/** Electrum's script hash: SHA-256 of the output script, reversed, in hex. */
export function scripthash(script: Uint8Array): Scripthash {
  return displayHex<Scripthash>(sha256(script));
}

/** Whether consensus (BIP141) allows a witness program of this length. */
function isProgramLength(version: number, length: number): boolean {
  return version === 0 ? length === 20 || length === 32 : length >= 2 && length <= 40;
}

const startsWith = (script: Uint8Array, ...start: number[]) =>
  start.every((byte, at) => script[at] === byte);

/** The witness version of a witness program; undefined for any other script. */
function witnessVersion(script: Uint8Array): number | undefined {
  const [opcode = -1, length = -1] = script;
  const version = opcode === 0 ? 0 : opcode - op.one + 1;
  const isVersion = opcode === 0 || (version >= 1 && version <= 16);
  const isProgram = length === script.length - 2 && isProgramLength(version, length);
  return isVersion && isProgram ? version : undefined;
}

/** @throws PaygateError invalid for a script that has no address */
export function scriptToAddress(script: Uint8Array, network: Network): string {
  const version = witnessVersion(script);
  if (version !== undefined) {
    const coder = version === 0 ? bech32 : bech32m;
    return coder.encode(network.hrp, [version, ...coder.toWords(script.slice(2))]);
  }
  const isP2pkh =
    script.length === hashSize + 5 &&
    startsWith(script, op.dup, op.hash160, hashSize) &&
    startsWith(script.slice(-2), op.equalVerify, op.checkSig);
  if (isP2pkh) return base58check.encode(concatBytes(bytes(network.p2pkh), script.slice(3, -2)));
  const isP2sh =
    script.length === hashSize + 3 &&
    startsWith(script, op.hash160, hashSize) &&
    startsWith(script.slice(-1), op.equal);
  if (isP2sh) return base58check.encode(concatBytes(bytes(network.p2sh), script.slice(2, -1)));
  return throwInvalid('this script has no address');
}

/** @throws PaygateError invalid for another network, naming the networks that fit */
function requireNetwork(ours: Network, isOf: (network: Network) => boolean): void {
  if (isOf(ours)) return;
  const theirs = Object.values(networks).filter(isOf);
  if (theirs.length === 0) throwInvalid('not a Bitcoin address: unknown beginning');
  const names = theirs.map((network) => network.name).join(' or ');
  throwInvalid(`this address is of ${names}, not of ${ours.name}`);
}

function segwitScript(address: string, network: Network): Uint8Array | undefined {
  // No text is valid in both encodings (BIP350).
  const plain = bech32.decodeUnsafe(address);
  const decoded = plain ?? bech32m.decodeUnsafe(address);
  if (decoded === undefined) return undefined;
  requireNetwork(network, (one) => one.hrp === decoded.prefix);
  const [version = -1, ...words] = decoded.words;
  if (version < 0 || version > 16) throwInvalid('not a segwit address: unknown version');
  if ((version === 0) !== (plain !== undefined))
    throwInvalid('not a segwit address: wrong checksum');
  const program =
    bech32.fromWordsUnsafe(words) ?? throwInvalid('not a segwit address: wrong padding');
  if (!isProgramLength(version, program.length)) throwInvalid('not a segwit address: wrong length');
  return witnessScript(version, program);
}

function base58Script(address: string, network: Network): Uint8Array | undefined {
  let payload: Uint8Array;
  try {
    payload = base58check.decode(address);
  } catch {
    return undefined;
  }
  if (payload.length !== hashSize + 1) throwInvalid('not a Bitcoin address: wrong length');
  const [version] = payload;
  requireNetwork(network, (one) => one.p2pkh === version || one.p2sh === version);
  const hash = payload.slice(1);
  return version === network.p2pkh ? p2pkhScript(hash) : p2shScript(hash);
}

/**
 * The output script of an address: P2PKH, P2SH or segwit version 0 to 16.
 * @throws PaygateError invalid for a malformed address or one of another network
 */
export function addressToScript(address: string, network: Network): Uint8Array {
  if (address.length > maxAddressLength) throwInvalid('not a Bitcoin address: too long');
  const script = segwitScript(address, network) ?? base58Script(address, network);
  return script ?? throwInvalid('not a Bitcoin address: wrong characters or checksum');
}
