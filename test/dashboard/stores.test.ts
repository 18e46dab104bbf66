// The Stores section: API keys, wallets, settings, the test callback and the plugin window.

import { afterEach, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import {
  closeApps,
  merchantKey,
  openApp,
  openReady,
  type TestApp,
  untilReady,
} from '../support/app.ts';
import { password, signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);

const stores = '/dashboard/stores';
const minuteMs = 60_000;

/** The fields of the store form. */
const shop = (app: TestApp, more: Record<string, string> = {}) => ({
  name: 'My shop',
  'callback-url': `${app.receiver.origin}/paid?secret=tulip`,
  confirmations: '3',
  'allow-private': 'on',
  ...more,
});

const first = (number: number, scriptType: 'p2wpkh' | 'p2tr' | 'p2pkh' = 'p2wpkh'): string =>
  firstAddresses(merchantKey(number, scriptType), 1)[0] ?? '';

const at = (number: number, index: number): string =>
  firstAddresses(merchantKey(number), index + 1)[index] ?? '';

const chosen = (number: number, scriptType?: 'p2wpkh' | 'p2tr' | 'p2pkh') => ({
  key: merchantKey(number).account,
  letters: first(number, scriptType).slice(-6),
});

const add = (visitor: Visitor, fields: Record<string, string>) =>
  visitor.submit(`${stores}/new`, 'add', { way: 'program', ...fields });

describe('the API key', () => {
  test('is masked, shown on request, and the old one stays valid for a day if that is chosen', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    const page = await visitor.get(stores);
    expect(page.text).not.toContain(app.apiKey);
    expect(page.text).toContain(`pgk_…${app.apiKey.slice(-4)}`);
    expect((await visitor.submit(stores, 'reveal-key')).text).toContain(app.apiKey);
    const rotated = await visitor.submit(`${stores}/replace-key`, 'rotate-key', {
      overlap: '24-hours',
    });
    const [fresh = ''] = /pgk_\w{43,}/.exec(rotated.text) ?? [];
    const ask = async (key: string) =>
      (await app.ask('/api/v2/stores', { headers: { Authorization: `Bearer ${key}` } })).status;
    expect([await ask(app.apiKey), await ask(fresh)]).toEqual([200, 200]);
    app.world.jumpWallClock(24 * 60 * minuteMs);
    expect([await ask(app.apiKey), await ask(fresh)]).toEqual([401, 200]);
    const again = await signedIn(app);
    await again.submit(`${stores}/replace-key`, 'rotate-key', { overlap: 'at-once' });
    expect(await ask(fresh)).toBe(401);
  });

  test('S-07 and every other harmful action ask for the password again after five minutes', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    app.world.jumpWallClock(6 * minuteMs);
    const one = `${stores}/1`;
    const grave: [string, string, Record<string, string>][] = [
      [stores, 'reveal-key', {}],
      [`${stores}/replace-key`, 'rotate-key', { overlap: 'at-once' }],
      [`${stores}/new`, 'add', { ...shop(app), ...chosen(2) }],
      [`${one}/general`, 'change', shop(app)],
      [`${one}/callbacks`, 'change', shop(app)],
      [`${one}/webhooks`, 'change', shop(app)],
      [`${one}/remove`, 'remove', {}],
      [`${one}/keys`, 'reveal-secret', {}],
      [`${one}/replace-secret`, 'rotate-secret', {}],
      [`${one}/keys`, 'add-key', { scope: 'read' }],
      [`${one}/plugin`, 'allow-plugin', { key: '1' }],
      [`${one}/plugin/whmcs`, 'add-plugin-key', {}],
      [`${one}/plugin/xenforo`, 'delete-webhook', { webhook: 'x' }],
      [`${one}/plugin/xenforo`, 'add-webhook', { url: 'https://forum.example/a' }],
      [`${one}/wallet/new`, 'use-new', chosen(2)],
      [`${one}/wallet/new`, 'use-known', { wallet: '1' }],
    ];
    const before = await app.withStore(async ({ catalog }) => JSON.stringify(catalog.stores()));
    for (const [path, does, fields] of grave) {
      const seen = await visitor.submit(path, does, fields);
      expect([does, seen.status]).toEqual([does, 403]);
      expect(seen.text).not.toContain(app.apiKey);
      expect(seen.text).not.toContain('whsec_');
    }
    await app.withStore(async ({ catalog, keys }) => {
      expect(JSON.stringify(catalog.stores())).toBe(before);
      expect(keys.list(app.world.now())).toHaveLength(1);
      expect(keys.merchantKey()).toBe(app.apiKey);
    });
    const { text } = await visitor.submit(stores, 'reveal-key', { password });
    expect(text).toContain(app.apiKey);
  });
});

