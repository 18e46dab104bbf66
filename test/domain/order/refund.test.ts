// What may be refunded of an order: confirmed money alone, never a part of the price as an excess,
// and nothing twice.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { excessSatOf } from '../../../src/domain/order/order.ts';
import {
  isStillCovered,
  leftFor,
  refundAmountOf,
  refundableOf,
  refundStateOf,
} from '../../../src/domain/order/refund.ts';

const sums = { confirmedSat: 30_000, confirmedExcessSat: 5_000 } as const;
const price = { kind: 'fiat', currency: 'EUR', minor: 1_250n } as const;

describe('what is left', () => {
  test.each([
    ['paid with an excess', sums, [], { excessSat: 5_000, allSat: 30_000 }],
    ['paid exactly', { ...sums, confirmedExcessSat: 0 }, [], { excessSat: 0, allSat: 30_000 }],
    ['dust', { ...sums, confirmedSat: 545, confirmedExcessSat: 0 }, [], undefined],
    [
      'as little as is relayed',
      { ...sums, confirmedSat: 546, confirmedExcessSat: 0 },
      [],
      { excessSat: 0, allSat: 546 },
    ],
    ['unconfirmed', { ...sums, confirmedSat: 0 }, [], undefined],
    [
      'paid, and its excess refunded',
      sums,
      [{ amountSat: 4_800, feeSat: 200 }],
      { excessSat: 0, allSat: 25_000 },
    ],
    ['refunded', sums, [{ amountSat: 29_500, feeSat: 500 }], undefined],
    [
      'refunded in part',
      sums,
      [{ amountSat: 9_000, feeSat: 1_000 }],
      { excessSat: 0, allSat: 20_000 },
    ],
    ['refunded too much', sums, [{ amountSat: 40_000, feeSat: 0 }], undefined],
  ] as const)('%s', (_what, order, refunds, left) => {
    expect(refundableOf(order, refunds)).toEqual(left);
  });
});

test.each([
  ['asked', { address: null, doneAt: null, isMined: false }],
  ['prepared', { address: 'bc1q', doneAt: null, isMined: false }],
  ['sent', { address: 'bc1q', doneAt: 1, isMined: false }],
  ['confirmed', { address: 'bc1q', doneAt: 1, isMined: true }],
] as const)('a refund is %s', (state, refund) => {
  expect(refundStateOf(refund)).toBe(state);
});

describe('a refund that is prepared', () => {
  const left = { excessSat: 5_000, allSat: 30_000 };
  const never = { acceptedAt: null, paidAt: null };
  const all = { choice: 'all', amountSat: 29_000, feeSat: 1_000 } as const;

  test('stands while its money with the fee is left', () => {
    expect(isStillCovered(left, all)).toBe(true);
    expect(isStillCovered(left, { ...all, feeSat: 1_001 })).toBe(false);
    expect(isStillCovered(left, { ...all, choice: 'price' })).toBe(true);
    expect(isStillCovered(undefined, { ...all, amountSat: 1, feeSat: 0 })).toBe(false);
  });

  test('of an excess stands while so much excess is left', () => {
    const excess = { choice: 'excess', amountSat: 4_700, feeSat: 300 } as const;
    expect(isStillCovered(left, excess)).toBe(true);
    expect(isStillCovered(left, { ...excess, feeSat: 301 })).toBe(false);
  });

  test.each([
    ['since nothing happened', never, 30_000],
    ['since the order was paid', { ...never, paidAt: 11 }, 5_000],
    ['of an order that was paid before', { ...never, paidAt: 10 }, 30_000],
    ['since the order was accepted', { ...never, acceptedAt: 10 }, 5_000],
    ['of an order that was accepted and paid before', { acceptedAt: 8, paidAt: 9 }, 30_000],
    ['of an order that was accepted before and paid since', { acceptedAt: 8, paidAt: 11 }, 5_000],
  ])('%s has so much left', (_what, order, allSat) => {
    expect(leftFor(left, 10, order)).toEqual({ excessSat: 5_000, allSat });
    expect(leftFor(undefined, 10, order)).toBeUndefined();
  });
});

describe('the amount', () => {
  const left = { excessSat: 5_000, allSat: 30_000 };
  test.each([
    ['excess', null, 0, 5_000],
    ['excess', null, 300, 4_700],
    ['all', null, 300, 29_700],
    // 12.50 at 62,500 and, more than all, at 40,000.
    ['price', 6_250_000, 0, 20_000],
    ['price', 4_000_000, 1_000, 29_000],
  ] as const)('%s at %s less %i is %i', (choice, rateCents, feeSat, amountSat) => {
    expect(refundAmountOf(left, choice, price, rateCents, feeSat)).toEqual({ amountSat, feeSat });
  });

  test('in satoshis, the price is the price', () => {
    const sat = { kind: 'sat', amountSat: 21_000 } as const;
    expect(refundAmountOf(left, 'price', sat, null, 0).amountSat).toBe(21_000);
  });

  test.each([4_455, 6_000])('less %i is refused: nobody relays it', (feeSat) => {
    expect(() => refundAmountOf(left, 'excess', price, null, feeSat)).toThrow('at least 546 sat');
  });
});

describe('the excess', () => {
  const paid = fc.record({
    valueSat: fc.integer({ min: 1, max: 1_000_000 }),
    rate: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
  });

  test('leaves the price covered, and grows with a further payment by it at most', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 13n }),
        fc.array(paid),
        paid,
        (amount, all, one) => {
          const excess = excessSatOf(amount, all);
          const covered = all.reduce(
            (sum, { valueSat, rate }) => sum + BigInt(valueSat) * BigInt(rate ?? 0),
            0n,
          );
          expect(excess).toBeGreaterThanOrEqual(0);
          if (covered < amount) expect(excess).toBe(0);
          const more = excessSatOf(amount, [...all, one]) - excess;
          expect(more).toBeGreaterThanOrEqual(0);
          expect(more).toBeLessThanOrEqual(one.valueSat);
          // All of it, once the price is covered.
          if (covered >= amount && one.rate !== null) expect(more).toBe(one.valueSat);
          // Without the excess, the newest first, the price is still covered.
          let left = BigInt(excess);
          let rest = covered;
          for (const { valueSat, rate } of all.toReversed()) {
            if (rate === null) continue;
            const taken = left < BigInt(valueSat) ? left : BigInt(valueSat);
            left -= taken;
            rest -= taken * BigInt(rate);
          }
          expect(left).toBe(0n);
          if (excess > 0) expect(rest).toBeGreaterThanOrEqual(amount);
        },
      ),
    );
  });
});
