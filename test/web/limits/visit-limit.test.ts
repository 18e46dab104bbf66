// What strangers may ask without a key or a session, and how often: of the whole app.

import { afterEach, describe, expect, test } from 'vitest';
import { formatApiKey } from '../../../src/domain/access/api-key.ts';
import { parseProxyNetwork } from '../../../src/domain/access/client-address.ts';
import { closeApps, openReady, type TestApp } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { signedIn, visitorOf } from '../../support/visitor.ts';

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

describe.each(['/healthz', '/readyz'])('P-13 a wrong key at %s', (path) => {
  const limitUnknownKey = { perMinute: 10, burst: 10 };
  const limited = () =>
    openReady({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')], limitUnknownKey } });
  const wrong = formatApiKey(new Uint8Array(32).fill(9));
  const by = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });

  test('is one of ten a minute of its network, with those of the API', async () => {
    const app = await limited();
    const ask = from(app, '2001:db8:1:1::1');
    for (let count = 0; count < 4; count += 1) {
      expect((await ask('/api/new_address', by(wrong))).status).toBe(401);
    }
    expect(await answered(() => ask(path, by(wrong)), 4)).toBe(4);
    expect(await answered(() => ask(path, by('pgk_wrong')), 3)).toBe(2);
    expect((await from(app, '2001:db8:1:2::1')(path, by(wrong))).status).toBe(429);
    expect((await ask('/api/new_address', by(wrong))).status).toBe(429);
    expect((await from(app, '2001:db8:2:1::1')(path, by(wrong))).status).toBe(200);
    // Neither a monitor without a key nor a valid key pays for it.
    expect((await ask(path)).status).toBe(200);
    expect((await ask(path, by(app.apiKey))).status).toBe(200);
  });

  test('is logged as at the API, in the same few lines, and never itself', async () => {
    const app = await limited();
    const ask = from(app, '203.0.113.9');
    const refusals = () =>
      app.world.logs.filter(({ message }) => message === 'a request was refused');
    await ask(path);
    await ask(path, by(app.apiKey));
    expect(refusals()).toEqual([]);
    await ask(path, by(wrong));
    const unknown = { client: '203.0.113.9', reason: 'an unknown key' };
    expect(refusals().map(({ fields }) => fields)).toEqual([{ ...unknown, path }]);
    for (let count = 0; count < 8; count += 1) await ask('/api/new_address', by(wrong));
    for (let count = 0; count < 3; count += 1) await ask(path, by(wrong));
    expect(refusals()).toHaveLength(10);
    expect(refusals().at(-1)?.fields).toEqual({ ...unknown, path });
    expect(JSON.stringify(app.world.logs)).not.toContain(wrong);
  });

  test('of a key that has ended is logged with its id', async () => {
    const app = await limited();
    await app.withStore(({ database, keys }) =>
      database.write((tx) =>
        keys.rotateMerchantKey(tx, app.world.now(), new Uint8Array(32).fill(8), 0),
      ),
    );
    const ended = await from(app, '203.0.113.9')(path, by(app.apiKey));
    expect(ended.status).toBe(200);
    expect(app.world.logs.map(({ fields }) => fields)).toContainEqual({
      ...{ client: '203.0.113.9', path, reason: 'a key that has ended', key: 1 },
    });
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
