// Stores and wallets as plugins read and write them (wire §3), each flow as its client calls it.

import { HDKey } from '@scure/bip32';
import { afterEach, expect, test } from 'vitest';
import type { KeyScope } from '../../src/domain/access/key-scope.ts';
import { closeApps, merchantKey, openReady, type TestApp } from '../support/app.ts';

afterEach(closeApps);

const addKey = (app: TestApp, storeId: number, scope: KeyScope): Promise<string> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, app.world.now(), { storeId, scope, secret: app.world.randomBytes(32) }),
    ),
  );

const allowPlugin = (app: TestApp, keyId = 1): Promise<void> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.allowPlugin(tx, app.world.now(), keyId, app.world.now() + 15 * 60_000),
    ),
  );

const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
const post = (body: unknown, headers = {}) => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers,
});

test('P-18 P-45 the set-up wizard finds its store: wallets, stores, then an address', async () => {
  const app = await openReady();
  const wallets = await app.ask('/api/v2/wallets');
  const account = merchantKey().account;
  const wallet = {
    id: 1,
    name: 'Wallet 1',
    crypto: 'BTC',
    address: account,
    xpub_index: 0,
    gap_limit: 20,
  };
  const created_at = Math.floor(app.world.now() / 1000);
  expect(wallets.body).toEqual({ data: [{ ...wallet, created_at }] });
  const one = await app.ask('/api/v2/wallets/1?balance=false');
  expect(one.body).toEqual({ data: { ...wallet, created_at } });
  const stores = await app.ask('/api/v2/stores?wallets=true');
  const http_callback = `${app.receiver.origin}/cb?secret=s3cr3t`;
  expect(stores.body).toEqual({
    data: [{ id: 1, name: 'Shop', http_callback, wallets: [wallet] }],
  });
  expect((await app.ask('/api/v2/stores')).body.data[0]).not.toHaveProperty('wallets');
  expect((await app.ask('/api/v2/stores/1/wallets')).body).toEqual({ data: [wallet] });
  const matched = await app.ask(
    `/api/new_address?match_callback=${encodeURIComponent(http_callback)}`,
  );
  expect(matched.status).toBe(200);
});

test('P-47 the set-up test of a plugin uses up one address at most, however often it runs', async () => {
  const app = await openReady();
  const http_callback = `${app.receiver.origin}/cb?secret=s3cr3t`;
  const { data } = (await app.ask('/api/v2/stores?wallets=true')).body;
  const own = data.find((each: { http_callback: string }) => each.http_callback === http_callback);
  expect(own.wallets.map(({ crypto }: { crypto: string }) => crypto)).toEqual(['BTC']);
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const press = async (match: string) => {
    const query = `match_callback=${encodeURIComponent(match)}&reset=1&crypto=BTC`;
    const init = { method: 'POST', body: 'dummy', headers: form };
    return (await app.ask(`/api/new_address?${query}`, init)).body;
  };
  const first = await press(http_callback);
  expect(first).toMatchObject({ reset: 1, account: own.wallets[0].address });
  await app.settle();
  expect([await press(http_callback), await press('s3cr3t')]).toEqual([first, first]);
  expect((await app.ask('/api/v2/wallets/1')).body.data.xpub_index).toBe(1);
});

test('P-04 P-50 the set-up wizard finds no store: it makes one, attaches a wallet, asks for an address', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const http_callback = 'https://shop.example/?wc-api=WC_Gateway&secret=t0ken%20x';
  const made = await app.ask('/api/v2/stores', post({ name: 'New shop', http_callback }));
  expect(made.status).toBe(200);
  expect(made.body.data).toEqual({ id: 2, name: 'New shop', http_callback, wallets: [] });
  const early = await app.ask('/api/new_address?match_callback=t0ken%2520x');
  expect(early.body.error).toMatchObject({ code: 1001 });
  const attached = await app.ask('/api/v2/stores/2/wallets', post({ wallet_id: '1' }));
  expect(attached.body.data.wallets).toMatchObject([{ id: 1, crypto: 'BTC' }]);
  expect((await app.ask('/api/new_address?match_callback=t0ken%2520x')).status).toBe(200);
  const detached = await app.ask('/api/v2/stores/2/wallets/1', { method: 'DELETE' });
  expect(detached.body.data.wallets).toEqual([]);
  expect((await app.ask('/api/v2/stores/2', { method: 'DELETE' })).status).toBe(200);
  expect((await app.ask('/api/v2/stores/2')).status).toBe(404);
  const actions = await app.withStore(async ({ audit }) =>
    audit.list(10).map(({ keyId, action, storeId }) => [keyId, action, storeId]),
  );
  expect(actions).toEqual([
    [1, 'store.remove', 2],
    [1, 'store.detach', 2],
    [1, 'store.attach', 2],
    [1, 'store.add', 2],
  ]);
});