describe('a copied Callback URL', () => {
  const url = 'https://shop.example/?wc-api=Gateway&secret=abc';

  test('is saved without surrounding characters', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const urls = async () =>
      app.withStore(async ({ catalog }) => catalog.stores().map((row) => row.callbackUrl));
    const copied = (text: string) => shop(app, { 'callback-url': text });
    await visitor.submit(`${stores}/1/callbacks`, 'change', copied(`\u200b"${url}"\n`));
    expect(await urls()).toEqual([url]);
    await visitor.submit(`${stores}/1/callbacks`, 'change', copied(`<${url}&two>\ufeff `));
    expect(await urls()).toEqual([`${url}&two`]);
  });

  test('with a bare | is saved with %7C, and the page says so', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const bare = 'https://shop.example/index.php?route=pay/pay|callback&secret=abc';
    const note = 'The | in this Callback URL is saved and sent as %7C.';
    expect((await visitor.get(`${stores}/1/callbacks`)).text).not.toContain(note);
    const saved = await visitor.submit(
      `${stores}/1/callbacks`,
      'change',
      shop(app, { 'callback-url': bare }),
    );
    const row = await app.withStore(async ({ catalog }) => catalog.store(1));
    expect(row.callbackUrl).toBe(bare.replace('|', '%7C'));
    expect((await visitor.get(saved.to ?? '')).text).toContain(note);
  });

  test.each([
    ['https://shop.example/?sec\u00adret=abc', 'a soft hyphen (U+00AD) at character 26'],
    [url.replace('&', '&amp;'), 'at character 37, which is an escape'],
  ])('is refused with such characters inside: %j', async (copied, said) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const fields = shop(app, { 'callback-url': copied });
    const seen = await visitor.submit(`${stores}/1/callbacks`, 'change', fields);
    expect([seen.status, seen.text]).toEqual([400, expect.stringContaining(said)]);
    expect(seen.text).not.toMatch(/%C2|%AD/);
  });
});

