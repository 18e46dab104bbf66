// A discount or a surcharge of a price: applied once, exactly, and rounded up once to satoshis.

import { describe, expect, test } from 'vitest';
import { parseLinkChange, parseLinkInput } from '../../../src/domain/order/link-input.ts';
import {
  orderDefaults,
  parseAdjustment,
  parseOrderInput,
} from '../../../src/domain/order/order-input.ts';
import {
  adjusted,
  amountSatAt,
  dueAmountOf,
  dueMinorOf,
  dueText,
  type FiatPrice,
  satoshisOf,
} from '../../../src/domain/order/quote.ts';
import { refundAmountOf } from '../../../src/domain/order/refund.ts';
import { signedNumberIn } from '../../../src/domain/store/store-settings.ts';

const fiat = (currency: string, minor: bigint): FiatPrice => ({ kind: 'fiat', currency, minor });

test.each([
  // At 50,000.00: one cent is 20 sat, one yen 2,000 sat, one fils 2 sat.
  ['EUR', 1_000n, -500, 19_000n, '9.50'],
  ['EUR', 1_000n, 500, 21_000n, '10.50'],
  ['EUR', 1_000n, 0, 20_000n, '10.00'],
  ['EUR', 1_000n, -2_000, 16_000n, '8.00'],
  ['EUR', 1_000n, 2_000, 24_000n, '12.00'],
  // 9.99 less 5 % is 9.4905: the satoshis are of that, and people read 9.50.
  ['EUR', 999n, -500, 18_981n, '9.50'],
  // Half a cent: 0.10 less 5 % is 0.095.
  ['EUR', 10n, -500, 190n, '0.10'],
  ['EUR', 1n, -1, 20n, '0.01'],
  ['EUR', 1_000n, -1, 19_998n, '10.00'],
  ['EUR', 1_000n, 333, 20_666n, '10.34'],
  ['JPY', 1_000n, -500, 1_900_000n, '950'],
  ['JPY', 999n, -500, 1_898_100n, '950'],
  ['JPY', 3n, 1, 6_001n, '4'],
  ['KWD', 10_000n, -500, 19_000n, '9.500'],
  ['KWD', 9_999n, -333, 19_333n, '9.667'],
])('%s %d with %d hundredths of a percent', (currency, minor, basisPoints, sat, due) => {
  const price = adjusted(fiat(currency, minor), basisPoints);
  expect(amountSatAt(price, 5_000_000)).toBe(sat);
  const row = { currency, amountMinor: Number(minor), adjustBasisPoints: basisPoints };
  expect(dueText(row)).toBe(due);
  expect(dueAmountOf(fiat(currency, minor), basisPoints)).toBe(Number(dueMinorOf(price)));
});

test('satoshis are rounded up once, and not after the cents were', () => {
  // 9.4905 EUR at 33,333.33 EUR are 28,471.502… sat; 9.50 EUR would be 28,500.002… sat.
  expect(amountSatAt(adjusted(fiat('EUR', 999n), -500), 3_333_333)).toBe(28_472n);
});

test('a price in satoshis never has a discount or a surcharge', () => {
  const price = { kind: 'sat', amountSat: 20_000 } as const;
  expect(adjusted(price, -500)).toEqual(price);
  expect([satoshisOf(price, null), dueAmountOf(price, -500)]).toEqual([20_000, 20_000]);
  expect(dueText({ currency: null, amountMinor: null, adjustBasisPoints: -500 })).toBeNull();
});

test('the price of today, which a refund may have, is what is due of it', () => {
  const price = adjusted(fiat('EUR', 1_000n), -500);
  const left = { excessSat: 0, allSat: 100_000 };
  expect(refundAmountOf(left, 'price', price, 4_000_000, 0)).toEqual({
    amountSat: 23_750,
    feeSat: 0,
  });
});

