// The setup, from an empty database to the first money, for each way in which it may come.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createSignInLink } from '../../src/dashboard/guard/sign-in-link.ts';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { password, signedIn, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);

const home = '/dashboard';

const ready = `${home}/stores/1/ready`;

/** The steps of the page, each with a tick if it is done. */
const stepsOf = (text: string): string[] =>
  [...text.matchAll(/<li><h2>([^<]*?) *(<span class="good">✓ done<\/span>)?<\/h2>/g)].map(
    ([, name = '', tick]) => (tick === undefined ? name : `${name} ✓`),
  );

test('of a program: shows finished and next steps, and ends once it has responded', async () => {
  const app = await openApp();
  await untilReady(app);
  const visitor = visitorOf(app);
  const path = await app.withStore((records) => createSignInLink(records, app.world, ''));
  const fields = { 'password-new': password, 'password-again': password };
  const entered = await visitor.submit(path, 'enter', fields);
  expect(entered.to).toBe(`${home}/welcome`);
  expect((await visitor.get(`${home}/welcome`)).text).toContain(`href="${ready}"`);
  const before = await visitor.get(ready);
  expect(stepsOf(before.text)).toEqual(['Wallet ✓', 'First request', 'Test']);
  expect(before.text).toContain(`http://127.0.0.1:${app.port}/api/new_address`);
  app.receiver.script({ status: 404 });
  await visitor.submit(`${home}/stores/1/callbacks`, 'send-test');
  expect((await visitor.get(home)).text).toContain('Setup: 2 of 4 done');
  await visitor.submit(`${home}/stores/1/callbacks`, 'send-test');
  expect(stepsOf((await visitor.get(ready)).text)).toEqual(['Wallet ✓', 'First request', 'Test ✓']);
  expect((await visitor.get(home)).text).not.toContain('Setup:');
  expect((await app.newAddress()).length).toBeGreaterThan(0);
  expect(stepsOf((await visitor.get(ready)).text)[1]).toBe('First request ✓');
  expect(before.text).not.toContain(app.apiKey);
  const { text } = await visitor.submit(ready, 'reveal');
  expect(text).toContain(`curl -H &quot;Authorization: Bearer ${app.apiKey}&quot;`);
});

/** A store with neither a Callback URL nor a webhook. */
async function openCafe() {
  const app = await openApp();
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { callbackUrl: '', currency: 'EUR' })),
  );
  await untilReady(app);
  return { app, visitor: await signedIn(app) };
}

test('of links and a till: wallet, mail, first link, test payment, and it ends with the money', async () => {
  const { app, visitor } = await openCafe();
  const { text } = await visitor.get(ready);
  expect(stepsOf(text)).toEqual(['Wallet ✓', 'Mail', 'First link', 'Test payment']);
  expect(text.slice(text.indexOf('<main'))).not.toMatch(/[Cc]allback|[Ww]ebhook|curl|your shop/);
  expect((await visitor.get(home)).text).toContain('Setup: 2 of 5 done');
  const link = { store: '1', title: 'Counter', currency: '', note: 'no', view: 'page' };
  await visitor.submit(`${home}/links/new`, 'add', link);
  const linked = await visitor.get(ready);
  expect(linked.text).toContain(`<a href="${home}/links/1/print">print its poster</a>`);
  expect(stepsOf(linked.text)).toEqual(['Wallet ✓', 'Mail', 'First link ✓', 'Test payment']);
  await app.withStore(({ state, database }) =>
    database.write((tx) => {
      const server = { host: 'smtp.example', port: 465, security: 'tls', from: 'a@b.example' };
      state.mailServer.write(tx, server as never);
      const target = state.notifyTarget(1);
      target.write(tx, { ...target.read(), recipients: ['cafe@example.com'] });
    }),
  );
  expect(stepsOf((await visitor.get(ready)).text)[1]).toBe('Mail ✓');
  const address = await app.newAddress();
  app.pay(address, 20_000);
  await app.settle();
  expect(stepsOf((await visitor.get(ready)).text)[3]).toBe('Test payment ✓');
  // Nothing speaks of a shop that there is not.
  const pages = ['', '/stores/1', '/stores/1/ready', '/payments', '/payments/1', '/addresses/1'];
  for (const page of pages) {
    const shown = await visitor.get(`${home}${page}`);
    const main = shown.text.slice(shown.text.indexOf('<main'));
    expect([page, main.match(/callback|webhook|curl|undelivered|deliver|your shop/i)]).toEqual([
      page,
      null,
    ]);
  }
  // A URL brings all of it back.
  const url = { 'callback-url': 'https://shop.example/cb' };
  await visitor.submit(`${home}/stores/1/callbacks`, 'change', url);
  expect((await visitor.get(home)).text).toContain('Undelivered');
  expect((await visitor.get(`${home}/stores/1`)).text).toContain('/stores/1/callbacks');
  expect((await visitor.get(home)).text).not.toContain('Setup:');
});

test('of a shop with a plugin: connect it, and a test payment', async () => {
  const { visitor } = await openCafe();
  const { to } = await visitor.submit(`${home}/stores/1`, 'set-way', { way: 'plugin' });
  expect(to).toBe(ready);
  expect(stepsOf((await visitor.get(ready)).text)).toEqual([
    'Wallet ✓',
    'Connect a plugin',
    'Test payment',
  ]);
  const hook = { url: 'https://shop.example/hook' };
  await visitor.submit(`${home}/stores/1/plugin/medusa`, 'add-webhook', hook);
  expect(stepsOf((await visitor.get(ready)).text)[1]).toBe('Connect a plugin ✓');
  expect((await visitor.submit(`${home}/stores/1`, 'set-way', { way: 'other' })).status).toBe(400);
  // The answer is a note: what receives already stays.
  await visitor.submit(`${home}/stores/1`, 'set-way', { way: 'links' });
  expect(stepsOf((await visitor.get(ready)).text)[1]).toBe('Connect a plugin ✓');
});

test('begins without a store', async () => {
  const app = await openApp();
  await app.stop();
  rmSync(app.path);
  rmSync(join(dirname(app.path), '.paygate-mark'), { recursive: true });
  await app.start();
  const visitor = await signedIn(app);
  const { text } = await visitor.get(`${home}/welcome`);
  expect(text).toContain('Add your store');
  expect(text).toContain(`${app.labels[0]}: <span class="good">live</span>`);
  expect(text).toContain('data-poll="3000"');
  expect((await visitor.get(home)).text).toContain('Setup: 1 of 2 done');
  for (const path of [home, `${home}/stores`, `${home}/callbacks`, `${home}/addresses`]) {
    expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
  }
  expect((await visitor.submit(`${home}/stores`, 'reveal-key')).status).not.toBe(200);
});

test('a delivered test callback of the command line also completes the step', async () => {
  const app = await openApp();
  await untilReady(app);
  const visitor = await signedIn(app);
  const isUnfinished = async () =>
    (await visitor.get('/dashboard')).text.includes('Continue the setup');
  const send = async () =>
    (await runCli(['callbacks', 'test', '--store', '1', '--db', app.path])).code;
  app.receiver.script({ status: 500 });
  expect([await send(), await isUnfinished()]).toEqual([1, true]);
  expect([await send(), await isUnfinished()]).toEqual([0, false]);
});
