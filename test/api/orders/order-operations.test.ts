// Orders of the API: what is made, what is refused, and that a refusal issues nothing.

import { afterEach, describe, expect, test } from 'vitest';
import type { KeyScope } from '../../../src/domain/access/key-scope.ts';
import { closeApps, merchantKey } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { openPriced, type PricedApp } from '../../support/priced.ts';

afterEach(closeApps);
afterEach(cleanUp);

const eur = { amount: '12.50', currency: 'EUR' };
const day = 86_400;

/** How many addresses were issued, and how many orders were made. */
const made = (app: PricedApp) =>
  app.withStore(async ({ database }) => {
    const count = (text: string) => database.orm.$client.prepare(text).pluck().get();
    return [
      count("SELECT count(*) FROM addresses WHERE origin = 'issued'"),
      count('SELECT count(*) FROM orders'),
      count('SELECT count(*) FROM idempotency_keys'),
    ];
  });

const addKey = (app: PricedApp, storeId: number, scope: KeyScope): Promise<string> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, app.world.now(), { storeId, scope, secret: app.world.randomBytes(32) }),
    ),
  );

const addSecondStore = (app: PricedApp) =>
  app.addStore({
    name: 'Second',
    key: merchantKey(2),
    startIndex: 0,
    callbackUrl: `${app.receiver.origin}/second`,
  });

