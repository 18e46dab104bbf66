import { describe, expect, it, test } from 'vitest';
import {
  checkPolicy,
  parseBand,
  requiredConfirmationsFor,
  requiredConfirmationsInOrder,
} from '../../../src/domain/payment/confirmation-policy.ts';

describe('the confirmations that an amount requires', () => {
  const policy = {
    confirmations: 2,
    bands: [
      { aboveSat: 50_000, confirmations: 6 },
      { aboveSat: 10_000, confirmations: 3 },
    ],
  };

  it.each([
    [0, 2],
    [10_000, 2],
    [10_001, 3],
    [50_000, 3],
    [50_001, 6],
  ])('%i sat: %i', (valueSat, depth) => {
    expect(requiredConfirmationsFor(policy, valueSat)).toBe(depth);
  });

  it.each([
    [5_000, 60_000, 6],
    [60_000, 5_000, 6],
    [5_000, 5_000, 2],
    [20_000, 5_000, 3],
  ])('%i sat in an order of %i sat: %i', (valueSat, orderAmountSat, depth) => {
    expect(requiredConfirmationsInOrder(policy, valueSat, orderAmountSat)).toBe(depth);
  });

  it('are the same for all amounts without bands', () => {
    expect(requiredConfirmationsFor({ confirmations: 2, bands: [] }, 2_100_000_000_000_000)).toBe(
      2,
    );
  });

  it('never decrease with the amount, even if the bands do', () => {
    const bands = [...policy.bands, { aboveSat: 90_000, confirmations: 4 }];
    expect(requiredConfirmationsFor({ ...policy, bands }, 90_001)).toBe(6);
  });
});

describe('a band', () => {
  test.each([
    ['0:1', { aboveSat: 0, confirmations: 1 }],
    ['5000000:6', { aboveSat: 5_000_000, confirmations: 6 }],
    ['2100000000000000:100', { aboveSat: 2_100_000_000_000_000, confirmations: 100 }],
  ])('%j', (text, band) => {
    expect(parseBand(text)).toEqual(band);
  });

  test.each([
    '',
    ':',
    '5000',
    '5000:',
    ':6',
    '5000:0',
    '5000:101',
    '5000:6:7',
    '-1:6',
    'x5000:6',
    '5000:6x',
    '0.5:6',
  ])('not %j', (text) => {
    expect(() => parseBand(text)).toThrow('1 to 100 confirmations expected');
  });

  it('requires more than the default', () => {
    const bands = [{ aboveSat: 50_000, confirmations: 6 }];
    expect(() => checkPolicy({ confirmations: 5, bands })).not.toThrow();
    expect(() => checkPolicy({ confirmations: 6, bands })).toThrow(
      '6 confirmations above 50000 sat',
    );
  });
});
