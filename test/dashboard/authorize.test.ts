// The page by which a plugin of a shop gets a key, and what a hostile link to it can do.

import { afterEach, describe, expect, test } from 'vitest';
import { closeApps, merchantKey, openApp, type TestApp } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';
import { password, signedIn, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const path = '/api-keys/authorize';
const callback = 'https://shop.example/?btcpay-settings-callback';
const standard = [
  'canviewinvoices',
  'cancreateinvoice',
  'canviewstoresettings',
  'canmodifyinvoices',
  'webhooks.canmodifywebhooks',
].map((name) => `btcpay.store.${name}`);
const sixth = 'btcpay.store.canmodifystoresettings';

/** As the PHP library of plugins writes it. */
function link(
  more: Record<string, string> = {},
  permissions: readonly string[] = standard,
): string {
  const query = new URLSearchParams({
    applicationName: 'My shop',
    applicationIdentifier: 'wc',
    strict: 'true',
    selectiveStores: 'true',
    redirect: callback,
    ...more,
  });
  for (const each of permissions) query.append('permissions', each);
  return `${path}?${query}`;
}

/** The form that a page hands a key over with. */
function handoverIn(text: string) {
  const [, target = ''] = /<form method="post" action="([^"]*)" data-send/.exec(text) ?? [];
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return { target, fields: fields.map(([, name = '', value = '']) => [name, value]) };
}

const keysOf = (app: TestApp) =>
  app.withStore(async ({ keys }) => keys.list(app.world.now()).slice(1));

