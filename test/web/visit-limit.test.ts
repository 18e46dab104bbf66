// What strangers may ask without a key or a session, and how often: of the whole app.

import { afterEach, describe, expect, test } from 'vitest';
import { parseProxyNetwork } from '../../src/domain/client-address.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { signedIn, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const open = () => openReady({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });

/** Requests through a proxy that speaks HTTPS, without a key. */
const from =
  ({ port }: TestApp, client: string) =>
  (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { 'X-Forwarded-For': client, 'X-Forwarded-Proto': 'https', ...init.headers },
    });

/** How many of so many requests were answered before the first refusal. */
async function answered(ask: () => Promise<Response>, count: number): Promise<number> {
  for (let index = 0; index < count; index += 1) {
    const response = await ask();
    await response.arrayBuffer();
    if (response.status === 429) {
      expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
      return index;
    }
  }
  return count;
}

describe('S-89 of one network, a minute has', () => {
  test.each([
    ['60 pages', '/docs', 60],
    ['60 pages', '/docs/quickstart', 60],
    ['60 pages', '/api/openapi.json', 60],
    ['60 pages', '/dashboard/sign-in', 60],
    ['60 pages', '/dashboard/enter?token=x', 60],
    ['300 locked pages', '/dashboard/orders', 300],
    ['300 locked pages', '/dashboard/nothing', 300],
    ['120 files', '/dashboard/assets/x', 120],
    ['120 files', '/o/assets/x', 120],
    ['120 files', '/favicon.svg', 120],
    ['120 states', '/healthz', 120],
    ['120 states', '/readyz', 120],
  ])('%s: %s', async (_what, path, limit) => {
    const app = await open();
    const ask = from(app, '2001:db8:1:1::1');
    expect(await answered(() => ask(path), limit + 1)).toBe(limit);
    expect((await from(app, '2001:db8:1:2::1')(path)).status).toBe(429);
    expect((await from(app, '2001:db8:2:1::1')(path)).status).not.toBe(429);
    await app.world.advance(1_000);
    expect((await ask(path)).status).not.toBe(429);
  });

  test('pages for signing in of their own: the documentation does not use them up', async () => {
    const app = await open();
    const ask = from(app, '203.0.113.9');
    expect(await answered(() => ask('/docs'), 61)).toBe(60);
    expect(await answered(() => ask('/dashboard/sign-in'), 30)).toBe(30);
    expect(await answered(() => ask('/dashboard/enter?token=x'), 31)).toBe(30);
  });

  test('the same pages together, files together, and forms as well', async () => {
    const app = await open();
    const ask = from(app, '203.0.113.9');
    const send = () => ask('/dashboard/sign-in', { method: 'POST', body: 'do=sign-in' });
    expect(await answered(() => ask('/docs'), 30)).toBe(30);
    expect(await answered(() => ask('/api/openapi.json'), 31)).toBe(30);
    expect(await answered(() => ask('/dashboard/sign-in'), 50)).toBe(50);
    expect(await answered(send, 20)).toBe(10);
    expect(await answered(() => ask('/o/assets/x'), 60)).toBe(60);
    expect(await answered(() => ask('/dashboard/assets/x'), 50)).toBe(50);
    expect(await answered(() => ask('/favicon.svg'), 11)).toBe(10);
    expect(await answered(() => ask('/dashboard/orders'), 301)).toBe(300);
    expect((await ask('/healthz')).status).toBe(200);
  });
});

test('a session, a key of all stores and a program of this machine have no such limit', async () => {
  const app = await open();
  const owner = await signedIn(app);
  const headers = { Authorization: `Bearer ${app.apiKey}` };
  const shop = from(app, '203.0.113.9');
  for (let count = 0; count < 130; count += 1) {
    expect((await owner.get('/dashboard/sign-in')).status).not.toBe(429);
    expect((await shop('/readyz', { headers })).status).toBe(200);
    expect((await shop('/healthz', { headers })).status).toBe(200);
    expect((await visitorOf(app).get('/readyz')).status).toBe(200);
    expect((await visitorOf(app).get('/healthz')).status).toBe(200);
  }
});

test('a refused page costs less than a page: nothing of the query is searched or repeated', async () => {
  const app = await open();
  const ask = from(app, '203.0.113.9');
  await answered(() => ask('/dashboard/sign-in'), 61);
  const refused = await ask(`/dashboard/sign-in?next=${'abandon%20'.repeat(500)}`);
  expect(refused.status).toBe(429);
  expect(await refused.text()).not.toContain('abandon');
});
