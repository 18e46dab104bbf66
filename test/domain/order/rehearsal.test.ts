// The price of a rehearsal.

import { expect, test } from 'vitest';
import { rehearsedPrice } from '../../../src/domain/order/rehearsal.ts';

const eur = (minor: bigint) => ({ kind: 'fiat', currency: 'EUR', minor });

test.each([
  // 546 and 545 satoshis for one euro: the second is dust.
  [18_315_100, eur(100n)],
  [18_348_700, eur(1_000n)],
  // At a tenth of the least, ten times as much; and a price that needs three digits more.
  [183_151_000, eur(1_000n)],
  [183_487_000, eur(10_000n)],
])('is at %i cents a bitcoin a round amount that an order may ask for', (rateCents, price) => {
  expect(rehearsedPrice('EUR', 0, rateCents)).toEqual(price);
});

test('counts the discount, and is in satoshis without a currency', () => {
  expect(rehearsedPrice('EUR', -2_000, 15_000_000)).toEqual({
    ...eur(1_000n),
    adjustBasisPoints: -2_000,
  });
  expect(rehearsedPrice('EUR', 2_000, 18_348_700)).toEqual({
    ...eur(100n),
    adjustBasisPoints: 2_000,
  });
  expect(rehearsedPrice(null, 500, 1)).toEqual({ kind: 'sat', amountSat: 1_000 });
});
