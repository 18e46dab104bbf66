import { bytesToHex } from '@noble/hashes/utils.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apiKeyHash,
  formatApiKey,
  readApiKey,
  shortApiKey,
} from '../../../src/domain/access/api-key.ts';

const secret = Uint8Array.from({ length: 32 }, (_, at) => at);
const anySecret = fc.uint8Array({ minLength: 32, maxLength: 32 });
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('an API key', () => {
  // By another program: base62 of the bytes, then of the first 4 bytes of the text's SHA-256.
  it.each([
    [secret, 'pgk_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf3EfgbN'],
    [new Uint8Array(32), 'pgk_00000000000000000000000000000000000000000003O9xIA'],
    [new Uint8Array(32).fill(255), 'pgk_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp114zifR'],
  ])('of %o', (bytes, text) => {
    expect(formatApiKey(bytes)).toBe(text);
    expect(readApiKey(text)).toBe(text);
  });

  it('is found by the SHA-256 of its text', () => {
    expect(bytesToHex(apiKeyHash(formatApiKey(secret)))).toBe(
      'b242beef05e2d59166c0a91f2f2e270489562f2f3a728db2f6dca73eb63333fc',
    );
  });

  it('has one length for any bytes, and encodes all of them', () => {
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(anySecret, (bytes) => {
        const text = formatApiKey(bytes);
        expect(text).toMatch(/^pgk_[0-9A-Za-z]{49}$/);
        expect(readApiKey(text)).toBe(text);
        const hex = bytesToHex(bytes);
        expect(seen.get(text) ?? hex).toBe(hex);
        seen.set(text, hex);
      }),
    );
  });
});

describe('a key for plugins that take 43 characters', () => {
  it('is its random part, and the same key', () => {
    fc.assert(
      fc.property(anySecret, (bytes) => {
        const text = formatApiKey(bytes);
        expect(shortApiKey(text)).toHaveLength(43);
        expect(readApiKey(shortApiKey(text))).toBe(text);
      }),
    );
  });

  it.each(['A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}-`])('%j is no key', (wrong) => {
    expect(readApiKey(wrong)).toBeUndefined();
  });
});

describe('a mistyped key is detected without a look-up', () => {
  const text = formatApiKey(secret);

  it('one wrong digit, wherever it is', () => {
    for (let at = 4; at < text.length; at += 1) {
      for (const digit of digits) {
        if (digit === text[at]) continue;
        expect(readApiKey(`${text.slice(0, at)}${digit}${text.slice(at + 1)}`)).toBeUndefined();
      }
    }
  });

  it('two digits that stand next to each other, swapped', () => {
    fc.assert(
      fc.property(anySecret, fc.integer({ min: 4, max: 51 }), (bytes, at) => {
        const key = formatApiKey(bytes);
        const [one = '', two = ''] = [key[at], key[at + 1]];
        fc.pre(one !== two);
        expect(readApiKey(`${key.slice(0, at)}${two}${one}${key.slice(at + 2)}`)).toBeUndefined();
      }),
    );
  });

  it.each([
    '',
    'pgk_',
    text.slice(0, -1),
    `${text}0`,
    ` ${text}`,
    `${text}\n`,
    text.replace('pgk_', 'PGK_'),
    text.slice(4),
    text.toLowerCase(),
    `${text.slice(0, 20)}-${text.slice(21)}`,
  ])('%j', (wrong) => {
    expect(readApiKey(wrong)).toBeUndefined();
  });
});
