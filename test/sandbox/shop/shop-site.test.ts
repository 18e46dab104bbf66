// The guard of the demo shop: which requests may read, which may change anything, and what invalid
// input does. A webhook needs a signature.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanUp } from '../../support/files.ts';
import { type Asked, ask, openSandbox, type Placed, type Visit } from '../../support/sandbox.ts';

// One for all: nothing here may change it but what says so.
let visit: Visit;
let order: Placed;
let origin: string;

beforeAll(async () => {
  visit = await openSandbox();
  order = await visit.order();
  origin = visit.sandbox.shopOrigin;
});
afterAll(cleanUp);

const form = 'application/x-www-form-urlencoded';

describe('the Host', () => {
  test.each(['evil.example', 'evil.example:80', '127.0.0.1.evil.example', '0.0.0.0', '127.1'])(
    '%s is refused, for a page, a form and a callback',
    async (host) => {
      const headers = { Host: host, Origin: `http://${host}`, 'Content-Type': form };
      for (const path of ['/', order.path, '/events', '/live.js', '/callback?status=2']) {
        expect(await ask(`${origin}${path}`, { headers })).toMatchObject({ status: 403 });
      }
      const height = visit.sandbox.chain.tipHeight;
      const mine: Asked = { method: 'POST', headers, body: 'blocks=1' };
      expect(await ask(`${origin}${order.path}/mine`, mine)).toMatchObject({ status: 403 });
      expect(visit.sandbox.chain.tipHeight).toBe(height);
    },
  );

  test.each(['localhost', 'LOCALHOST:1', '127.0.0.1', '127.9.9.9:9', '[::1]:8181'])(
    '%s is a loopback name',
    async (host) => {
      expect(await ask(`${origin}/`, { headers: { Host: host } })).toMatchObject({ status: 200 });
    },
  );
});

describe('a form that another site sends', () => {
  const foreign: readonly (readonly [string, Record<string, string>])[] = [
    ['without an Origin', {}],
    ['from nowhere', { Origin: 'null' }],
    ['from another site', { Origin: 'https://evil.example' }],
    ['from another port of this machine', { Origin: 'http://127.0.0.1:1' }],
    ['from its own name under https', { Origin: 'https://HOST' }],
    [
      'which the browser calls cross-site',
      { Origin: 'http://HOST', 'Sec-Fetch-Site': 'cross-site' },
    ],
    ['which the browser calls same-site', { Origin: 'http://HOST', 'Sec-Fetch-Site': 'same-site' }],
  ];
  const bodies: readonly (readonly [string, string])[] = [
    [form, 'blocks=1&how=exact&espresso=1'],
    ['text/plain', 'blocks=1'],
    ['application/json', '{"blocks":"1"}'],
    [
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="blocks"\r\n\r\n1\r\n--x--',
    ],
  ];

  test.each(foreign)('%s has no effect', async (_, given) => {
    const before = await visit.get('/');
    const { tip } = visit.sandbox.chain;
    const own = Object.entries(given).map(([name, value]) => [
      name,
      value.replace('HOST', new URL(origin).host),
    ]);
    const forms = ['pay', 'mine', 'replace', 'reorganise', 'expire'];
    for (const path of ['/orders', ...forms.map((name) => `${order.path}/${name}`)]) {
      for (const [type, body] of bodies) {
        const headers = { ...Object.fromEntries(own), 'Content-Type': type };
        const refused = await ask(`${origin}${path}`, { method: 'POST', headers, body });
        expect(refused).toMatchObject({
          status: 403,
          text: expect.stringContaining('Only a page'),
        });
      }
    }
    expect(visit.sandbox.chain.tip).toBe(tip);
    expect((await visit.get('/')).text).toBe(before.text);
    expect(visit.sandbox.chain.mempool()).toEqual([]);
  });

  test('is accepted from a page of the shop', async () => {
    const headers = { Origin: origin, 'Sec-Fetch-Site': 'same-origin', 'Content-Type': form };
    const { tipHeight } = visit.sandbox.chain;
    const sent = { method: 'POST', headers, body: 'blocks=6' };
    const mined = await ask(`${origin}${order.path}/mine`, sent);
    expect(mined).toMatchObject({ status: 303, headers: { location: order.path } });
    expect(visit.sandbox.chain.tipHeight).toBe(tipHeight + 6);
  });
});

