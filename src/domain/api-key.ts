// The text of an API key: `pgk_`, 32 random bytes in base62, six digits that catch a typo. Pure.
// The file finds a key by the SHA-256 of its text.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 > 2^256 and 62^6 > 2^32: the text is as long whatever the bytes are. */
const bodyDigits = 43;
const checksumDigits = 6;
const shape = /^pgk_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** @param secret 32 random bytes */
export function formatApiKey(secret: Uint8Array): string {
  const body = base62(secret, bodyDigits);
  return `pgk_${body}${checksum(body)}`;
}

/** Whether the text can be a key at all; a wrong one costs no look-up. */
export function isApiKey(text: string): boolean {
  const match = shape.exec(text);
  return match?.[1] !== undefined && checksum(match[1]) === match[2];
}

export const apiKeyHash = (text: string): Uint8Array => sha256(utf8ToBytes(text));

const checksum = (body: string): string =>
  base62(sha256(utf8ToBytes(body)).slice(0, 4), checksumDigits);

function base62(bytes: Uint8Array, width: number): string {
  let rest = BigInt(`0x${bytesToHex(bytes)}`);
  let text = '';
  while (text.length < width) {
    text = digits.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
