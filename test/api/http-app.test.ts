// The routes of the server for strangers, for clients with a bug, and for shops (wire §1).

import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { operationsOf } from '../../src/api/api.ts';
import type { ApiOptions } from '../../src/api/api-parts.ts';
import { formatApiKey } from '../../src/domain/access/api-key.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import type { KeyScope } from '../../src/domain/access/key-scope.ts';
import {
  closeApps,
  openReady,
  type Reply,
  type TestApp,
  type TestAppOptions,
} from '../support/app.ts';
import { countIssued } from '../support/files.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

/** Every error has the same shape, with status and message twice. */
function expectError({ status, body, headers }: Reply, wanted: number, code = wanted): void {
  expect(status).toBe(wanted);
  expect(body).toEqual({
    status: wanted,
    message: body.message,
    error: { code, message: body.message },
  });
  expect(body.message).toMatch(/\w/);
  expect(body.message).not.toMatch(/^Currency/);
  expect(headers.get('Cache-Control')).toBe('no-store');
}

test('P-16 an address comes with its time, its coin and its account', async () => {
  const app = await openReady();
  const { status, headers, body } = await app.ask('/api/new_address');
  expect(status).toBe(200);
  expect(headers.get('Content-Type')).toMatch(/^application\/json/);
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(body).toEqual({
    address: expect.stringMatching(/^bcrt1q/),
    time: Math.floor(app.world.now() / 1000),
    crypto: 'BTC',
    account: expect.stringMatching(/^tpub/),
  });
});

test.each([
  ['no key', ''],
  ['a wrong scheme', 'Basic abc'],
  ['a key that is none', 'Bearer abc'],
  ['a key that was never made', `Bearer ${formatApiKey(new Uint8Array(32).fill(9))}`],
  ['an empty key', 'Bearer '],
])('P-01 P-09 %s is refused', async (_name, authorization) => {
  const app = await openReady();
  const answer = await app.ask('/api/new_address', { headers: { Authorization: authorization } });
  expectError(answer, 401);
  expect(answer.body.message).toBe('This function requires you to login');
});

test('a rotated key ends at once, or after its overlap', async () => {
  const app = await openReady();
  const rotate = (overlapMs: number) =>
    app.withStore(({ keys, database }) =>
      database.write((tx) =>
        keys.rotateMerchantKey(tx, app.world.now(), app.world.randomBytes(32), overlapMs),
      ),
    );
  const second = await rotate(3_600_000);
  const withSecond = { headers: { Authorization: `Bearer ${second}` } };
  expect((await app.ask('/api/new_address')).status).toBe(200);
  expect((await app.ask('/api/new_address', withSecond)).status).toBe(200);
  app.world.jumpWallClock(3_600_001);
  expect((await app.ask('/api/new_address')).status).toBe(401);
  await rotate(0);
  expect((await app.ask('/api/new_address', withSecond)).status).toBe(401);
});

