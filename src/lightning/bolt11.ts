// Reads Lightning invoices, and compares them with what a node was asked for. A customer pays what
// an invoice says, so no other one is shown. Every refusal is a PaygateError `invalid`.
// Source: BOLT 11, https://github.com/lightning/bolts/blob/master/11-payment-encoding.md

import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { bech32 } from '@scure/base';
import type { NetworkName } from '../bitcoin/network.ts';
import { throwInvalid } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import type { InvoiceRequest } from './node.ts';

/** What an invoice says. */
export interface Bolt11 {
  /** The part before the amount: `bc` in `lnbc`. */
  readonly prefix: string;
  /** In thousandths of a satoshi; null for an invoice of any amount. */
  readonly valueMsat: bigint | null;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly seconds: number;
  readonly paymentHash: string;
  /** The compressed key that signed it: 66 hex digits. */
  readonly publicKey: string;
  /** Whether it names an address, which a wallet may pay on-chain instead. */
  readonly hasAddress: boolean;
}

const prefixes: Readonly<Record<NetworkName, string>> = {
  mainnet: 'bc',
  testnet3: 'tb',
  testnet4: 'tb',
  signet: 'tbs',
  regtest: 'bcrt',
};

/** What fits into a QR code of web/qr-code.tsx behind `LIGHTNING:`. */
const maxLength = 3_381;
/** In groups of 5 bits. */
const timeWords = 7;
const signatureWords = 104;
const defaultSeconds = 3600;
const msatPerBitcoin = 100_000_000_000n;
/** How many of a unit are a bitcoin. */
const units: Readonly<Record<string, bigint>> = {
  '': 1n,
  m: 1_000n,
  u: 1_000_000n,
  n: 1_000_000_000n,
  p: 1_000_000_000_000n,
};
/** Types of fields: the value of their letter in bech32. */
const tag = { hash: 1, features: 5, expiry: 6, address: 9, secret: 16, key: 19 } as const;
/** Fields that may be there once, with their length; those of another length are skipped. */
const singleFields = new Map<number, number | null>([
  [tag.hash, 52],
  [tag.secret, 52],
  [tag.key, 53],
  [tag.expiry, null],
  [tag.features, null],
]);
/** Bits of BOLT 9 that an invoice may require: onion, secret, multi-part, blinding, metadata. */
const knownFeatures: ReadonlySet<number> = new Set([8, 14, 16, 24, 48]);

/** @param text hostile @throws PaygateError invalid */
export function readInvoice(text: string): Bolt11 {
  if (text.length > maxLength) refuse('it is too long for a QR code');
  const decoded = bech32.decodeUnsafe(text, false);
  if (decoded === undefined) return refuse('it is not bech32');
  const { prefix: readable, words } = decoded;
  const [, prefix = '', amount, unit = ''] =
    /^ln(bcrt|bc|tbs|tb)(?:([1-9]\d{0,18})([munp]?))?$/.exec(readable) ?? [];
  if (prefix === '') refuse('its network or its amount is unknown');
  const end = words.length - signatureWords;
  if (end < timeWords) refuse('it is too short');
  const fields = readFields(words, end);
  requireKnownFeatures(fields.get(tag.features) ?? []);
  if (!fields.has(tag.secret)) refuse('it has no payment secret');
  const hash = fields.get(tag.hash) ?? refuse('it has no payment hash');
  const expiry = fields.get(tag.expiry);
  return {
    prefix,
    valueMsat: amount === undefined ? null : readAmount(amount, unit),
    createdAt: Number(bigintOf(words.slice(0, timeWords))),
    seconds: expiry === undefined ? defaultSeconds : Number(bigintOf(expiry)),
    paymentHash: bytesToHex(bytesOf(hash)),
    publicKey: readSigner(readable, words, end, fields.get(tag.key)),
    hasAddress: fields.has(tag.address),
  };
}

/**
 * The invoice, if it is what the node was asked for.
 * @param answer hostile: what the node answered
 * @param now epoch milliseconds
 * @throws PaygateError invalid
 */