describe('a plugin that asks for a key', () => {
  test('gets one of the chosen store, by a form, with which it sets up its webhook', async () => {
    const { app, ask, storeId } = await openGreenfield();
    const visitor = await signedIn(app);
    const shown = await visitor.get(link());
    expect(shown.status).toBe(200);
    expect(shown.text).toContain('<p class="host">shop.example</p>');
    expect(shown.text).toContain('“My shop”');
    expect(shown.text).not.toContain('which it does not get');
    const given = await visitor.submit(link(), 'give-key', { store: '1' });
    expect(given.status).toBe(200);
    expect(given.headers.get('Cache-Control')).toContain('no-store');
    const { target, fields } = handoverIn(given.text);
    expect(target).toBe(callback);
    const [[, key = ''] = [], ...others] = fields;
    expect(fields[0]?.[0]).toBe('apiKey');
    expect(key).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(others).toEqual([
      ['userId', 'paygate'],
      ...standard.map((name) => ['permissions[]', `${name}:${storeId}`]),
    ]);
    const current = await ask('GET', '/api-keys/current', undefined, key);
    expect(current.body.permissions).toEqual(standard.map((name) => `${name}:${storeId}`));
    const hook = { url: 'https://shop.example/wc-api/btcpaygf_default/' };
    expect((await ask('POST', '/stores/{s}/webhooks', hook, key)).status).toBe(200);
    app.world.jumpWallClock(15 * 60_000);
    expect(await ask('POST', '/stores/{s}/webhooks', hook, key)).toMatchObject({ status: 403 });
    const id = (await keysOf(app)).at(-1)?.id;
    const entries = await app.withStore(async ({ database }) =>
      database.orm.$client
        .prepare("SELECT action, store_id, detail FROM audit WHERE action GLOB '[kp]*' ORDER BY id")
        .all()
        .map((row) => row as { action: string; store_id: number; detail: string }),
    );
    expect(entries.slice(-2)).toMatchObject([
      { action: 'key.add', store_id: 1, detail: expect.stringContaining('"for":"shop.example"') },
      { action: 'plugin.allow', store_id: 1, detail: expect.stringContaining(`"key":${id}`) },
    ]);
    expect(JSON.stringify(entries)).not.toContain(key);
    expect((await (await signedIn(app)).get('/dashboard/settings/audit')).text).toContain(
      'was added for shop.example',
    );
  });

  test('gets the shape of PrestaShop if it asks for its six permissions, in any order', async () => {
    const { app, ask, storeId } = await openGreenfield();
    const visitor = await signedIn(app);
    const six = [sixth, ...standard.toReversed(), 'btcpay.store.cancreatenonapprovedpullpayments'];
    const given = await visitor.submit(link({}, six), 'give-key', { store: '1' });
    const { fields } = handoverIn(given.text);
    const names = fields.filter(([name]) => name === 'permissions[]').map(([, value]) => value);
    expect(names).toEqual([...standard, sixth].map((name) => `${name}:${storeId}`));
    const methods = await ask('GET', '/stores/{s}/payment-methods', undefined, fields[0]?.[1]);
    expect(methods.body).toHaveProperty('BTC');
  });

  test('S-156 gets no more than a key of one store for payments; the page lists what it refuses', async () => {
    const { app, storeId } = await openGreenfield();
    const visitor = await signedIn(app);
    const more = ['unrestricted', sixth, 'btcpay.server.cancreateuser:x', '<b>bold</b>\u202e'];
    const many = Array.from({ length: 60 }, (_, number) => `x${number}`);
    const asked = link({}, [...standard.slice(1), ...more, ...many, ...more]);
    const { text } = await visitor.get(asked);
    for (const shown of ['unrestricted', sixth, 'btcpay.server.cancreateuser']) {
      expect(text.split(`<code>${shown}</code>`)).toHaveLength(2);
    }
    expect(text).toContain('<code>&lt;b&gt;bold&lt;/b&gt;</code>');
    expect(text).toContain('and 44 more');
    expect(text.match(/<code>/g)).toHaveLength(20);
    const { fields } = handoverIn((await visitor.submit(asked, 'give-key', { store: '1' })).text);
    expect(fields.slice(2)).toEqual(
      standard.map((name) => ['permissions[]', `${name}:${storeId}`]),
    );
    expect((await keysOf(app)).at(-1)).toMatchObject({
      ...{ storeId: 1, scope: 'payments', plugin: 'standard', expiresAt: null },
    });
  });

  test('finds a path with a slash, and no permission asked for as the usual ones', async () => {
    const { app } = await openGreenfield();
    const visitor = await signedIn(app);
    const { status, text } = await visitor.get(
      `${path}/?redirect=${encodeURIComponent(callback)}&applicationName=`,
    );
    expect([status, text.includes('calls itself')]).toEqual([200, false]);
    expect(text).toContain('>shop.example</p>');
  });

  test('gets the key of the store that the owner chooses, of several', async () => {
    const { app, ask } = await openGreenfield();
    await app.addStore({ name: 'Second', key: merchantKey(2), callbackUrl: '' });
    await app.addStore({ name: 'Removed', key: merchantKey(3), callbackUrl: '' });
    const visitor = await signedIn(app);
    await visitor.submit('/dashboard/stores/3/remove', 'remove');
    const before = await keysOf(app);
    const shown = await visitor.get(link());
    expect(shown.text).toContain('Choose a store</option>');
    expect(shown.text).not.toContain('Removed');
    for (const store of ['', '3', '9', '01', 'x']) {
      const refused = await visitor.submit(link(), 'give-key', { store });
      const isSaid = refused.text.includes('Choose a store.');
      expect([store, refused.status, isSaid]).toEqual([store, 400, true]);
    }
    expect(await keysOf(app)).toHaveLength(before.length);
    const { fields } = handoverIn((await visitor.submit(link(), 'give-key', { store: '2' })).text);
    const { status, body } = await ask('GET', '/stores', undefined, fields[0]?.[1]);
    expect([status, body[0].name]).toEqual([200, 'Second']);
  });

  test('hears that there is no store yet', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    await visitor.submit('/dashboard/stores/1/remove', 'remove');
    const { text } = await visitor.get(link());
    expect(text).toContain('There is no store yet');
    expect(text).not.toContain('give-key');
  });
});

