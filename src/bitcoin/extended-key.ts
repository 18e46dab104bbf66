// BIP32 extended public keys: decodes their text and derives children. Each kind of malformed text
// has its own error. No message holds more of a key than its first four letters.
// Sources: BIP32 (format, derivation, invalid vectors), SLIP-132 (version bytes).

import { secp256k1 } from '@noble/curves/secp256k1.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { concatBytes, createView } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { HARDENED_OFFSET } from '@scure/bip32';
import { equalBytes, sha256x2 } from '@scure/btc-signer/utils.js';
import { throwInvalid } from '../lib/errors.ts';
import type { ScriptType } from './address.ts';
import type { NetworkName } from './network.ts';

const { Point } = secp256k1;
type Point = InstanceType<typeof Point>;
const { Fn } = Point;

interface KeyKind {
  readonly prefix: string;
  readonly networks: readonly NetworkName[];
  /** The script type that SLIP-132 assigns; xpub and tpub leave it open. */
  readonly scriptType?: ScriptType;
  /** The key of one signer of a multisig wallet. */
  readonly multisig?: true;
}

export interface DecodedKey {
  readonly kind: KeyKind;
  /** Derivation steps below the master key. */
  readonly depth: number;
  readonly key: ExtendedKey;
}

const main: readonly NetworkName[] = ['mainnet'];
const test: readonly NetworkName[] = ['testnet3', 'testnet4', 'signet', 'regtest'];

const kinds = new Map<number, KeyKind>([
  [0x0488b21e, { prefix: 'xpub', networks: main }],
  [0x049d7cb2, { prefix: 'ypub', networks: main, scriptType: 'p2sh-p2wpkh' }],
  [0x04b24746, { prefix: 'zpub', networks: main, scriptType: 'p2wpkh' }],
  [0x0295b43f, { prefix: 'Ypub', networks: main, multisig: true }],
  [0x02aa7ed3, { prefix: 'Zpub', networks: main, multisig: true }],
  [0x043587cf, { prefix: 'tpub', networks: test }],
  [0x044a5262, { prefix: 'upub', networks: test, scriptType: 'p2sh-p2wpkh' }],
  [0x045f1cf6, { prefix: 'vpub', networks: test, scriptType: 'p2wpkh' }],
  [0x024289ef, { prefix: 'Upub', networks: test, multisig: true }],
  [0x02575483, { prefix: 'Vpub', networks: test, multisig: true }],
]);

const textLength = 111;
/** Above the length of any such text, and short enough to decode. */
const maxTextLength = 120;
const payloadSize = 78;
const checksumSize = 4;
/** A compressed point. */
const keySize = 33;

/**
 * `point + tweak · G`, in variable time, which is more than twice as fast as @scure/bip32. No tweak
 * is secret: the extended key determines all of them.
 * @param tweak 32 bytes
 * @returns undefined if the tweak is not below the order of the curve, or if the sum is no key
 */
export function addTweak(point: Point, tweak: Uint8Array): Point | undefined {
  const scalar = Fn.fromBytes(tweak, true);
  if (!Fn.isValid(scalar)) return undefined;
  const sum = point.add(Point.BASE.multiplyUnsafe(scalar));
  return sum.is0() ? undefined : sum;
}

/** A public key with a chain code. `extendedKey` makes one from bytes. */
export class ExtendedKey {
  readonly publicKey: Uint8Array;
  readonly chainCode: Uint8Array;
  readonly #point: Point;

  constructor(point: Point, chainCode: Uint8Array) {
    this.publicKey = point.toBytes(true);
    this.chainCode = chainCode;
    this.#point = point;
  }

  /**
   * CKDpub of BIP32.
   * @returns undefined for an index without a valid child, which BIP32 skips
   * @throws PaygateError invalid for an index outside of 0..2^31-1
   */
  child(index: number): ExtendedKey | undefined {
    if (!Number.isInteger(index) || index < 0 || index >= HARDENED_OFFSET) {
      throwInvalid('a derivation index must be a whole number below 2^31');
    }
    const data = concatBytes(this.publicKey, new Uint8Array(4));
    createView(data).setUint32(keySize, index);
    const digest = hmac(sha512, this.chainCode, data);
    const point = addTweak(this.#point, digest.subarray(0, 32));
    return point && new ExtendedKey(point, digest.slice(32));
  }
}

/**
 * @param publicKey 33 bytes, compressed
 * @param chainCode 32 bytes
 * @throws PaygateError invalid if the key is not a point of the curve
 */
export function extendedKey(publicKey: Uint8Array, chainCode: Uint8Array): ExtendedKey {
  let point: Point;
  try {
    if (publicKey.length !== keySize) throw new Error('not compressed');
    point = Point.fromBytes(publicKey);
  } catch {
    return throwInvalid('this extended key holds no valid public key (not a point of the curve)');
  }
  return new ExtendedKey(point, chainCode);
}

/** The 78 bytes of an extended key, checksum verified. */
function decodePayload(text: string): Uint8Array {
  if (!/^[1-9A-HJ-NP-Za-km-z]+$/.test(text)) {
    throwInvalid('not an extended public key: it has characters that no such key has');
  }
  const decoded = text.length <= maxTextLength ? base58.decode(text) : new Uint8Array();
  if (decoded.length !== payloadSize + checksumSize) {
    throwInvalid(`not an extended public key: wrong length (${textLength} characters expected)`);
  }
  const payload = decoded.slice(0, payloadSize);
  if (!equalBytes(sha256x2(payload).slice(0, checksumSize), decoded.slice(payloadSize))) {
    throwInvalid('this extended key is mistyped: its checksum is wrong; copy it again');
  }
  return payload;
}

/**
 * @param text Base58Check alone
 * @throws PaygateError invalid
 */
export function decodeExtendedKey(text: string): DecodedKey {
  const payload = decodePayload(text);
  const view = createView(payload);
  const kind = kinds.get(view.getUint32(0));
  if (kind === undefined) {
    return throwInvalid(
      'an extended key of a kind that paygate does not know, perhaps of another coin',
    );
  }
  const depth = view.getUint8(4);
  const isRoot = view.getUint32(5) === 0 && view.getUint32(9) === 0;
  if (depth === 0 && !isRoot) {
    throwInvalid(`this ${kind.prefix} contradicts itself: a master key that says it has a parent`);
  }
  return { kind, depth, key: extendedKey(payload.slice(45), payload.slice(13, 45)) };
}
