// Connect a plugin, by platform: the labels, a key of the right shape, a webhook by hand, and what
// the plugin would find.

import { afterEach, expect, test } from 'vitest';
import { platforms } from '../../src/dashboard/pages/stores/plugin-platforms.ts';
import { closeApps, merchantKey } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const plugin = '/dashboard/stores/1/plugin';

/** The text that a copy button copies. */
const copied = (text: string, id: string): string | undefined =>
  new RegExp(
    `<code id="copy-${id}">([^<]*)</code> <button type="button" data-copy="copy-${id}"`,
  ).exec(text)?.[1];

/** The lines of a test, without their marks. */
const linesIn = (text: string): string[] => {
  const [, list = ''] = /<ul role="status">(.*?)<\/ul>/.exec(text) ?? [];
  return [...list.matchAll(/<li>(.*?)<\/li>/g)].map(([, line = '']) => line);
};

async function open(options: Parameters<typeof openGreenfield>[0] = {}) {
  const greenfield = await openGreenfield(options);
  return { ...greenfield, visitor: await signedIn(greenfield.app) };
}

const good = ['Server', 'Permissions of the key', 'Store', 'Payment methods'].map(
  (what) => `${what}: ok`,
);

test('each platform has a page with its labels, the URL and the id of the store', async () => {
  const { app, visitor, storeId } = await open();
  const { text: list } = await visitor.get(plugin);
  expect(Object.keys(platforms).length).toBeGreaterThanOrEqual(17);
  for (const [name, platform] of Object.entries(platforms)) {
    expect(list).toContain(`<a href="${plugin}/${name}">${platform.name}</a>`);
    const { status, text } = await visitor.get(`${plugin}/${name}`);
    expect([name, status]).toEqual([name, 200]);
    const { url, key, store, webhook } = platform;
    for (const label of [url, key, store, webhook?.secret]) {
      if (label !== undefined) expect(text).toContain(`<dt>${label}</dt>`);
    }
    expect(copied(text, 'url')).toBe(`http://127.0.0.1:${app.port}`);
    expect(copied(text, 'store')).toBe(store && storeId);
    expect([copied(text, 'key'), copied(text, 'secret')]).toEqual([undefined, undefined]);
    expect([name, text.includes('add-plugin-key')]).toEqual([name, key !== undefined]);
    expect([name, text.includes('add-webhook')]).toEqual([name, webhook !== undefined]);
    for (const step of platform.steps) expect(step.split('*').length % 2).toBe(1);
    expect(text.slice(text.indexOf('</dl>'))).not.toContain('*');
  }
  for (const name of ['nothing', 'constructor']) {
    expect((await visitor.get(`${plugin}/${name}`)).status).toBe(404);
  }
});

test('a plugin that ships at an unconfirmed payment by its own choice is set to another status', async () => {
  const { visitor } = await open();
  const says = async (name: string) => {
    const { text } = await visitor.get(`${plugin}/${name}`);
    expect(text).toContain('<b>Check connection</b> asks paygate for a new key');
    return /Set <b>Processing Status<\/b> to “(.*?)”/.exec(text)?.[1];
  };
  expect(await says('edd')).toBe('Processing');
  expect(await says('paid-memberships-pro')).toBe('pending');
  expect(await says('givewp')).toBeUndefined();
});

test('S-163 a key is made in the shape of its platform, is shown once, and the test with it changes nothing', async () => {
  const { app, visitor, ask, storeId } = await open({
    config: { publicUrl: 'https://pay.example' },
  });
  for (const [name, permissions] of [
    ['woocommerce', 5],
    ['prestashop', 6],
  ] as const) {
    const path = `${plugin}/${name}`;
    const made = await visitor.submit(path, 'add-plugin-key');
    expect(made.status).toBe(200);
    const key = copied(made.text, 'key') ?? '';
    expect(key).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(copied(made.text, 'url')).toBe('https://pay.example');
    expect((await visitor.get(path)).text).not.toContain(key);
    const current = await ask('GET', '/api-keys/current', undefined, key);
    expect(current.body.permissions).toHaveLength(permissions);
    const before = linesIn(
      (await visitor.submit(path, 'check-plugin', { 'api-key': `token ${key}` })).text,
    );
    const isFirst = name === 'woocommerce';
    expect(before.slice(0, 5)).toEqual(['URL: ok', ...good]);
    expect(before[5]).toContain(isFirst ? 'there is none yet' : 'Webhook: ok');
    const hook = { url: 'https://shop.example/hook' };
    expect((await ask('POST', '/stores/{s}/webhooks', hook, key)).status).toBe(200);
    const after = await visitor.submit(path, 'check-plugin', { 'api-key': key });
    expect(linesIn(after.text)).toEqual(['URL: ok', ...good, 'Webhook: ok']);
    expect(copied(after.text, 'key')).toBe(key);
  }
  const { text } = await visitor.get('/dashboard/settings/audit');
  expect(text).toContain('was added for PrestaShop');
  expect(await app.withStore(async ({ catalog }) => catalog.store(1).publicId)).toBe(storeId);
});

