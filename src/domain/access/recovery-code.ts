// Recovery codes: each replaces one code of a lost authenticator app. A code has 120 random bits,
// written as 24 characters of base32, so that a plain hash of it cannot be reversed.
// Sources: RFC 4648 (base32), NIST SP 800-63B-4 (look-up secrets: 112 bits)

import { base32nopad } from '@scure/base';
import { withoutInvisible } from '../text/pasted-text.ts';

export const recoveryCodeCount = 10;
const codeBytes = 15;
export const recoveryCodeBytes = recoveryCodeCount * codeBytes;

/** @param bytes `recoveryCodeBytes` random bytes @returns codes such as `k3hw-7zq2-m4xd-a6rt-5yjc-w2ne` */
export const newRecoveryCodes = (bytes: Uint8Array): string[] =>
  Array.from({ length: recoveryCodeCount }, (_, place) => {
    const own = bytes.subarray(place * codeBytes, (place + 1) * codeBytes);
    return base32nopad.encode(own).toLowerCase().match(/.{4}/g)?.join('-') ?? '';
  });

/** The code as `newRecoveryCodes` writes it, however it was typed; undefined for anything else. */
export function parseRecoveryCode(typed: string): string | undefined {
  // Word processors make other dashes of a hyphen.
  const text = withoutInvisible(typed)
    .toLowerCase()
    .replaceAll(/[\p{Pd}\u2212]/gu, '');
  return /^[a-z2-7]{24}$/.test(text) ? text.match(/.{4}/g)?.join('-') : undefined;
}
