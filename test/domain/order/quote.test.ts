import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  amountSatAt,
  checkOrderSat,
  type FiatPrice,
  isInForce,
  orderExpiryOf,
  quoteAt,
} from '../../../src/domain/order/quote.ts';
import { currencyCodes } from '../../../src/domain/payment/currency.ts';
import { minorDigitsOf } from '../../../src/domain/payment/money.ts';

const fiat = (minor: bigint, currency = 'EUR'): FiatPrice => ({ kind: 'fiat', currency, minor });

describe('the satoshis of an amount', () => {
  test.each([
    [1250n, 'EUR', 5_000_000, 25_000n],
    // 12.50 / 50,000.01 is 24,999.995 sat.
    [1250n, 'EUR', 5_000_001, 25_000n],
    [1250n, 'EUR', 4_999_999, 25_001n],
    [1n, 'EUR', 999_999_999_999_999, 1n],
    [1_500n, 'JPY', 1_500_000_000, 10_000n],
    [1_500n, 'JPY', 1_500_000_001, 10_000n],
    [1_500n, 'KWD', 1_500_000, 10_000n],
  ])('%i minor units of %s at %i hundredths are %i', (minor, currency, rateCents, amountSat) => {
    expect(amountSatAt(fiat(minor, currency), rateCents)).toBe(amountSat);
  });

  test('are the smallest number that is worth the amount', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...currencyCodes),
        fc.bigInt(1n, 10n ** 15n - 1n),
        fc.integer({ min: 1, max: 1e15 - 1 }),
        (currency, minor, rateCents) => {
          const amountSat = amountSatAt(fiat(minor, currency), rateCents);
          // Both sides in 10^-14 of the currency: sat × cents, and minor units.
          const worth = (sat: bigint): bigint => sat * BigInt(rateCents) * 10n ** 4n;
          const amount = minor * 10n ** BigInt(14 - minorDigitsOf(currency));
          expect(worth(amountSat)).toBeGreaterThanOrEqual(amount);
          expect(worth(amountSat - 1n)).toBeLessThan(amount);
        },
      ),
    );
  });

  test.each([
    [545, 'at least 546 sat'],
    [2_100_000_000_000_001, 'more than all bitcoins'],
  ])('%i are refused', (amountSat, message) => {
    expect(() => checkOrderSat(amountSat)).toThrow(message);
  });

  test.each([546, 2_100_000_000_000_000])('%i are allowed', (amountSat) => {
    expect(() => checkOrderSat(amountSat)).not.toThrow();
  });
});

describe('a new quote', () => {
  const now = 1_763_650_000_000;

  test('has the satoshis of its rate, and an end', () => {
    expect(quoteAt(fiat(1250n), 5_000_000, now, 900, now + 3_600_000)).toEqual({
      rateCents: 5_000_000,
      amountSat: 25_000,
      createdAt: now,
      expiresAt: now + 900_000,
    });
  });

  test('ends with its order at the latest', () => {
    expect(quoteAt(fiat(1250n), 1, now, 900, now + 899_000).expiresAt).toBe(now + 899_000);
    expect(quoteAt(fiat(1250n), 1, now, 900, null).expiresAt).toBe(now + 900_000);
  });

  test('is refused for more than all bitcoins', () => {
    expect(() => quoteAt(fiat(1_000_000_000n), 1, now, 900, null)).toThrow('all bitcoins');
  });

  test('is in force until it ends', () => {
    const quote = quoteAt(fiat(1250n), 1, now, 900, null);
    const start = now - 60_000;
    expect(isInForce(quote, now + 899_999, start)).toBe(true);
    expect(isInForce(quote, now + 900_000, start)).toBe(false);
    expect(isInForce(quote, now - 1, start)).toBe(false);
    expect(isInForce(quote, now - 1, now)).toBe(true);
    expect(isInForce({ createdAt: now, expiresAt: null }, now + 1e12, start)).toBe(true);
  });

  test('an order ends after its time, or never', () => {
    expect(orderExpiryOf(now, 3_600)).toBe(now + 3_600_000);
    expect(orderExpiryOf(now, 0)).toBeNull();
  });
});