describe('a refused request', () => {
  const refusalsOf = (app: TestApp) =>
    app.world.logs.filter(({ message }) => message === 'a request was refused');
  const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });

  test('is not one whose key was copied with characters beyond ASCII', async () => {
    const app = await openReady();
    // What a shop sends of a no-break space and of a zero-width space, in UTF-8.
    for (const around of ['\xc2\xa0', '\xe2\x80\x8b']) {
      const { status } = await app.ask('/api/new_address', as(`${around}${app.apiKey}${around}`));
      expect(status).toBe(200);
    }
    const { status } = await app.ask('/api/new_address', as(`${app.apiKey.slice(0, -1)}\xc2\xa0`));
    expect(status).toBe(401);
  });

  const client = '127.0.0.1';
  const path = '/new_address';

  test('S-55 is logged with the id of its key, never with the key itself', async () => {
    const app = await openReady();
    const { keys, reading } = await app.withStore(({ database, keys }) =>
      database.write((tx) => {
        const reading = keys.add(tx, app.world.now(), {
          ...{ storeId: 1, scope: 'read', secret: new Uint8Array(32).fill(7) },
        });
        keys.rotateMerchantKey(tx, app.world.now(), new Uint8Array(32).fill(8), 0);
        return { reading, keys: keys.list(app.world.now()).map(({ id }) => id) };
      }),
    );
    const unknown = formatApiKey(new Uint8Array(32).fill(9));
    await app.ask('/api/new_address?secret=1', { headers: { Authorization: '' } });
    await app.ask('/api/new_address', as(unknown));
    await app.ask('/api/new_address');
    await app.ask('/api/new_address', as(reading));
    expect(refusalsOf(app).map(({ fields }) => fields)).toEqual([
      { client, path, reason: 'no key' },
      { client, path, reason: 'an unknown key' },
      { client, path, reason: 'a key that has ended', key: 1 },
      { client, path, reason: expect.stringContaining('read'), key: expect.any(Number) },
    ]);
    expect(keys).not.toContain(1);
    const log = JSON.stringify(app.world.logs);
    for (const secret of [unknown, reading, app.apiKey, 'secret=1']) {
      expect(log).not.toContain(secret);
    }
  });

  test('is logged a few times a minute, with the number of the others', async () => {
    const app = await openReady();
    const refused = () => app.ask('/api/new_address', { headers: { Authorization: '' } });
    for (let count = 0; count < 30; count += 1) await refused();
    expect(refusalsOf(app)).toHaveLength(10);
    await app.world.advance(10_000);
    await refused();
    await refused();
    expect(refusalsOf(app)).toHaveLength(11);
    expect(refusalsOf(app).at(-1)?.fields).toEqual({
      client,
      path,
      reason: 'no key',
      unlogged: 20,
    });
  });

  test('is logged for an expired key, however many requests have no valid key', async () => {
    const app = await openReady();
    await app.withStore(({ keys, database }) =>
      database.write((tx) =>
        keys.rotateMerchantKey(tx, app.world.now(), new Uint8Array(32).fill(8), 0),
      ),
    );
    const unknown = as(formatApiKey(new Uint8Array(32).fill(9)));
    for (let count = 0; count < 15; count += 1) await app.ask('/api/new_address', unknown);
    for (let count = 0; count < 15; count += 1) await app.ask('/api/new_address');
    const ofShop = refusalsOf(app).filter(({ fields }) => fields?.key === 1);
    expect(refusalsOf(app)).toHaveLength(20);
    expect(ofShop).toHaveLength(10);
    expect(ofShop[0]?.fields).toEqual({ client, path, reason: 'a key that has ended', key: 1 });
  });
});

test.each([
  ['POST without a body', { method: 'POST' }],
  ['POST with JSON', { method: 'POST', body: '{"a":1}' }],
  [
    'an empty POST with a JSON content type',
    { method: 'POST', headers: { 'Content-Type': 'application/json' } },
  ],
  [
    'POST of "dummy" as a form',
    {
      method: 'POST',
      body: 'dummy',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    },
  ],
  [
    'POST with a body that is not what its type says',
    { method: 'POST', body: 'dummy', headers: { 'Content-Type': 'application/json' } },
  ],
])('P-02 P-15 %s issues an address', async (_name, init) => {
  const app = await openReady();
  expect((await app.ask('/api/new_address?&', init)).status).toBe(200);
});

test.each(['PUT', 'DELETE', 'PATCH'])('%s gets 405', async (method) => {
  const app = await openReady();
  expectError(await app.ask('/api/new_address', { method }), 405);
});

test('P-15 HEAD issues no address', async () => {
  const app = await openReady();
  expect((await app.ask('/api/new_address', { method: 'HEAD' })).status).toBe(405);
  const issued = await app.withStore(async ({ database }) => countIssued(database));
  expect(issued).toBe(0);
});

test('HEAD is answered like GET without a body, if the key may read', async () => {
  const app = await openReady();
  const secret = app.world.randomBytes(32);
  const read = await app.withStore(({ keys, database }) =>
    database.write((tx) => keys.add(tx, app.world.now(), { storeId: 1, scope: 'read', secret })),
  );
  const headers = { Authorization: `Bearer ${read}` };
  for (const [path, status] of [
    ['/api/v2/stores', 200],
    ['/api/balance?addr=x', 400],
    ['/api/v2/stores/7', 404],
    ['/api/openapi.json', 200],
    ['/api/update_callback', 405],
    ['/api/new_address', 405],
  ] as const) {
    const answer = await app.ask(path, { method: 'HEAD', headers });
    expect([path, answer.status, answer.body]).toEqual([path, status, undefined]);
  }
});

test.each(['/api/tx', '/api/openapi.json'])('%s allows GET only', async (path) => {
  const app = await openReady();
  const answer = await app.ask(path, { method: 'POST', body: '{}' });
  expectError(answer, 405);
  expect(answer.headers.get('Allow')).toBe('GET');
});

