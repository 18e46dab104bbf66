// `paygate store` as a person types it: what it prints can be typed, and what makes no sense is
// refused.

import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { commandLine } from '../../src/cli/own-program.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, look, tempFolder } from '../support/files.ts';
import { accountKey } from '../support/store.ts';

afterEach(cleanUp);

type Cli = (...args: string[]) => ReturnType<typeof runCli>;

const shown = async (store: Cli): Promise<unknown> =>
  JSON.parse((await store('show', '1', '--json')).stdout);

/** A file of its own with one store, and commands on it. */
async function openShop(name = 'paygate.db') {
  const path = join(tempFolder(), name);
  const store = (...args: string[]) => runCli(['store', ...args, '--db', path]);
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example/callback'];
  const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh', '--start-index', '0'];
  const added = await store('add', ...shop, ...wallet, '--network', 'regtest');
  expect(added).toMatchObject({ code: 0, stderr: '' });
  return { path, store, added: added.stdout };
}

describe('a line to be typed', () => {
  it('quotes the path of the file', async () => {
    const { path, added } = await openShop("my shop's.db");
    const word = `'${path.replace("'", "'\\''")}'`;
    expect(added).toContain(`\n  ./paygate store remove 1 --db ${word}\n`);
  });

  it('omits default values', () => {
    const listen = { host: '127.0.0.1', port: 8080 };
    const db = 'paygate.db';
    expect(commandLine('admin link', { db, listen })).toBe('./paygate admin link');
    expect(commandLine('admin link', { db: '/a/b.db', listen: { ...listen, port: 8090 } })).toBe(
      './paygate admin link --db /a/b.db --listen 127.0.0.1:8090',
    );
    expect(commandLine('admin link', { db, listen: { host: '::1', port: 8080 } })).toBe(
      "./paygate admin link --listen '[::1]:8080'",
    );
    const domain = 'pay.example.com';
    expect(commandLine('admin link', { db, listen, domain, publicUrl: `https://${domain}` })).toBe(
      './paygate admin link --public-url https://pay.example.com --domain pay.example.com',
    );
  });
});

describe('a Callback URL with a bare |', () => {
  it('is encoded, and the command says so', async () => {
    const { store } = await openShop();
    const url = 'https://shop.example/index.php?route=pay/pay|callback&secret=abc';
    const set = await store('set', '1', '--callback-url', url);
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(set.stdout).toContain('The | in this Callback URL is saved and sent as %7C.');
    expect(await shown(store)).toMatchObject({ http_callback: url.replace('|', '%7C') });
    const plain = await store('set', '1', '--callback-url', 'https://shop.example/a?secret=abc');
    expect(plain.stdout).not.toContain('%7C');
  });
});

describe('a currency', () => {
  it('is chosen when the store is added', async () => {
    const path = join(tempFolder(), 'paygate.db');
    const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh', '--start-index', '0'];
    const given = ['--name', 'Café', ...wallet, '--currency', 'eur', '--network', 'regtest'];
    const added = await runCli(['store', 'add', ...given, '--db', path]);
    expect(added).toMatchObject({ code: 0, stderr: '' });
    expect(added.stdout).toContain('Orders and payments in EUR need prices.');
    const listed = await runCli(['store', 'show', '1', '--json', '--db', path]);
    expect(JSON.parse(listed.stdout)).toMatchObject({ currency: 'EUR', http_callback: '' });
  });

  it('is set with a note on the option that orders in it depend on', async () => {
    const { store } = await openShop();
    const set = await store('set', '1', '--currency', 'eur');
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(set.stdout).toContain('Orders and payments in EUR need prices.');
    expect(set.stdout).toContain('--price off');
    const off = await store('set', '1', '--no-currency');
    expect(off.stdout).not.toContain('prices');
  });
});

