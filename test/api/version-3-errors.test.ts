// Errors below /api/v3: each field by its path, and what was meant. Older routes keep their texts,
// because shop plugins match them.

import { afterEach, describe, expect, test } from 'vitest';
import { formatApiKey } from '../../src/domain/access/api-key.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';

afterEach(closeApps);
afterEach(cleanUp);

const eur = { amount: '12.50', currency: 'EUR' };
const problem = (path: string, message: string) => ({ path, message });

/** The fields of a refusal, whose message names each of them. */
async function fieldsOf(asked: ReturnType<PricedApp['post']>, status = 400) {
  const { body, ...reply } = await asked;
  expect(reply.status).toBe(status);
  const { fields } = body.error;
  expect(body.error.message).toBe(body.message);
  const texts = fields.map(
    ({ path, message }: ReturnType<typeof problem>) => `${path}: ${message}`,
  );
  expect(body.message).toBe(texts.join('; '));
  return fields;
}

describe('error.fields', () => {
  test('has each field with a wrong type, also within another', async () => {
    const app = await openPriced();
    const sent = { amount: 12.5, currency: 7, amount_sat: '5', metadata: { cart: 7 } };
    expect(await fieldsOf(app.post('/orders', sent))).toEqual([
      problem('amount', 'text such as "12.50" is expected'),
      problem('currency', 'text such as "EUR" is expected'),
      problem('amount_sat', 'whole satoshis are expected'),
      problem('metadata.cart', 'text is expected'),
    ]);
  });

  test('has each field that breaks a rule', async () => {
    const app = await openPriced();
    const sent = { ...eur, amount: '12.505', expires_in: 1, language: '!' };
    expect(await fieldsOf(app.post('/orders', sent))).toEqual([
      problem('amount', 'an amount in EUR has at most 2 decimals'),
      problem('expires_in', expect.stringContaining('or 0 for never')),
      problem('language', 'a language tag is expected, such as de or pt-BR'),
    ]);
  });

  test('has a field that is missing, and both parts of a request', async () => {
    const app = await openPriced();
    expect(await fieldsOf(app.post('/links', {}))).toEqual([problem('title', 'is missing')]);
    const asked = app.get('/orders?status=done&limit=0&store_id=x');
    expect(await fieldsOf(asked)).toEqual([
      problem('limit', 'a whole number from 1 to 100 is expected'),
      problem('store_id', 'a whole number above 0 is expected'),
      problem('status', 'one of open, processing, paid, expired, canceled is expected'),
    ]);
  });

  test('has the currency that has no price, and the event that is gone', async () => {
    const app = await openPriced();
    expect(await fieldsOf(app.post('/orders', { ...eur, amount: '12', currency: 'XAF' }))).toEqual([
      problem('currency', 'no source has a price in XAF; use another, or amount_sat'),
    ]);
    expect(await fieldsOf(app.get('/events?after=evt_x'), 410)).toEqual([
      problem('after', expect.stringContaining('unknown, or older than 90 days')),
    ]);
    const off = await openPriced({ config: { price: 'off' } });
    expect(await fieldsOf(off.post('/orders', eur))).toEqual([
      problem('currency', expect.stringContaining('prices are switched off here')),
    ]);
  });

  test('has the amount that is dust at its rate, and one above all bitcoins', async () => {
    const app = await openPriced();
    const dust = await app.post('/orders', { ...eur, amount: '0.01' });
    const { message } = dust.body;
    expect(message).toBe('the amount is 20 sat; an order has at least 546 sat');
    expect(dust.body.error).toEqual({ code: 400, message, fields: [problem('amount', message)] });
    const huge = await app.post('/orders', { ...eur, amount: '9999999999999.00' });
    expect(huge.body.error.fields).toEqual([
      problem('amount', 'the amount is more than all bitcoins'),
    ]);
  });

  test('is missing where no field is wrong', async () => {
    const app = await openPriced();
    for (const path of ['/orders/ord_x', '/nothing']) {
      const { body } = await app.get(path);
      expect(body.error).toEqual({ code: 404, message: body.message });
    }
  });
});

