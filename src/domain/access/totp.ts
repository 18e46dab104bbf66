// Time-based one-time codes of authenticator apps: SHA-1, 30 seconds, 6 digits.
// Sources: RFC 4226 (HOTP), RFC 6238 (TOTP),
// https://github.com/google/google-authenticator/wiki/Key-Uri-Format

import { hmac } from '@noble/hashes/hmac.js';
import { sha1 } from '@noble/hashes/legacy.js';
import { base32nopad } from '@scure/base';
import { withoutInvisible } from '../text/pasted-text.ts';

export const totpSecretBytes = 20;
const stepMs = 30_000;
const digits = 6;
/** A code is valid one step early or late, because clocks differ and people type. */
const maxStepDifference = 1;

/** @param secret base32 @param length digits; the vectors of RFC 6238 have 8 */
export function totpCode(secret: string, step: number, length = digits): string {
  const counter = new Uint8Array(8);
  new DataView(counter.buffer).setBigUint64(0, BigInt(step));
  const mac = new DataView(hmac(sha1, base32nopad.decode(secret), counter).buffer);
  const offset = mac.getUint8(19) & 0xf;
  const number = (mac.getUint32(offset) & 0x7fffffff) % 10 ** length;
  return String(number).padStart(length, '0');
}

export const totpStep = (now: number): number => Math.floor(now / stepMs);

/**
 * The time step of a code; undefined for a wrong code.
 * @param now epoch milliseconds
 * @param after the step of the last accepted code; only later steps match
 */
export function matchingStep(
  secret: string,
  code: string,
  now: number,
  after: number,
): number | undefined {
  const typed = withoutInvisible(code);
  const current = totpStep(now);
  for (let step = current - maxStepDifference; step <= current + maxStepDifference; step += 1) {
    if (step > after && totpCode(secret, step) === typed) return step;
  }
  return undefined;
}

export const newTotpSecret = (bytes: Uint8Array): string => base32nopad.encode(bytes);

export const totpUri = (secret: string, host: string): string =>
  `otpauth://totp/paygate:${encodeURIComponent(host)}?secret=${secret}&issuer=paygate`;