test('P-50 a plugin with a bare | in its URL finds its store, and reads the URL as it writes it', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const http_callback = 'https://shop.example/?route=pay/pay|callback&secret=tulip';
  const add = async (url: string) =>
    (await app.ask('/api/v2/stores', post({ name: 'Cart', http_callback: url }))).body.data;
  expect(await add(http_callback)).toMatchObject({ id: 2, http_callback });
  expect(await add(http_callback.replace('|', '%7c'))).toMatchObject({ id: 2, http_callback });
  await app.ask('/api/v2/stores/2/wallets', post({ wallet_id: '1' }));
  const listed = (await app.ask('/api/address?get_callback=true')).body;
  expect(listed.map(({ callback }: { callback: string }) => callback)).toContain(http_callback);
  const find = async (wish: string) =>
    (await app.ask(`/api/new_address?match_callback=${encodeURIComponent(wish)}`)).status;
  const encoded = http_callback.replace('|', '%7C');
  expect([await find(http_callback), await find(encoded), await find('pay|call')]).toEqual([
    ...[200, 200, 200],
  ]);
  const next = http_callback.replace('tulip', 'rose');
  const changed = await app.ask('/api/v2/stores/2', post({ http_callback: next }));
  expect(changed.body.data).toMatchObject({ http_callback: next });
  const saved = await app.withStore(async ({ catalog }) => catalog.store(2).callbackUrl);
  expect(saved).toBe(next.replace('|', '%7C'));
});

test('a store that is added again is the existing one', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const http_callback = 'https://shop.example/paid?secret=tulip';
  const add = async (name: string) =>
    (await app.ask('/api/v2/stores', post({ name, http_callback }))).body.data;
  const made = await add('New shop');
  expect(await add('New shop')).toEqual(made);
  await app.ask('/api/v2/stores/2/wallets', post({ wallet_id: 1 }));
  expect(await add('Other name')).toMatchObject({ id: 2, name: 'New shop', wallets: [{ id: 1 }] });
  expect((await app.ask('/api/v2/stores')).body.data).toHaveLength(2);
  await app.ask('/api/v2/stores/2', { method: 'DELETE' });
  expect(await add('Anew')).toMatchObject({ id: 3, name: 'Anew', wallets: [] });
});

test('S-50 the audit log has the name that paygate gave to a store without one', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const http_callback = 'https://shop.example/paid?secret=tulip';
  await app.ask('/api/v2/stores', post({ http_callback }));
  const noted = await app.withStore(async ({ audit }) => audit.list(1));
  expect(noted.map(({ action, detail }) => [action, JSON.parse(detail)])).toEqual([
    ['store.add', { name: 'shop.example', http_callback, client: '127.0.0.1' }],
  ]);
});

test('a request that changes nothing is not in the audit log', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const http_callback = `${app.receiver.origin}/cb?secret=s3cr3t`;
  for (const [path, body] of [
    ['/api/v2/stores/1', {}],
    ['/api/v2/stores/1', { name: 'Shop', http_callback }],
    ['/api/v2/stores/1/wallets', { wallet_id: 1 }],
    ['/api/v2/stores', { http_callback }],
    ['/api/update_callback', { callback: http_callback, xpub: merchantKey().account }],
  ] as const) {
    expect([path, (await app.ask(path, post(body))).status]).toEqual([path, 200]);
  }
  const actions = () => app.withStore(async ({ audit }) => audit.list(10).map((e) => e.action));
  expect(await actions()).toEqual([]);
  await app.ask('/api/v2/stores/1', post({ name: 'Shop 1' }));
  expect(await actions()).toEqual(['store.change']);
});