describe('the way by which money comes', () => {
  const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh', '--start-index', '0'];
  const add = (path: string, ...args: string[]) =>
    runCli([
      ...['store', 'add', '--name', 'Café', ...wallet, '--network', 'regtest', ...args],
      ...['--db', path],
    ]);

  it.each([
    ['links', 'Make a payment link: `paygate links add`'],
    ['plugin', 'Connect the plugin: open the store in the dashboard'],
    ['program', 'Make an order with the API key: /docs/quickstart'],
  ])('%s is noted, and the next step printed', async (way, step) => {
    const path = join(tempFolder(), 'paygate.db');
    const added = await add(path, '--way', way);
    expect(added).toMatchObject({ code: 0, stderr: '' });
    expect(added.stdout).toContain(step);
    const file = look(path, { readonly: true });
    const value = file
      .prepare("SELECT value FROM settings WHERE name = 'money_way_1'")
      .pluck()
      .get();
    file.close();
    expect(JSON.parse(String(value))).toBe(way);
  });

  it('is found out later without the option, and refused if it is another', async () => {
    const path = join(tempFolder(), 'paygate.db');
    const wrong = await add(path, '--way', 'shop');
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/links, plugin, program/);
    const added = await add(path);
    expect(added.stdout).not.toMatch(/payment link|Connect the plugin|quickstart/);
  });
});

describe('store show', () => {
  it('takes a name in any case, or a number', async () => {
    const { store } = await openShop();
    const byNumber = await store('show', '1', '--json');
    for (const name of ['Shop', 'sHOP']) {
      expect((await store('show', name, '--json')).stdout).toBe(byNumber.stdout);
    }
  });

  it('refuses a name that no store has, and one that several have', async () => {
    const { store } = await openShop();
    const unknown = await store('show', 'cafe');
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(/no store has the name 'cafe'; `paygate store list` shows/);
    const wallet = ['--xpub', accountKey(2).account, '--script', 'p2wpkh', '--start-index', '0'];
    await store('add', '--name', 'SHOP', ...wallet);
    expect((await store('show', 'shop')).stderr).toMatch(/several stores.*use a number: 1, 2/);
    await store('remove', '1');
    expect(JSON.parse((await store('show', 'shop', '--json')).stdout)).toMatchObject({ id: 2 });
    await store('remove', '2');
    expect((await store('show', 'shop')).stderr).toMatch(/several stores.*use a number: 1, 2/);
    expect((await store('show', '7')).code).toBe(1);
  });
});

describe('a Callback URL that was copied', () => {
  const url = 'https://shop.example/?wc-api=Gateway&secret=abc';

  it.each([`${url} `, `\n${url}\r\n`, `\ufeff${url}\u200b`, `"${url}"`, `<${url}>`])(
    'is stored without invisible characters around it: %j',
    async (copied) => {
      const { store } = await openShop();
      expect(await store('set', '1', '--callback-url', copied)).toMatchObject({ code: 0 });
      expect(await shown(store)).toMatchObject({ http_callback: url });
    },
  );

  it.each([
    ['https://shop.example/?sec\u200bret=abc', 'a zero-width space (U+200B) at character 26'],
    ['https://shop.example/?secret=a bc', 'a space (U+0020) at character 31'],
    [url.replace('&', '&amp;'), `write it as ${url}`],
    [url.replace('&', '&#038;'), `write it as ${url}`],
    [`${url}"`, 'leave the quotation mark out'],
  ])('is refused with invisible characters inside it: %j', async (copied, said) => {
    const { store } = await openShop();
    const refused = await store('set', '1', '--callback-url', copied);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(said)]);
    expect(refused.stderr).not.toMatch(/%20|%E2/);
    expect(await shown(store)).toMatchObject({ http_callback: 'https://shop.example/callback' });
  });
});