describe('a new order', () => {
  test('has an address of its own, a quote and a payment URI', async () => {
    const app = await openPriced({ config: { publicUrl: 'https://pay.example.com' } });
    const order = await app.order({
      ...{ ...eur, reference: '1007', description: '2 posters', metadata: { cart: '7f' } },
      ...{ expires_in: 7_200, quote_seconds: 600, tolerance_percent: 1, language: 'DE' },
      ...{ return_url: 'https://shop.example/thanks/1007', customer_email: 'a@b.example' },
    });
    const at = Math.floor(app.world.now() / 1000);
    expect(order).toEqual({
      id: expect.stringMatching(/^ord_[1-9A-HJ-NP-Za-km-z]{22}$/),
      ...{ store_id: 1, link_id: null, version: 1, status: 'open', late: false },
      ...{ amount: '12.50', currency: 'EUR', adjust_percent: 0, amount_due: '12.50' },
      ...{
        amount_sat: 25_000,
        received_sat: 0,
        confirmed_sat: 0,
        missing_sat: 25_000,
        excess_sat: 0,
      },
      quote: { rate: '50000.00', amount_sat: 25_000, created_at: at, expires_at: at + 600 },
      address: expect.stringMatching(/^bcrt1q/),
      uri: `bitcoin:${order.address}?amount=0.00025&label=Shop`,
      lightning: null,
      page_url: `https://pay.example.com/o/${order.id}`,
      ...{ reference: '1007', description: '2 posters', metadata: { cart: '7f' } },
      ...{ return_url: 'https://shop.example/thanks/1007', language: 'de' },
      customer_email: 'a@b.example',
      ...{ created_at: at, expires_at: at + 7_200, paid_at: null, canceled_at: null },
      ...{ accepted_at: null, payments: [], refunds: [] },
    });
    expect((await app.get(`/orders/${order.id}`)).body).toEqual(order);
    expect(await app.newAddress()).not.toBe(order.address);
  });

  test('takes what it does not say from its store', async () => {
    const app = await openPriced();
    await app.withStore(({ catalog, database }) =>
      database.write((tx) =>
        catalog.changeStore(tx, 1, {
          ...{ orderSeconds: 0, quoteSeconds: 300, language: 'fr' },
          returnUrl: 'https://shop.example/',
        }),
      ),
    );
    const order = await app.order({ ...eur, expires_in: null, reference: '' });
    expect(order).toMatchObject({
      ...{ expires_at: null, language: 'fr', return_url: 'https://shop.example/', reference: null },
      quote: { expires_at: order.created_at + 300 },
    });
  });

  test('in satoshis needs no price', async () => {
    const app = await openPriced({ config: { price: 'off' } });
    expect(await app.order({ amount_sat: 546 })).toMatchObject({
      ...{ amount: null, currency: null, amount_sat: 546, missing_sat: 546, quote: null },
    });
  });

  test('is paid through the ledger: its events say so, and the list finds it', async () => {
    const app = await openPriced();
    const order = await app.order({ ...eur, reference: '1007' });
    app.pay(order.address, 25_000);
    await app.settle();
    app.chain.mine(2);
    await app.settle();
    const { body: paid } = await app.get(`/orders/${order.id}`);
    expect(paid).toMatchObject({ status: 'paid', version: 3, confirmed_sat: 25_000, uri: null });
    const { body: events } = await app.get('/events');
    expect(events.data.map(({ type }: { type: string }) => type)).toEqual([
      'order.processing',
      'order.paid',
    ]);
    expect(events.data[1].data).toEqual({ was: 'processing', order: paid });
    expect((await app.get(`/events/${events.data[1].id}`)).body).toEqual(events.data[1]);
    expect((await app.get('/orders?status=paid&reference=1007')).body.data).toEqual([paid]);
    expect((await app.get('/orders?status=open')).body).toEqual({ data: [], has_more: false });
  });

  test('takes zeros behind the last decimal, which change no value', async () => {
    const app = await openPriced();
    app.market.rates = { EUR: 50_000, JPY: 9_000_000 };
    for (const [amount, currency, taken] of [
      ['1000.00', 'JPY', '1000'],
      ['12.5000', 'EUR', '12.50'],
    ]) {
      expect(await app.order({ amount, currency })).toMatchObject({ amount: taken, currency });
    }
  });

  test('ignores unknown fields, as other operations do', async () => {
    const app = await openPriced();
    expect(await app.order({ ...eur, color: 'red' })).toMatchObject({ status: 'open' });
  });

  test('is refused at the gap limit, as an address is', async () => {
    const app = await openPriced({ config: { refuseGap: 2 } });
    for (let count = 0; count < 2; count += 1) await app.order(eur);
    const { status, body } = await app.post('/orders', eur);
    expect([status, body.error.code]).toEqual([409, 1008]);
    expect(await made(app)).toEqual([2, 2, 0]);
  });

  test('waits for the scan of its wallet, as an address does', async () => {
    const app = await openPriced();
    const second = await app.addStore({
      name: 'Second',
      key: merchantKey(3),
      callbackUrl: `${app.receiver.origin}/second`,
    });
    const { status, headers, body } = await app.post('/orders', { ...eur, store_id: second.id });
    expect([status, headers.get('Retry-After')]).toEqual([503, '5']);
    expect(body.message).toContain('is scanned for used addresses first');
    expect(await made(app)).toEqual([0, 0, 0]);
  });

  test('shares the limit of new_address', async () => {
    const app = await openPriced({ config: { limitNewAddress: { perMinute: 2, burst: 2 } } });
    await app.order(eur);
    await app.newAddress();
    const { status, headers } = await app.post('/orders', eur);
    expect([status, Number(headers.get('Retry-After'))]).toEqual([429, expect.any(Number)]);
  });
});

/** A private key in its wallet import format. */
const wif = 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn';
const words =
  'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about';