test('P-02 P-05 P-48 an older plugin compares the callback with === and sets it with a form type', async () => {
  const app = await openReady();
  const path = '/api/address?&no_balance=true&only_xpub=true&get_callback=true';
  const before = await app.ask(path);
  const callback = `${app.receiver.origin}/cb?secret=s3cr3t`;
  expect(before.body).toEqual([{ address: merchantKey().account, callback, tag: 'Shop' }]);
  await allowPlugin(app);
  const fresh = 'https://shop.example/callback?secret=%7Bab%7D&x=';
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const changed = await app.ask(
    '/api/update_callback',
    post({ callback: fresh, xpub: merchantKey().account }, form),
  );
  expect(changed.status).toBe(200);
  expect((await app.ask(path)).body[0].callback).toBe(fresh);
});

test('a plugin window that was opened by a clock that was ahead does not last longer', async () => {
  const app = await openReady();
  const yearMs = 365 * 86_400_000;
  app.world.jumpWallClock(yearMs);
  await allowPlugin(app);
  app.world.jumpWallClock(-yearMs);
  expect((await app.ask('/api/v2/stores/1', post({ name: 'Thief' }))).status).toBe(403);
});

test('a key that was revoked by a clock that was ahead is not valid again', async () => {
  const app = await openReady();
  const key = await addKey(app, 1, 'read');
  await app.withStore(({ keys, database }) =>
    database.write((tx) => keys.revoke(tx, app.world.now(), 2)),
  );
  app.world.jumpWallClock(-3_600_000);
  expect((await app.ask('/api/v2/stores', as(key))).status).toBe(401);
});

test('P-49 S-02 a key can write only while its plugin window is open', async () => {
  const app = await openReady();
  const body = post({ name: 'Renamed' });
  const refused = await app.ask('/api/v2/stores/1', body);
  expect(refused.status).toBe(403);
  expect(refused.body.message).toContain('Connect a plugin');
  expect(refused.body.message).toContain('paygate plugin allow --minutes 15 --key 1');
  const other = await addKey(app, 1, 'payments');
  await allowPlugin(app, 2);
  expect((await app.ask('/api/v2/stores/1', body)).status).toBe(403);
  const allowed = await app.ask('/api/v2/stores/1', { ...body, headers: as(other).headers });
  expect(allowed.body.data.name).toBe('Renamed');
  app.world.jumpWallClock(15 * 60_000);
  const late = await app.ask('/api/v2/stores/1', { ...body, headers: as(other).headers });
  expect(late.status).toBe(403);
});

test('S-101 a rotation closes the plugin windows of all earlier merchant keys', async () => {
  const app = await openReady();
  const body = post({ name: 'Renamed' });
  const rotate = (fill: number) =>
    app.withStore(({ keys, database }) =>
      database.write((tx) =>
        keys.rotateMerchantKey(
          tx,
          app.world.now(),
          new Uint8Array(32).fill(fill),
          fill * 3_600_000,
        ),
      ),
    );
  for (const fill of [1, 2]) {
    await allowPlugin(app);
    expect((await app.ask('/api/v2/stores/1', body)).status).toBe(200);
    await rotate(fill);
    expect((await app.ask('/api/v2/stores/1', body)).status).toBe(403);
    expect((await app.ask('/api/v2/stores')).status).toBe(200);
  }
});

test('S-01 a private key is refused in every field, and neither echoed nor stored', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const secret = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).privateExtendedKey;
  const words = `${'abandon '.repeat(11)}about`;
  const escaped = `{"name":"\\u0078${secret.slice(1)}"}`;
  const asked: [string, string][] = [
    ['/api/v2/stores/1', JSON.stringify({ name: secret })],
    ['/api/v2/stores/1', escaped],
    ['/api/v2/stores/1', JSON.stringify({ name: words })],
    ['/api/v2/stores/1', JSON.stringify({ [secret]: 1 })],
    ['/api/v2/stores', JSON.stringify({ http_callback: `https://shop.example/?secret=${secret}` })],
    ['/api/update_callback', JSON.stringify({ callback: 'https://shop.example/', xpub: secret })],
  ];
  for (const [path, body] of asked) {
    const { status, body: answer } = await app.ask(path, { method: 'POST', body });
    expect([path, status]).toEqual([path, 400]);
    expect(JSON.stringify(answer)).not.toMatch(/xprv|abandon/);
  }
  const noted = await app.withStore(async ({ audit }) => audit.list(10));
  expect(noted.filter(({ action }) => action.startsWith('store.'))).toEqual([]);
  expect(JSON.stringify(app.world.logs)).not.toMatch(/xprv|abandon/);
});