describe('adding a store', () => {
  test('shows the possible wallets of the key, and accepts an address of the merchant’s own wallet', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const looked = await visitor.submit(`${stores}/new`, 'look', { key: merchantKey(2).account });
    for (const type of ['p2wpkh', 'p2tr', 'p2pkh'] as const) {
      const [start = '', second = ''] = firstAddresses(merchantKey(2, type), 2);
      expect(looked.text).toContain(`${start.slice(0, -6)}••••••`);
      expect(looked.text).not.toContain(start);
      // Any of the first 20 addresses proves the wallet, so the page must not show a whole one.
      expect(looked.text).toContain(`${second.slice(0, -6)}••••••`);
      expect(looked.text).not.toContain(second);
    }
    const added = await add(visitor, { ...shop(app), ...chosen(2, 'p2tr') });
    expect([added.status, added.to]).toEqual([303, `${stores}/2/ready?done=added-beside`]);
    const { text } = await visitor.get(added.to ?? '');
    expect(text).toContain('Store added');
    // Until now requests of the shop may have named no store.
    expect(text).toMatch(/must name its own by match_callback .* or use a key of its own store/);
    // The page shows no result of an action that did not happen, whatever the link says.
    for (const done of ['', 'made-up', 'constructor', '__proto__']) {
      const { text } = await visitor.get(`${stores}/2?done=${done}`);
      expect([done, text.includes('role="status"')]).toEqual([done, false]);
    }
    await app.withStore(async ({ catalog, audit }) => {
      const row = catalog.store(2);
      expect(row).toMatchObject({ name: 'My shop', callbackUrl: '', webhookUrl: null });
      expect(catalog.wallet(row.walletId ?? 0).scriptType).toBe('p2tr');
      expect(audit.list(1)).toMatchObject([{ action: 'store.add', keyId: null, storeId: 2 }]);
    });
    await visitor.submit(`${stores}/2/callbacks`, 'change', shop(app));
    // The running watcher starts to use the new wallet without a restart.
    await app.settle();
    await app.world.until(() => app.running.health().wallets.scanning === 0, 'its scan');
    const { body } = await app.ask('/api/new_address?match_callback=tulip');
    expect(body.address).toBe(first(2, 'p2tr'));
  });

  test.each([
    [
      'letters that no address has',
      { letters: 'qqqqqq' },
      'None of these addresses ends in qqqqqq',
    ],
    ['the end of the 21st', { letters: at(2, 20).slice(-6) }, 'None of these addresses ends in'],
    ['an address of another wallet', { letters: first(3) }, `ends in ${first(3).slice(-6)}`],
    ['more than an address', { letters: `x${first(2)}` }, 'None of these addresses ends in'],
    ['the first six', { letters: 'bcrt1q' }, 'This is the beginning of an address'],
    [
      'more of its beginning',
      { letters: first(2).slice(0, 30) },
      'This is the beginning of an address',
    ],
    ['too few letters', { letters: first(2).slice(-5) }, 'Enter the last 6 characters'],
    ['an empty name', { name: ' ' }, '1 to 100 characters'],
    ['a currency that is none', { currency: 'EURO' }, 'ISO 4217'],
  ])('refuses %s, and keeps the other fields', async (_, fault, words) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const seen = await add(visitor, { ...shop(app), ...chosen(2), ...fault });
    expect([seen.status, seen.text]).toEqual([400, expect.stringContaining(words)]);
    expect(seen.text).toContain('The last 6 characters');
    await app.withStore(async ({ catalog }) => expect(catalog.stores()).toHaveLength(1));
  });

  test.each([
    [
      'recovery words',
      'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about',
    ],
    [
      'an extended private key',
      'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi',
    ],
    ['a WIF', 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn'],
  ])('refuses %s in any field, and never echoes it', async (_, secret) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    for (const name of ['key', 'name', 'callback-url', 'letters']) {
      for (const does of ['look', 'add']) {
        const seen = await visitor.submit(`${stores}/new`, does, {
          ...{ ...shop(app), ...chosen(2) },
          [name]: secret,
        });
        expect(seen.status).toBe(400);
        expect(seen.text).toContain('private key');
        expect(seen.text).not.toContain(secret.slice(0, 20));
      }
    }
    const logged = JSON.stringify(app.world.logs);
    expect(logged).not.toContain(secret.slice(0, 20));
  });

  const legacy = first(2, 'p2pkh');
  test.each([
    ['a whole address', first(2), 0],
    ['its end', first(2).slice(-6), 0],
    ['more of its end', first(2).slice(-11), 0],
    ['in capitals, as in QR codes', first(2).toUpperCase(), 0],
    ['as a link', `BITCOIN:${first(2).toUpperCase()}?amount=0.1`, 0],
    ['in groups', first(2).replace(/.{4}/g, '$& '), 0],
    ['with what does not show', `\u200b ${first(2)}\u00a0\n`, 0],
    ['with its middle left out', `${first(2).slice(0, 8)}…${first(2).slice(-8)}`, 0],
    ['with dots', `${first(2).slice(0, 8)}...${first(2).slice(-8)}`, 0],
    ['the third one', at(2, 2), 2],
    ['the end of the 20th', at(2, 19).slice(-6), 19],
    ['Base58', legacy, 0],
    ['the end of Base58', legacy.slice(-6), 0],
  ])('the wallet by %s', async (_, letters, index) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const looked = await visitor.submit(`${stores}/new`, 'look', { key: merchantKey(2).account });
    expect(looked.text).not.toContain('maxlength="6"');
    const added = await add(visitor, { ...shop(app), ...chosen(2), letters });
    const found = index === 0 ? '' : `&index=${index}`;
    expect([added.status, added.to]).toEqual([303, `${stores}/2/ready?done=added-beside${found}`]);
    const { text } = await visitor.get(added.to ?? '');
    expect(text.includes(`has index ${index} in this wallet`)).toBe(index > 0);
    await app.withStore(async ({ catalog }) => {
      expect(catalog.store(2).walletId).toBe(2);
    });
  });

  test('the wallets of an exported file, and the one of the entered address', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const accounts = [44, 84].map((purpose, at) => ({
      path: `m/${purpose}'/1'/0'`,
      xpub: merchantKey(at + 5).account,
    }));
    const key = JSON.stringify({ keys: accounts });
    const looked = await visitor.submit(`${stores}/new`, 'look', { key });
    expect(looked.text.match(/<h2>(Legacy|Native SegWit)</g)).toHaveLength(2);
    const letters = at(6, 4);
    const added = await add(visitor, { ...shop(app), key, letters });
    expect(added.to).toBe(`${stores}/2/ready?done=added-beside&index=4`);
    await app.withStore(async ({ catalog }) => {
      expect(catalog.wallet(2)).toMatchObject({
        account: merchantKey(6).account,
        scriptType: 'p2wpkh',
      });
    });
  });

  test('the same key again is the same wallet, with one counter', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const { to } = await add(visitor, { ...shop(app), ...chosen(1) });
    expect(to).toBe(`${stores}/2/ready?done=added-beside`);
    await app.withStore(async ({ catalog }) => {
      expect(catalog.stores().map(({ walletId }) => walletId)).toEqual([1, 1]);
    });
    const other = shop(app, { name: 'Other' });
    const late = await add(visitor, { ...other, ...chosen(1), 'start-index': '50' });
    expect([late.status, late.text]).toEqual([409, expect.stringContaining('wallet 1 already')]);
  });
});

