// The amount of a link as text.

import { expect, test } from 'vitest';
import { type LinkJson, linkAmount } from '../../../src/domain/order/link-json.ts';

const none = {
  ...{ currency: null, amount: null, min: null, max: null },
  ...{ amount_sat: null, min_sat: null, max_sat: null },
};

test.each([
  [{ currency: 'EUR', amount: '25.00' }, '25.00 EUR'],
  [{ currency: 'EUR', min: '1.00', max: '500.00' }, '1.00 to 500.00 EUR'],
  [{ currency: 'EUR', min: '1.00' }, 'from 1.00 EUR'],
  [{ currency: 'EUR', max: '500.00' }, 'to 500.00 EUR'],
  [{ currency: 'EUR' }, 'any, in EUR'],
  [{ amount_sat: 2_100 }, '2100 sat'],
  [{ min_sat: 1_000, max_sat: 9_000 }, '1000 to 9000 sat'],
  [{ min_sat: 1_000 }, 'from 1000 sat'],
  [{}, 'any, in sat'],
])('%j is %j', (amounts, text) => {
  expect(linkAmount({ ...none, ...amounts } as unknown as LinkJson)).toBe(text);
});
