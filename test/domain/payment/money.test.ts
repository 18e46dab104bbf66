import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxMoneySat } from '../../../src/bitcoin/transaction.ts';
import { currencyCodes } from '../../../src/domain/payment/currency.ts';
import {
  boundedSat,
  formatMoney,
  formatPrice,
  minorDigitsOf,
  parseMoney,
  parsePrice,
  priceCentsOf,
  satCentsOf,
  shortBitcoin,
  sumSat,
} from '../../../src/domain/payment/money.ts';

describe('an amount of money', () => {
  test.each([
    ['12.50', 'EUR', 1250n],
    ['12.5', 'EUR', 1250n],
    ['12', 'EUR', 1200n],
    ['0.01', 'USD', 1n],
    ['1250', 'JPY', 1250n],
    ['1.001', 'KWD', 1001n],
    ['1.5', 'KWD', 1500n],
    // CLDR writes a forint without decimals, ISO 4217 has two.
    ['99.90', 'HUF', 9990n],
    ['9999999999999.99', 'EUR', 999_999_999_999_999n],
    ['999999999999999', 'JPY', 999_999_999_999_999n],
    // Zeros at the end change no value.
    ['1000.00', 'JPY', 1000n],
    ['12.0', 'JPY', 12n],
    ['12.5000', 'EUR', 1250n],
    ['12.500', 'EUR', 1250n],
    ['1.0010000000', 'KWD', 1001n],
    ['10.00', 'KWD', 10_000n],
  ])('%s %s is %i minor units', (text, currency, minor) => {
    expect(parseMoney(text, currency)).toBe(minor);
  });

  test.each([
    ['', 'EUR', 'a decimal number such as 12.50'],
    ['12,50', 'EUR', 'a decimal number such as 12.50'],
    ['1e3', 'JPY', 'a decimal number such as 1250'],
    ['+1', 'EUR', 'a decimal number'],
    ['-1', 'EUR', 'a decimal number'],
    ['.5', 'EUR', 'a decimal number'],
    ['5.', 'EUR', 'a decimal number'],
    ['05', 'EUR', 'a decimal number'],
    [' 5', 'EUR', 'a decimal number'],
    ['5\n', 'EUR', 'a decimal number'],
    ['٥', 'EUR', 'a decimal number'],
    ['0x10', 'EUR', 'a decimal number'],
    ['NaN', 'EUR', 'a decimal number'],
    ['9'.repeat(100_000), 'EUR', 'a decimal number'],
    ['12.505', 'EUR', 'an amount in EUR has at most 2 decimals'],
    ['12.5050', 'EUR', 'an amount in EUR has at most 2 decimals'],
    ['12.10', 'JPY', 'an amount in JPY has no decimals'],
    ['12.50000000000', 'EUR', 'a decimal number'],
    ['1.0001', 'KWD', 'an amount in KWD has at most 3 decimals'],
    ['0', 'EUR', 'must be above 0'],
    ['0.00', 'EUR', 'must be above 0'],
    ['10000000000000', 'EUR', 'an amount in EUR has at most 13 digits'],
    ['1000000000000000', 'JPY', 'an amount in JPY has at most 15 digits'],
  ])('%j in %s is refused', (text, currency, message) => {
    expect(() => parseMoney(text, currency)).toThrow(message);
  });

  test('what is written is read again', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...currencyCodes),
        fc.bigInt(1n, 10n ** 15n - 1n),
        (currency, minor) => {
          const text = formatMoney(minor, currency);
          expect(parseMoney(text, currency)).toBe(minor);
          expect(text.split('.')[1]?.length ?? 0).toBe(minorDigitsOf(currency));
        },
      ),
    );
  });

  test.each([
    ['IQD', 3],
    ['TND', 3],
    ['UGX', 0],
    ['XPF', 0],
    ['IDR', 2],
    ['XDR', 2],
  ])('%s has %i decimals', (currency, digits) => {
    expect(minorDigitsOf(currency)).toBe(digits);
  });

  test('each amount is a whole number of satoshi-cents', () => {
    expect(satCentsOf(1n, 'EUR')).toBe(10n ** 8n);
    expect(satCentsOf(1n, 'JPY')).toBe(10n ** 10n);
    expect(satCentsOf(1n, 'KWD')).toBe(10n ** 7n);
  });
});

describe('a price', () => {
  test.each([
    ['50000.00', 5_000_000],
    ['50000', 5_000_000],
    ['0.01', 1],
    ['9999999999999.99', 999_999_999_999_999],
  ])('%s is %i hundredths', (text, cents) => {
    expect(parsePrice(text)).toBe(cents);
    expect(parsePrice(formatPrice(cents))).toBe(cents);
  });

  test.each(['', '0', '0.00', '0.001', '-1', '1e5', '1,0', '99999999999999999999'])(
    '%j is refused',
    (text) => {
      expect(() => parsePrice(text)).toThrow('a price above 0');
    },
  );

  test('a price that was served is exact in hundredths', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e15 - 1 }), (cents) => {
        expect(priceCentsOf(Number(formatPrice(cents)))).toBe(cents);
      }),
    );
  });
});

test.each([
  [25_000, '0.00025'],
  [1, '0.00000001'],
  [100_000_000, '1'],
  [1_000_000_000, '10'],
  [2_100_000_000_000_000, '21000000'],
  [2_099_999_999_999_999, '20999999.99999999'],
  [123_456_789, '1.23456789'],
])('%i sat are %s BTC', (valueSat, text) => {
  expect(shortBitcoin(valueSat)).toBe(text);
});

describe('a sum of satoshis', () => {
  test('is exact up to all bitcoins, and no more than that', () => {
    expect(sumSat([])).toBe(0);
    expect(sumSat([3, -5, 1])).toBe(-1);
    expect(sumSat([maxMoneySat - 1, 1])).toBe(maxMoneySat);
    expect(sumSat([maxMoneySat, 1])).toBe(maxMoneySat);
    expect(sumSat([-maxMoneySat, -1])).toBe(-maxMoneySat);
  });

  test('is exact although its parts add up to more than a number holds', () => {
    const huge = Array.from({ length: 5 }, () => maxMoneySat);
    expect(sumSat([...huge, 1, ...huge.map((value) => -value)])).toBe(1);
    expect(boundedSat(2n ** 80n)).toBe(maxMoneySat);
    expect(boundedSat(-(2n ** 80n))).toBe(-maxMoneySat);
    expect(boundedSat(BigInt(maxMoneySat) - 1n)).toBe(maxMoneySat - 1);
  });
});