test('S-100 a key reads extended public keys, no secret that signs, and adds no wallet', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const http_callback = 'https://shop.example/other';
  const foreign = merchantKey(2).account;
  const writes: [string, unknown][] = [
    ['/api/v2/stores', { name: 'Other', http_callback, xpub: foreign, wallet: { xpub: foreign } }],
    ['/api/v2/stores/1', { name: 'Shop 1', xpub: foreign }],
    ['/api/v2/stores/1/wallets', { wallet_id: 1, xpub: foreign }],
    ['/api/v2/wallets', { address: foreign }],
    ['/api/update_callback', { callback: http_callback, xpub: foreign }],
  ];
  const answers: string[] = [];
  for (const [path, body] of writes) {
    answers.push(JSON.stringify((await app.ask(path, post(body))).body));
  }
  for (const path of [
    ...['/api/v2/wallets', '/api/v2/wallets/1', '/api/v2/stores?wallets=true', '/api/v2/stores/1'],
    ...['/api/v2/stores/1/wallets', '/api/address?get_callback=true', '/api/new_address'],
    ...['/api/v3/orders', '/api/v3/events', '/api/v3/links', '/api/price?currency=USD', '/healthz'],
  ]) {
    answers.push(JSON.stringify((await app.ask(path)).body));
  }
  expect(answers.join()).toContain(merchantKey().account);
  await app.withStore(async ({ catalog }) => {
    expect(catalog.wallets()).toHaveLength(1);
    for (const { webhookSecret } of catalog.stores()) {
      expect(webhookSecret).toMatch(/^whsec_/);
      expect(answers.join()).not.toContain(webhookSecret.slice('whsec_'.length));
    }
  });
});

test('P-04 P-50 P-71 settings from a plugin are validated like those from the merchant', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const refused = async (path: string, body: unknown): Promise<number> =>
    (await app.ask(path, post(body))).status;
  expect(await refused('/api/v2/stores', { name: 'x' })).toBe(400);
  expect(await refused('/api/v2/stores', { http_callback: 'http://shop.example/' })).toBe(400);
  expect(await refused('/api/v2/stores', { http_callback: 'https://127.0.0.1/' })).toBe(400);
  expect(await refused('/api/v2/stores/1', { name: 'a\u0007b' })).toBe(400);
  expect(await refused('/api/v2/stores/1', { name: 7 })).toBe(400);
  expect(await refused('/api/v2/stores/1/wallets', { wallet_id: 9 })).toBe(404);
  for (const wallet_id of [true, [1], '1e0', '0x1', ' 1', 1.5, 0, -1, '', null]) {
    expect([wallet_id, await refused('/api/v2/stores/1/wallets', { wallet_id })]).toEqual([
      wallet_id,
      400,
    ]);
  }
  expect(await refused('/api/v2/stores/0x1', { name: 'x' })).toBe(400);
  expect(await refused('/api/v2/stores/9', { name: 'x' })).toBe(404);
  expect(await refused('/api/v2/stores/abc', { name: 'x' })).toBe(400);
  const text = await app.ask('/api/v2/stores/1', { method: 'POST', body: 'dummy' });
  expect(text.status).toBe(400);
  expect(await app.withStore(async ({ audit }) => audit.list(10))).toEqual([]);
});

test.each([
  ['Latin-1', Buffer.from('{"name":"Caf\xe9"}', 'latin1'), 'UTF-8'],
  ['UTF-16', Buffer.from('\ufeff{"name":"Café"}', 'utf16le'), 'UTF-8'],
  ['half a character', Buffer.from('{"name":"\\ud83d"}'), 'name:'],
])('a name in %s is refused, not stored as another one', async (_name, body, reason) => {
  const app = await openReady();
  await allowPlugin(app);
  const refused = await app.ask('/api/v2/stores/1', { method: 'POST', body });
  expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(reason)]);
  const named = Buffer.from('\ufeff{"name":"Café \\ud83d\\ude00"}');
  const { status, body: answer } = await app.ask('/api/v2/stores/1', {
    method: 'POST',
    body: named,
  });
  expect([status, answer.data.name]).toEqual([200, 'Café 😀']);
});