test('P-03 P-08 P-21 too large requests and repeated parameters are refused', async () => {
  const app = await openReady();
  expectError(await app.ask('/api/new_address?crypto=BTC&crypto=BTC'), 400);
  expectError(await app.ask(`/api/new_address?x=${'a'.repeat(8_300)}`), 414);
  const body = 'a'.repeat(16_385);
  expectError(await app.ask('/api/new_address', { method: 'POST', body }), 413);
  expectError(await app.ask('/api/new_address?crypto=ETH'), 400);
  expectError(await app.ask('/nothing/here'), 404);
  expectError(await app.ask('/api/nothing'), 404);
});

test('P-11 P-19 P-20 the only store is the default, a name must fit, and several have no default', async () => {
  const app = await openReady();
  for (const query of [
    '',
    '?match_callback=',
    '?match_callback=%20',
    '?match_account=+&match_callback=',
  ]) {
    expect((await app.ask(`/api/new_address${query}`)).status).toBe(200);
  }
  expectError(await app.ask('/api/new_address?match_callback=elsewhere'), 400, 1003);
  expectError(await app.ask('/api/new_address?match_account=tpubNone'), 400, 1003);

  await app.addStore({ name: 'Second', callbackUrl: `${app.receiver.origin}/second` });
  const none = await app.ask('/api/new_address?match_callback=elsewhere');
  expectError(none, 400, 1003);
  expect(none.body.message).toContain('fits the Callback URL of no store');
  expect(none.body.message).toContain('"Shop"');
  const several = await app.ask('/api/new_address');
  expectError(several, 400, 1032);
  expect(several.body.message).toContain('"Second"');
});

test('P-08 S-56 an answer never shows a stack, whatever is sent', async () => {
  const app = await openReady();
  for (const path of ['/api/%', '/api/new_address?%=%', '/%00', '//', '/api//new_address']) {
    const { status, body } = await app.ask(path);
    expect(status).toBeLessThan(500);
    expect(JSON.stringify(body)).not.toMatch(/\.ts|node_modules/);
  }
});

test('S-47 health needs no key and shows no secret', async () => {
  const app = await openReady();
  const answer = await app.ask('/healthz', { headers: { Authorization: '' } });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    status: 'ok',
    warnings: [],
    network: 'regtest',
    electrum: { caught_up: true, height: 110 },
    wallets: { total: 1, scanning: 0 },
  });
  const text = JSON.stringify(answer.body);
  expect(text).not.toContain('tpub');
  expect(text).not.toContain('s3cr3t');
});

