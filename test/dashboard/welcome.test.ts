// The setup, from an empty database to a shop that has accepted a test callback.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createSignInLink } from '../../src/dashboard/guard/sign-in-link.ts';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { password, signedIn, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);

const home = '/dashboard';

const stepsDone = (text: string): number => text.match(/✓ done/g)?.length ?? 0;

test('shows finished and next steps, and disappears once a shop has responded', async () => {
  const app = await openApp();
  await untilReady(app);
  const visitor = visitorOf(app);
  const path = await app.withStore((records) => createSignInLink(records, app.world, ''));
  const fields = { 'password-new': password, 'password-again': password };
  const entered = await visitor.submit(path, 'enter', fields);
  expect(entered.to).toBe(`${home}/welcome`);
  const before = await visitor.get(`${home}/welcome`);
  expect(stepsDone(before.text)).toBe(2);
  expect(before.text).toContain(`${app.labels[0]}: <span class="good">live</span>`);
  expect(before.text).toContain(`http://127.0.0.1:${app.port}/api/new_address`);
  app.receiver.script({ status: 404 });
  await visitor.submit(`${home}/stores/1/callbacks`, 'send-test');
  expect((await visitor.get(home)).text).toContain('Continue the setup');
  await visitor.submit(`${home}/stores/1/callbacks`, 'send-test');
  expect(stepsDone((await visitor.get(`${home}/welcome`)).text)).toBe(3);
  expect((await visitor.get(home)).text).not.toContain('Continue the setup');
  expect(before.text).not.toContain(app.apiKey);
  const { text, headers } = await visitor.submit(`${home}/welcome`, 'reveal-key');
  expect(text).toContain(`curl -H &quot;Authorization: Bearer ${app.apiKey}&quot;`);
  // The page asks for itself every three seconds, but not the answer with the key.
  expect(before.text).toContain('data-poll="3000"');
  expect(text).not.toContain('data-poll=');
  expect(before.headers.get('Refresh')).toBe('20');
  expect(headers.get('Refresh')).toBeNull();
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
  expect(text).toContain('Add a store first.');
  for (const path of [home, `${home}/stores`, `${home}/callbacks`, `${home}/addresses`]) {
    expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
  }
  for (const page of ['stores', 'welcome']) {
    const { status } = await visitor.submit(`${home}/${page}`, 'reveal-key');
    expect([page, status]).not.toEqual([page, 200]);
  }
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