export function checkInvoice(
  answer: { readonly invoice: string; readonly paymentHash: string },
  asked: Pick<InvoiceRequest, 'valueSat' | 'seconds'> & { readonly network: NetworkName },
  now: number,
): Bolt11 {
  const invoice = readInvoice(answer.invoice);
  const { valueMsat, seconds, createdAt, paymentHash, prefix, hasAddress } = invoice;
  if (prefix !== prefixes[asked.network]) {
    refuse(`it begins with ln${prefix}, but this paygate is on ${asked.network}`);
  }
  if (valueMsat !== BigInt(asked.valueSat) * 1000n) {
    refuse(`it is about ${valueMsat ?? 'any number of'} msat instead of ${asked.valueSat} sat`);
  }
  if (paymentHash !== answer.paymentHash) refuse('its payment hash is not the one beside it');
  if (seconds !== asked.seconds) {
    refuse(`it expires after ${seconds} s instead of ${asked.seconds} s`);
  }
  if (hasAddress) refuse('it names an address of its own');
  const aheadSeconds = Math.round(createdAt - now / secondMs);
  if (Math.abs(aheadSeconds) > maxClockSeconds) {
    refuse(`its time differs from the clock here by ${aheadSeconds} s; set both clocks`);
  }
  return invoice;
}

/** An invoice ends at most this long before or after its quote. */
const maxClockSeconds = 120;

const refuse = (why: string): never => throwInvalid(`the node gave no usable invoice: ${why}`);

/** A field of each type, without those that a reader must skip. */
function readFields(words: readonly number[], end: number): ReadonlyMap<number, number[]> {
  const fields = new Map<number, number[]>();
  let at = timeWords;
  while (at < end) {
    const [type = 0, high = 0, low = 0] = words.slice(at, at + 3);
    const field = words.slice(at + 3, at + 3 + 32 * high + low);
    at += 3 + 32 * high + low;
    if (at > end) refuse('a field is longer than the invoice');
    if ((singleFields.get(type) ?? field.length) !== field.length) continue;
    // Wallets differ in which of two they take.
    if (singleFields.has(type) && fields.has(type)) refuse('a field is doubled');
    fields.set(type, field);
  }
  return fields;
}

function readAmount(amount: string, unit: string): bigint {
  const msat = BigInt(amount) * msatPerBitcoin;
  const perBitcoin = units[unit] ?? 1n;
  if (msat % perBitcoin !== 0n) refuse('its amount has a fraction of a millisatoshi');
  return msat / perBitcoin;
}

function requireKnownFeatures(words: readonly number[]): void {
  const features = bigintOf(words);
  for (let bit = 0; features >> BigInt(bit) > 0n; bit += 2) {
    const isRequired = ((features >> BigInt(bit)) & 1n) === 1n;
    if (isRequired && !knownFeatures.has(bit)) refuse(`it requires the feature ${bit} of a wallet`);
  }
}

/** The key in the invoice if there is one, else the key that made the signature. */
function readSigner(
  readable: string,
  words: readonly number[],
  end: number,
  key: readonly number[] | undefined,
): string {
  const signed = sha256(concatBytes(utf8ToBytes(readable), paddedBytesOf(words.slice(0, end))));
  const bytes = bytesOf(words.slice(end));
  const compact = bytes.subarray(0, 64);
  try {
    const signature = secp256k1.Signature.fromBytes(compact).addRecoveryBit(bytes[64] ?? 0);
    const signer = key === undefined ? signature.recoverPublicKey(signed).toBytes() : bytesOf(key);
    // Only a recovered key may have a high S.
    const isGood =
      key === undefined || secp256k1.verify(compact, signed, signer, { prehash: false });
    if (isGood) return bytesToHex(signer);
  } catch {
    // It is no signature, or no key.
  }
  return refuse('its signature is wrong');
}

const bigintOf = (words: readonly number[]): bigint =>
  words.reduce((sum, word) => (sum << 5n) | BigInt(word), 0n);

/** Whole bytes of groups of 5 bits; what is left over is padding. */
const bytesOf = (words: readonly number[]): Uint8Array =>
  paddedBytesOf(words).subarray(0, Math.floor((words.length * 5) / 8));

function paddedBytesOf(words: readonly number[]): Uint8Array {
  const length = Math.ceil((words.length * 5) / 8);
  const bits = bigintOf(words) << BigInt(length * 8 - words.length * 5);
  return hexToBytes(bits.toString(16).padStart(length * 2, '0'));
}