describe('details of health and readiness', () => {
  const trusted = { trustedProxy: [parseProxyNetwork('127.0.0.1')] };
  const degraded = { status: 'degraded', network: 'regtest' };

  /** An app with a finding: its shop cannot be reached. */
  async function openDegraded(config: TestAppOptions['config'] = {}): Promise<TestApp> {
    const app = await openReady({ config });
    await app.receiver.close();
    const address = await app.newAddress();
    for (let count = 0; count < 6; count += 1) app.pay(address, 1_000 + count);
    await app.world.until(
      () => app.running.health().warnings.some((text) => text.includes('cannot be reached')),
      'the shop to be missed',
    );
    return app;
  }

  const told = async (app: TestApp, path: string, headers: Record<string, string>) =>
    (await app.ask(path, { headers: { Authorization: '', ...headers } })).body;
  const isWhole = (answer: unknown) =>
    (answer as { warnings?: string[] }).warnings?.join().includes('cannot be reached') === true;

  test('S-48 are for this machine, a key for all stores, and a session; others see only the status', async () => {
    const app = await openDegraded(trusted);
    const far = { 'X-Forwarded-For': '203.0.113.9' };
    expect(await told(app, '/healthz', far)).toEqual(degraded);
    expect(isWhole(await told(app, '/healthz', {}))).toBe(true);
    const by = (key: string) => ({ ...far, Authorization: `Bearer ${key}` });
    expect(isWhole(await told(app, '/healthz', by(app.apiKey)))).toBe(true);
    const addKey = (scope: KeyScope) =>
      app.withStore(({ keys, database }) =>
        database.write((tx) =>
          keys.add(tx, app.world.now(), {
            ...{ storeId: 1, scope, secret: app.world.randomBytes(32) },
          }),
        ),
      );
    const [reading, issuing] = [await addKey('read'), await addKey('address-only')];
    expect(isWhole(await told(app, '/healthz', by(reading)))).toBe(true);
    expect(await told(app, '/healthz', by(issuing))).toEqual(degraded);
    expect(await told(app, '/healthz', by('pgk_wrong'))).toEqual(degraded);
    const https = { ...far, 'X-Forwarded-Proto': 'https' };
    const origin = `https://127.0.0.1:${app.port}`;
    const { cookie } = await signedIn(app, { headers: https, origin });
    expect(isWhole(await told(app, '/healthz', { ...https, Cookie: cookie }))).toBe(true);
    expect(await told(app, '/healthz', { ...https, Cookie: `${cookie}x` })).toEqual(degraded);
    // The details name all stores, so a key of one of several does not see them.
    await app.addStore({ name: 'Second', callbackUrl: 'http://127.0.0.1:1/second' });
    expect(await told(app, '/healthz', by(reading))).toEqual(degraded);
    expect(isWhole(await told(app, '/healthz', by(app.apiKey)))).toBe(true);
  });

  test('S-49 are for this machine, not for clients of its proxy or under a foreign name', async () => {
    const app = await openDegraded();
    for (const headers of [
      { 'X-Forwarded-For': '127.0.0.1' },
      { 'X-Forwarded-For': '203.0.113.9' },
      { Forwarded: 'for=203.0.113.9' },
      { 'X-Forwarded-Proto': 'https' },
      { 'X-Real-IP': '203.0.113.9' },
      { 'CF-Connecting-IP': '203.0.113.9' },
      { Via: '1.1 varnish' },
    ]) {
      expect(await told(app, '/healthz', headers as Record<string, string>)).toEqual(degraded);
    }
    const from = async (remoteAddress: string, localAddress: string, host: string, socket = {}) => {
      const env = { incoming: { socket: { remoteAddress, localAddress, ...socket } } };
      return (await app.running.fetch(new Request(`http://${host}/healthz`), env)).json();
    };
    const own: [string, string, string, object?][] = [
      ['127.0.0.1', '127.0.0.1', '127.0.0.1:8080'],
      ['::1', '::1', '[::1]:8080'],
      ['::ffff:127.0.0.1', '::ffff:127.0.0.1', 'localhost'],
      // Commands ask so when --listen names one address.
      ['192.0.2.7', '192.0.2.7', '192.0.2.7:8080'],
      ['::ffff:192.0.2.7', '::ffff:192.0.2.7', '192.0.2.7:8080'],
    ];
    for (const way of own) expect([way, isWhole(await from(...way))]).toEqual([way, true]);
    const strange: [string, string, string, object?][] = [
      ['192.0.2.8', '192.0.2.7', '192.0.2.7:8080'],
      ['192.0.2.8', '192.0.2.7', '127.0.0.1'],
      ['192.0.2.8', '192.0.2.7', 'pay.example.com', { encrypted: true }],
      // A forwarder of TCP connections, and a page by DNS rebinding.
      ['127.0.0.1', '127.0.0.1', 'pay.example.com', { encrypted: true }],
      ['127.0.0.1', '127.0.0.1', 'evil.example'],
    ];
    for (const way of strange) expect([way, await from(...way)]).toEqual([way, degraded]);
    // nginx asks so when its configuration sets no header.
    const asked = `GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:${app.port}\r\nConnection: close\r\n\r\n`;
    const socket = connect(app.port, '127.0.0.1', () => socket.write(asked));
    const heard = await text(socket);
    expect(JSON.parse(heard.slice(heard.indexOf('\r\n\r\n')))).toEqual(degraded);
    expect(await (await app.running.fetch(new Request('http://localhost/healthz'))).json()).toEqual(
      degraded,
    );
  });

  test('also of what is not ready', async () => {
    const app = await openReady({ config: trusted });
    const far = { 'X-Forwarded-For': '203.0.113.9' };
    expect(await told(app, '/readyz', far)).toEqual({ ready: true });
    expect(await told(app, '/readyz', {})).toEqual({ ready: true, reasons: [] });
  });
});