test('P-51 S-04 a key of one store sees and changes only that store', async () => {
  const app = await openReady();
  const callbackUrl = `${app.receiver.origin}/second`;
  await app.addStore({ key: merchantKey(2), startIndex: 0, callbackUrl, name: 'Second' });
  const key = as(await addKey(app, 2, 'payments'));
  await allowPlugin(app, 2);
  const stores = await app.ask('/api/v2/stores?wallets=true', key);
  expect(stores.body.data.map((each: { id: number }) => each.id)).toEqual([2]);
  expect((await app.ask('/api/v2/wallets', key)).body.data).toHaveLength(1);
  expect((await app.ask('/api/v2/wallets/1', key)).status).toBe(404);
  expect((await app.ask('/api/v2/stores/1', key)).status).toBe(404);
  const write = { ...post({ name: 'Mine' }), headers: key.headers };
  expect((await app.ask('/api/v2/stores/1', write)).status).toBe(404);
  expect((await app.ask('/api/v2/stores/2', write)).status).toBe(200);
  const attach = { ...post({ wallet_id: 1 }), headers: key.headers };
  expect((await app.ask('/api/v2/stores/2/wallets', attach)).status).toBe(404);
  const add = { ...post({ http_callback: 'https://shop.example/' }), headers: key.headers };
  expect((await app.ask('/api/v2/stores', add)).status).toBe(403);
});

test('no store takes the callback URL of another, and a key of one store sees no other', async () => {
  const app = await openReady();
  const [first] = await app.withStore(async ({ catalog }) => catalog.stores());
  const taken = first?.callbackUrl ?? '';
  const callbackUrl = `${app.receiver.origin}/second`;
  const key = merchantKey(2);
  await app.addStore({ key, startIndex: 0, callbackUrl, name: 'Second' });
  const own = as(await addKey(app, 2, 'payments'));
  await allowPlugin(app);
  const change = post({ http_callback: taken });
  const refused = await app.ask('/api/v2/stores/2', change);
  expect([refused.status, refused.body.message]).toEqual([
    409,
    expect.stringContaining('store 1 "Shop" has this Callback URL already'),
  ]);
  const update = post({ callback: taken, xpub: key.account });
  expect((await app.ask('/api/update_callback', update)).status).toBe(409);
  // Plugins also send values that are set already.
  const same = post({ http_callback: callbackUrl, name: 'Renamed' });
  expect((await app.ask('/api/v2/stores/2', same)).status).toBe(200);
  await allowPlugin(app, 2);
  const alone = await app.ask('/api/v2/stores/2', { ...change, ...own });
  expect(alone.status).toBe(409);
  expect(alone.body.message).not.toContain('Shop');
});

/** The log entries of refused changes. */
const refusals = (app: TestApp) =>
  app.world.logs
    .filter(({ message }) => message === 'a request was refused')
    .map(({ level, fields }) => ({
      level,
      path: fields.path,
      key: fields.key,
      reason: fields.reason,
    }));

const kept = (app: TestApp) => app.withStore(async ({ state }) => state.refusedChange.read());

test('P-06 a change that is refused while the window is open is logged and stored, with its reason', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const http_callback = 'https://127.0.0.1/?secret=t0ps3cret';
  await app.ask('/api/v2/stores', post({ http_callback }));
  const reason = expect.stringContaining('127.0.0.1 is a private address, which this store must');
  expect(refusals(app)).toEqual([{ level: 'warn', path: '/v2/stores', key: 1, reason }]);
  expect(await kept(app)).toEqual({
    path: '/v2/stores',
    keyId: 1,
    reason,
    at: app.world.now(),
  });
  const asked: [string, RequestInit, string][] = [
    ['/v2/stores/{id}', post({ name: 7 }), 'name:'],
    ['/v2/stores/{id}/wallets', post({ wallet_id: 9 }), 'There is no wallet 9'],
    ['/v2/stores/{id}/wallets/{wid}', { method: 'DELETE' }, 'has no wallet 8'],
    [
      '/update_callback',
      post({ callback: 'x', xpub: merchantKey().account }),
      'must be a whole URL',
    ],
    ['/v2/stores', { method: 'POST', body: '{' }, 'The body is not JSON'],
  ];
  for (const [path, init, said] of asked) {
    await app.ask(`/api${path.replace('{id}', '1').replace('{wid}', '8')}`, init);
    const of = { path, reason: expect.stringContaining(said) };
    expect([refusals(app).at(-1), await kept(app)]).toMatchObject([of, of]);
  }
});

