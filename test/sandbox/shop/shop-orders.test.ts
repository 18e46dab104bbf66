// What the demo shop makes of webhooks: it takes the newest version of an order, and sends the
// goods at `paid`, once.

import { describe, expect, it, test } from 'vitest';
import type { Order } from '../../../src/sandbox/shop/paygate-client.ts';
import { Orders, type Product, products, totalOf } from '../../../src/sandbox/shop/shop-orders.ts';

const paygate: Order = {
  ...{ id: 'ord_1', version: 1, status: 'open', late: false, reference: 'one' },
  ...{ amount_sat: 8_000, received_sat: 0, missing_sat: 8_000, excess_sat: 0, expires_at: null },
  ...{ address: 'bcrt1qaddress', page_url: 'http://127.0.0.1:8180/o/ord_1' },
};

function open() {
  const orders = new Orders();
  orders.add('one', [], paygate);
  const order = orders.byId('one');
  const take = (version: number, status: Order['status'], reference: string | null = 'one') =>
    orders.applyEvent(`order.${status}`, { ...paygate, version, status, reference });
  return { orders, order, take };
}

describe('a webhook', () => {
  it('of an older version, or of the same one again, changes nothing', () => {
    const { order, take } = open();
    take(3, 'paid');
    take(2, 'processing');
    take(3, 'processing');
    expect(order).toMatchObject({ paygate: { version: 3, status: 'paid' }, isShipped: true });
    expect(order.received).toHaveLength(3);
  });

  it('of an order that the shop did not make is ignored', () => {
    const { orders, order, take } = open();
    take(2, 'paid', 'another');
    take(2, 'paid', null);
    // Another program may have given it the same number.
    orders.applyEvent('order.paid', { ...paygate, id: 'ord_2', version: 2, status: 'paid' });
    expect(order).toMatchObject({ paygate, isShipped: false, received: [] });
  });
});

describe('the goods', () => {
  it('are sent at paid, and stay sent after a reorganisation', () => {
    const { order, take } = open();
    take(2, 'processing');
    expect(order.isShipped).toBe(false);
    take(3, 'paid');
    take(4, 'processing');
    expect(order).toMatchObject({ isShipped: true, paygate: { status: 'processing' } });
  });

  it('have their price in euros', () => {
    const [espresso, postcard, poster] = products as [Product, Product, Product];
    expect(totalOf([{ product: espresso, count: 2 }])).toBe('4.00');
    expect(totalOf([{ product: poster, count: 9 }])).toBe('112.50');
    expect(totalOf([{ product: postcard, count: 1 }])).toBe('0.75');
  });
});

describe('a callback', () => {
  it('is noted with the order of its address, and ignored for any other', () => {
    const { orders, order } = open();
    expect(orders.applyCallback('status=0&addr=bcrt1qaddress&value=8000')).toBe(true);
    expect(orders.applyCallback('status=0&addr=bcrt1qother')).toBe(false);
    expect(order.received).toEqual(['callback status=0&addr=bcrt1qaddress&value=8000']);
  });
});

test('orders have short numbers, as many as the shop has room for', () => {
  const orders = new Orders();
  expect([orders.nextId(), orders.nextId()]).toEqual(['1001', '1002']);
  for (let count = 0; count < 999; count += 1) orders.add(orders.nextId(), [], paygate);
  orders.add(orders.nextId(), [], paygate);
  expect(() => orders.nextId()).toThrow('The shop has 1000 orders: start it anew');
});