describe('the percentage', () => {
  test.each([
    [-20, -2_000],
    [20, 2_000],
    [-5.55, -555],
    [0.01, 1],
    [-0.01, -1],
    [0, 0],
    [-0, 0],
  ])('%d is %d hundredths', (percent, basisPoints) => {
    expect(parseAdjustment(percent)).toBe(basisPoints);
  });

  test.each([-20.01, 20.01, -21, 0.005, 5.555, Number.NaN, Number.POSITIVE_INFINITY])(
    '%d is refused',
    (percent) => {
      expect(() => parseAdjustment(percent)).toThrow(
        'a number from -20 to 20 with at most 2 decimals is expected',
      );
    },
  );

  test.each([
    ['-5', -5],
    ['−5', -5],
    ['+2.5', 2.5],
    [' -2,5 ', -2.5],
    ['5', 5],
    ['--5', Number.NaN],
    ['- 5', -5],
    ['5 %', Number.NaN],
    ['', Number.NaN],
    ['-', Number.NaN],
    ['1e1', Number.NaN],
  ])('%j is typed for %d', (text, number) => {
    expect(signedNumberIn(text)).toBe(number);
  });
});

describe('an order', () => {
  const noFlags = { allowPrivateCallback: false, allowHttpCallback: false };
  const store = { ...orderDefaults, adjustBasisPoints: -500 };
  const euro = { amount: '10.00', currency: 'EUR' };
  const priceOf = (body: object, defaults = store) =>
    parseOrderInput(body, defaults, noFlags).price;

  test('has that of its store, or its own, or none', () => {
    expect(priceOf(euro)).toEqual({ ...fiat('EUR', 1_000n), adjustBasisPoints: -500 });
    const own = { ...euro, adjust_percent: 2.5 };
    expect(priceOf(own)).toEqual({ ...fiat('EUR', 1_000n), adjustBasisPoints: 250 });
    expect(priceOf({ ...euro, adjust_percent: 0 })).toEqual(fiat('EUR', 1_000n));
    expect(priceOf({ ...euro, adjust_percent: null })).toEqual(priceOf(euro));
    expect(priceOf(euro, orderDefaults)).toEqual(fiat('EUR', 1_000n));
  });

  test('in satoshis has none, and may not ask for one', () => {
    expect(priceOf({ amount_sat: 20_000 })).toEqual({ kind: 'sat', amountSat: 20_000 });
    expect(priceOf({ amount_sat: 20_000, adjust_percent: 0 })).toEqual({
      ...{ kind: 'sat', amountSat: 20_000 },
    });
    expect(() => priceOf({ amount_sat: 20_000, adjust_percent: -5 })).toThrow(
      'adjust_percent: a price in satoshis has no discount and no surcharge',
    );
    expect(() => priceOf({ ...euro, adjust_percent: -20.5 })).toThrow(
      'adjust_percent: a number from -20 to 20',
    );
  });
});

describe('a link', () => {
  const euro = { title: 'Poster', amount: '10.00', currency: 'EUR' };

  test('has its own, or that of the store', () => {
    expect(parseLinkInput(euro).adjustBasisPoints).toBeNull();
    const own = parseLinkInput({ ...euro, adjust_percent: -5.5 });
    expect(own.adjustBasisPoints).toBe(-550);
    expect(parseLinkChange(own, { title: 'Print' }).adjustBasisPoints).toBe(-550);
    expect(parseLinkChange(own, { adjust_percent: 0 }).adjustBasisPoints).toBe(0);
    expect(parseLinkChange(own, { adjust_percent: null }).adjustBasisPoints).toBeNull();
  });

  test('in satoshis has none', () => {
    const body = { title: 'Poster', amount_sat: 20_000, adjust_percent: -5 };
    expect(() => parseLinkInput(body)).toThrow('adjust_percent: a price in satoshis has no');
    expect(() => parseLinkInput({ ...euro, adjust_percent: 21 })).toThrow('from -20 to 20');
  });
});