describe('a hostile link', () => {
  test('S-157 leads to no redirect but a web page of another host, over HTTPS or as callbacks may', async () => {
    const { app } = await openGreenfield();
    const visitor = await signedIn(app);
    const before = (await keysOf(app)).length;
    await visitor.get(link());
    const token = visitor.formToken;
    const refused: [string, string][] = [
      ['', 'must name one redirect'],
      ['javascript:alert(1)', 'redirect must'],
      ['javascript://shop.example/%0aalert(1)', 'must start with https://'],
      ['data:text/html,<p>', 'redirect must'],
      ['ftp://shop.example/', 'must start with https://'],
      ['//shop.example/', 'whole URL'],
      ['/dashboard', 'whole URL'],
      ['https://me:secret@shop.example/', 'user name'],
      ['https://pay.example@shop.example/', 'user name'],
      ['https://', 'valid host name'],
      ['https://shop.example/#x', '#fragment'],
      ['https://shop.example:0/', 'port 0'],
      [`http://127.0.0.1:${app.port}/dashboard`, 'paygate itself'],
      [`http://localhost:${app.port}/x`, 'paygate itself'],
      [`http://[::1]:${app.port}/x`, 'paygate itself'],
      [`https://127.0.0.1:${app.port}/x`, 'paygate itself'],
    ];
    for (const [redirect, why] of refused) {
      for (const seen of [
        await visitor.get(link({ redirect })),
        await visitor.post(
          link({ redirect }),
          String(
            new URLSearchParams({
              ...{ token, do: 'give-key', store: '1' },
            }),
          ),
        ),
      ]) {
        expect([redirect, seen.status]).toEqual([redirect, 400]);
        expect([redirect, seen.text]).toEqual([redirect, expect.stringContaining(why)]);
        expect(seen.text).not.toContain('data-send');
      }
    }
    const twice = `${link()}&redirect=${encodeURIComponent('https://evil.example/')}`;
    expect((await visitor.get(twice)).status).toBe(400);
    expect(
      (await visitor.get(link({ redirect: `https://shop.example/${'x'.repeat(9000)}` }))).status,
    ).toBe(414);
    expect(await keysOf(app)).toHaveLength(before);
  });

  test('S-158 plain HTTP needs the leave of the chosen store, for a public name and a private one', async () => {
    const app = await openApp({ config: { publicUrl: 'https://pay.example' } });
    const visitor = await signedIn(app);
    const allow = (flags: Record<string, boolean>) =>
      app.withStore(({ catalog, database }) =>
        database.write((tx) => catalog.changeStore(tx, 1, flags)),
      );
    const give = async (redirect: string) => {
      const { status, text } = await visitor.submit(link({ redirect }), 'give-key', { store: '1' });
      return [status, handoverIn(text).target];
    };
    const [inTheOpen, atHome] = ['http://shop.example/back', 'http://shop.lan/back'];
    await allow({ allowPrivateCallback: false, allowHttpCallback: false });
    expect(await give(inTheOpen)).toEqual([400, '']);
    expect(await give(atHome)).toEqual([400, '']);
    expect(await give('https://192.168.1.9/back')).toEqual([400, '']);
    await allow({ allowPrivateCallback: true });
    expect(await give(inTheOpen)).toEqual([400, '']);
    expect(await give(atHome)).toEqual([200, atHome]);
    expect(await give('https://192.168.1.9/back')).toEqual([200, 'https://192.168.1.9/back']);
    await allow({ allowHttpCallback: true });
    expect(await give(inTheOpen)).toEqual([200, inTheOpen]);
    expect((await visitor.get(link({ redirect: inTheOpen }))).text).toContain('by plain HTTP');
    expect((await visitor.get(link())).text).not.toContain('by plain HTTP');
    for (const redirect of ['https://pay.example/x', 'http://PAY.example./x']) {
      expect((await visitor.get(link({ redirect }))).text).toContain('paygate itself');
    }
  });

  test('S-159 gives nothing without the session, the form token, our own origin and a recent password', async () => {
    const { app } = await openGreenfield();
    const visitor = await signedIn(app);
    const before = (await keysOf(app)).length;
    const body = (token: string) =>
      String(new URLSearchParams({ token, do: 'give-key', store: '1' }));
    const stranger = visitorOf(app);
    const led = await stranger.get(link());
    expect(led.status).toBe(303);
    expect(led.to).toContain('/dashboard/sign-in?next=');
    await visitor.get(link());
    expect((await stranger.post(link(), body(visitor.formToken))).to).toContain('/sign-in');
    expect((await visitor.post(link(), body('x'))).status).toBe(403);
    const foreign = { Origin: 'https://shop.example' };
    expect((await visitor.post(link(), body(visitor.formToken), foreign)).status).toBe(403);
    app.world.jumpWallClock(6 * 60_000);
    const late = await visitor.submit(link(), 'give-key', { store: '1' });
    expect([late.status, late.text]).toEqual([403, expect.stringContaining('Type your password')]);
    expect(await keysOf(app)).toHaveLength(before);
    const typed = await visitor.submit(link(), 'give-key', { store: '1', password });
    expect(typed.status).toBe(200);
    expect(await keysOf(app)).toHaveLength(before + 1);
  });

  test('S-160 keeps the request through the sign-in, which begins a session of its own', async () => {
    const { app } = await openGreenfield();
    await signedIn(app);
    const visitor = visitorOf(app);
    // The browser keeps the cookies of the session back for a link of another site.
    const fromShop = await visitor.get(link(), { 'Sec-Fetch-Site': 'cross-site' });
    expect(fromShop.status).toBe(200);
    expect(fromShop.headers.get('Refresh')).toBe(`0; url=${link()}`);
    expect(fromShop.text).not.toContain('shop.example</p>');
    expect((await visitor.get('/dashboard', { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(303);
    visitor.cookie = 'paygate=chosen-by-a-thief';
    const { to = '' } = await visitor.get(link());
    const signed = await visitor.submit(to, 'sign-in', { password });
    expect(signed.to).toBe(link());
    expect(visitor.cookie).not.toContain('thief');
    expect((await visitor.get(signed.to ?? '')).text).toContain('>shop.example</p>');
    for (const next of [
      '//evil.example',
      '/api-keys/authorizex',
      'https://evil.example/',
      '/api-keys/authorize/../x',
    ]) {
      const other = visitorOf(app);
      const page = `/dashboard/sign-in?next=${encodeURIComponent(next)}`;
      expect((await other.submit(page, 'sign-in', { password })).to).toBe('/dashboard');
    }
  });

  test('S-161 is in no frame; its forms go to paygate, and the last one to the shop alone, without our token', async () => {
    const { app } = await openGreenfield();
    const visitor = await signedIn(app);
    const policyOf = ({ headers }: { readonly headers: Headers }) =>
      headers.get('Content-Security-Policy') ?? '';
    const shown = await visitor.get(link({ applicationName: `<script>\u202e${'x'.repeat(200)}` }));
    expect(policyOf(shown)).toMatch(/form-action 'self';.*frame-ancestors 'none'/);
    expect(shown.headers.get('X-Frame-Options')).toBe('DENY');
    expect(shown.text).toContain(`“&lt;script&gt; ${'x'.repeat(51)}”`);
    const raw = await visitor.get(link({ redirect: 'https://shop.example/?b="><script>' }));
    expect([raw.status, raw.text.includes('"><script>')]).toEqual([400, false]);
    const good = await visitor.submit(
      link({ redirect: 'https://shop.example:8443/a?b=%22%3E&c=1' }),
      'give-key',
      { store: '1' },
    );
    expect(policyOf(good)).toContain('form-action https://shop.example:8443;');
    expect(policyOf(good)).toContain("frame-ancestors 'none'");
    expect(handoverIn(good.text).target).toBe('https://shop.example:8443/a?b=%22%3E&amp;c=1');
    expect(handoverIn(good.text).fields.map(([name]) => name)).not.toContain('token');
  });
});