describe('every page', () => {
  const paths = ['/', 'ORDER', '/nowhere', '/orders/none', '/callback?status=2'];

  test.each(paths)('%s loads nothing foreign and is in no frame', async (path) => {
    const { headers, text } = await visit.get(path.replace('ORDER', order.path));
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
    // Orders lead to their page at paygate, and to the Chain page of the dashboard.
    const others = new RegExp(
      `href="${visit.sandbox.apiOrigin}/dashboard/chain\\?|href="[^"]+/o/ord_`,
      'g',
    );
    expect(text.replace(others, 'href="')).not.toMatch(
      /<style|style=|\son\w+=|<script>|(src|href)="(https?:)?\/\//,
    );
  });

  test('reloads itself without JavaScript', async () => {
    expect((await visit.get(order.path)).text).toMatch(
      /<noscript><meta http-equiv="refresh" content="\d" \/><\/noscript>/,
    );
  });

  test('is under 100 KB with all its assets', async () => {
    const parts = await Promise.all([order.path, '/style.css', '/live.js'].map(visit.get));
    expect(parts.map(({ headers }) => headers['content-type'])).toEqual([
      'text/html; charset=UTF-8',
      'text/css',
      'text/javascript',
    ]);
    expect(parts.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(100_000);
  });
});

describe('foreign text', () => {
  const script = '"><script>alert(1)</script>';

  test('is escaped', async () => {
    const sent = await visit.post('/orders', { espresso: script });
    expect(sent.status).toBe(400);
    expect(sent.text).not.toContain('<script>');
    const lost = await visit.get(`/orders/${encodeURIComponent(script)}`);
    expect(lost.status).toBe(404);
    expect(lost.text).not.toContain('<script>');
  });

  test.each([
    ['ORDER/pay', { how: 'constructor' }],
    ['ORDER/pay', {}],
    ['ORDER/mine', { blocks: '0' }],
    ['ORDER/mine', { blocks: '7' }],
    ['ORDER/mine', {}],
    ['ORDER/reorganise', { depth: '11' }],
    ['ORDER/reorganise', {}],
    ['/orders', {}],
    ['/orders', { espresso: '10' }],
    ['/orders', { espresso: '-1' }],
  ])('that is invalid changes nothing: %s %o', async (path, fields: Record<string, string>) => {
    const { tip } = visit.sandbox.chain;
    const refused = await visit.post(path.replace('ORDER', order.path), fields);
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('did not work') });
    expect(visit.sandbox.chain.tip).toBe(tip);
    expect(visit.sandbox.chain.mempool()).toEqual([]);
  });

  test('is bounded', async () => {
    expect(await visit.get(`/?${'x'.repeat(9_000)}`)).toMatchObject({ status: 400 });
    const large = { espresso: 'x'.repeat(20_000) };
    expect(await visit.post('/orders', large)).toMatchObject({ status: 400 });
  });
});

describe('that is forged is refused, and the order stays open:', () => {
  const forgeries: readonly Record<string, string>[] = [
    {},
    { 'webhook-id': 'one', 'webhook-signature': '' },
    { 'webhook-id': 'one', 'webhook-signature': 'v1,' },
    { 'webhook-id': 'one', 'webhook-signature': `v1,${'A'.repeat(43)}=` },
    { 'webhook-signature': 'v1a,AAAA v1,AAAA' },
  ];

  async function isRefused(url: string, asked: Asked): Promise<void> {
    const at = String(Math.floor(visit.world.now() / 1000));
    for (const forged of forgeries) {
      const headers = { ...forged, ...('webhook-id' in forged && { 'webhook-timestamp': at }) };
      expect(await ask(url, { ...asked, headers })).toMatchObject({
        status: 401,
        text: 'The signature is not that of our paygate',
      });
    }
    expect(await visit.shown(order)).toMatchObject({ status: 'open', received: [] });
  }

  test('a callback', async () => {
    const query = `status=2&addr=${order.address}&value=${order.totalSat}&txid=${'ab'.repeat(32)}`;
    await isRefused(`${origin}/callback?${query}`, {});
  });

  test('a webhook, also one that is larger than an order can be', async () => {
    const url = `${origin}/webhook`;
    const reference = order.path.slice('/orders/'.length);
    const body = JSON.stringify({ type: 'order.paid', data: { order: { reference, version: 9 } } });
    await isRefused(url, { method: 'POST', body });
    const large = 'x'.repeat(200 * 1024);
    expect(await ask(url, { method: 'POST', body: large })).toMatchObject({ status: 400 });
    const headers = { Host: 'evil.example' };
    expect(await ask(url, { method: 'POST', headers, body })).toMatchObject({ status: 403 });
  });
});

test('at most 64 live pages are open at once, and a closed one frees its slot', async () => {
  // Asks for the stream, and never holds it.
  for (let count = 0; count < 64; count += 1) await ask(`${origin}/events`, { method: 'HEAD' });
  const open = await Promise.all(Array.from({ length: 64 }, () => visit.changes()));
  expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await visit.get('/events')).toMatchObject({ status: 503 });
  await visit.pay(order);
  expect(new Set(await Promise.all(open.map((each) => each.next()))).size).toBe(1);
  open[0]?.close();
  let status = 503;
  while (status === 503) ({ status } = await visit.changes());
  expect(status).toBe(200);
});