describe('a body', () => {
  test.each([
    ['a form', 'amount=12.50&currency=EUR'],
    ['a form with brackets', 'metadata[cart]=7'],
    [
      'a form in parts',
      '--x\r\nContent-Disposition: form-data; name="amount"\r\n\r\n12.50\r\n--x--',
    ],
  ])('that is %s gets JSON as an example', async (_what, sent) => {
    const app = await openPriced();
    const { status, body } = await app.post('/orders', sent);
    expect([status, body.message]).toEqual([
      400,
      expect.stringMatching(
        /^The body is not JSON, it is a form; send a JSON object, such as \{"am/,
      ),
    ]);
    const shown = /such as (.*)$/.exec(body.message)?.[1] ?? '';
    expect(await app.order(JSON.parse(shown))).toMatchObject({ amount: '12.50' });
  });

  test('that is broken JSON, or no object, gets it as well', async () => {
    const app = await openPriced();
    const links = await app.post('/links', '{"title":');
    const advice = 'a JSON object, such as {"title":"Poster","amount":"25.00","currency":"EUR"}';
    expect(links.body.message).toBe(`The body is not JSON; send ${advice}`);
    for (const sent of ['[]', '"a"', '7', 'null']) {
      const { body } = await app.post('/links', sent);
      expect(body.message).toBe(`The body must be ${advice}`);
    }
  });
});

const unknownPaths = [
  ['/api/v3/order', '; did you mean /api/v3/orders?'],
  ['/api/v3/orders/', '; did you mean /api/v3/orders?'],
  ['/v3/orders', '; did you mean /api/v3/orders?'],
  ['/api/links', '; did you mean /api/v3/links?'],
  ['/api/v3/evnets', '; did you mean /api/v3/events?'],
  ['/api/v3/order/ord_1', '; did you mean /api/v3/orders/{id}?'],
  ['/api/v3/orders/ord_1/acept', '; did you mean /api/v3/orders/{id}/accept?'],
  ['/api/v3/ordxyz', '; /docs has all paths'],
  ['/api/v3/lxnkx', '; did you mean /api/v3/links?'],
  ['/api/v3/invoices', '; /docs has all paths'],
  ['/api/v3/orders/ord_1/refund', '; /docs has all paths'],
  [`/api/v3/${'orders'.repeat(900)}`, '; /docs has all paths'],
  ['/api/v3/orders/ord_1/cancel/now', '; /docs has all paths'],
  ['/api/link', ''],
  ['/api/nothing', ''],
  ['/api/v2/store', ''],
  ['/nothing', ''],
] as const;

test('a path that is unknown gets the one that was meant', async () => {
  const app = await openPriced();
  for (const [path, advice] of unknownPaths) {
    const { status, body } = await app.ask(path);
    expect([path, status, body.message]).toEqual([
      path,
      404,
      `There is nothing at this path${advice}`,
    ]);
  }
});

describe('a key', () => {
  const sent = (Authorization: string) => ({ headers: { Authorization } });
  const missing = 'This request has no API key: send the header "Authorization: Bearer KEY"';
  const unknown = `Bearer ${formatApiKey(new Uint8Array(32).fill(9))}`;

  const wrong = expect.stringMatching(/^This API key is unknown, or it has ended: take/);

  test('P-09 that is missing or wrong is told apart, below /api/v3 only', async () => {
    const app = await openPriced();
    const cases = [
      ['', missing],
      ['Bearer ', missing],
      ['Basic abc', missing],
      ['Bearer abc', wrong],
      [unknown, wrong],
    ];
    for (const [authorization, message] of cases) {
      const { status, body } = await app.ask('/api/v3/orders', sent(authorization));
      expect([authorization, status, body.message]).toEqual([authorization, 401, message]);
      const old = await app.ask('/api/v2/wallets', sent(authorization));
      expect([old.status, old.body.message]).toEqual([401, 'This function requires you to login']);
    }
  });
});

test('older routes keep the texts that plugins match', async () => {
  const app = await openPriced();
  const post = (path: string, body: string) => app.ask(path, { method: 'POST', body });
  const texts = [
    (await app.ask('/api/price')).body,
    (await post('/api/balance', 'addr=abc')).body,
    (await post('/api/balance', '{"addr":7}')).body,
  ].map(({ message, error }) => [message, error]);
  expect(texts).toEqual([
    ['currency is missing', { code: 400, message: 'currency is missing' }],
    ['The body is not JSON', { code: 400, message: 'The body is not JSON' }],
    [expect.stringContaining('Invalid input'), { code: 400, message: texts[2]?.[0] }],
  ]);
});
