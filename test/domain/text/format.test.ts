import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainLines, plainText } from '../../../src/domain/text/format.ts';

describe('plain text', () => {
  it('has no control, format or line characters', () => {
    expect(plainText('a\x1b[31m\r\nb\u202ec\u200bd\u2028e\x00\x9ff\ufeff', 50)).toBe(
      'a [31m b c d e f',
    );
  });

  it('is complete without a maximum length', () => {
    expect(plainText(`${'x'.repeat(10_000)}\n`)).toHaveLength(10_000);
  });

  it('is cut between characters', () => {
    expect(plainText('😀'.repeat(10), 3)).toBe('😀😀😀');
    expect(plainText('x'.repeat(5_000_000), 200)).toHaveLength(200);
  });

  it('is never longer and never unprintable', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(50), (text, max) => {
        const plain = plainText(text, max);
        expect(Array.from(plain).length).toBeLessThanOrEqual(max);
        expect(plain).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      }),
    );
  });
});

describe('plain lines', () => {
  it('stay separate and aligned, without active control characters', () => {
    expect(plainLines('a  b\n\tc\x1b[2J\x9bd\r\u202ee')).toBe('a  b\n\tc [2J d  e');
  });
});
