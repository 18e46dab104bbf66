import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  asOfApi,
  type DecimalSeparator,
  readTypedAmount,
  typedDigitsOf,
  typedText,
} from '../../../src/domain/order/typed-amount.ts';
import { formatMoney } from '../../../src/domain/payment/money.ts';

const separators = ['.', ','] as const;

describe('an amount', () => {
  test.each([
    ['12.50', 2, '.', 1_250n],
    ['12.50', 2, ',', 1_250n],
    ['12,5', 2, '.', 1_250n],
    // Four digits stand before the separator, or not three behind it: these are no thousands.
    ['1234.500', 2, '.', 123_450n],
    ['1234,500', 3, '.', 1_234_500n],
    ['12.5000', 2, ',', 1_250n],
    ['1000.00', 0, ',', 1_000n],
    ['1000,00', 0, '.', 1_000n],
    ['1.0', 0, '.', 1n],
    ['1.00', 0, '.', 1n],
    // No group of thousands begins with a zero, or is the first one.
    ['0.500', 2, ',', 50n],
    ['0,500', 3, '.', 500n],
    ['.500', 2, '.', 50n],
    ['012.500', 2, '.', 1_250n],
    ['000,500', 2, '.', 50n],
    // The separator of the language, and three decimals of the unit.
    ['1.000', 3, '.', 1_000n],
    ['1,000', 3, ',', 1_000n],
    ['123.456', 3, '.', 123_456n],
    ['1.000', 8, '.', 100_000_000n],
    // This separator of Arabic stands before decimals only.
    ['١٫٠٠٠', 3, '.', 1_000n],
    ['١٫٠٠٠', 2, ',', 100n],
    ['١٢٣', 0, '.', 123n],
    ['۱۲٫۵', 2, '.', 1_250n],
    ['１２．５', 2, '.', 1_250n],
    ['１２，５', 2, '.', 1_250n],
    // What comes along when an amount is copied.
    ['\u2066\u200f12.50\u2069', 2, '.', 1_250n],
    ['\ufeff12\u200b.50\u00a0', 2, '.', 1_250n],
    ['\u202f12.50\u2009', 2, '.', 1_250n],
    ['12.50\u00ad', 2, '.', 1_250n],
  ] as const)(
    '%j with %i decimals, with the separator %s, is %i',
    (text, digits, separator, minor) => {
      expect(readTypedAmount(text, digits, separator)).toEqual({ minor });
    },
  );

  test.each([
    ['1,000', 3, '.', [1_000n, 1_000_000n]],
    ['1.000', 3, ',', [1_000n, 1_000_000n]],
    ['123,400', 3, '.', [123_400n, 123_400_000n]],
    ['123,456', 3, '.', [123_456n, 123_456_000n]],
    ['1,000', 2, '.', [100n, 100_000n]],
    ['1,000', 2, ',', [100n, 100_000n]],
    ['1.000', 2, '.', [100n, 100_000n]],
    ['1.000', 2, ',', [100n, 100_000n]],
    ['12.500', 2, ',', [1_250n, 1_250_000n]],
    ['1.000', 0, ',', [1n, 1_000n]],
    ['1.000', 0, '.', [1n, 1_000n]],
    ['١,٠٠٠', 3, '.', [1_000n, 1_000_000n]],
    ['1,000', 8, '.', [100_000_000n, 100_000_000_000n]],
  ] as const)(
    '%j with %i decimals, with the separator %s, has two meanings',
    (text, digits, separator, meanings) => {
      expect(readTypedAmount(text, digits, separator)).toEqual({
        problem: 'two-meanings',
        meanings,
      });
    },
  );

  test.each([
    ...['', ' ', '.', ',', '٫', 'ten', '-5', '+5', '1e3', '0x10', '5€', '1/2', '½'],
    // Separators of thousands of any kind.
    ...['1 000', '1\u202f000', '1\u00a0000', '1\u2009000', "1'000", '1’000', '1_000', '1٬000'],
    ...['1.234,50', '1,234.50', '1 234,50', '1\u202f234,50', "1'234.50", '1,23,456.78'],
    ...['1,000,000', '1.000.000', '1,00,000', '١٬٢٣٤', '1،5', '1..5', '1.2.3'],
    ...['9'.repeat(31), `1.${'0'.repeat(31)}`, '9'.repeat(1_000_000)],
  ])('%j is no number', (text) => {
    for (const separator of separators) {
      for (const digits of [0, 2, 3]) {
        expect(readTypedAmount(text, digits, separator)).toEqual({ problem: 'no-number' });
      }
    }
  });

  test.each([
    ['12.505', 2],
    ['1,234', 2],
    ['1.5', 0],
    ['1.100', 0],
    ['1.2345', 3],
    ['0.0001', 3],
  ])('%j has more than %i decimals', (text, digits) => {
    for (const separator of separators) {
      expect(readTypedAmount(text, digits, separator)).toEqual({ problem: 'too-many-decimals' });
    }
  });

  test('is read as it is shown for typing, in every language and unit', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('EUR', 'JPY', 'KWD', null),
        fc.constantFrom<DecimalSeparator>(...separators),
        fc.bigInt({ min: 1n, max: 10n ** 15n - 1n }),
        (currency, separator, minor) => {
          const text = typedText(minor, currency, separator);
          expect(readTypedAmount(text, typedDigitsOf(currency), separator)).toEqual({ minor });
        },
      ),
    );
  });

  test('has one meaning, or is refused: whatever the separator of the language', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^\d{1,4}[.,]\d{1,4}$/),
        fc.constantFrom(0, 2, 3),
        (text, digits) => {
          const [one, other] = separators.map(
            (separator) => readTypedAmount(text, digits, separator).minor,
          );
          expect(one === undefined || other === undefined || one === other).toBe(true);
        },
      ),
    );
  });
});

test.each([
  [1_250n, 'EUR', '.', '12.50'],
  [1_250, 'EUR', ',', '12,50'],
  [1_250, 'JPY', ',', '1250'],
  [1_250, 'KWD', ',', '1,250'],
  [1_250, null, ',', '1250'],
] as const)('%s of %s with the separator %s is typed as %s', (minor, currency, separator, text) => {
  expect(typedText(minor, currency, separator)).toBe(text);
});

describe('an amount for the API', () => {
  test.each([
    ['12,5', 'EUR', '12.50'],
    ['12.5000', 'EUR', formatMoney(1_250n, 'EUR')],
    ['1000,00', 'JPY', '1000'],
    ['1.000', 'KWD', '1.000'],
    ['25000.00', null, '25000'],
    ['25000', null, '25000'],
    // The API says what is wrong with these.
    ['12,505', 'EUR', '12.505'],
    ['ten', 'EUR', 'ten'],
    ['', 'EUR', ''],
  ])('%j of %s is %s', (text, currency, expected) => {
    expect(asOfApi(text, currency)).toBe(expected);
  });

  test.each([
    ['1,000', 'KWD', 'write 1.000 or 1000.000'],
    ['1.000', 'EUR', 'write 1.00 or 1000.00'],
    ['1.000', 'JPY', 'write 1 or 1000'],
    ['1,000', null, 'write 1 or 1000'],
  ])('%j of %s is refused', (text, currency, advice) => {
    expect(() => asOfApi(text, currency)).toThrow(advice);
  });
});
