import { expect, test } from 'vitest';
import {
  newRecoveryCodes,
  parseRecoveryCode,
  recoveryCodeBytes,
} from '../../../src/domain/access/recovery-code.ts';

const codes = newRecoveryCodes(Uint8Array.from({ length: recoveryCodeBytes }, (_, place) => place));

test('S-146 ten different codes of 120 bits each, in groups of four', () => {
  expect(codes.slice(0, 2)).toEqual([
    'aaaq-eaye-auda-ocaj-bifq-ydio',
    'b4ib-ceqt-cqkr-mfyy-denb-wha5',
  ]);
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){5}$/);
});

test.each([
  [' AAAQ EAYE-AUDA OCAJ bifq ydio '],
  ['aaaqeayeaudaocajbifqydio'],
  ['aaaq-eaye-auda-ocaj-bifq-ydio'],
  ['\u200eaaaq\u2011eaye\u2013auda\u2014ocaj\u2212bifq\u00a0ydio\ufeff'],
])('%j is read as it was meant', (typed) => {
  expect(parseRecoveryCode(typed)).toBe('aaaq-eaye-auda-ocaj-bifq-ydio');
});

test.each([
  '',
  '123456',
  'aaaq-eaye-auda-ocaj-bifq-ydi',
  'aaaq-eaye-auda-ocaj-bifq-ydioo',
  'aaaq-eaye-auda-ocaj-bifq-ydi0',
])('%j is no recovery code', (typed) => {
  expect(parseRecoveryCode(typed)).toBeUndefined();
});
