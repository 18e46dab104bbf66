import { expect, test } from 'vitest';
import {
  newRecoveryCodes,
  parseRecoveryCode,
  recoveryCodeBytes,
} from '../../src/domain/recovery-code.ts';

const codes = newRecoveryCodes(Uint8Array.from({ length: recoveryCodeBytes }, (_, place) => place));

test('ten different codes of 80 bits each, in groups of four', () => {
  expect(codes.slice(0, 2)).toEqual(['aaaq-eaye-auda-ocaj', 'bifq-ydio-b4ib-ceqt']);
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
});

test.each([[' AAAQ EAYC-AMCA UBYH '], ['aaaqeaycamcaubyh'], ['aaaq-eayc-amca-ubyh']])(
  '%j is read as it was meant',
  (typed) => {
    expect(parseRecoveryCode(typed)).toBe('aaaq-eayc-amca-ubyh');
  },
);

test.each(['', '123456', 'aaaq-eayc-amca-uby', 'aaaq-eayc-amca-ubyhh', 'aaaq-eayc-amca-uby0'])(
  '%j is no recovery code',
  (typed) => {
    expect(parseRecoveryCode(typed)).toBeUndefined();
  },
);
