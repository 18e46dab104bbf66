// The scene with an order in every state: each order has the sums that its name says.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openOrderStates } from '../support/order-states.ts';

afterEach(closeApps);
afterEach(cleanUp);

test('an order in every state is as its name says', async () => {
  const { orders } = await openOrderStates();
  const facts = await Promise.all(
    orders.map(async ({ state, json }) => {
      const { status, late, received_sat, missing_sat, excess_sat, payments } = await json();
      const gone = payments.filter((payment) => payment.gone).length;
      return [state, status, late, received_sat, missing_sat, excess_sat, gone];
    }),
  );
  expect(facts).toEqual([
    ['open', 'open', false, 0, 25_000, 0, 0],
    ['open in satoshis', 'open', false, 0, 25_000, 0, 0],
    ['open with long texts', 'open', false, 0, 25_000, 0, 0],
    ['quote lapsed', 'open', false, 0, null, 0, 0],
    ['over, not scanned', 'open', false, 0, null, 0, 0],
    ['part paid', 'open', false, 10_000, 15_000, 0, 0],
    ['part paid, quote lapsed', 'open', false, 10_000, null, 0, 0],
    ['late, undecided', 'open', false, 25_000, null, 0, 0],
    ['processing', 'processing', false, 25_000, 0, 0, 0],
    ['processing with excess', 'processing', false, 26_000, 0, 1_000, 0],
    ['paid', 'paid', false, 25_000, 0, 0, 0],
    ['paid late', 'paid', true, 25_000, 0, 0, 0],
    ['reversed', 'open', false, 0, 25_000, 0, 1],
    ['expired empty', 'expired', false, 0, null, 0, 0],
    ['expired with money', 'expired', false, 10_000, null, 0, 0],
    ['canceled with money', 'canceled', false, 10_000, null, 0, 0],
  ]);
});