describe('a request that a proxy may read in another way is refused', () => {
  const heard = (port: number, ...lines: string[]) =>
    new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
      });
      socket.on('data', (data) => {
        text += data;
      });
      socket.once('close', () => resolve(text));
    });

  test('S-30 with two hosts, on every listener', async () => {
    const app = await openReady({ config: { metricsListen: { host: '127.0.0.1', port: 0 } } });
    for (const port of [app.port, app.metricsPort ?? 0]) {
      for (const second of ['localhost', 'evil.example']) {
        const answer = await heard(
          port,
          'GET /readyz HTTP/1.1',
          'Host: localhost',
          `hOST: ${second}`,
        );
        expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      }
    }
    const shut = await openReady();
    expect(await heard(shut.port, 'GET /readyz HTTP/1.1', 'Host: localhost')).toMatch(/ 200 /);
  });

  test.each([
    ...['/api/../dashboard', '/api/%2e%2e/dashboard', '/api/.%2E/dashboard', '/api/./tx'],
    ...['/..', '/api/%2e', 'http://localhost/api/..', '/api/..?x=1'],
  ])('with dots in its path: %s', async (path) => {
    const app = await openReady();
    const answer = await heard(app.port, `GET ${path} HTTP/1.1`, 'Host: localhost');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.toLowerCase()).toContain('x-content-type-options: nosniff');
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '').error.code).toBe(400);
  });

  test('with dots between backslashes', async () => {
    const app = await openReady();
    const answer = await heard(app.port, 'GET /api\\..\\dashboard HTTP/1.1', 'Host: localhost');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each(['/api/...', '/docs?x=/../', '/.well-known/x', '/a..b/', '/api/price?currency=..'])(
    'and %s is not',
    async (path) => {
      const app = await openReady();
      expect(await heard(app.port, `GET ${path} HTTP/1.1`, 'Host: localhost')).not.toMatch(
        /segment/,
      );
    },
  );
});

test('P-07 S-32 every response forbids content sniffing and other origins, and TRACE gets 404', async () => {
  const app = await openReady();
  for (const path of ['/healthz', '/nowhere', '/docs', '/api/new_address', '/api/nowhere']) {
    const { headers } = await fetch(`http://127.0.0.1:${app.port}${path}`);
    expect([path, headers.get('X-Content-Type-Options')]).toEqual([path, 'nosniff']);
    expect([path, headers.get('Access-Control-Allow-Origin')]).toEqual([path, null]);
  }
  const status = await new Promise((resolve) => {
    request({ host: '127.0.0.1', port: app.port, method: 'TRACE' }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    }).end();
  });
  expect(status).toBe(404);
});

test('a request of one byte at a time delays no other client', async () => {
  const app = await openReady();
  const slow = connect(app.port, '127.0.0.1');
  slow.write('GET /api/new_address HTTP/1.1\r\nHost');
  expect((await app.ask('/api/new_address')).status).toBe(200);
  slow.destroy();
});

test('S-51 the log holds no key, no callback query, no extended key', async () => {
  const app = await openReady();
  app.pay(await app.newAddress(), 1_000);
  await app.settle();
  const log = JSON.stringify(app.world.logs);
  for (const secret of [app.apiKey, 's3cr3t', 'tpub', 'whsec_']) expect(log).not.toContain(secret);
  expect(log).toContain('callback attempted');
});

test('each operation that writes has a limit', () => {
  // No operation reads the options before it is called.
  const writes = operationsOf({} as ApiOptions).filter(
    (operation) => operation.methods.some((method) => method !== 'GET') || 'issues' in operation,
  );
  const limits = writes.map(({ methods, path, limit, ...rest }) => [
    `${methods.join()} ${path}`,
    limit ?? ('writes' in rest ? 'write' : undefined),
  ]);
  expect(Object.fromEntries(limits)).toEqual({
    'GET,POST /new_address': 'newAddress',
    'POST /v3/orders': 'newAddress',
    'POST /v3/orders/{id}/quote': 'newAddress',
    ...{ 'POST /v3/orders/{id}/cancel': 'write', 'POST /v3/orders/{id}/accept': 'write' },
    ...{ 'POST /v3/links': 'write', 'POST /v3/links/{id}': 'write' },
    ...{ 'GET,POST /balance': 'balance', 'GET,POST /searchhistory': 'searchHistory' },
    ...{ 'POST /v2/stores': 'write', 'POST /v2/stores/{id}': 'write' },
    ...{ 'DELETE /v2/stores/{id}': 'write', 'POST /v2/stores/{id}/wallets': 'write' },
    ...{ 'DELETE /v2/stores/{id}/wallets/{wid}': 'write', 'POST /update_callback': 'write' },
  });
});
