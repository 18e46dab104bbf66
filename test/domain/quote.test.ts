import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { currencyCodes } from '../../src/domain/currency.ts';
import { minorDigitsOf } from '../../src/domain/money.ts';
import {
  amountSatAt,
  checkOrderSat,
  type FiatPrice,
  isInForce,
  orderExpiryOf,
  type Quote,
  quoteAt,
  rateFor,
  type SeenFacts,
  windowsOf,
} from '../../src/domain/quote.ts';
import { dayMs, minuteMs, secondMs } from '../../src/lib/time-units.ts';

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

describe('the rate of a payment', () => {
  const start = 1_000 * minuteMs;
  const quoteFrom = (minute: number, rateCents: number, minutes = 15): Quote => ({
    rateCents,
    amountSat: 1,
    createdAt: start + minute * minuteMs,
    expiresAt: start + (minute + minutes) * minuteMs,
  });
  const first = quoteFrom(0, 500);
  /** Begins within the grace of the first one. */
  const second = quoteFrom(16, 400);
  const third = quoteFrom(60, 600);
  const quotes = [first, second, third];
  const minute = (count: number): number => start + count * minuteMs;

  const rate = (
    seen: Partial<SeenFacts> & Pick<SeenFacts, 'firstSeenAt'>,
    priceCents: number | null = null,
    minedPriceCents: number | null = null,
    from: readonly Quote[] = quotes,
  ): string => {
    const { rateCents, isLate } = rateFor(
      from,
      { interruptedAt: null, minedAt: null, ...seen },
      { priceCents, minedPriceCents },
    );
    return `${isLate ? 'late' : 'on time'}, ${rateCents}`;
  };

  test.each([
    ['when it begins', 0, 'on time, 500'],
    ['before it begins: the clock was set back', -90, 'on time, 500'],
    ['at its end', 15, 'on time, 500'],
    ['in the grace of one quote and in the next one', 16.5, 'on time, 500'],
    ['behind the grace of the first', 17.001, 'on time, 400'],
    ['at the end of the grace', 33, 'on time, 400'],
    ['in the last one', 60, 'on time, 600'],
  ])('seen %s', (_when, at, expected) => {
    expect(rate({ firstSeenAt: minute(at) })).toBe(expected);
  });

  test('seen in a quote that was made after the clock was set back', () => {
    const quotes = [first, quoteFrom(-60, 900)];
    expect(rate({ firstSeenAt: minute(-50) }, null, null, quotes)).toBe('on time, 900');
    expect(rate({ firstSeenAt: minute(-40) }, null, null, quotes)).toBe('on time, 500');
  });

  test.each([
    ['lower price', 399, 'late, 399'],
    ['higher price', 900, 'late, 400'],
    ['unknown price', null, 'late, null'],
  ])('late at a %s', (_what, priceCents, expected) => {
    // A later quote does not change it.
    expect(rate({ firstSeenAt: minute(34) }, priceCents)).toBe(expected);
  });

  test('late after the last quote', () => {
    expect(rate({ firstSeenAt: minute(100) }, 650)).toBe('late, 600');
  });

  describe('in a block', () => {
    test('that is earlier than the first report: on time by the block', () => {
      expect(rate({ firstSeenAt: minute(100), minedAt: minute(10) })).toBe('on time, 500');
    });

    test('that is earlier, and late as well', () => {
      expect(rate({ firstSeenAt: minute(100), minedAt: minute(50) }, 450)).toBe('late, 400');
    });

    test('whose time is before the order: on time', () => {
      expect(rate({ firstSeenAt: minute(100), minedAt: minute(-20) })).toBe('on time, 500');
    });

    test('that is later: the first report counts', () => {
      expect(rate({ firstSeenAt: minute(15), minedAt: minute(70) })).toBe('on time, 500');
    });

    test('the time of a block takes no quote away', () => {
      expect(rate({ firstSeenAt: minute(61), minedAt: minute(40) })).toBe('on time, 600');
    });
  });

  describe('found by the first scan after an interruption', () => {
    test.each([
      ['in which the quote ended', 10, 40, 'on time, 500'],
      ['in which its grace ended', 16.9, 40, 'on time, 500'],
      ['that began later', 34, 50, 'late, 100'],
      ['in which only the second quote ended', 18, 50, 'on time, 400'],
      ['in which two quotes ended: the higher rate', 10, 70, 'on time, 600'],
      ['that the clock was set back in', 20, 5, 'on time, 500'],
    ])('%s', (_what, from, to, expected) => {
      const seen = { interruptedAt: minute(from), firstSeenAt: minute(to) };
      expect(rate(seen, 100)).toBe(expected);
    });
  });

  describe('mined late', () => {
    const seen = { firstSeenAt: minute(1) };
    const limit = first.expiresAt + dayMs;

    test('a day after the end of its quote: still its rate', () => {
      expect(rate({ ...seen, minedAt: limit }, 480, 300)).toBe('on time, 500');
    });

    test('later: it counts as seen when it was mined, at the price of then', () => {
      const minedAt = limit + secondMs;
      expect(rate({ ...seen, minedAt }, 480, 300)).toBe('late, 300');
      expect(rate({ ...seen, minedAt }, 480, null)).toBe('late, null');
      // The last quote before it was mined is the third one.
      expect(rate({ ...seen, minedAt }, 480, 900)).toBe('late, 600');
    });

    test('the later one of two quotes may still hold', () => {
      const both = { firstSeenAt: minute(16.5), minedAt: limit + secondMs };
      expect(rate(both, 1, 1)).toBe('on time, 400');
    });

    test('within a newer quote: at its rate', () => {
      const newer = { ...quoteFrom(0, 350), createdAt: limit, expiresAt: limit + 900_000 };
      const minedAt = limit + 60_000;
      expect(rate({ ...seen, minedAt }, 480, 1, [first, newer])).toBe('on time, 350');
    });

    test('a late payment keeps the price of its first report', () => {
      expect(rate({ firstSeenAt: minute(100), minedAt: limit + dayMs }, 550, 1)).toBe('late, 550');
    });
  });

  test('a window without an end holds every payment', () => {
    const window = { createdAt: start, expiresAt: null };
    const seen = { firstSeenAt: start + 900 * dayMs, interruptedAt: null, minedAt: null };
    expect(windowsOf([window], seen)).toEqual([window]);
  });
});
