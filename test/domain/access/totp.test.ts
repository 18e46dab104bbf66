// RFC 6238, appendix B, its SHA-1 rows; the rest by hand.

import { utf8ToBytes } from '@noble/hashes/utils.js';
import { describe, expect, test } from 'vitest';
import {
  matchingStep,
  newTotpSecret,
  totpCode,
  totpStep,
  totpUri,
} from '../../../src/domain/access/totp.ts';

const secret = newTotpSecret(utf8ToBytes('12345678901234567890'));

test.each([
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
])('at %i seconds the RFC has %s', (seconds, code) => {
  const step = totpStep(seconds * 1000);
  expect(totpCode(secret, step, 8)).toBe(code);
  expect(totpCode(secret, step)).toBe(code.slice(2));
});

describe('a code', () => {
  const now = 1_111_111_111_000;
  const step = totpStep(now);

  test('S-139 is accepted one step early and late, with spaces as apps show them', () => {
    for (const off of [-1, 0, 1]) {
      const code = totpCode(secret, step + off);
      expect(matchingStep(secret, `${code.slice(0, 3)} ${code.slice(3)}`, now, 0)).toBe(step + off);
    }
    for (const off of [-2, 2]) {
      expect(matchingStep(secret, totpCode(secret, step + off), now, 0)).toBeUndefined();
    }
  });

  test('is accepted with what comes along when it is pasted', () => {
    const code = totpCode(secret, step);
    const pasted = `\u2066${code.slice(0, 3)}\u00a0\u200b${code.slice(3)}\ufeff`;
    expect(matchingStep(secret, pasted, now, 0)).toBe(step);
  });

  test('is accepted once, and no earlier one after it', () => {
    expect(matchingStep(secret, totpCode(secret, step), now, step)).toBeUndefined();
    expect(matchingStep(secret, totpCode(secret, step - 1), now, step)).toBeUndefined();
    expect(matchingStep(secret, totpCode(secret, step + 1), now, step)).toBe(step + 1);
  });

  test.each(['', '12345', '1234567', 'abcdef'])('%j is no code', (text) => {
    expect(matchingStep(secret, text, now, 0)).toBeUndefined();
  });
});

test('the QR code contains the key, the issuer and the host', () => {
  expect(totpUri(secret, 'pay.example.com:8080')).toBe(
    'otpauth://totp/paygate:pay.example.com%3A8080?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=paygate',
  );
});