const bad: readonly (readonly [string, unknown, RegExp])[] = [
  ['no price', {}, /amount: exactly one is expected/],
  ['two prices', { ...eur, amount_sat: 25_000 }, /amount: exactly one is expected/],
  ['no currency', { amount: '12.50' }, /currency: is missing, such as EUR/],
  ['no amount', { currency: 'EUR' }, /amount: is missing/],
  ['an unknown currency', { ...eur, currency: 'EUX' }, /currency: .*ISO 4217/],
  ['bitcoin as a currency', { ...eur, currency: 'BTC' }, /currency: .*amount_sat/],
  ['a currency without a price', { ...eur, currency: 'PYG', amount: '5' }, /no source has a price/],
  ['more digits than the currency has', { ...eur, amount: '12.505' }, /at most 2 decimals/],
  ['a value behind the last decimal', { amount: '1000.10', currency: 'JPY' }, /no decimals/],
  ['decimals of a currency without', { amount: '1.5', currency: 'JPY' }, /JPY has no decimals/],
  ['an amount as a number', { ...eur, amount: 12.5 }, /amount: text such as "12.50"/],
  ['a negative amount', { ...eur, amount: '-1' }, /amount: a decimal number/],
  ['an exponent', { ...eur, amount: '1e3' }, /amount: a decimal number/],
  ['zero', { ...eur, amount: '0.00' }, /amount: must be above 0/],
  ['dust', { ...eur, amount: '0.01' }, /the amount is 20 sat; an order has at least 546 sat/],
  ['dust in satoshis', { amount_sat: 545 }, /amount_sat: the amount is 545 sat/],
  ['more than 21 million', { amount_sat: 21e14 + 1 }, /more than all bitcoins/],
  ['more than 21 million in euros', { ...eur, amount: '9999999999999' }, /more than all bitcoins/],
  ['half a satoshi', { amount_sat: 1000.5 }, /amount_sat: whole satoshis/],
  ['an order that is over at once', { ...eur, expires_in: 299 }, /expires_in: whole seconds from/],
  ['an order of two years', { ...eur, expires_in: 800 * day }, /expires_in: whole seconds from/],
  ['a quote of a day', { ...eur, quote_seconds: day }, /quote_seconds: whole seconds from 300/],
  ['a tolerance of 11 %', { ...eur, tolerance_percent: 11 }, /tolerance_percent: a number/],
  ['a long reference', { ...eur, reference: 'x'.repeat(129) }, /reference: has 129 bytes/],
  ['a script as a URL', { ...eur, return_url: 'javascript:alert(1)' }, /return_url: must be/],
  ['a password in a URL', { ...eur, return_url: 'https://a:b@c.example/' }, /return_url: must not/],
  ['two mail addresses', { ...eur, customer_email: 'a@b.example,c@d.example' }, /customer_email: /],
  ['a list of addresses', { ...eur, customer_email: ['a@b.example'] }, /customer_email: text is/],
  ['no language', { ...eur, language: 'klingon!' }, /language: a language tag/],
  ['numbers in metadata', { ...eur, metadata: { cart: 7 } }, /metadata.cart: text is expected/],
  ['metadata as a list', { ...eur, metadata: ['a'] }, /metadata: pairs of text are expected/],
  ['much metadata', { ...eur, metadata: { a: 'x'.repeat(3_000) } }, /metadata: has \d+ bytes/],
  [
    'many metadata',
    { ...eur, metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [at, 'x'])) },
    /metadata: has 21 pairs/,
  ],
  ['a private key as reference', { ...eur, reference: wif }, /looks like a private key/],
  ['a private key in metadata', { ...eur, metadata: { [wif]: 'x' } }, /private key/],
  ['a private key beside a wrong type', { ...eur, metadata: { [wif]: 7 } }, /private key/],
  ['a private key in an unknown field', { ...eur, color: wif }, /private key/],
  ['recovery words', { ...eur, description: words }, /words/],
  ['a text', '"order"', /must be a JSON object, such as \{"amount":"12.50"/],
  ['a list', '[]', /must be a JSON object/],
  ['no JSON', '{', /not JSON/],
  ['no whole number as store', { ...eur, store_id: 'first' }, /store_id: a whole number/],
];

test.each([
  ['400', 400],
  ['too large a body', 413],
])('bad input gets %s, in the shape of other errors, and issues nothing', async (_what, wanted) => {
  const app = await openPriced();
  const cases =
    wanted === 413
      ? [['20,001 bytes', { ...eur, metadata: { a: 'x'.repeat(20_001) } }, /16 KiB/] as const]
      : bad;
  for (const [what, sent, message] of cases) {
    const { status, body } = await app.post('/orders', sent, { 'Idempotency-Key': what });
    expect([what, status, body]).toEqual([
      what,
      wanted,
      {
        ...{ status: wanted, message: expect.stringMatching(message) },
        error: { code: wanted, message: body.message, fields: body.error.fields },
      },
    ]);
    expect(JSON.stringify(body)).not.toContain(wif);
  }
  expect(await made(app)).toEqual([0, 0, 0]);
  // Nothing of it is in the way of the next order.
  await app.order(eur);
});

