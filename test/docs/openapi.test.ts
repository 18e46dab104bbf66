// The description and the code agree. Every documented operation is called, and its answer must
// have the documented shape. Every key is tried on every operation. The text pages load nothing
// foreign.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { formatApiKey } from '../../src/domain/access/api-key.ts';
import type { KeyScope } from '../../src/domain/access/key-scope.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import { type Document, shapeOf } from '../support/openapi.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { signedIn } from '../support/visitor.ts';

const sources: Receiver[] = [];
afterEach(async () => {
  await closeApps();
  for (const source of sources.splice(0)) await source.close();
});

let app: TestApp;
/** An address of store 1 that is paid. */
let address: string;
let txid: string;
/** An order of store 1 whose quote is over, one that is paid in part, and an event of that one. */
let order: string;
let short: string;
let event: string;
let link: string;

async function makeOrder(body: object): Promise<{ readonly id: string; readonly address: string }> {
  const made = await app.ask('/api/v3/orders', { method: 'POST', body: JSON.stringify(body) });
  expect(made.status).toBe(200);
  return made.body;
}

beforeEach(async () => {
  const answer = () => ({ status: 200, body: JSON.stringify({ USD: 67_000 }) });
  sources.push(await startReceiver({ answer }), await startReceiver({ answer }));
  const priceSource = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  app = await openApp({ config: { price: 'own', priceSource } });
  await untilReady(app);
  address = await app.newAddress();
  order = (await makeOrder({ amount: '12.50', currency: 'USD' })).id;
  await app.world.advance(900_000);
  const made = await makeOrder({ amount_sat: 20_000, metadata: { cart: '7f' } });
  short = made.id;
  app.pay(made.address, 9_000);
  txid = app.pay(address, 9_000);
  await app.settle();
  event = (await app.ask('/api/v3/events')).body.data[0].id;
  const newLink = { title: 'Tips', currency: 'USD', min: '1.00', suggested: ['5.00'] };
  link = (await app.ask('/api/v3/links', { method: 'POST', body: JSON.stringify(newLink) })).body
    .id;
  await app.addStore({
    name: 'Second',
    key: merchantKey(2),
    startIndex: 0,
    callbackUrl: 'https://shop.example/second?secret=other',
  });
});

interface Sample {
  readonly path: string;
  readonly body?: unknown;
  /** It needs no key. */
  readonly open?: true;
  /** The status for a key of store 2, when the call is about store 1. */
  readonly other: number;
}

