// Notices about orders: what names an order, and one notice for several.

import { expect, test } from 'vitest';
import {
  orderNotice,
  refundNotice,
  summedNotice,
  testNotice,
} from '../../../src/domain/delivery/notice.ts';
import type { OrderJson } from '../../../src/domain/order/order-json.ts';

const order = (changes: Partial<OrderJson>): OrderJson =>
  Object.assign(
    {
      ...{ id: 'ord_3yQ8tZr6WmB1nK5vXc2dLp', store_id: 1, status: 'paid', late: false },
      ...{ reference: null, amount: '3.50', currency: 'EUR', amount_sat: 7_000 },
      ...{ adjust_percent: 0, amount_due: '3.50' },
      ...{ received_sat: 7_000, confirmed_sat: 7_000, excess_sat: 0, version: 2, payments: [] },
    } as unknown as OrderJson,
    changes,
  );

function paid(changes: Partial<OrderJson>, linkTitle: string | null = null) {
  const made = orderNotice({
    type: 'order.paid',
    was: 'processing',
    order: order(changes),
    storeName: 'Shop',
    linkTitle,
  });
  if (made === undefined) throw new Error('no notice');
  return made;
}

test.each([
  [null, null, 'Paid: 3.50 EUR, an order (Shop)'],
  ['1007', null, 'Paid: 3.50 EUR, order 1007 (Shop)'],
  [null, 'Counter', 'Paid: 3.50 EUR, Counter (Shop)'],
  ['Anna', 'Counter', 'Paid: 3.50 EUR, Counter, order Anna (Shop)'],
])('a subject with the reference %j and the link %j', (reference, link, title) => {
  expect(paid({ reference }, link).title).toBe(title);
});

test('with a discount have what is due, and the price beside it', () => {
  const discount = { adjust_percent: -5, amount: '10.00', amount_due: '9.50', amount_sat: 19_000 };
  const less = paid(discount);
  expect(less.title).toBe('Paid: 9.50 EUR, an order (Shop)');
  expect(less.lines).toContain('Price: 10.00 EUR, due: 9.50 EUR (19,000 sat)');
  expect(less.data).toMatchObject({ order: { amount: '10.00', amount_due: '9.50' } });
  expect(paid({}).lines).toContain('Price: 3.50 EUR (7,000 sat)');
  expect(summedNotice([less, paid({})]).title).toBe('Order paid: 2 orders, 13.00 EUR');
});

test('several are one, with a line and a sum', () => {
  const one = paid({ reference: '1' });
  expect(summedNotice([one])).toBe(one);
  const more = [
    paid({ reference: '2', amount: '12.55', amount_due: '12.55' }),
    paid({ reference: '3', amount: null, amount_due: null, currency: null, amount_sat: 25_000 }),
  ];
  const sum = summedNotice([one, ...more]);
  expect(sum.title).toBe('Order paid: 3 orders, 16.05 EUR, 0.00025000 BTC');
  expect(sum.lines).toEqual([one, ...more].flatMap(({ title, lines }) => [title, ...lines]));
  expect([sum.type, sum.path, sum.data]).toEqual(['order.paid', '/dashboard/orders', {}]);
  const all = summedNotice([one, ...Array.from({ length: 501 }, () => one)]);
  const perOrder = one.lines.length + 1;
  expect([all.lines.length, all.lines.at(-1)]).toEqual([500 * perOrder + 1, 'and 2 more']);
  const test = testNotice();
  expect(summedNotice([test, test])).toBe(test);
});

const onChain = (value_sat: number, gone = false) => ({ kind: 'onchain', value_sat, gone });
const lightning = (value_sat: number) => ({ kind: 'lightning', value_sat });

test.each([
  [[], 'paid, and confirmed', 'Received: 7,000 sat, confirmed: 7,000 sat'],
  [[onChain(7_000)], 'paid, and confirmed', 'Received: 7,000 sat, confirmed: 7,000 sat'],
  [[lightning(7_000)], 'paid by Lightning, which is final', 'Received by Lightning: 7,000 sat'],
  [
    [onChain(9_000, true), lightning(7_000)],
    ...['paid by Lightning, which is final', 'Received by Lightning: 7,000 sat'],
  ],
  [
    [onChain(3_000), lightning(4_000)],
    'paid by Lightning in part, and confirmed',
    'Received: 7,000 sat, confirmed: 3,000 sat, by Lightning: 4,000 sat',
  ],
] as const)('payments %j are said as they came', (payments, fact, received) => {
  const changes = { payments } as unknown as Partial<OrderJson>;
  const { lines } = paid(changes);
  expect(lines[0]).toBe(`Store Shop, an order: ${fact}.`);
  expect(lines).toContain(received);
  const late = 'but some of the money came after its time.';
  expect(paid({ ...changes, late: true }).lines[0]).toBe(`Store Shop, an order: ${fact}, ${late}`);
});

test('an address for a refund names the sum and leads to the refund, without the address', () => {
  const asked = { order: order({ reference: '1007' }), storeName: 'A\nShop', amountSat: 5_000 };
  const notice = refundNotice({ ...asked, linkTitle: 'Counter' });
  expect(notice).toMatchObject({
    type: 'order.refund',
    title: 'Refund to send: 5,000 sat, Counter, order 1007 (A Shop)',
    path: '/dashboard/orders/ord_3yQ8tZr6WmB1nK5vXc2dLp/refund',
    data: { store_id: 1, order: { reference: '1007', received_sat: 7_000 } },
  });
  expect(notice.lines).toContain('Price: 3.50 EUR (7,000 sat)');
  const other = refundNotice({ ...asked, linkTitle: null });
  expect(summedNotice([notice, other]).title).toBe(
    'Refund to send: the customer gave an address: 2 orders, 7.00 EUR',
  );
});