describe('the price', () => {
  test('without one: 503 with Retry-After, and nothing is issued', async () => {
    const app = await openPriced();
    app.market.rates = undefined;
    const { status, headers, body } = await app.post('/orders', eur, { 'Idempotency-Key': 'a' });
    expect([status, headers.get('Retry-After'), body.message]).toEqual([
      503,
      '60',
      expect.stringMatching(/^No fresh price/),
    ]);
    expect(await made(app)).toEqual([0, 0, 0]);
    app.market.rates = { EUR: 50_000 };
    await app.world.advance(60_000);
    await app.order(eur);
  });

  test('is at most 60 s old, though /api/price serves an older one', async () => {
    const app = await openPriced();
    await app.order(eur);
    app.market.rates = undefined;
    await app.world.advance(59_000);
    await app.order(eur);
    await app.world.advance(2_000);
    expect((await app.post('/orders', eur)).status).toBe(503);
    expect((await app.ask('/api/price?currency=EUR')).body).toEqual({ price: 50_000 });
  });

  test('switched off: the error names the option and the way without prices', async () => {
    const app = await openPriced({ config: { price: 'off' } });
    const { status, body } = await app.post('/orders', eur);
    expect([status, body.message]).toEqual([400, expect.stringMatching(/amount_sat.*--price on/)]);
    expect(await made(app)).toEqual([0, 0, 0]);
  });
});

describe('an Idempotency-Key', () => {
  const key = { 'Idempotency-Key': 'order 1007' };

  test('with the same body gets the order as it is now, without a price', async () => {
    const app = await openPriced();
    const body = { ...eur, metadata: { a: '1', b: '2' } };
    const { body: order } = await app.post('/orders', body, key);
    app.pay(order.address, 10_000);
    await app.settle();
    app.market.rates = undefined;
    app.world.jumpWallClock(3_600_000);
    const turned = '{ "metadata": {"b":"2","a":"1"}, "currency":"EUR", "amount":"12.50" }';
    const again = await app.post('/orders', turned, key);
    expect(again.status).toBe(200);
    expect(again.body).toEqual((await app.get(`/orders/${order.id}`)).body);
    expect(again.body).toMatchObject({ id: order.id, received_sat: 10_000, quote: null });
    expect(await made(app)).toEqual([1, 1, 1]);
  });

  test('with another body is refused', async () => {
    const app = await openPriced();
    await app.post('/orders', eur, key);
    const { status, body } = await app.post('/orders', { ...eur, amount: '12.51' }, key);
    expect([status, body.error.code]).toEqual([409, 409]);
    expect(body.message).toContain('Idempotency-Key');
    expect(await made(app)).toEqual([1, 1, 1]);
  });

  test('of an address makes no order, and the other way round', async () => {
    const app = await openPriced();
    const first = await app.ask('/api/new_address', { headers: key });
    expect((await app.post('/orders', eur, key)).status).toBe(409);
    expect((await app.ask('/api/new_address', { headers: key })).body).toEqual(first.body);
    const other = { 'Idempotency-Key': 'order 1008' };
    await app.post('/orders', eur, other);
    expect((await app.ask('/api/new_address', { headers: other })).status).toBe(409);
    expect(await made(app)).toEqual([2, 1, 2]);
  });

  test('is forgotten after a day, and counts for its store alone', async () => {
    const app = await openPriced();
    const second = await addSecondStore(app);
    const ask = (storeId: number) => app.post('/orders', { ...eur, store_id: storeId }, key);
    const { body: order } = await ask(1);
    expect((await ask(second.id)).body).toMatchObject({ store_id: second.id });
    expect((await ask(1)).body.id).toBe(order.id);
    app.world.jumpWallClock(day * 1000);
    expect((await ask(1)).body.id).not.toBe(order.id);
  });

  test('50 parallel requests with the same key make one order', async () => {
    const app = await openPriced();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => app.post('/orders', eur, key)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await made(app)).toEqual([1, 1, 1]);
  });
});