test('P-06 its log entry and its stored reason have no secret of a callback URL', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const broken = ['^', '&amp;', '&nbsp;', '\u200b', ' ', '"'];
  for (const text of broken) {
    const http_callback = `https://shop.example/?a=1${text}secret=t0ps3cret`;
    const { status, body } = await app.ask('/api/v2/stores/1', post({ http_callback }));
    expect([text, status]).toEqual([text, 400]);
    expect(body.message).toMatch(/write it as|at character 26/);
    expect(JSON.stringify([refusals(app), await kept(app)])).not.toContain('t0ps3cret');
  }
  expect(refusals(app)).toHaveLength(broken.length);
});

test('without an open window, or without a valid key, nothing is stored', async () => {
  const app = await openReady();
  const body = post({ name: 'Renamed' });
  await app.ask('/api/v2/stores/1', body);
  expect(await kept(app)).toBeUndefined();
  await allowPlugin(app);
  await app.ask('/api/v2/stores/1', { ...body, ...as('pgk_wrong') });
  expect(await kept(app)).toBeUndefined();
  // The window is open for another key than that of the plugin.
  const other = await addKey(app, 1, 'payments');
  await app.ask('/api/v2/stores/1', { ...body, ...as(other) });
  expect(await kept(app)).toMatchObject({
    keyId: 2,
    reason: expect.stringContaining('is switched off'),
  });
  // The check of its key logged it, so it is logged no second time.
  expect(refusals(app).filter(({ key }) => key === 2)).toHaveLength(1);
});

test('a flood of refused changes is stored and logged a few times a minute', async () => {
  const app = await openReady();
  await allowPlugin(app);
  for (let count = 0; count < 50; count += 1) {
    await app.ask('/api/v2/stores/9', post({ name: 'x' }));
  }
  expect(refusals(app)).toHaveLength(10);
});

test.each([' ', '\n', '\u200b', '\u00a0'])(
  'P-05 a callback URL with %j behind it is refused, not stored as another one',
  async (text) => {
    const app = await openReady();
    await allowPlugin(app);
    const http_callback = `https://shop.example/?secret=abc${text}`;
    const asked: [string, unknown][] = [
      ['/api/v2/stores', { http_callback }],
      ['/api/v2/stores/1', { http_callback }],
      ['/api/update_callback', { callback: http_callback, xpub: merchantKey().account }],
    ];
    for (const [path, body] of asked) {
      const answer = await app.ask(path, post(body));
      expect([path, answer.status]).toEqual([path, 400]);
      expect(answer.body.message).toMatch(/^the callback URL ends with a .* \(U\+/);
    }
    expect((await app.ask('/api/v2/stores')).body.data).toHaveLength(1);
  },
);
test('P-52 S-03 a key that may not write sees no secret of a Callback URL; one for payments sees it byte for byte', async () => {
  const app = await openReady();
  const url = `${app.receiver.origin}/cb?secret=s3cr3t`;
  const read = as(await addKey(app, 1, 'read'));
  const payments = as(await addKey(app, 1, 'payments'));
  const issuing = as(await addKey(app, 1, 'address-only'));
  const lists = [
    ...[
      '/api/v2/stores',
      '/api/v2/stores?wallets=true',
      '/api/v2/stores/1',
      '/api/v2/stores/1/wallets',
    ],
    ...['/api/address?no_balance=true&only_xpub=true&get_callback=true', '/api/v2/wallets'],
  ];
  for (const path of lists) {
    expect(JSON.stringify((await app.ask(path, read)).body)).not.toContain('s3cr3t');
  }
  const redacted = `${app.receiver.origin}/cb?…`;
  const shownTo = async (init: RequestInit) => [
    (await app.ask('/api/v2/stores', init)).body.data[0].http_callback,
    (await app.ask('/api/v2/stores/1', init)).body.data.http_callback,
    (await app.ask('/api/address?get_callback=true', init)).body[0].callback,
  ];
  expect(await shownTo(read)).toEqual([redacted, redacted, redacted]);
  expect(await shownTo(payments)).toEqual([url, url, url]);
  expect(await shownTo({})).toEqual([url, url, url]);
  const refused = await app.ask('/api/new_address?match_account=none', issuing);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.not.stringContaining('s3cr3t'),
  ]);
});

test('S-31 changes of stores are limited by key', async () => {
  const app = await openReady();
  await allowPlugin(app);
  const statuses: number[] = [];
  for (let count = 0; count < 121; count += 1) {
    const { status } = await app.ask('/api/v2/stores/1', post({ name: `Shop ${count % 2}` }));
    statuses.push(status);
  }
  expect(statuses).toEqual([...Array(120).fill(200), 429]);
});
