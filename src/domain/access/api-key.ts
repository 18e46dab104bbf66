// The text of an API key: `pgk_`, 32 random bytes in base62, six digits of checksum. The database
// stores the SHA-256 of the text. Some shop plugins accept keys of 43 characters only: the random
// part alone is the same key.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 > 2^256 and 62^6 > 2^32, so the text always has this length. */
const bodyDigits = 43;
const checksumDigits = 6;
const shortShape = /^[0-9A-Za-z]{43}$/;
const shape = /^pgk_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

export function formatApiKey(secret: Uint8Array): string {
  return whole(base62(secret, bodyDigits));
}

/** The full text of a key in its full or short form; undefined for an invalid key. */
export function readApiKey(text: string): string | undefined {
  if (shortShape.test(text)) return whole(text);
  const body = shape.exec(text)?.[1];
  return body !== undefined && whole(body) === text ? text : undefined;
}

/** The 43 random digits alone, for plugins that accept no longer key. */
export const shortApiKey = (apiKey: string): string => shape.exec(apiKey)?.[1] ?? apiKey;

export const apiKeyHash = (text: string): Uint8Array => sha256(utf8ToBytes(text));

const whole = (body: string): string =>
  `pgk_${body}${base62(sha256(utf8ToBytes(body)).slice(0, 4), checksumDigits)}`;

function base62(bytes: Uint8Array, width: number): string {
  let rest = BigInt(`0x${bytesToHex(bytes)}`);
  let text = '';
  while (text.length < width) {
    text = digits.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