test('no other store can get the Callback URL of an active store', async () => {
  const app = await openApp();
  await untilReady(app);
  const visitor = await signedIn(app);
  const whole = `${app.receiver.origin}/cb?secret=s3cr3t`;
  const taken = shop(app, { name: 'New wallet', 'callback-url': whole });
  const ask = () => app.ask(`/api/new_address?match_callback=${encodeURIComponent(whole)}`);
  expect((await add(visitor, { ...shop(app), ...chosen(2) })).status).toBe(303);
  const moved = await visitor.submit(`${stores}/2/callbacks`, 'change', taken);
  expect(moved.status).toBe(409);
  expect(moved.text).toContain('store 1 &quot;Shop&quot; has this Callback URL already');
  expect(moved.text).toContain('Use another wallet');
  expect((await ask()).status).toBe(200);
  await visitor.submit(`${stores}/1/remove`, 'remove');
  expect((await visitor.submit(`${stores}/2/callbacks`, 'change', taken)).status).toBe(303);
});

/** The status that a plugin gets for renaming the first store. */
async function renamedByPlugin(app: TestApp): Promise<number> {
  const init = { method: 'POST', body: '{"name":"By a plugin"}' };
  return (await app.ask('/api/v2/stores/1', init)).status;
}

describe('removing a store', () => {
  test('asks on a separate page, which lists the consequences and links back', async () => {
    const app = await openReady();
    const visitor = await signedIn(app);
    const page = await visitor.get(`${stores}/1/danger`);
    expect(page.text).toContain(`href="${stores}/1/remove"`);
    expect(page.text).not.toContain('value="remove"');
    const asked = await visitor.get(`${stores}/1/remove`);
    expect(asked.text).toContain('It issues no more addresses');
    expect(asked.text).toContain(`<a href="${stores}/1/danger">Cancel</a>`);
    expect((await app.ask('/api/new_address')).status).toBe(200);
  });

  test('can be undone: addresses, settings and pending callbacks continue', async () => {
    const app = await openReady();
    const visitor = await signedIn(app);
    const address = await app.newAddress();
    await visitor.submit(`${stores}/1/remove`, 'remove', { 'stop-callbacks': 'on' });
    expect((await app.ask('/api/new_address')).status).not.toBe(200);
    app.pay(address, 20_000);
    await app.settle();
    expect(app.callbacks()).toEqual([]);
    const list = await visitor.get(stores);
    expect(list.text).toContain('Removed stores');
    expect(list.text).toContain(`href="${stores}/1/restore"`);
    const back = await visitor.submit(`${stores}/1/restore`, 'restore');
    expect(back.to).toBe(`${stores}/1?done=restored`);
    expect((await visitor.get(back.to ?? '')).text).toContain('The store is active again.');
    expect((await visitor.get(stores)).text).not.toContain('Removed stores');
    expect((await app.ask('/api/new_address')).status).toBe(200);
    await app.settle();
    expect(app.callbacks()).toMatchObject([{ status: '0', addr: address }]);
  });

  test('its former and its new addresses are watched and called back after that', async () => {
    const app = await openReady();
    const visitor = await signedIn(app);
    const former = await app.newAddress();
    await visitor.submit(`${stores}/1/remove`, 'remove');
    await app.settle();
    await visitor.submit(`${stores}/1/restore`, 'restore');
    await app.settle();
    const fresh = await app.newAddress();
    expect(fresh).not.toBe(former);
    for (const address of [former, fresh]) app.pay(address, 20_000);
    await app.settle();
    app.chain.mine(2);
    await app.settle();
    for (const address of [former, fresh]) {
      const of = app.callbacks().filter(({ addr }) => addr === address);
      expect([address, of.map(({ status }) => status)]).toEqual([address, ['0', '2']]);
    }
  });

  test('cannot be undone while another store has its Callback URL', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const { callbackUrl } = await app.withStore(async ({ catalog }) => catalog.store(1));
    await visitor.submit(`${stores}/1/remove`, 'remove');
    await app.addStore({ key: merchantKey(2), callbackUrl });
    const refused = await visitor.submit(`${stores}/1/restore`, 'restore');
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('has this Callback URL already');
  });
});

