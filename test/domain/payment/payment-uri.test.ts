import { expect, test } from 'vitest';
import { paymentUri } from '../../../src/domain/payment/payment-uri.ts';

const address = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
const pizza = '%F0%9F%8D%95';

test.each([
  [{}, `bitcoin:${address}`],
  [{ amountSat: 25_000 }, `bitcoin:${address}?amount=0.00025`],
  [{ amountSat: 100_000_000 }, `bitcoin:${address}?amount=1`],
  [{ amountSat: 1 }, `bitcoin:${address}?amount=0.00000001`],
  [
    { amountSat: 25_000, label: 'My shop', message: '№ 7 & more=1?#%' },
    `bitcoin:${address}?amount=0.00025&label=My%20shop&message=%E2%84%96%207%20%26%20more%3D1%3F%23%25`,
  ],
  [{ amountSat: 0, label: '', message: '' }, `bitcoin:${address}`],
  [{ message: '1007' }, `bitcoin:${address}?message=1007`],
  [{ label: '\ud800' }, `bitcoin:${address}?label=%EF%BF%BD`],
  [{ label: 'A'.repeat(300) }, `bitcoin:${address}?label=${'A'.repeat(150)}`],
  [{ label: 'ABC'.concat('🍕'.repeat(30)) }, `bitcoin:${address}?label=ABC${pizza.repeat(12)}`],
])('%j is %s', (request, uri) => {
  expect(paymentUri(address, request)).toBe(uri);
});

test('the case of a base58 address stays', () => {
  expect(paymentUri('1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH')).toBe(
    'bitcoin:1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH',
  );
  expect(paymentUri(address.toUpperCase())).toBe(`bitcoin:${address}`);
});
