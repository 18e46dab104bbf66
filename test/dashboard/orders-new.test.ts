// Taking a payment: an order by hand, and what is wrong with it.

import { afterEach, describe, expect, test } from 'vitest';
import { minuteMs } from '../../src/lib/time-units.ts';
import { closeApps, openReady } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openPriced } from '../support/priced.ts';
import { signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const page = '/dashboard/orders/new';
const filled = {
  ...{ store: '1', amount: '12,50', currency: 'EUR', reference: '1007', description: '' },
};

const take = (visitor: Visitor, fields: Record<string, string> = {}) =>
  visitor.submit(page, 'take', { ...filled, ...fields });

/** Why each field was refused. */
const faultsOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<p id="fault-([\w-]+)" class="fault">([^<]*)</g)].map(
      ([, name = '', text = '']) => [name, text],
    ),
  );

async function open(options: Parameters<typeof openPriced>[0] = {}) {
  const app = await openPriced(options);
  const count = async () => (await app.get('/orders?limit=100')).body.data.length as number;
  return { app, visitor: await signedIn(app), count };
}

describe('taking a payment', () => {
  test('makes an order with the settings of the store, and shows its code', async () => {
    const { app, visitor } = await open();
    const form = (await visitor.get(page)).text;
    expect(form).toContain('Take a payment');
    const taken = await take(visitor);
    expect(taken.status).toBe(303);
    expect(taken.to).toMatch(/^\/dashboard\/orders\/ord_\w+$/);
    const [order] = (await app.get('/orders')).body.data;
    expect(order).toMatchObject({
      ...{ amount: '12.50', currency: 'EUR', amount_sat: 25_000, reference: '1007' },
      ...{ description: null, status: 'open', link_id: null, store_id: 1 },
    });
    expect(order.expires_at - order.created_at).toBe(3_600);
    const { text } = await visitor.get(taken.to ?? '');
    expect(text).toContain('aria-label="QR code to pay 25,000 sat"');
    // The watcher knows the address.
    app.pay(order.address, 25_000);
    await app.settle();
    expect((await app.get(`/orders/${order.id}`)).body.status).toBe('processing');
  });

  test('in satoshis needs no price', async () => {
    const app = await openReady({ config: { price: 'off' } });
    const visitor = await signedIn(app);
    const refused = await take(visitor);
    expect([refused.status, faultsOf(refused.text)]).toEqual([
      400,
      { currency: 'Prices are switched off here: choose satoshis.' },
    ]);
    const taken = await take(visitor, { amount: '25000.00', currency: '' });
    expect(taken.status).toBe(303);
    expect((await visitor.get(taken.to ?? '')).text).toContain('<span class="amount">25,000 sat');
  });

  test('twice by one form is one order; another content is another one', async () => {
    const { visitor, count } = await open();
    const form = (await visitor.get(page)).text;
    const [, once = ''] = /name="once" value="([0-9a-f]{24})"/.exec(form) ?? [];
    const send = (fields: object = {}) =>
      visitor.post(
        page,
        String(
          new URLSearchParams({ token: visitor.formToken, do: 'take', ...filled, once, ...fields }),
        ),
      );
    const [first, second] = await Promise.all([send(), send()]);
    const third = await send();
    expect([first.status, second.to, third.to]).toEqual([303, first.to, first.to]);
    expect(await count()).toBe(1);
    const other = await send({ amount: '13' });
    expect([other.status, other.to === first.to, await count()]).toEqual([303, false, 2]);
    // The form that is shown next is another one.
    expect((await visitor.get(page)).text).not.toContain(once);
  });

  test.each([
    [{ amount: '1.234' }, { amount: 'An amount in EUR has at most 2 decimals.' }],
    [
      { amount: '1.000' },
      { amount: 'Has two meanings: write 1.00 or 1000.00, without separators of thousands.' },
    ],
    [
      { amount: '1,000', currency: '' },
      { amount: 'Has two meanings: write 1 or 1000, without separators of thousands.' },
    ],
    [
      { amount: '1,000', currency: 'KWD' },
      { amount: 'Has two meanings: write 1.000 or 1000.000, without separators of thousands.' },
    ],
    [{ amount: '' }, { amount: 'A decimal number such as 12.50 is expected.' }],
    [{ amount: 'ten', currency: '' }, { amount: 'Whole satoshis are expected.' }],
    [{ amount: '0.01' }, { amount: 'The amount is 20 sat; an order has at least 546 sat.' }],
    [
      { reference: 'x'.repeat(129), description: 'y'.repeat(1_025) },
      {
        reference: 'Has 129 bytes; at most 128 are allowed.',
        description: 'Has 1025 bytes; at most 1024 are allowed.',
      },
    ],
    [{ currency: 'CHF' }, { currency: 'No source has a price in CHF: choose another.' }],
  ])('%j is refused at its field', async (fields, faults) => {
    const { visitor, count } = await open();
    const refused = await take(visitor, fields as Record<string, string>);
    expect([refused.status, faultsOf(refused.text)]).toEqual([400, faults]);
    // What was typed stays.
    expect(refused.text).toContain(`value="${{ ...filled, ...fields }.reference}"`);
    expect(await count()).toBe(0);
  });

  test('without a price of the last minute says so at the currency', async () => {
    const { app, visitor, count } = await open();
    app.market.rates = undefined;
    const refused = await take(visitor);
    expect([refused.status, Object.keys(faultsOf(refused.text))]).toEqual([503, ['currency']]);
    expect(refused.headers.get('Retry-After')).toBe('5');
    expect(await count()).toBe(0);
    app.market.rates = { EUR: 50_000 };
    await app.world.advance(2 * minuteMs);
    expect((await take(visitor)).status).toBe(303);
  });

  test('is refused at the gap limit, for a store that is removed, and with a private key', async () => {
    const { visitor, count } = await open({ config: { refuseGap: 2 } });
    for (const reference of ['1', '2']) await take(visitor, { reference });
    const refused = await take(visitor, { reference: '3' });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain(
      'The last 2 addresses of this wallet are unpaid, which is its gap limit: raise --refuse-gap',
    );
    expect((await take(visitor, { store: '7' })).status).toBe(404);
    const words = `${'abandon '.repeat(11)}about`;
    const secret = await take(visitor, { reference: words });
    expect([secret.status, secret.text.includes('abandon')]).toEqual([400, false]);
    expect(await count()).toBe(2);
  });
});
