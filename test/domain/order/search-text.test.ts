// What a text may be that a merchant searches for.

import { describe, expect, test } from 'vitest';
import { foldText, readSearchText } from '../../../src/domain/order/search-text.ts';

/** As `digits:minor`, with the currency if only that one is meant. */
const amounts = (text: string): string[] =>
  readSearchText(text).amounts.map(
    ({ minor, digits, currency }) => `${digits ?? 'sat'}:${minor}${currency ? ` ${currency}` : ''}`,
  );

describe('an amount', () => {
  test.each([
    ['12.50', ['sat:1250000000', '2:1250', '3:12500']],
    ['12,50', ['sat:1250000000', '2:1250', '3:12500']],
    ['12.50 EUR', ['2:1250 EUR']],
    ['EUR 12,50', ['2:1250 EUR']],
    ['€ 12.50', ['sat:1250000000', '2:1250', '3:12500']],
    ['1.250 KWD', ['3:1250 KWD', '3:1250000 KWD']],
    ['1250 jpy', ['0:1250 JPY']],
    ['25000 sat', ['sat:25000']],
    ['25,000 sats', ['sat:25', 'sat:25000']],
    ['25 000 satoshis', ['sat:25000']],
    ['0.00025 BTC', ['sat:25000']],
    ['1,234.50 EUR', ['2:123450 EUR']],
    ["1'234.50", ['sat:123450000000', '2:123450', '3:1234500']],
    [
      '1.234.567',
      ['sat:1234567', 'sat:123456700000000', '0:1234567', '2:123456700', '3:1234567000'],
    ],
    ['١٢٫٥٠', ['sat:1250000000', '2:1250', '3:12500']],
    ['12.505 EUR', ['2:1250500 EUR']],
  ])('%s', (text, expected) => expect(amounts(text)).toEqual(expected));

  test.each([
    '',
    '0',
    '.',
    'EUR',
    'anna',
    '12.50 EUR x',
    'EUR 12 EUR',
    '1e5',
    `${10 ** 15}0.50 EUR`,
  ])('%j is none', (text) => expect(amounts(text)).toEqual([]));
});

describe('ends', () => {
  const of = (text: string) => {
    const { txid, address } = readSearchText(text);
    return { txid, address };
  };
  test('of a txid: its beginning, and as lists shorten it', () => {
    const whole = 'AB'.repeat(32);
    expect(of(whole).txid).toEqual({ start: whole.toLowerCase(), end: '' });
    expect(of('abcdef').txid).toEqual({ start: 'abcdef', end: '' });
    expect(of(' 00AB12c…9f0e ').txid).toEqual({ start: '00ab12c', end: '9f0e' });
    for (const none of ['abcde', 'abcdeg', `${whole}0`, '']) expect(of(none).txid).toBeUndefined();
  });

  test('of an address: its last characters, and as lists shorten it', () => {
    expect(of('bc1qee2…zcyg').address).toEqual({ start: 'bc1qee2', end: 'zcyg' });
    expect(of('bc1qee2...zcyg').address).toEqual({ start: 'bc1qee2', end: 'zcyg' });
    expect(of('zcyg').address).toEqual({ start: '', end: 'zcyg' });
    for (const none of ['cyg', 'bc1q…cyg', 'a-zcyg', 'bc1q…zc yg!']) {
      expect(of(none).address).toBeUndefined();
    }
  });
});

test('the id of an order, whole or its beginning', () => {
  expect(readSearchText('ord_aB-9').orderId).toBe('ord_aB-9');
  expect(readSearchText(' ord_\u200b ').orderId).toBe('ord_');
  for (const none of ['aord_a', 'ord', 'ord_a b!', 'evt_a']) {
    expect(readSearchText(none).orderId).toBeUndefined();
  }
});

test('texts are compared without case and accents', () => {
  expect(foldText('ÉCLAIR Ärger')).toBe('eclair arger');
  expect(readSearchText('\u200b Crème Brûlée ').folded).toBe('creme brulee');
});