describe('a store', () => {
  test.each([
    ['a Callback URL that is none', '/callbacks', { 'callback-url': 'x.example' }, 'callback URL'],
    ['a loopback address without the switch', '/callbacks', { 'allow-private': '' }, '127.0.0.1'],
    ['an empty name', '/general', { name: ' ' }, '1 to 100 characters'],
    ['no confirmations', '/general', { confirmations: '0' }, 'from 1 to 100'],
    ['a band without a depth', '/general', { 'above-0': '0.5' }, 'id="fault-depth-0"'],
    [
      'bitcoins that may be one or a thousand',
      ...(['/general', { 'above-0': '1,000', 'depth-0': '6' }] as const),
      'such as 1.00000000 is expected, without separators of thousands',
    ],
    [
      'more than all bitcoins',
      ...(['/general', { 'above-0': '21000001', 'depth-0': '6' }] as const),
      'such as 0.05 is',
    ],
  ])('refuses %s', async (_, page, fault, words) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const fields = { ...shop(app, { 'depth-0': '' }), ...fault };
    const seen = await visitor.submit(`${stores}/1${page}`, 'change', fields);
    expect([seen.status, seen.text]).toEqual([400, expect.stringContaining(words)]);
  });

  test('is changed: bands, switches, Callback URL; typed values stay after a refusal', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const saved = await visitor.submit(`${stores}/1/general`, 'change', {
      ...shop(app, { name: 'Renamed' }),
      ...{ 'above-0': '0,0500000000', 'depth-0': '6', 'above-1': '1', 'depth-1': '12' },
    });
    expect(saved.to).toBe(`${stores}/1/general?done=saved#change`);
    const callbacks = await visitor.submit(`${stores}/1/callbacks`, 'change', {
      ...shop(app, { 'reversal-callback': 'on' }),
      ...{ minimum: '0.00001', 'omit-rbf': 'on' },
    });
    expect(callbacks.to).toBe(`${stores}/1/callbacks?done=saved#change`);
    await app.withStore(async ({ catalog, audit }) => {
      expect(catalog.store(1)).toMatchObject({
        name: 'Renamed',
        reversalCallback: true,
        omitRbf: true,
        minimumSat: 1000,
        requiredConfirmations: 3,
        confirmationBands:
          '[{"aboveSat":5000000,"confirmations":6},{"aboveSat":100000000,"confirmations":12}]',
      });
      expect(audit.list(1)).toMatchObject([{ action: 'store.change', storeId: 1 }]);
    });
    const refused = await visitor.submit(`${stores}/1/general`, 'change', {
      ...shop(app, { name: 'Kept while wrong', confirmations: '101' }),
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('value="Kept while wrong"');
  });

  test('has currencies and languages by their names, and times in minutes', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const page = `${stores}/1/general`;
    const { text } = await visitor.get(page);
    expect(text).toContain('<option value="EUR">EUR – Euro</option>');
    expect(text).toContain('<option value="pt-BR">Português (Brasil)</option>');
    expect(text).toMatch(/name="order-expires" value="60"/);
    expect(text).toMatch(/name="quote-seconds" value="15"/);
    const change = (fields: Record<string, string>) =>
      visitor.submit(page, 'change', shop(app, { confirmations: '2', ...fields }));
    await change({ currency: 'EUR', language: 'de', 'order-expires': '7.5', 'quote-seconds': '5' });
    await app.withStore(async ({ catalog }) =>
      expect(catalog.store(1)).toMatchObject({
        ...{ currency: 'EUR', language: 'de', orderSeconds: 450, quoteSeconds: 300 },
      }),
    );
    expect((await visitor.get(page)).text).toContain(
      '<option value="EUR" selected="">EUR – Euro</option>',
    );
    const refused = await change({ 'quote-seconds': '61' });
    expect(refused.text).toContain('5 to 60 minutes expected');
  });

  test('S-24 a test callback shows the exchange, and the response of the shop as escaped text', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    app.receiver.script({ status: 500, body: '<img src=x onerror=alert(1)>' });
    const seen = await visitor.submit(`${stores}/1/callbacks`, 'send-test');
    expect(seen.text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(seen.text).not.toContain('<img');
    expect(seen.text).toContain('webhook-signature: v1,');
    expect(app.receiver.requests).toHaveLength(1);
    const [request] = app.receiver.requests;
    expect(seen.text).toContain(`${request?.url}`.replaceAll('&', '&amp;'));
    const well = await visitor.submit(`${stores}/1/callbacks`, 'send-test');
    expect(well.text).toContain('the callback is delivered');
  });

  test.each([
    [
      'Error: Blockonomics order not found',
      'unknown-order',
      'The response says &quot;Error: Blockonomics order not found&quot;.',
    ],
    ['Invalid secret', 'wrong-secret', 'The response says &quot;Invalid secret&quot;.'],
    [
      '<!doctype html><title>Home</title>',
      'web-page',
      'The response is a web page titled &quot;Home&quot;.',
    ],
    ['', 'empty', 'did the URL lose its secret?'],
  ])('P-66 a test callback explains the response: %j is %s', async (body, verdict, words) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const callbackUrl = `${app.receiver.origin}/wc-api/WC_Gateway`;
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { callbackUrl })),
    );
    app.receiver.script({ status: 200, body });
    const { text } = await visitor.submit(`${stores}/1/callbacks`, 'send-test');
    expect(text).toContain(`data-verdict="${verdict}"`);
    expect(text).toContain(words);
  });

  test('a test callback explains the response of WordPress without the plugin', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    app.receiver.script({ status: 400, body: '-1' });
    const { text } = await visitor.submit(`${stores}/1/callbacks`, 'send-test');
    expect(text).toContain('answered 400');
    expect(text).toContain('is the plugin on?');
  });

  test('its secret is shown only on request, and a new one has an overlap', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const before = await app.withStore(async ({ catalog }) => catalog.store(1).webhookSecret);
    expect((await visitor.get(`${stores}/1/keys`)).text).not.toContain(before);
    expect((await visitor.submit(`${stores}/1/keys`, 'reveal-secret')).text).toContain(before);
    const { text } = await visitor.submit(`${stores}/1/replace-secret`, 'rotate-secret');
    expect(text).not.toContain(before);
    await app.withStore(async ({ catalog }) => {
      const row = catalog.store(1);
      expect(text).toContain(row.webhookSecret);
      expect(row.previousWebhookSecret).toBe(before);
    });
  });

  test('its keys are shown once, limited to their scope, and revoked', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    const { text } = await visitor.submit(`${stores}/1/keys`, 'add-key', { scope: 'read' });
    const [key = ''] = /pgk_\w{43,}/.exec(text) ?? [];
    const ask = async (path: string) =>
      (await app.ask(path, { headers: { Authorization: `Bearer ${key}` } })).status;
    expect([await ask('/api/v2/stores'), await ask('/api/new_address')]).toEqual([200, 403]);
    expect((await visitor.get(`${stores}/1/keys`)).text).not.toContain(key);
    expect((await visitor.submit(`${stores}/1/keys`, 'revoke-key', { key: '2' })).status).toBe(303);
    expect(await ask('/api/v2/stores')).toBe(401);
    expect((await visitor.submit(`${stores}/1/keys`, 'revoke-key', { key: '1' })).status).toBe(404);
  });

  test('S-102 Connect a plugin allows one key for 15 minutes', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    const rename = () => renamedByPlugin(app);
    expect(await rename()).toBe(403);
    const opened = await visitor.submit(`${stores}/1/plugin`, 'allow-plugin', { key: '1' });
    const page = await visitor.get(opened.to ?? '');
    expect(page.text).toMatch(/data-until="\d+">15 minutes left/);
    expect(await rename()).toBe(200);
    app.world.jumpWallClock(15 * minuteMs);
    expect(await rename()).toBe(403);
    expect((await visitor.get(`${stores}/1/plugin`)).text).not.toContain('minutes left');
  });

  test('P-06 Connect a plugin shows the last refused change, without secrets', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    const page = async (id = 1) => (await visitor.get(`${stores}/${id}/plugin`)).text;
    await visitor.submit(`${stores}/1/plugin`, 'allow-plugin', { key: '1' });
    expect(await page()).not.toContain('Last refused change');
    const body = JSON.stringify({ http_callback: 'https://10.0.0.5/?secret=t0ps3cret' });
    await app.ask('/api/v2/stores', { method: 'POST', body });
    expect(await page()).toMatch(
      /Last refused change: .*for the API key of all stores, <code>\/api\/v2\/stores<\/code>: 10\.0\.0\.5 is a private address/s,
    );
    expect(await page()).not.toContain('t0ps3cret');
    app.world.jumpWallClock(24 * 60 * minuteMs + 1);
    expect((await (await signedIn(app)).get(`${stores}/1/plugin`)).text).not.toContain(
      'Last refused change',
    );
  });

  test('Connect a plugin can be closed early', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    const rename = () => renamedByPlugin(app);
    expect((await visitor.get(`${stores}/1/plugin`)).text).not.toContain('Close now');
    const opened = await visitor.submit(`${stores}/1/plugin`, 'allow-plugin', { key: '1' });
    expect((await visitor.get(opened.to ?? '')).text).toContain('Close now');
    const shut = await visitor.submit(`${stores}/1/plugin`, 'shut-plugin', { key: '1' });
    const { text } = await visitor.get(shut.to ?? '');
    expect(text).toContain('Plugins can no longer change stores.');
    expect(text).not.toContain('minutes left');
    expect(await rename()).toBe(403);
    expect((await visitor.get('/dashboard/settings/audit')).text).toContain('plugin.shut');
    // The window stays closed when the clock is set back.
    app.world.jumpWallClock(-60_000);
    expect(await rename()).toBe(403);
  });

  test('can use another wallet, an existing or a new one', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const path = `${stores}/1/wallet/new`;
    expect((await visitor.submit(path, 'use-new', chosen(3))).status).toBe(303);
    const walletOf = () => app.withStore(async ({ catalog }) => catalog.store(1).walletId);
    expect(await walletOf()).toBe(2);
    expect((await visitor.submit(path, 'use-known', { wallet: '1' })).status).toBe(303);
    expect(await walletOf()).toBe(1);
    expect((await visitor.submit(path, 'use-known', { wallet: '9' })).status).toBe(404);
  });

  test('is removed: no more addresses, and its page says so', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    const removed = await visitor.submit(`${stores}/1/remove`, 'remove', {
      'stop-callbacks': 'on',
    });
    expect(removed.to).toBe(`${stores}?done=removed`);
    expect((await app.ask('/api/new_address')).status).toBe(400);
    const page = await visitor.get(`${stores}/1`);
    expect(page.text).toContain('This store was removed');
    expect(page.text).not.toContain('<form');
    expect(page.text).toContain(`href="${stores}/1/restore"`);
  });

  test.each([
    `${stores}/2`,
    `${stores}/0`,
    `${stores}/x`,
    `${stores}/2/wallet`,
    `${stores}/2/keys`,
  ])('%s does not exist', async (path) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    expect((await visitor.get(path)).status).toBe(404);
  });
});

test('S-12 names and URLs are escaped everywhere', async () => {
  const name = '</title><script>alert(1)</script>"onfocus="x';
  const app = await openApp({
    store: {
      name,
      callbackUrl: 'https://shop.example/cb?a=%22%3E%3Cscript%3E&b=\'"x'.slice(0, 44),
    },
  });
  const visitor = await signedIn(app);
  for (const path of ['/dashboard', stores, `${stores}/1`, `${stores}/1/wallet`]) {
    const { status, text } = await visitor.get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('"onfocus="x');
  }
});