describe('a store', () => {
  it('gets no Callback URL of another store', async () => {
    const { path, store } = await openShop();
    const add = (url: string) =>
      store(
        ...['add', '--name', 'Other', '--callback-url', url],
        ...['--xpub', accountKey(2).account, '--script', 'p2wpkh'],
      );
    const taken = 'https://shop.example/callback';
    const refused = await add(taken);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain('store 1 "Shop" has this Callback URL already');
    expect(refused.stderr).toContain('`paygate store wallet 1`');
    expect(look(path).prepare('SELECT count(*) AS count FROM wallets').get()).toEqual({ count: 1 });

    await add(`${taken}?secret=rose`);
    const moved = await store('set', '2', '--callback-url', taken);
    expect([moved.code, moved.stderr]).toEqual([1, expect.stringContaining('store 1 "Shop"')]);
    expect((await store('set', '1', '--callback-url', taken)).code).toBe(0);
    // What a removed store had is free, and its last callbacks may follow the shop.
    await store('remove', '1');
    expect((await store('set', '2', '--callback-url', taken)).code).toBe(0);
    expect((await store('set', '1', '--name', 'Former')).code).toBe(0);
  });

  it('that is the second one prints the consequence for the shop of the first', async () => {
    const { store, added } = await openShop();
    expect(added).not.toContain('match_callback');
    const add = (name: string, ...more: string[]) =>
      store(
        ...['add', '--name', name, '--callback-url', `https://${name}.example/`],
        ...['--xpub', accountKey().account, '--script', 'p2wpkh', ...more],
      );
    expect((await add('second')).stdout).toMatch(
      /must name its own by match_callback .*key of its own/,
    );
    const { note } = JSON.parse((await add('third', '--json')).stdout);
    expect(note).toMatch(/must name its own by match_callback/);
  });

  it('gets another wallet, existing or new', async () => {
    const { path, store } = await openShop();
    const other = accountKey(2);
    const wallet = ['--xpub', other.account, '--script', 'p2wpkh'];
    const given = await store('wallet', '1', ...wallet, '--start-index', '7');
    expect(given).toMatchObject({ code: 0, stderr: '' });
    expect(given.stdout).toContain('Store 1 "Shop" issues from wallet 2 from now on.');
    expect(given.stdout).toContain(`\n  0  ${firstAddresses(other, 1)}\n`);
    expect(await shown(store)).toMatchObject({ wallet: { id: 2 }, next_index: 7, scanned: true });

    look(path).exec('UPDATE stores SET wallet_id = NULL');
    const first = ['--xpub', accountKey().account, '--script', 'p2wpkh'];
    const back = await store('wallet', '1', ...first, '--json');
    expect(JSON.parse(back.stdout)).toMatchObject({
      wallet: { id: 1 },
      first_addresses: firstAddresses(accountKey(), 3),
    });
    expect(await shown(store)).toMatchObject({ wallet: { id: 1 }, next_index: 0 });
  });

  it('gets no wallet whose counter would restart, and none if it is removed', async () => {
    const { store } = await openShop();
    const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh'];
    const again = await store('wallet', '1', ...wallet, '--start-index', '0');
    const goesOn =
      'paygate: this key is wallet 1 already, which continues at index 0; leave --start-index out\n';
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: goesOn });
    await store('remove', '1');
    const late = await store('wallet', '1', ...wallet);
    expect(late).toMatchObject({ code: 1, stderr: 'paygate: store 1 was removed\n' });
    const none = await store('wallet', '5', ...wallet);
    expect(none).toMatchObject({ code: 1, stdout: '', stderr: 'paygate: there is no store 5\n' });
  });

  it('of the same key as another is told that both share one counter', async () => {
    const { store } = await openShop();
    const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh'];
    const shared =
      'This wallet is also that of store 1 "Shop". All share one counter of addresses, so that no address is issued twice.';
    const second = ['add', '--name', 'Second', '--callback-url', 'https://two.example/cb'];
    expect((await store(...second, ...wallet)).stdout).toContain(`\n\n${shared}`);
    const json = JSON.parse((await store('wallet', '2', ...wallet, '--json')).stdout);
    expect(json.note).toBe(shared);
    await store('remove', '1');
    expect((await store('wallet', '2', ...wallet)).stdout).not.toContain('counter');
  });

  it('that was removed can be restored, unless another store has its Callback URL', async () => {
    const { path, store } = await openShop();
    const removed = await store('remove', '1', '--stop-callbacks');
    expect(removed.stdout).toContain(`To use it again: ./paygate store restore 1 --db ${path}\n`);
    const back = await store('restore', '1', '--json');
    expect([back.code, back.stderr]).toEqual([0, '']);
    expect(JSON.parse(back.stdout)).toMatchObject({ id: 1, callbacks_stopped: false });
    expect((await store('list')).stdout).toMatch(/^1 +Shop /m);
    const twice = await store('restore', '1');
    expect([twice.code, twice.stdout]).toEqual([0, 'Store 1 "Shop" is already in use.\n']);
    await store('remove', '1');
    const url = ['--callback-url', 'https://shop.example/callback'];
    const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh'];
    await store('add', '--name', 'Other', ...url, ...wallet);
    const taken = await store('restore', '1');
    expect([taken.code, taken.stdout]).toEqual([1, '']);
    expect(taken.stderr).toContain('store 2 "Other" has this Callback URL already');
    expect((await store('list')).stdout).not.toMatch(/^1 +Shop /m);
    expect(await store('restore', '9')).toMatchObject({
      code: 1,
      stderr: 'paygate: there is no store 9\n',
    });
  });

  it('is listed as active, removed, or removed with stopped callbacks', async () => {
    const { store } = await openShop();
    const shop = ['--name', 'Other', '--callback-url', 'https://other.example/callback'];
    await store('add', ...shop, '--xpub', accountKey().account, '--script', 'p2wpkh');
    await store('remove', '1', '--stop-callbacks');
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`;
    const { stdout } = await store('list', '--archived');
    expect(stdout).toMatch(/^id {2}name {3}script {2}callback URL +removed$/m);
    expect(stdout).toMatch(new RegExp(`^1 +Shop .* ${time}, its callbacks are stopped$`, 'm'));
    expect(stdout).toMatch(/^2 +Other .*\/callback$/m);
    const shown = await store('show', '1');
    expect(shown.stdout).toMatch(new RegExp(`^removed +${time}, its callbacks are stopped$`, 'm'));
  });

  it('shows that it gets -1', async () => {
    const { store } = await openShop();
    expect((await store('show', '1')).stdout).not.toContain('status');
    await store('set', '1', '--reversal-callback');
    expect((await store('show', '1')).stdout).toMatch(/^status -1 +sent$/m);
  });

  it('is not changed without an option', async () => {
    const { store } = await openShop();
    const { code, stderr } = await store('set', '1');
    expect([code, stderr]).toEqual([2, expect.stringContaining('name an option')]);
  });

  it('can be changed although another setting is no longer valid', async () => {
    const { path, store } = await openShop();
    await store('set', '1', '--confirmations-above', '5000:3');
    const sqlite = look(path);
    sqlite.exec('UPDATE stores SET required_confirmations = 3');
    sqlite.close();
    expect((await store('set', '1', '--name', 'Other')).code).toBe(0);
    expect((await store('set', '1', '--confirmations', '4')).code).toBe(2);
  });

  it.each([
    [['--confirmations', '3', '--confirmations-above', '5000:1']],
    [['--confirmations-above', '5000:2']],
    [['--confirmations-above', '5000:6', '--confirmations-above', '9000:1']],
  ])('is not changed so that a larger amount would be final as soon: %j', async (options) => {
    const { store } = await openShop();
    const { code, stderr } = await store('set', '1', ...options);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no more than')]);
    expect((await store('set', '1', '--confirmations-above', '5000:6')).code).toBe(0);
    const later = await store('set', '1', '--confirmations', '6');
    expect([later.code, later.stderr]).toEqual([2, expect.stringContaining('6 of every amount')]);
  });

  it('replaces its bands of amounts', async () => {
    const { store } = await openShop();
    await store('set', '1', '--confirmations-above', '5000:3');
    const bands = ['--no-confirmations-above', '--confirmations-above', '9000:6'];
    expect(await store('set', '1', ...bands)).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await store('show', '1');
    expect(stdout).toMatch(/^confirmations +2, 6 above 9000 sat$/m);
  });

  it('shows the previous secret in JSON too, while that signs', async () => {
    const { store } = await openShop();
    const shown = async () => JSON.parse((await store('show', '1', '--json')).stdout);
    const before = await shown();
    expect(before).toMatchObject({ old_webhook_secret: null, old_secret_ends_at: null });
    const rotated = JSON.parse((await store('rotate-secret', '1', '--json')).stdout);
    expect(await shown()).toMatchObject({
      webhook_secret: rotated.webhook_secret,
      old_webhook_secret: before.webhook_secret,
      old_secret_ends_at: rotated.old_secret_ends_at,
    });
  });
});

describe('the audit log', () => {
  it('has the changes of commands, marked as such', async () => {
    const { path, store } = await openShop();
    const run = (...args: string[]) => runCli([...args, '--db', path]);
    await store('set', '1', '--confirmations', '3', '--callback-url', 'https://a.example/');
    // What is so already is no change.
    await store('set', '1', '--confirmations', '3');
    await store('rotate-secret', '1');
    await store('remove', '1', '--stop-callbacks');
    await store('restore', '1');
    await store('restore', '1');
    await run('key', 'add', '--store', '1', '--scope', 'read');
    await run('key', 'revoke', '2');
    await run('key', 'rotate', '--overlap', '24h');
    await run('plugin', 'allow', '--minutes', '5');
    await run('callbacks', 'resend-failed', '--store', '1');
    await run('admin', 'link');
    const { stdout } = await run('audit', 'list', '--json');
    const rows = JSON.parse(stdout) as { action: string; key: unknown; detail: object }[];
    expect(rows.map(({ action }) => action).reverse()).toEqual([
      ...['store.add', 'store.change', 'secret.rotate', 'store.remove', 'store.restore'],
      ...['key.add', 'key.revoke', 'key.rotate', 'plugin.allow'],
      ...['callback.resend-failed', 'admin.link'],
    ]);
    for (const { key, detail } of rows) {
      expect([key, detail]).toEqual([null, expect.objectContaining({ client: 'command' })]);
    }
    expect(rows.find(({ action }) => action === 'store.change')?.detail).toEqual({
      ...{ requiredConfirmations: 3, http_callback: 'https://a.example/', client: 'command' },
    });
    expect(stdout).not.toMatch(/whsec_|pgk_/);
    const text = (await run('audit', 'list')).stdout;
    expect(text).toMatch(/ command +store 1 +Settings of the store were saved: .*Callback URL/);
    expect(text).not.toMatch(/[{}]|store\.change/);
  });
});

describe('recheck-used', () => {
  it('requests a check, prints how many addresses are marked, and writes an audit entry', async () => {
    const { path, store } = await openShop();
    const asked = await store('recheck-used', '1', '--json');
    expect(JSON.parse(asked.stdout)).toEqual({ id: 1, wallet_id: 1, marked: 0 });
    expect((await store('recheck-used', '1')).stdout).toContain('0 addresses of wallet 1');
    const audit = await runCli(['audit', 'list', '--json', '--db', path]);
    const row = { action: 'wallet.recheck-used', store: 1, detail: { wallet: 1, marked: 0 } };
    expect(JSON.parse(audit.stdout)).toMatchObject([row, row, { action: 'store.add' }]);
  });

  it('of an unknown store is refused', async () => {
    const { store } = await openShop();
    expect(await store('recheck-used', '7')).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('the webhook and the terms of orders', () => {
  const webhook = ['--webhook-url', 'https://shop.example/hook?secret=a'];

  it('are set, shown and removed', async () => {
    const { store } = await openShop();
    expect(await shown(store)).toMatchObject({
      ...{ webhook_url: null, webhook_events: ['order'], late: 'worth', order_expires: 3_600 },
      ...{
        quote_seconds: 900,
        tolerance_percent: 0.5,
        adjust_percent: 0,
        return_url: null,
        language: null,
      },
    });
    const terms = ['--late', 'ask', '--order-expires', '0', '--quote-seconds', '300'];
    const more = [
      '--tolerance',
      '1.25',
      '--return-url',
      'https://shop.example/',
      '--language',
      'de',
    ];
    const events = ['--webhook-events', 'order,payment'];
    expect(await store('set', '1', ...webhook, ...events, ...terms, ...more)).toMatchObject({
      code: 0,
    });
    expect(await shown(store)).toMatchObject({
      ...{ webhook_url: webhook[1], webhook_events: ['order', 'payment'], late: 'ask' },
      ...{ order_expires: 0, quote_seconds: 300, tolerance_percent: 1.25, language: 'de' },
      return_url: 'https://shop.example/',
    });
    const text = (await store('show', '1')).stdout;
    expect(text).toContain('https://shop.example/hook?secret=a (order,payment)');
    expect(text).toMatch(/orders +never expire, quotes of 300 s, tolerance 1.25 %/);
    await store('set', '1', '--no-webhook-url', '--no-return-url', '--no-language');
    expect(await shown(store)).toMatchObject({
      ...{ webhook_url: null, return_url: null, language: null, embed: [] },
    });
  });

  it('name several sites for frames, and none again', async () => {
    const { store } = await openShop();
    const sites = ['https://a.example', 'https://b.example', 'https://c.example'] as const;
    await store('set', '1', '--embed', sites[0], '--embed', `${sites[1]}/ ${sites[2]}`);
    expect(await shown(store)).toMatchObject({ embed: sites });
    expect((await store('show', '1')).stdout).toContain(sites.join(' '));
    await store('set', '1', '--no-embed');
    expect(await shown(store)).toMatchObject({ embed: [] });
  });

  it.each([
    ['--webhook-url', 'http://shop.example/hook'],
    ['--webhook-events', 'orders'],
    ['--late', 'maybe'],
    ['--order-expires', '299'],
    ['--quote-seconds', '3601'],
    ['--tolerance', '11'],
    ['--return-url', 'javascript:alert(1)'],
    ['--language', 'German'],
    ['--embed', 'https://shop.example/page'],
    ['--embed', 'http://shop.example'],
  ])('are refused: %s %s', async (option, value) => {
    const { store } = await openShop();
    const before = await shown(store);
    const { code, stderr } = await store('set', '1', option, value);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^paygate: /)]);
    expect(await shown(store)).toEqual(before);
  });

  it('make a Callback URL unnecessary, and are unnecessary themselves', async () => {
    const { store, path } = await openShop();
    expect((await store('set', '1', ...webhook, '--no-callback-url')).code).toBe(0);
    expect(await shown(store)).toMatchObject({ http_callback: '' });
    expect((await store('list')).stdout).toMatch(/^1 +Shop +p2wpkh +-$/m);
    expect((await store('set', '1', '--no-webhook-url')).code).toBe(0);
    const wallet = ['--xpub', accountKey(2).account, '--script', 'p2wpkh', '--start-index', '0'];
    for (const [name, ...receiver] of [['None'], ['Two', ...webhook], ['Three', ...webhook]]) {
      const added = await store('add', '--name', name ?? '', ...wallet.slice(0, 4), ...receiver);
      expect(added).toMatchObject({ code: 0, stderr: '' });
    }
    const test = await runCli(['callbacks', 'test', '--store', '1', '--db', path]);
    expect([test.code, test.stderr]).toEqual([1, expect.stringContaining('has no Callback URL')]);
  });
});
