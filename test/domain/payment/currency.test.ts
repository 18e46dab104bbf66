import { expect, test } from 'vitest';
import { parseCurrency, worthOf } from '../../../src/domain/payment/currency.ts';

test.each([
  [100_000_000, 6_123_450, 'EUR', '61234.50'],
  [1, 6_123_450, 'EUR', '0.00'],
  [20_000, 6_786_685, 'USD', '13.57'],
  // Half a cent is rounded up, and nothing passes through a float.
  [50_000_000, 1, 'USD', '0.01'],
  [2_100_000_000_000_000, 999_999_999_999_999, 'USD', '209999999999999790000.00'],
  [100_000_000, 1_234_567_850, 'JPY', '12345679'],
  [100_000_000, 2_000_050, 'KWD', '20000.500'],
])('%i sat at %i cents a bitcoin in %s are %s', (valueSat, priceCents, currency, worth) => {
  expect(worthOf(valueSat, priceCents, currency)).toBe(worth);
});

test('only existing currencies are accepted', () => {
  expect(parseCurrency(' eur ')).toBe('EUR');
  for (const text of ['', 'EURO', 'ABC', '=A1', 'E\u0000R']) {
    expect(() => parseCurrency(text)).toThrow('ISO 4217');
  }
});
