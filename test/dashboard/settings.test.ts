// Settings: the last responses of price sources, and the audit log, page by page.

import { dirname } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { totpCode, totpStep } from '../../src/domain/access/totp.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { closeApps, openApp } from '../support/app.ts';
import { type Answer, type Receiver, startReceiver } from '../support/receiver.ts';
import { signedIn } from '../support/visitor.ts';

const sources: Receiver[] = [];
afterEach(async () => {
  await closeApps();
  for (const source of sources.splice(0)) await source.close();
});

const rates = '/dashboard/settings/rates';
const audit = '/dashboard/settings/audit';

const costs = (price: unknown): Answer => ({ status: 200, body: JSON.stringify({ EUR: price }) });

/** The cells of a page's table, row by row. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => cell),
  );

test('the last response of each source, and why it was left out; showing the page requests nothing', async () => {
  const answers: Answer[] = [
    costs(50_000),
    costs('50010.5'),
    costs(60_000),
    { status: 500 },
    costs('<b>'),
    { status: 200, body: '{"USD":1}' },
  ];
  for (const answer of answers) sources.push(await startReceiver({ answer: () => answer }));
  const priceSource = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  const app = await openApp({ config: { price: 'own', priceSource } });
  const visitor = await signedIn(app);
  const before = await visitor.get(rates);
  expect(before.text.match(/not requested yet/g)).toHaveLength(answers.length);
  expect(sources.map(({ requests }) => requests.length)).toEqual(answers.map(() => 0));
  expect((await visitor.submit(rates, 'ask', { currency: 'eur' })).status).toBe(303);
  const { text } = await visitor.get(rates);
  const said = rowsOf(text).filter(({ length }) => length === 5);
  expect(said.map((cells) => cells.slice(1, 4))).toEqual([
    ['EUR', '50000.00', ''],
    ['EUR', '50010.50', ''],
    ['EUR', '60000.00', 'more than 5 % off the median'],
    ['EUR', '–', 'it answered 500'],
    ['EUR', '–', 'its value is not a price'],
    ['EUR', '–', 'does not have this currency'],
  ]);
  expect(text).not.toContain('<b>');
  // Another request within a minute uses the cached prices.
  await visitor.submit(rates, 'ask', { currency: 'EUR' });
  expect(sources.map(({ requests }) => requests.length)).toEqual(answers.map(() => 1));
  const refused = await visitor.submit(rates, 'ask', { currency: 'EURO' });
  expect([refused.status, refused.text.includes('ISO 4217')]).toEqual([400, true]);
});

test('the page says that prices are switched off', async () => {
  const app = await openApp({ config: { price: 'off' } });
  const visitor = await signedIn(app);
  expect((await visitor.get(rates)).text).toContain('Prices are switched off');
  await visitor.get('/dashboard/settings/account');
  const form = new URLSearchParams({ token: visitor.formToken, do: 'ask', currency: 'EUR' });
  expect((await visitor.post(rates, String(form))).status).toBe(409);
});

test('the audit log goes page by page, to its first entry', async () => {
  const app = await openApp();
  await app.withStore(({ database, audit: log }) =>
    database.write((tx) => {
      for (let number = 1; number <= 120; number += 1) {
        log.noteChange(tx, app.world.now(), '::1', 'link.add', { link: `test.${number}.` });
      }
    }),
  );
  const visitor = await signedIn(app);
  const seen: string[] = [];
  let path: string | undefined = audit;
  while (path !== undefined) {
    const { text } = await visitor.get(path);
    seen.push(...[...text.matchAll(/link (test\.\d+\.) was/g)].map(([, link = '']) => link));
    path = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  }
  const expected = Array.from({ length: 120 }, (_, place) => `test.${120 - place}.`);
  expect(seen).toEqual(expected);
  expect((await visitor.get(`${audit}?before=x`)).status).toBe(400);
});

test('the audit log has new keys, shown secrets, and changes of the password', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const [account, stores, store] = ['settings/account', 'stores', 'stores/1'];
  const send = async (page: string, does: string, fields: Record<string, string> = {}) => {
    const seen = await visitor.submit(`/dashboard/${page}`, does, fields);
    expect([does, [200, 303].includes(seen.status)]).toEqual([does, true]);
    return seen.text;
  };
  await send(stores, 'reveal-key');
  await send(`${stores}/replace-key`, 'rotate-key', { overlap: '24-hours' });
  await send(`${store}/keys`, 'reveal-secret');
  await send(`${store}/replace-secret`, 'rotate-secret');
  await send(`${store}/keys`, 'add-key', { scope: 'payments' });
  const [key = 0] = await app.withStore(async ({ keys }) =>
    keys.list(app.world.now()).flatMap(({ id, storeId }) => (storeId === null ? [] : [id])),
  );
  await send(`${store}/plugin`, 'allow-plugin', { key: `${key}` });
  await send(`${store}/plugin`, 'shut-plugin', { key: `${key}` });
  await send(`${store}/keys`, 'revoke-key', { key: `${key}` });
  const begun = await send(account, 'begin-totp');
  const [, secret = ''] = /name="secret" value="([A-Z2-7]+)"/.exec(begun) ?? [];
  const code = totpCode(secret, totpStep(app.world.now()));
  await send(account, 'finish-totp', { secret, code });
  await send(account, 'end-totp');
  const fresh = 'another good password';
  await send(account, 'change-password', { 'password-new': fresh, 'password-again': fresh });
  await send(`${store}/remove`, 'remove');
  await send(`${store}/restore`, 'restore');
  const noted = await app.withStore(async ({ audit: log }) => log.list(20));
  const actions = [
    ...['key.reveal', 'key.rotate', 'secret.reveal', 'secret.rotate', 'key.add', 'plugin.allow'],
    ...['plugin.shut', 'key.revoke', 'totp.on', 'totp.off', 'password.set', 'store.remove'],
    'store.restore',
  ];
  expect(noted.map(({ action }) => action).reverse()).toEqual(actions);
});

test('the audit log says what was done in sentences, by whom and in which store', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  await visitor.submit('/dashboard/stores', 'reveal-key');
  await app.withStore(({ database, audit: log, catalog }) =>
    database.write((tx) => {
      const now = app.world.now();
      catalog.changeStore(tx, 1, { name: 'Tea & more' });
      const detail = { http_callback: 'https://shop.example/', paymentWindow: 5 };
      log.note(tx, now, {
        ...{ keyId: 1, storeId: 1, action: 'store.change' },
        detail: { ...detail, client: '192.0.2.1' },
      });
      log.noteChange(tx, now, 'command', 'callback.resend-failed', { count: 1 }, 1);
      log.noteChange(tx, now, 'command', 'order.forget', { orders: 3 });
      // A newer version writes other details and actions.
      log.noteChange(tx, now, 'command', 'plugin.allow');
      const unknown = { keyId: null, storeId: null, action: 'toString', detail: {} };
      log.note(tx, now, unknown as unknown as Parameters<typeof log.note>[2]);
    }),
  );
  const { text } = await visitor.get(audit);
  const [, ...rows] = rowsOf(text).map(([, what = '', who, store]) => [
    ...[what.slice(0, what.indexOf('<')), who, store],
  ]);
  expect(rows).toEqual([
    ['toString.', 'dashboard', ''],
    ['A plugin with the API key ? may change stores.', 'command', ''],
    ['The texts of 3 orders were erased.', 'command', ''],
    ['1 failed delivery was sent again.', 'command', 'Tea &amp; more'],
    [
      'Settings of the store were saved: Callback URL, payment window.',
      ...['API key 1 at 192.0.2.1', 'Tea &amp; more'],
    ],
    ['The merchant API key was shown.', 'admin at 127.0.0.1', ''],
  ]);
  expect(text).toContain('<code>key.reveal</code>');
});

test('About has what a bug report needs, and never where the database lies', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const since = new Date(app.world.now()).toISOString();
  const { text } = await visitor.get('/dashboard/settings');
  const { version, network, database } = app.running.health();
  for (const each of [version, network, database, since]) expect(text).toContain(each);
  for (const to of ['/docs', '/docs/quickstart']) expect(text).toContain(`href="${to}"`);
  expect(text).toContain('paygate licenses');
  expect(text).not.toContain(dirname(app.path));
});