test('parallel requests without a key make an order each, beside addresses', async () => {
  const app = await openPriced();
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, at) =>
      at % 3 === 0 ? app.ask('/api/new_address') : app.post('/orders', eur),
    ),
  );
  expect(new Set(answers.map(({ body }) => body.address)).size).toBe(120);
  expect(await made(app)).toEqual([120, 80, 0]);
});

describe('several stores', () => {
  test('need a store_id, or a key of one store', async () => {
    const app = await openPriced();
    const second = await addSecondStore(app);
    const { status, body } = await app.post('/orders', eur);
    expect([status, body.error.code]).toEqual([400, 1032]);
    expect(body.message).toMatch(/name one by store_id \(1 "Shop" at .*, 2 "Second" at /);
    expect(await app.order({ ...eur, store_id: second.id })).toMatchObject({ store_id: second.id });
    const key = await addKey(app, second.id, 'address-only');
    const as = { Authorization: `Bearer ${key}` };
    expect((await app.post('/orders', eur, as)).body).toMatchObject({ store_id: second.id });
    const foreign = await app.post('/orders', { ...eur, store_id: 1 }, as);
    const unknown = await app.post('/orders', { ...eur, store_id: 9 }, as);
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect(foreign.body.message.replace('1', '9')).toBe(unknown.body.message);
  });

  test('a foreign and an unknown order are refused with the same text', async () => {
    const app = await openPriced();
    const order = await app.order(eur);
    const second = await addSecondStore(app);
    const as = { Authorization: `Bearer ${await addKey(app, second.id, 'payments')}` };
    const unknown = 'ord_1111111111111111111111';
    const replies = [];
    for (const id of [order.id, unknown, 'ord_', `${order.id}1`, 'evt_1111111111111111111111']) {
      for (const command of ['quote', 'cancel', 'accept']) {
        replies.push(await app.post(`/orders/${id}/${command}`, undefined, as));
      }
      replies.push(await app.ask(`/api/v3/orders/${id}`, { headers: as }));
      replies.push(await app.ask(`/api/v3/orders?after=${id}`, { headers: as }));
    }
    const texts = replies.map(({ status, body }) => `${status} ${body.message}`);
    expect(new Set(texts)).toEqual(new Set(['404 There is no such order']));
    const list = await app.ask('/api/v3/orders', { headers: as });
    expect(list.body).toEqual({ data: [], has_more: false });
  });
});

describe('commands', () => {
  test('a new quote when the old one is over, at the price of then', async () => {
    const app = await openPriced();
    const order = await app.order(eur);
    const early = await app.post(`/orders/${order.id}/quote`);
    expect([early.status, early.body.message]).toEqual([
      409,
      expect.stringContaining('a quote is in force'),
    ]);
    await app.world.advance(900_000);
    app.market.rates = { EUR: 40_000 };
    expect((await app.get(`/orders/${order.id}`)).body).toMatchObject({ quote: null, uri: null });
    const { status, body } = await app.post(`/orders/${order.id}/quote`);
    expect([status, body.quote.rate, body.amount_sat]).toEqual([200, '40000.00', 31_250]);
    expect(body.address).toBe(order.address);
    expect(await made(app)).toEqual([1, 1, 0]);
    const sat = await app.order({ amount_sat: 1_000 });
    expect((await app.post(`/orders/${sat.id}/quote`)).status).toBe(409);
  });

  test('no new quote without a price', async () => {
    const app = await openPriced();
    const order = await app.order(eur);
    await app.world.advance(900_000);
    app.market.rates = undefined;
    const { status, headers } = await app.post(`/orders/${order.id}/quote`);
    expect([status, headers.get('Retry-After')]).toEqual([503, '60']);
  });

  test('S-103 cancel ends an open order once, and not a paid one', async () => {
    const app = await openPriced();
    const order = await app.order(eur);
    const canceled = await app.post(`/orders/${order.id}/cancel`);
    expect(canceled.body).toMatchObject({ status: 'canceled', version: 2 });
    expect((await app.post(`/orders/${order.id}/cancel`)).body).toEqual(canceled.body);
    const noted = await app.withStore(async ({ audit }) => audit.list(10));
    expect(noted).toMatchObject([{ keyId: 1, action: 'order.cancel', storeId: 1 }]);
    expect(JSON.parse(noted[0]?.detail ?? '')).toEqual({ order: order.id, client: '127.0.0.1' });
    const other = await app.order(eur);
    app.pay(other.address, 25_000);
    await app.settle();
    const refused = await app.post(`/orders/${other.id}/cancel`);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      expect.stringContaining('the order is processing'),
    ]);
  });

  test('accept takes what was received, and nothing where nothing was', async () => {
    const app = await openPriced();
    const order = await app.order(eur);
    expect((await app.post(`/orders/${order.id}/accept`)).status).toBe(409);
    app.pay(order.address, 20_000);
    await app.settle();
    const { body } = await app.post(`/orders/${order.id}/accept`);
    expect(body).toMatchObject({ status: 'processing', missing_sat: 0, received_sat: 20_000 });
  });
});

