// The page of new_address and callbacks: its examples work exactly as they are printed.

import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { receivers } from '../../src/api/reference/callback-tutorial.tsx';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { ask } from '../support/sandbox.ts';

afterEach(closeApps);

const pageOf = ({ port }: TestApp, headers = {}) =>
  ask(`http://127.0.0.1:${port}/docs/new-address`, { headers });

const plain = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

test('its receivers are those of docs/callbacks.md, which are run', async () => {
  expect(receivers.map(({ name }) => name)).toEqual(['PHP', 'Node', 'Python']);
  const documented = readFileSync('docs/callbacks.md', 'utf8');
  const page = plain((await pageOf(await openApp())).text);
  for (const { code } of receivers) {
    expect(code).toMatch(/take\(/);
    expect(documented).toContain(`\n${code}\n`);
    expect(page).toContain(`<pre><code>${code}</code></pre>`);
  }
});

test('it explains where to find the webhook secret, and what to answer without one', async () => {
  const { text } = await pageOf(await openApp());
  for (const said of ['whsec_', 'Show the secret', 'paygate store show', 'Answer 401']) {
    expect(text).toContain(said);
  }
});

test('it explains what to send with several stores', async () => {
  const { text } = await pageOf(await openApp());
  expect(text).toContain('new_address?match_callback=');
  expect(text).toContain('A key of one store');
});

test('its curl requests are answered by this paygate', async () => {
  const app = await openApp();
  await untilReady(app);
  const { status, text, headers } = await pageOf(app);
  expect(status).toBe(200);
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(text).not.toMatch(/<script|src=/);
  const origin = `http://127.0.0.1:${app.port}`;
  const [, path = ''] =
    plain(text).match(`Idempotency-Key: order-1001" ${origin}(\\S+)</code>`) ?? [];
  const again = { headers: { 'Idempotency-Key': 'order-1001' } };
  const { body } = await app.ask(path, again);
  expect(body.address).toMatch(/^bcrt1/);
  expect((await app.ask(path, again)).body).toEqual(body);
  app.pay(body.address, 25_000);
  await app.settle();
  const known = await app.ask(`/api/merchant/tx?addr=${body.address}`);
  expect(known.status).toBe(200);
});

test('names the public URL of the operator, and escapes the Host header', async () => {
  const named = await openApp({ config: { publicUrl: 'https://pay.example.com' } });
  expect((await pageOf(named)).text).toContain(' https://pay.example.com/api/new_address');
  const app = await openApp();
  for (const host of ['"><script>alert(1)</script>', "a'onclick='x", '<b>.example']) {
    expect((await pageOf(app, { Host: host })).text).not.toMatch(/<script|<b>\.|'onclick/);
  }
});

test('has no host name in its curl requests that a shell would run', async () => {
  const app = await openApp();
  for (const host of ['a$(id).example', 'a`id`.example', 'a;id;.example', 'a&id&.example']) {
    const { status, text } = await pageOf(app, { Host: host });
    expect([host, status === 400 || !plain(text).includes(host)]).toEqual([host, true]);
  }
});

test('uses HTTPS URLs behind a listed proxy with HTTPS', async () => {
  const said = {
    'X-Forwarded-For': '192.0.2.7',
    'X-Forwarded-Proto': 'https',
    Host: 'pay.example',
  };
  const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
  expect((await pageOf(app, said)).text).toContain(' https://pay.example/api/new_address');
  const host = { ...said, Host: '127.0.0.1:8080', 'X-Forwarded-Host': 'pay.example' };
  expect((await pageOf(app, host)).text).toContain(' https://pay.example/api/new_address');
  expect((await pageOf(await openApp(), said)).text).not.toContain('https://pay.example');
});