/** One call of each operation, for store 1, that answers 200 to the merchant key. */
function samples(): Record<string, Sample> {
  const named = `?addr=${address}`;
  const body = { addr: address };
  const account = merchantKey().account;
  const newOrder = { amount: '12.50', currency: 'USD', store_id: 1 };
  return {
    'POST /v3/orders': { path: '/v3/orders', body: newOrder, other: 404 },
    'POST /v3/links': { path: '/v3/links', body: { title: 'Tips', store_id: 1 }, other: 404 },
    'GET /v3/links': { path: '/v3/links?limit=1', other: 200 },
    'GET /v3/links/{id}': { path: `/v3/links/${link}`, other: 404 },
    'POST /v3/links/{id}': { path: `/v3/links/${link}`, body: { active: false }, other: 404 },
    'GET /v3/orders': { path: '/v3/orders?status=open&limit=1', other: 200 },
    'GET /v3/labels': { path: '/v3/labels?store_id=1', other: 404 },
    'GET /v3/orders/{id}': { path: `/v3/orders/${short}`, other: 404 },
    'POST /v3/orders/{id}/quote': { path: `/v3/orders/${order}/quote`, other: 404 },
    'POST /v3/orders/{id}/cancel': { path: `/v3/orders/${order}/cancel`, other: 404 },
    'POST /v3/orders/{id}/accept': { path: `/v3/orders/${short}/accept`, other: 404 },
    'GET /v3/events': { path: '/v3/events', other: 200 },
    'GET /v3/events/{id}': { path: `/v3/events/${event}`, other: 404 },
    'GET /new_address': { path: '/new_address?match_callback=s3cr3t', other: 400 },
    'POST /new_address': { path: '/new_address?match_callback=s3cr3t', other: 400 },
    'GET /merchant/tx': { path: `/merchant/tx${named}`, other: 404 },
    'GET /balance': { path: `/balance${named}`, other: 403 },
    'POST /balance': { path: '/balance', body, other: 403 },
    'GET /searchhistory': { path: `/searchhistory${named}`, other: 403 },
    'POST /searchhistory': { path: '/searchhistory', body, other: 403 },
    'GET /tx_detail': { path: `/tx_detail?txid=${txid}`, other: 404 },
    'GET /v2/wallets': { path: '/v2/wallets', other: 200 },
    'GET /v2/wallets/{id}': { path: '/v2/wallets/1?balance=true', other: 404 },
    'GET /v2/payments': { path: '/v2/payments?currency=USD', other: 200 },
    'GET /v2/stores': { path: '/v2/stores?wallets=true', other: 200 },
    'GET /v2/stores/{id}': { path: '/v2/stores/1', other: 404 },
    'GET /v2/stores/{id}/wallets': { path: '/v2/stores/1/wallets', other: 404 },
    'GET /address': { path: '/address?&no_balance=true', other: 200 },
    'POST /v2/stores': {
      path: '/v2/stores',
      body: { name: 'New', http_callback: 'https://shop.example/new' },
      other: 403,
    },
    'POST /v2/stores/{id}': { path: '/v2/stores/1', body: { name: 'Renamed' }, other: 404 },
    'POST /v2/stores/{id}/wallets': {
      path: '/v2/stores/1/wallets',
      body: { wallet_id: 1 },
      other: 404,
    },
    'POST /update_callback': {
      path: '/update_callback',
      body: { callback: 'https://shop.example/cb', xpub: account },
      other: 404,
    },
    'GET /price': { path: '/price?currency=USD', open: true, other: 200 },
    'GET /currencies': { path: '/currencies', open: true, other: 200 },
    'DELETE /v2/stores/{id}/wallets/{wid}': { path: '/v2/stores/1/wallets/1', other: 404 },
    'DELETE /v2/stores/{id}': { path: '/v2/stores/1', other: 404 },
  };
}

const documented = (document: Document): string[] =>
  Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );

const call = (
  name: string,
  { path, body }: Sample,
  key: string | undefined,
  headers: Record<string, string> = {},
) =>
  app.ask(`/api${path}`, {
    method: name.split(' ')[0] ?? '',
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: { Authorization: key === undefined ? '' : `Bearer ${key}`, ...headers },
  });

const addKey = (storeId: number, scope: KeyScope): Promise<string> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, app.world.now(), { storeId, scope, secret: app.world.randomBytes(32) }),
    ),
  );

const openWindow = (keyId: number): Promise<void> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) => keys.allowPlugin(tx, app.world.now(), keyId, app.world.now() + 9e5)),
  );

test('P-07 P-53 every documented operation answers as documented, and none is undocumented here', async () => {
  const document = (await app.ask('/api/openapi.json')).body;
  expect(document.openapi).toBe('3.1.1');
  const calls = samples();
  expect(documented(document).sort()).toEqual(Object.keys(calls).sort());
  await openWindow(1);
  for (const [name, sample] of Object.entries(calls)) {
    const { status, body, headers } = await call(name, sample, app.apiKey);
    expect([name, status]).toEqual([name, 200]);
    expect([name, headers.get('Cache-Control')]).toEqual([name, 'no-store']);
    expect([name, headers.get('X-Content-Type-Options')]).toEqual([name, 'nosniff']);
    const [method = '', path = ''] = name.split(' ');
    const { content } = document.paths[path][method.toLowerCase()].responses['200'];
    const [[type, { schema }]] = Object.entries<Document>(content) as [[string, Document]];
    expect([name, headers.get('Content-Type')?.split(';')[0]]).toEqual([name, type]);
    expect([name, shapeOf(document, schema).safeParse(body).error]).toEqual([name, undefined]);
  }
});

