// Writes Lightning invoices for tests, of the right kind and of wrong ones (BOLT 11).

import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { bech32 } from '@scure/base';

export interface InvoiceFields {
  /** `lnbcrt` by default. */
  readonly prefix?: string;
  /** With its unit; `2500u` by default. */
  readonly amount?: string;
  /** Unix seconds. */
  readonly createdAt?: number;
  /** 900 by default; null leaves the field out. */
  readonly seconds?: number | null;
  readonly paymentHash?: string | null;
  readonly description?: string;
  /** Bits of BOLT 9. */
  readonly features?: readonly number[];
  /** The secret key that signs, a small number. */
  readonly signer?: number;
  /** The secret key of the key in the invoice; none by default. */
  readonly keyField?: number;
  readonly highS?: boolean;
  /** Further fields, from `field`. */
  readonly fields?: readonly (readonly number[])[];
}

const secretOf = (key: number): Uint8Array => hexToBytes(key.toString(16).padStart(64, '0'));

export const publicKeyOf = (key: number): string =>
  bytesToHex(secp256k1.getPublicKey(secretOf(key), true));

/** A field of an invoice in groups of 5 bits. */
export const field = (type: number, words: readonly number[]): number[] => [
  type,
  words.length >> 5,
  words.length & 31,
  ...words,
];

const bytesField = (type: number, bytes: Uint8Array): number[] =>
  field(type, bech32.toWords(bytes));

function numberWords(value: number, minLength = 0): number[] {
  const words: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 32)) words.unshift(rest % 32);
  return [...Array(Math.max(0, minLength - words.length)).fill(0), ...words];
}

function featureWords(bits: readonly number[]): number[] {
  const words = Array(Math.floor(Math.max(0, ...bits) / 5) + 1).fill(0);
  for (const bit of bits) words[words.length - 1 - Math.floor(bit / 5)] |= 1 << (bit % 5);
  return words;
}

export function writeInvoice({
  prefix = 'lnbcrt',
  amount = '2500u',
  createdAt = 1_800_000_000,
  seconds = 900,
  paymentHash = 'ab'.repeat(32),
  description = '',
  features = [8, 14, 17],
  signer = 1,
  keyField,
  highS = false,
  fields = [],
}: InvoiceFields): string {
  const words = [
    ...numberWords(createdAt, 7),
    ...(paymentHash === null ? [] : bytesField(1, hexToBytes(paymentHash))),
    ...bytesField(16, new Uint8Array(32).fill(7)),
    ...bytesField(13, utf8ToBytes(description)),
    ...(seconds === null ? [] : field(6, numberWords(seconds))),
    ...field(5, featureWords(features)),
    ...(keyField === undefined ? [] : bytesField(19, hexToBytes(publicKeyOf(keyField)))),
    ...fields.flat(),
  ];
  const padded = [...words, ...Array((8 - (words.length % 8)) % 8).fill(0)];
  const bytes = Uint8Array.from(bech32.fromWords(padded));
  const data = bytes.subarray(0, Math.ceil((words.length * 5) / 8));
  const hash = sha256(concatBytes(utf8ToBytes(prefix + amount), data));
  const options = { prehash: false, format: 'recovered' } as const;
  const [recovery = 0, ...compact] = secp256k1.sign(hash, secretOf(signer), options);
  const signature = Uint8Array.from(compact);
  if (highS) negateS(signature);
  const recoveryByte = highS ? recovery ^ 1 : recovery;
  const signed = [...words, ...bech32.toWords(Uint8Array.from([...signature, recoveryByte]))];
  return bech32.encode(prefix + amount, signed, false);
}

function negateS(signature: Uint8Array): void {
  const order = secp256k1.Point.Fn.ORDER;
  const negated = order - BigInt(`0x${bytesToHex(signature.subarray(32))}`);
  signature.set(hexToBytes(negated.toString(16).padStart(64, '0')), 32);
}
