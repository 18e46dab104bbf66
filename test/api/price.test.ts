// The prices for shops (wire §3): no key, fixed shapes, and no request to a source before the
// first one.

import { afterEach, expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { closeApps, openApp } from '../support/app.ts';
import { type Answer, type Receiver, startReceiver } from '../support/receiver.ts';

const sources: Receiver[] = [];
afterEach(async () => {
  await closeApps();
  for (const source of sources.splice(0)) await source.close();
});

/** An app with three local price sources. */
async function openShop(answer: () => Answer, config: Partial<Config> = {}) {
  for (let count = 0; count < 3; count += 1) sources.push(await startReceiver({ answer }));
  const priceSource = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  return openApp({ config: { price: 'own', priceSource, ...config } });
}

/** Without the key that `app.ask` sends by default. */
const withoutKey = { headers: { Authorization: '' } };
const rates = { status: 200, body: JSON.stringify({ USD: 67866.85, CHF: '60000.125' }) };

test('P-44 the documented responses, without a key', async () => {
  const app = await openShop(() => rates);
  await app.world.advance(3_600_000);
  expect(sources.map(({ requests }) => requests.length)).toEqual([0, 0, 0]);
  const ask = async (path: string) => {
    const { status, body } = await app.ask(path, withoutKey);
    return { status, body };
  };
  expect(await ask('/api/price?currency=USD')).toEqual({ status: 200, body: { price: 67866.85 } });
  expect((await ask('/api/price?currency=chf&crypto=btc')).body).toEqual({ price: 60000.13 });
  expect((await ask('/api/price?currency=BTC')).body).toEqual({ price: 1 });
  expect(await ask('/api/price?currency=ABC')).toEqual({ status: 200, body: { price: null } });
  expect((await ask('/api/price?currency=XAF')).body).toEqual({ price: null });
  expect((await ask('/api/price?currency=USD&crypto=BCH')).body).toEqual({ price: null });
  expect(await ask('/api/currencies')).toEqual({
    status: 200,
    body: [
      { code: 'CHF', name: 'Swiss Franc' },
      { code: 'USD', name: 'US Dollar' },
    ],
  });
  expect(await ask('/api/price')).toMatchObject({ status: 400, body: { status: 400 } });
  expect((await ask('/api/price?currency=USD&currency=CHF')).status).toBe(400);
  // Other operations still need a key.
  expect((await ask('/api/new_address')).status).toBe(401);
});

test('P-13 a client address has one limit for both routes; other addresses and keys are not limited', async () => {
  const app = await openShop(() => rates, {
    limitPrice: { perMinute: 60, burst: 2 },
    trustedProxy: [parseProxyNetwork('127.0.0.1')],
  });
  const from = async (client: string, path = '/api/price?currency=USD', key = '') => {
    const headers = { Authorization: key, 'X-Forwarded-For': client };
    const { status, headers: answered, body } = await app.ask(path, { headers });
    return { status, wait: answered.get('retry-after'), code: body.error?.code };
  };
  expect((await from('198.51.100.7')).status).toBe(200);
  expect((await from('198.51.100.7', '/api/currencies')).status).toBe(200);
  const refused = { status: 429, wait: '1', code: 429 };
  expect(await from('198.51.100.7')).toEqual(refused);
  expect(await from('198.51.100.7', '/api/currencies')).toEqual(refused);
  expect((await from('198.51.100.8')).status).toBe(200);
  expect((await from('2001:db8:0:1::1')).status).toBe(200);
  expect((await from('2001:db8:0:2::1')).status).toBe(200);
  expect((await from('2001:db8:0:3::1')).status).toBe(429);
  expect((await from('2001:db8:1:1::1')).status).toBe(200);
  const withKey = await from('198.51.100.7', '/api/v2/stores', `Bearer ${app.apiKey}`);
  expect(withKey.status).toBe(200);
  await app.world.advance(1_000);
  expect((await from('198.51.100.7')).status).toBe(200);
});

test('P-10 P-44 503 with Retry-After while there is no fresh price', async () => {
  const app = await openShop(() => ({ status: 500 }));
  for (const path of ['/api/price?currency=USD', '/api/currencies']) {
    const { status, headers, body } = await app.ask(path, withoutKey);
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('60');
    expect(body).toMatchObject({ status: 503, error: { code: 503, message: body.message } });
    expect(body.message).not.toMatch(/^Currency/);
  }
});

test('switched off: 404, and paygate ends at once while a source hangs', async () => {
  const off = await openApp({ config: { price: 'off' } });
  for (const path of ['/api/price?currency=USD', '/api/currencies']) {
    expect((await off.ask(path, withoutKey)).status).toBe(404);
  }
  const app = await openShop(() => 'hang');
  const asked = app.ask('/api/price?currency=USD', withoutKey);
  await Promise.all(sources.map((source) => source.waitFor(1)));
  await app.stop();
  expect((await asked).status).toBe(503);
});

test('only own sources, but none named: refused at the start', async () => {
  await expect(openApp({ config: { price: 'own' } })).rejects.toThrow(
    '--price own: name a source with --price-source',
  );
});
