// Recovery codes: each replaces one code of a lost authenticator app. A code has 80 random bits, so
// that a hash of it cannot be reversed, written as 16 characters of base32 (RFC 4648).

import { base32nopad } from '@scure/base';

export const recoveryCodeCount = 10;
const codeBytes = 10;
/** The random bytes of all codes. */
export const recoveryCodeBytes = recoveryCodeCount * codeBytes;

/** @param bytes `recoveryCodeBytes` random bytes @returns codes such as `k3hw-7zq2-m4xd-a6rt` */
export const newRecoveryCodes = (bytes: Uint8Array): string[] =>
  Array.from({ length: recoveryCodeCount }, (_, place) => {
    const own = bytes.subarray(place * codeBytes, (place + 1) * codeBytes);
    return base32nopad.encode(own).toLowerCase().match(/.{4}/g)?.join('-') ?? '';
  });

/** The code as `newRecoveryCodes` writes it, however it was typed; undefined for anything else. */
export function parseRecoveryCode(typed: string): string | undefined {
  const text = typed.toLowerCase().replaceAll(/[\s-]/g, '');
  return /^[a-z2-7]{16}$/.test(text) ? text.match(/.{4}/g)?.join('-') : undefined;
}
