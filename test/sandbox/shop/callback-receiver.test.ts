// The demo shop's callback receiver, and the effect of callbacks on orders. The npm package
// standardwebhooks makes the signatures; it shares no code with ours.

import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { readCallback } from '../../../src/sandbox/shop/callback-receiver.ts';
import {
  type CallbackFields,
  Orders,
  orderStatus,
  type ShopOrder,
} from '../../../src/sandbox/shop/shop-orders.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const now = 1_763_650_000_000;
const txid = 'ab'.repeat(32);
const address = 'bcrt1q4wm6m5khs6x327epqsj7a9rdzhj8305vsqhnuv';
const query = `status=1&addr=${address}&value=8000&txid=${txid}`;

interface Sent {
  readonly query?: string;
  readonly signed?: string;
  readonly by?: string;
  readonly at?: number;
  readonly change?: Record<string, string>;
}

function receive({ query: sent = query, signed = sent, by = secret, at = now, change }: Sent = {}) {
  const headers: Record<string, string> = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(by).sign('evt_1', new Date(at), signed),
    ...change,
  };
  return readCallback({ query: sent, header: (name) => headers[name] }, { secret, now });
}

describe('the receiver', () => {
  const told = { eventId: 'evt_1', address, txid, valueSat: 8_000, status: 1 };

  it('accepts a callback that its paygate signed', () => {
    expect(receive()).toEqual(told);
    expect(receive({ at: now - 299_000 })).toEqual(told);
    const rotated = `v1,AAAA ${new Webhook(secret).sign('evt_1', new Date(now), query)}`;
    expect(receive({ change: { 'webhook-signature': rotated } })).toEqual(told);
  });

  const forged: readonly (readonly [string, Sent])[] = [
    ['with another value', { query: query.replace('8000', '9000'), signed: query }],
    ['written in another way', { query: query.replace('status', '%73tatus'), signed: query }],
    ['with more behind it', { query: `${query}&status=2`, signed: query }],
    ['with another secret', { by: `whsec_${Buffer.alloc(32).toString('base64')}` }],
    ['long ago', { at: now - 300_000 }],
    ['ahead of time', { at: now + 300_000 }],
    ['under another id', { change: { 'webhook-id': 'evt_2' } }],
    ['at another time', { change: { 'webhook-timestamp': String(now / 1000 + 1) } }],
    ['at no time', { change: { 'webhook-timestamp': '' } }],
    ['not at all', { change: { 'webhook-signature': '' } }],
    ['by another scheme', { change: { 'webhook-signature': 'v2,AAAA é v1a,AAAA' } }],
  ];
  it.each(forged)('refuses a callback that was signed %s', (_, sent) => {
    expect(() => receive(sent)).toThrow('not that of our paygate');
  });

  it.each([
    ['status', 'status=3'],
    ['status', ''],
    ['addr', 'status=1&addr=..%2F..'],
    ['txid', `status=1&addr=${address}&txid=%00`],
    ['value', `status=1&addr=${address}&txid=${txid}&value=-1`],
    ['value', `status=1&addr=${address}&txid=${txid}&value=1e3`],
  ])('refuses an invalid %s: %s', (name, given) => {
    const rest = new URLSearchParams(query);
    for (const [field] of new URLSearchParams(given)) rest.delete(field);
    if (given === '') rest.delete(name);
    const sent = [given, rest.toString()].filter(Boolean).join('&');
    expect(() => receive({ query: sent })).toThrow(`no valid ${name}`);
  });
});

describe('an order', () => {
  const product = { id: 'tea', name: 'Tea', priceSat: 4_000 };

  function open(): {
    orders: Orders;
    order: ShopOrder;
    take: (told: Partial<CallbackFields>) => void;
  } {
    const orders = new Orders();
    const order = orders.add({ id: 'one', address, lines: [{ product, count: 2 }] });
    let count = 0;
    const take = (told: Partial<CallbackFields>): void => {
      count += 1;
      orders.applyCallback({
        eventId: `evt_${count}`,
        address,
        txid,
        valueSat: 8_000,
        status: 0,
        ...told,
      });
    };
    return { orders, order, take };
  }

  const nothing = { state: 'waiting', seenSat: 0, confirmedSat: 0, missingSat: 8_000 };
  const all = { seenSat: 8_000, missingSat: 0 };

  it('is paid by confirmed payments of the full amount', () => {
    const { order, take } = open();
    expect(orderStatus(order)).toEqual(nothing);
    take({ txid: 'a', valueSat: 5_000, status: 2 });
    expect(orderStatus(order)).toMatchObject({ state: 'short', missingSat: 3_000 });
    take({ txid: 'b', valueSat: 3_000, status: 0 });
    expect(orderStatus(order)).toEqual({ state: 'seen', ...all, confirmedSat: 5_000 });
    take({ txid: 'b', valueSat: 3_000, status: 1 });
    expect(orderStatus(order).state).toBe('confirming');
    take({ txid: 'b', valueSat: 3_000, status: 2 });
    expect(orderStatus(order)).toEqual({ state: 'paid', ...all, confirmedSat: 8_000 });
    take({ txid: 'c', valueSat: 1_000, status: 2 });
    expect(orderStatus(order).missingSat).toBe(0);
  });

  it('counts a repeated callback once, however late', () => {
    const { order, take } = open();
    take({ eventId: 'seen', status: 0 });
    take({ status: 2 });
    take({ eventId: 'seen', status: 0 });
    expect(orderStatus(order).state).toBe('paid');
  });

  it('is no longer paid after a reversed payment', () => {
    const { order, take } = open();
    take({ status: 2 });
    take({ status: -1 });
    expect(orderStatus(order)).toEqual(nothing);
    take({ status: 0 });
    expect(orderStatus(order).state).toBe('seen');
  });

  it('ignores the address of another order', () => {
    const { take } = open();
    expect(() => take({ address: 'bcrt1qother' })).toThrow('No order has this address');
  });
});