test('the test says what is wrong: the URL, the key, its store, the wallet, the webhook', async () => {
  const { app, visitor, addKey } = await open();
  const path = `${plugin}/woocommerce`;
  const check = async (key: string) =>
    linesIn((await visitor.submit(path, 'check-plugin', { 'api-key': key })).text);
  const shop = await check(await addKey('prestashop'));
  expect(shop[0]).toContain('leads a shop on another machine to itself');
  expect(shop[2]).toContain('not for this platform and store');
  expect(shop[4]).toContain('for another platform');
  await app.addStore({ name: 'Second', key: merchantKey(2), callbackUrl: '' });
  const other = await check(await addKey('standard', 'payments', 2));
  expect(other[2]).toContain('not for this platform and store');
  expect(other.slice(3)).toEqual(
    ['Store', 'Payment methods', 'Webhook'].map(
      (what) => `${what}: 403: This key is for another store`,
    ),
  );
  expect((await check(await addKey('standard', 'read')))[2]).toContain('not for this platform');
  expect((await check('A'.repeat(43)))[1]).toMatch(/^Server: 401: /);
  for (const wrong of ['', 'nothing', `${'A'.repeat(43)}\r\nX: y`]) {
    const refused = await visitor.submit(path, 'check-plugin', { 'api-key': wrong });
    expect([wrong, refused.status]).toEqual([wrong, 400]);
    expect(refused.text).toContain('This is no API key of paygate');
  }
  await app.withStore(({ database }) =>
    database.write(() => database.orm.$client.exec('UPDATE stores SET wallet_id = NULL')),
  );
  expect((await check(await addKey()))[4]).toBe('Payment methods: the store has no wallet');
});

test('S-162 a webhook is made by hand with the events of its platform, shows its secret once, and is deleted', async () => {
  const { app, visitor } = await open();
  const path = `${plugin}/xenforo`;
  const url = 'https://forum.example/payment_callback.php?_xfProvider=btcPayServer&x=veiled';
  const refused = await visitor.submit(path, 'add-webhook', { url: 'ftp://forum.example/' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('https://')]);
  const { text } = await visitor.submit(path, 'add-webhook', { url: ` ${url} ` });
  const secret = copied(text, 'secret');
  const rows = () => app.withStore(async ({ webhookRecords }) => webhookRecords.list(1));
  expect(await rows()).toMatchObject([{ url, secret, isEnabled: true, events: 'InvoiceSettled' }]);
  expect(secret).toMatch(/^[0-9a-f]{48}$/);
  const shown = (await visitor.get(path)).text;
  expect(shown).not.toContain(secret);
  expect(shown).not.toContain('veiled');
  await visitor.submit(`${plugin}/medusa`, 'add-webhook', { url });
  const [, second] = await rows();
  expect(second?.events).toBe('InvoiceProcessing,InvoiceSettled,InvoiceExpired,InvoiceInvalid');
  for (const webhook of [second?.publicId ?? '', second?.publicId ?? '', 'x']) {
    expect((await visitor.submit(path, 'delete-webhook', { webhook })).status).toBe(303);
  }
  expect(await rows()).toHaveLength(1);
  const log = (await visitor.get('/dashboard/settings/audit')).text;
  expect(log.match(/The webhook to .* was deleted/g)).toHaveLength(1);
  expect(log).not.toContain('veiled');
});

test('the test says that a shop refuses plain HTTP', async () => {
  const { visitor, key } = await open({ config: { publicUrl: 'http://pay.example' } });
  const { text } = await visitor.submit(`${plugin}/whmcs`, 'check-plugin', { 'api-key': key });
  expect(linesIn(text)[0]).toBe('URL: http://pay.example is not HTTPS, which some plugins refuse');
});

test('a removed store gets neither a key nor a webhook', async () => {
  const { app, visitor } = await open();
  await visitor.submit('/dashboard/stores/1/remove', 'remove');
  const counts = () =>
    app.withStore(async ({ keys, webhookRecords }) => [
      keys.list(app.world.now()).length,
      webhookRecords.list(1).length,
    ]);
  const before = await counts();
  await visitor.get('/dashboard/stores');
  for (const [does, fields] of [
    ['add-plugin-key', {}],
    ['add-webhook', { url: 'https://forum.example/a' }],
  ] as const) {
    const form = new URLSearchParams({ token: visitor.formToken, do: does, ...fields });
    const seen = await visitor.post(`${plugin}/xenforo`, String(form));
    expect([does, seen.status >= 400 && seen.status < 500]).toEqual([does, true]);
  }
  expect(await counts()).toEqual(before);
});
