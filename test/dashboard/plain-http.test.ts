// The dashboard by plain HTTP: refused beyond loopback, unless the operator allows it in their own
// network (decision 052). Each request comes from a proxy of the test, which names the client.

import { request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { password, setPassword } from '../support/visitor.ts';

afterEach(closeApps);

const listed = [parseProxyNetwork('127.0.0.1')];
const home = '/dashboard';

interface Sent {
  readonly status: number;
  readonly cookies: readonly string[];
  readonly text: string;
}

interface Sending {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Sends a request with any Host, which fetch does not allow. */
async function send(app: TestApp, path: string, sending: Sending = {}): Promise<Sent> {
  const { method = 'GET', headers = {}, body } = sending;
  const target = { host: '127.0.0.1', port: app.port, path, method, headers };
  return new Promise((resolve, reject) => {
    const sent = request(target, async (response) => {
      const cookies = response.headers['set-cookie'] ?? [];
      resolve({ status: response.statusCode ?? 0, cookies, text: await textOf(response) });
    });
    sent.once('error', reject).end(body);
  });
}

/** Headers of a request that a proxy received by plain HTTP. */
const through = (host: string, client: string): Record<string, string> => ({
  Host: host,
  'X-Forwarded-For': client,
  'X-Forwarded-Host': host,
  'X-Forwarded-Proto': 'http',
});

async function openDashboard(config: object) {
  const app = await openApp({ config });
  await setPassword(app);
  return app;
}

describe('S-60 plain HTTP that the operator allows', () => {
  const allowed = { dashboardPlainHttp: true, trustedProxy: listed };

  test.each([
    ['umbrel.local:8187', '192.168.1.20'],
    ['192.168.1.5:8187', '10.21.0.1'],
    ['umbrel', '100.101.102.103'],
    ['[fd00::5]:8187', 'fd00::20'],
    [`${'a'.repeat(56)}.onion`, '10.21.21.11'],
  ])('signs in at %s from %s, with a cookie that works there', async (host, client) => {
    const app = await openDashboard(allowed);
    const headers = through(host, client);
    const page = await send(app, `${home}/sign-in`, { headers });
    expect(page.status).toBe(200);
    const [visitor = ''] = page.cookies;
    const [, token = ''] = /name="token" value="([^"]+)"/.exec(page.text) ?? [];
    const signedIn = await send(app, `${home}/sign-in`, {
      method: 'POST',
      headers: {
        ...headers,
        Origin: `http://${host}`,
        Cookie: visitor.split(';')[0] ?? '',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: String(new URLSearchParams({ token, do: 'sign-in', password })),
    });
    expect(signedIn.status).toBe(303);
    const [cookie = ''] = signedIn.cookies;
    expect(cookie).toMatch(/^paygate-\d+=/);
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain('Secure');
    const inside = await send(app, home, {
      headers: { ...headers, Cookie: cookie.split(';')[0] ?? '' },
    });
    expect(inside.status).toBe(200);
  });

  test.each([
    ['a client of the internet', through('192.168.1.5:8187', '203.0.113.5')],
    ['a public address', through('203.0.113.9:8187', '172.17.0.1')],
    ['a public name, which a stranger may point here', through('evil.example', '192.168.1.20')],
    ['a public name that ends like a local one', through('x.evil-local', '192.168.1.20')],
  ])('refuses %s', async (_what, headers) => {
    const app = await openDashboard(allowed);
    expect((await send(app, home, { headers })).status).toBe(403);
  });

  test('refuses a proxy that is not listed', async () => {
    const app = await openDashboard({ dashboardPlainHttp: true, trustedProxy: [] });
    const headers = through('umbrel.local:8187', '192.168.1.20');
    expect((await send(app, home, { headers })).status).toBe(403);
  });

  test('accepts the plain URL that the operator names, and no other public one', async () => {
    const app = await openDashboard({ ...allowed, publicUrl: 'http://box.example:8187' });
    const from = (host: string) => send(app, home, { headers: through(host, '192.168.1.20') });
    expect((await from('box.example:8187')).status).toBe(303);
    expect((await from('box.example:80')).status).toBe(403);
  });

  test('accepts no form of another port, where another app of the machine is', async () => {
    const app = await openDashboard(allowed);
    const headers = {
      ...through('umbrel.local:8187', '192.168.1.20'),
      Origin: 'http://umbrel.local:3000',
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    const seen = await send(app, `${home}/sign-in`, { method: 'POST', headers, body: 'do=x' });
    expect(seen.status).toBe(403);
  });

  test('through HTTPS keeps the secure cookie', async () => {
    const app = await openDashboard(allowed);
    const headers = { ...through('pay.example.com', '203.0.113.5'), 'X-Forwarded-Proto': 'https' };
    const seen = await send(app, `${home}/sign-in`, { headers });
    expect(seen.cookies.join()).toMatch(/^__Host-paygate-visitor=.*; Secure/);
  });
});

test('without the option, plain HTTP through a listed proxy is refused', async () => {
  const app = await openDashboard({ trustedProxy: listed });
  const headers = through('umbrel.local:8187', '192.168.1.20');
  const seen = await send(app, `${home}/sign-in`, { headers });
  expect([seen.status, seen.cookies]).toEqual([403, []]);
});