describe('lists', () => {
  interface Row {
    readonly id: string;
    readonly type?: string;
  }

  const idsOf = ({ data }: { data: readonly Row[] }): string[] => data.map(({ id }) => id);

  test('orders, the newest first, page by page over all stores', async () => {
    const app = await openPriced();
    const second = await addSecondStore(app);
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.unshift((await app.order({ ...eur, store_id: count % 2 ? second.id : 1 })).id);
      await app.world.advance(1_000);
    }
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const { body } = await app.get(`/orders?limit=2${after}`);
      seen.push(...idsOf(body));
      if (!body.has_more) break;
      after = `&after=${seen.at(-1)}`;
    }
    expect(seen).toEqual(ids);
    const start = 1_763_650_000;
    const listed = async (query: string) => idsOf((await app.get(`/orders?${query}`)).body);
    expect(await listed(`created_after=${start + 1}&created_before=${start + 3}`)).toEqual(
      ids.slice(2, 4),
    );
    expect(await listed(`store_id=${second.id}`)).toEqual([ids[1], ids[3]]);
    expect((await app.get('/orders?store_id=9')).status).toBe(404);
  });

  test('bad parameters are refused', async () => {
    const app = await openPriced();
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'status=new', 'created_after=now']) {
      expect([query, (await app.get(`/orders?${query}`)).status]).toEqual([query, 400]);
    }
    for (const query of ['limit=0', 'type=order.lost']) {
      expect([query, (await app.get(`/events?${query}`)).status]).toEqual([query, 400]);
    }
  });

  test('events, the oldest first, from the last one that is known', async () => {
    const app = await openPriced();
    for (let count = 0; count < 3; count += 1) {
      const { id } = await app.order(eur);
      await app.post(`/orders/${id}/cancel`);
    }
    const { body: all } = await app.get('/events');
    expect([all.data.length, all.has_more]).toEqual([3, false]);
    const first = (await app.get('/events?limit=1')).body;
    expect([idsOf(first), first.has_more]).toEqual([[all.data[0].id], true]);
    const rest = (await app.get(`/events?after=${all.data[0].id}`)).body;
    expect(idsOf(rest)).toEqual(idsOf(all).slice(1));
    expect((await app.get('/events?type=order.paid')).body.data).toEqual([]);
    expect((await app.get('/events?type=order.canceled')).body.data.length).toBe(3);
  });

  test('an unknown or foreign event as `after` is gone: the orders are listed instead', async () => {
    const app = await openPriced();
    await app.post(`/orders/${(await app.order(eur)).id}/cancel`);
    const [event] = (await app.get('/events')).body.data;
    const second = await addSecondStore(app);
    const headers = { Authorization: `Bearer ${await addKey(app, second.id, 'read')}` };
    for (const id of [event.id, 'evt_1111111111111111111111', 'lost']) {
      const { status, body } = await app.ask(`/api/v3/events?after=${id}`, { headers });
      expect([status, body.error.code, body.message]).toEqual([
        ...[410, 410, expect.stringContaining('list the orders')],
      ]);
      const one = await app.ask(`/api/v3/events/${id}`, { headers });
      expect([one.status, one.body.message]).toEqual([404, 'There is no such event']);
    }
  });
});