test('P-08 a parameter that is documented as required is required, and each error has the documented shape', async () => {
  const document = (await app.ask('/api/openapi.json')).body;
  const shape = shapeOf(document, document.components.schemas.Error);
  let refused = 0;
  for (const [path, methods] of Object.entries<Document>(document.paths)) {
    for (const { name, in: place, required } of methods.get?.parameters ?? []) {
      if (place !== 'query' || !required) continue;
      const { status, body } = await app.ask(`/api${path}`);
      expect([name, status]).toEqual([name, 400]);
      expect(shape.safeParse(body).success).toBe(true);
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(0);
});

test('the header Idempotency-Key is documented, and the page names every parameter', async () => {
  const { paths } = (await app.ask('/api/openapi.json')).body;
  for (const method of ['get', 'post']) {
    const header = paths['/new_address'][method].parameters.find(
      (each: Document) => each.in === 'header',
    );
    expect(header).toMatchObject({ name: 'Idempotency-Key', required: false });
    expect(header.schema).toMatchObject({ type: 'string', minLength: 1, maxLength: 255 });
  }
  const { text } = await pageOf('/docs');
  const rows = [...text.matchAll(/<td><code>([\w-]+)<\/code><\/td>\s*<td>([^<]*)<\/td>/g)].map(
    ([, name, place]) => `${name} ${place}`,
  );
  expect(rows).toEqual(
    expect.arrayContaining([
      'Idempotency-Key header, optional',
      'wallet_id body, required',
      'http_callback body, optional',
      'xpub body, required',
      'addr body, optional',
      'id path, required',
      'txid query, required',
    ]),
  );
});

test('414 and 500 are documented, and 401 only for operations with a key', async () => {
  const { paths } = (await app.ask('/api/openapi.json')).body;
  const statuses = (path: string, method: string) => Object.keys(paths[path][method].responses);
  expect(statuses('/balance', 'post')).toEqual([
    '200',
    '400',
    '401',
    '403',
    '404',
    '413',
    '414',
    '429',
    '500',
    '503',
  ]);
  // The gap limit is reached.
  expect(statuses('/new_address', 'get')).toContain('409');
  // Another store has the callback URL.
  expect(statuses('/update_callback', 'post')).toContain('409');
  expect(statuses('/price', 'get')).toEqual(['200', '400', '404', '414', '429', '500', '503']);
  const long = await app.ask(`/api/balance?addr=${'a'.repeat(9_000)}`);
  expect(long.status).toBe(414);
  const large = await app.ask('/api/balance', { method: 'POST', body: 'a'.repeat(17_000) });
  expect(large.status).toBe(413);
  const removal = { method: 'DELETE', body: 'a'.repeat(17_000) };
  expect((await app.ask('/api/v2/stores/1', removal)).status).toBe(413);
  expect(statuses('/v2/stores/{id}', 'delete')).toContain('413');
  expect(statuses('/v2/stores/{id}', 'get')).not.toContain('413');
});

test('required fields of a body are documented as required', async () => {
  const { paths } = (await app.ask('/api/openapi.json')).body;
  const calls = samples();
  await openWindow(1);
  for (const [path, methods] of Object.entries<Document>(paths)) {
    const { schema } = methods.post?.requestBody?.content['application/json'] ?? {};
    const sample = calls[`POST ${path}`];
    // An order needs one of two prices, and a link here its store, which no schema says.
    if (schema === undefined || sample === undefined || /^\/v3\/(orders|links)$/.test(path))
      continue;
    // Parameters that the URL may have instead.
    const elsewhere = methods.post.parameters.map((each: Document) => each.name);
    const names = Object.keys(sample.body as object).filter((name) => !elsewhere.includes(name));
    for (const name of names) {
      const { [name]: _left, ...body } = sample.body as Record<string, unknown>;
      const { status } = await call(`POST ${path}`, { ...sample, body }, app.apiKey);
      const isRequired = (schema.required ?? []).includes(name);
      expect([path, name, isRequired]).toEqual([path, name, status === 400]);
    }
  }
});

describe('P-01 P-52 each operation', () => {
  test.each([
    ['no key', async () => undefined, () => 401],
    ['a wrong key', async () => formatApiKey(new Uint8Array(32).fill(9)), () => 401],
    [
      'a read key',
      () => addKey(1, 'read'),
      (name: string) => (name.startsWith('GET ') && name !== 'GET /new_address' ? 200 : 403),
    ],
    [
      'an address-only key',
      () => addKey(1, 'address-only'),
      (name: string) => (issues.test(name) ? 200 : 403),
    ],
    [
      "another store's key, its plugin window open",
      async () => {
        const key = await addKey(2, 'payments');
        await openWindow(2);
        return key;
      },
      (_name: string, { other }: Sample) => other,
    ],
    [
      'the merchant key, its plugin window shut',
      async () => app.apiKey,
      (name: string) => (writes.test(name) ? 403 : 200),
    ],
  ])('with %s', async (_who, keyOf, expected) => {
    const key = await keyOf();
    for (const [name, sample] of Object.entries(samples())) {
      const { status } = await call(name, sample, key);
      expect([name, status]).toEqual([name, sample.open ? 200 : expected(name, sample)]);
    }
  });
  const issues = /\/(new_address|quote)$|^POST \/v3\/orders$/;
  const writes = /^(DELETE|POST \/v2|POST \/update_callback)/;
});

test('P-01 a cookie never replaces a key, neither a session cookie nor one that contains a key', async () => {
  await openWindow(1);
  const operator = await signedIn(app);
  expect((await operator.get('/dashboard/stores')).status).toBe(200);
  const cookies = ['__Host-session', '__Host-paygate', 'session', 'Authorization', 'key'].flatMap(
    (name) => [`${name}=${app.apiKey}`, `${name}=Bearer ${app.apiKey}`],
  );
  for (const [name, sample] of Object.entries(samples())) {
    const { status } = await call(name, sample, undefined, {
      Cookie: [operator.cookie, ...cookies].join('; '),
    });
    expect([name, status]).toEqual([name, sample.open ? 200 : 401]);
  }
});

test('P-32 P-51 the key of another store reveals nothing of the first store', async () => {
  const key = await addKey(2, 'payments');
  for (const [name, sample] of Object.entries(samples())) {
    const { body } = await call(name, sample, key);
    const text = JSON.stringify(body ?? '');
    expect([name, text.includes(merchantKey().account), text.includes('s3cr3t')]).toEqual([
      name,
      false,
      false,
    ]);
  }
});

async function pageOf(path: string): Promise<{ status: number; text: string; policy: string }> {
  const response = await fetch(`http://127.0.0.1:${app.port}${path}`);
  const policy = response.headers.get('Content-Security-Policy') ?? '';
  return { status: response.status, text: await response.text(), policy };
}

test('P-53 the page of the API names every operation and loads nothing from anywhere', async () => {
  const { status, text, policy } = await pageOf('/docs');
  expect(status).toBe(200);
  const unbroken = text.replaceAll('<wbr/>', '');
  for (const name of Object.keys(samples())) expect(unbroken).toContain(name.split(' ')[1]);
  // Examples name URLs, which no page loads: test/browser/reference.test.ts sees no other origin.
  expect(text).not.toMatch(/<script|src=|(href="|url\(|@import ")(https?:)?\/\//);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
});

test('P-42 the receipt shows a payment, escaped, only to a client with address and txid', async () => {
  const { status, text, policy } = await pageOf(`/api/tx?txid=${txid}&addr=${address}`);
  expect(status).toBe(200);
  expect(text).toContain('0.00009000 BTC');
  expect(text).toContain(txid);
  expect(policy).toContain("default-src 'none'");
  const hostile = encodeURIComponent('<script>alert(1)</script>');
  for (const query of [
    '',
    `?txid=${txid}`,
    `?txid=${hostile}&addr=${address}`,
    `?txid=${txid}&addr=${hostile}`,
    `?txid=${txid}&addr=${deriveAddress(merchantKey(9), 0, 0)?.address}`,
  ]) {
    const refused = await pageOf(`/api/tx${query}`);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.text).not.toContain('<script>');
    // Customers see it, so it is a page, not an error for programs.
    expect(refused.text).toContain('<h1>Payment</h1>');
    expect(refused.text).not.toContain('{"status"');
    expect(refused.policy).toContain("default-src 'none'");
  }
});
