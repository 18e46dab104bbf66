// Certificates by ACME (`--domain`) from a real authority: Pebble asks at port 80, issues, refuses,
// and is down. Without Pebble these tests are skipped with a message.

import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { createPort80 } from '../../src/web/port-80.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { makeAuthority } from '../support/authority.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { findPebble, type Pebble, startPebble } from '../support/pebble.ts';
import { askByTls } from '../support/tls.ts';
import { setPassword } from '../support/visitor.ts';
import { createTestWorld } from '../support/world.ts';

const domain = 'pay.example.com';
const [minuteMs, dayMs] = [60_000, 86_400_000];

const pebble = findPebble();
const path = 'path' in pebble ? pebble.path : '';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const plainOf =
  (port: number) =>
  (asked: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${asked}`, { redirect: 'manual', ...init });

interface Given {
  readonly httpPort: number;
  readonly directory: string;
  readonly ca?: string;
}

const openWith = ({ httpPort, directory, ca }: Given, startAt = Date.now()): Promise<TestApp> =>
  openApp({
    world: createTestWorld({ startAt }),
    config: {
      domain,
      acmeEmail: 'you@example.com',
      acmeDirectory: directory,
      acmeCa: ca,
      listenHttp: { host: '127.0.0.1', port: httpPort },
    },
  });

const logged = ({ world }: TestApp, words: string) =>
  world.logs.filter(({ message }) => message.includes(words));
const fetched = (app: TestApp) => logged(app, 'a new certificate is in use');
const failed = (app: TestApp) => logged(app, 'no certificate from the authority');
const warnings = ({ running: app }: TestApp) =>
  app.health().warnings.filter((each) => each.includes('certificate'));
/** Up to the very tick: the clock does not go on while what it starts is on its way. */
const untilTick = ({ world }: TestApp) => world.advance(minuteMs - (world.now() % minuteMs));
async function untilFetched(app: TestApp, count = 1): Promise<void> {
  const isOver = () => fetched(app).length === count || failed(app).length > 0;
  await app.world.until(isOver, 'a certificate');
  expect(failed(app)).toEqual([]);
}
const untilFailed = (app: TestApp, count: number) =>
  app.world.until(() => failed(app).length === count, 'a failure');
const kept = ({ path }: TestApp) => join(dirname(path), 'acme');

/** Validated by the authority's root alone. */
const shown = async ({ port }: TestApp, authority: Pebble) =>
  askByTls({
    port,
    path: '/healthz',
    ca: await authority.root(),
    servername: domain,
    headers: { Host: domain },
  });

describe.skipIf('missing' in pebble)('with Pebble', () => {
  async function openBoth(options: { readonly lifetimeSeconds?: number } = {}) {
    const httpPort = await freePort();
    const authority = await startPebble(path, { httpPort, ...options });
    const app = await openWith({ httpPort, ...authority });
    return { app, authority, httpPort };
  }

  test('S-107 a certificate is ordered, used, and readable by paygate only', async () => {
    const { app, authority } = await openBoth();
    expect(warnings(app)).toEqual(['there is no HTTPS certificate yet']);
    await expect(shown(app, authority)).rejects.toThrow();
    await untilFetched(app);
    expect((await shown(app, authority)).status).toBe(200);
    expect(warnings(app)).toEqual([]);
    const folder = kept(app);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const files = readdirSync(folder).sort();
    expect(files).toEqual(['account.pem', 'certificate.json', 'last-try']);
    for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(app.world.logs)).not.toContain('PRIVATE');
  });

  test('the next start orders nothing', async () => {
    const { app, authority } = await openBoth();
    await untilFetched(app);
    const { sha256 } = await shown(app, authority);
    const root = await authority.root();
    await app.stop();
    await authority.stop();
    await app.start();
    await app.world.advance(5 * minuteMs);
    const { port } = app;
    const again = await askByTls({ port, path: '/healthz', ca: root, servername: domain });
    expect(again.sha256).toBe(sha256);
    expect([failed(app), warnings(app)]).toEqual([[], []]);
  });

  test('it is renewed when a third of its life is left, by the same account', async () => {
    const { app, authority } = await openBoth();
    await untilFetched(app);
    const before = await shown(app, authority);
    const account = readFileSync(join(kept(app), 'account.pem'), 'utf8');
    app.world.jumpWallClock(59 * dayMs);
    await app.world.advance(2 * minuteMs);
    expect(fetched(app)).toHaveLength(1);
    app.world.jumpWallClock(1.1 * dayMs);
    await untilTick(app);
    await untilFetched(app, 2);
    expect((await shown(app, authority)).sha256).not.toBe(before.sha256);
    expect(readFileSync(join(kept(app), 'account.pem'), 'utf8')).toBe(account);
    // The authority's clock stayed: by ours the new one is due at once, and so would be a third.
    for (let minute = 0; minute < 5; minute += 1) {
      await app.world.advance(minuteMs);
      await app.settle();
    }
    expect(fetched(app)).toHaveLength(2);
  });

  test('S-21 while renewal fails the old one stays, and /healthz warns', async () => {
    const { app, authority } = await openBoth();
    await untilFetched(app);
    const before = await shown(app, authority);
    const root = await authority.root();
    await authority.stop();
    app.world.jumpWallClock(61 * dayMs);
    await untilTick(app);
    await untilFailed(app, 1);
    const again = await askByTls({
      port: app.port,
      path: '/healthz',
      ca: root,
      servername: domain,
    });
    expect(again.sha256).toBe(before.sha256);
    const refused = expect.stringMatching(
      /^no certificate for pay.example.com from the authority: it refuses connections/,
    );
    expect(warnings(app)).toEqual([refused]);
    app.world.jumpWallClock(16.5 * dayMs);
    const ends = expect.stringMatching(/^the HTTPS certificate expires on .*, in 12 days$/);
    expect(warnings(app)).toEqual([ends, refused]);
  });

  test('a name of another server gets none, with the reason of the authority', async () => {
    const [httpPort, elsewhere] = [await freePort(), await freePort()];
    const authority = await startPebble(path, { httpPort: elsewhere });
    const app = await openWith({ httpPort, ...authority });
    await untilFailed(app, 1);
    expect(warnings(app)).toEqual([
      'there is no HTTPS certificate yet',
      expect.stringContaining('no certificate for pay.example.com from the authority: '),
    ]);
    expect(String(failed(app)[0]?.fields.reason)).toMatch(/connect|refused|unauthorized/i);
  });

  test('another authority gets a new order', async () => {
    const { app, authority } = await openBoth();
    await untilFetched(app);
    const file = join(kept(app), 'certificate.json');
    const other = JSON.parse(readFileSync(file, 'utf8'));
    await app.stop();
    writeFileSync(file, JSON.stringify({ ...other, directory: 'https://ca.example/dir' }));
    rmSync(join(kept(app), 'last-try'));
    await app.start();
    expect(warnings(app)).toEqual(['there is no HTTPS certificate yet']);
    await untilFetched(app, 2);
    expect((await shown(app, authority)).status).toBe(200);
  });
});

describe('an authority that is down', () => {
  const nowhere = async () =>
    openWith({
      httpPort: await freePort(),
      directory: `https://127.0.0.1:${await freePort()}/dir`,
    });

  test('gets an order after 1, 10, 60 and then every 360 minutes', async () => {
    const app = await nowhere();
    await untilFailed(app, 1);
    for (const [count, waitMinutes] of [1, 10, 60, 360].entries()) {
      expect(failed(app).at(-1)?.fields.nextTryInMinutes).toBe(waitMinutes);
      // An attempt begins at a full minute and takes some time.
      await app.world.advance((waitMinutes / 2) * minuteMs);
      expect(failed(app)).toHaveLength(count + 1);
      await app.world.advance((waitMinutes / 2 + 2) * minuteMs);
      await untilFailed(app, count + 2);
    }
    expect(failed(app).at(-1)?.fields.nextTryInMinutes).toBe(360);
  });

  test('gets no order at each start of a service that restarts in a loop', async () => {
    const app = await nowhere();
    await untilFailed(app, 1);
    for (let start = 0; start < 3; start += 1) {
      await app.stop();
      await app.start();
      await app.world.advance(2 * minuteMs);
    }
    expect(failed(app)).toHaveLength(1);
    await app.world.advance(8 * minuteMs);
    expect(failed(app)).toHaveLength(1);
    await app.world.advance(2 * minuteMs);
    await app.world.until(() => failed(app).length > 1, 'the next try');
  });

  test('gets none at each such start with a certificate to renew', async () => {
    const ours = makeAuthority();
    whenOver(() => ours.remove());
    const { cert, key } = ours.issue(domain, '20200101000000Z', '20400101000000Z');
    const httpPort = await freePort();
    const directory = `https://127.0.0.1:${await freePort()}/dir`;
    const app = await openWith({ httpPort, directory }, Date.UTC(2039, 0, 1));
    await untilFailed(app, 1);
    await app.stop();
    const file = join(kept(app), 'certificate.json');
    writeFileSync(file, JSON.stringify({ domain, directory, cert, key }));
    for (let start = 0; start < 3; start += 1) {
      await app.start();
      expect(warnings(app)).toEqual([]);
      await app.world.advance(2 * minuteMs);
      await app.stop();
    }
    expect(failed(app)).toHaveLength(1);
    await app.start();
    await app.world.advance(10 * minuteMs);
    await app.world.until(() => failed(app).length > 1, 'the next try');
  });

  test('asks for passkeys at the address of --domain only', async () => {
    const ours = makeAuthority();
    whenOver(() => ours.remove());
    const { cert, key } = ours.issue(domain, '20200101000000Z', '20400101000000Z');
    const [httpPort, directoryPort] = [await freePort(), await freePort()];
    const directory = `https://127.0.0.1:${directoryPort}/dir`;
    const app = await openWith({ httpPort, directory }, Date.UTC(2039, 0, 1));
    await untilFailed(app, 1);
    await app.stop();
    writeFileSync(
      join(kept(app), 'certificate.json'),
      JSON.stringify({ domain, directory, cert, key }),
    );
    await app.start();
    await setPassword(app);
    async function statusAt(host: string): Promise<number> {
      const ask = (headers: Record<string, string>, form = '') =>
        askByTls(
          {
            port: app.port,
            path: '/dashboard/sign-in',
            method: form === '' ? 'GET' : 'POST',
            ca: ours.certificate,
            servername: domain,
            headers: { Host: host, ...headers },
          },
          form,
        );
      const page = await ask({});
      const [cookie = ''] = String(page.headers['set-cookie']).split(';');
      const [, token = ''] = /name="token" value="([^"]+)"/.exec(page.text) ?? [];
      const form = String(new URLSearchParams({ token, do: 'ask-passkey' }));
      const type = 'application/x-www-form-urlencoded';
      const headers = { Origin: `https://${host}`, Cookie: cookie, 'Content-Type': type };
      return (await ask(headers, form)).status;
    }
    expect(await statusAt(domain)).toBe(200);
    expect(await statusAt(`${domain}:8443`)).toBe(409);
    expect(await statusAt(`localhost:${app.port}`)).toBe(200);
  });

  test('a damaged state file does not prevent an order', async () => {
    const app = await nowhere();
    await untilFailed(app, 1);
    await app.stop();
    for (const text of ['', '{', '{"domain":"pay.example.com"}', 'null', '[]']) {
      writeFileSync(join(kept(app), 'certificate.json'), text);
      writeFileSync(join(kept(app), 'last-try'), text);
      await app.start();
      expect(warnings(app)[0]).toBe('there is no HTTPS certificate yet');
      await app.stop();
    }
    expect(existsSync(join(kept(app), 'account.pem'))).toBe(true);
  });

  test('this machine gets /healthz at port 80, also before the first certificate', async () => {
    const httpPort = await freePort();
    const directory = `https://127.0.0.1:${await freePort()}/dir`;
    const app = await openWith({ httpPort, directory });
    const env = { PAYGATE_LISTEN_HTTP: `127.0.0.1:${httpPort}`, PAYGATE_DOMAIN: domain };
    const asked = await runProcess(['health', '--listen', `127.0.0.1:${app.port}`], env);
    expect(asked).toMatchObject({ code: 0, stderr: '' });
    expect(asked.stdout).toContain('there is no HTTPS certificate yet');
    const answered = await fetch(`http://127.0.0.1:${httpPort}/healthz`);
    expect(await answered.json()).toMatchObject({ status: 'degraded' });
    // Somebody on another machine is led to HTTPS.
    const redirect = createPort80(
      domain,
      () => undefined,
      () => new Response('told'),
    );
    const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } });
    const request = () => new Request('http://pay.example/healthz');
    const told = await Promise.all(
      ['127.0.0.1', '::1', '::ffff:127.0.0.1', '192.0.2.7', '::ffff:192.0.2.7', 'unknown'].map(
        async (address) => (await redirect(request(), from(address))).status,
      ),
    );
    expect(told).toEqual([200, 200, 200, 308, 308, 308]);
  });

  test('S-35 other clients at port 80 are redirected to HTTPS; an API key gets a warning', async () => {
    const httpPort = await freePort();
    await openWith({ httpPort, directory: `https://127.0.0.1:${await freePort()}/dir` });
    const plain = plainOf(httpPort);
    const led = await plain('/dashboard?next=%2Fa', { headers: { Host: 'evil.example' } });
    expect([led.status, led.headers.get('Location')]).toEqual([
      308,
      `https://${domain}/dashboard?next=%2Fa`,
    ]);
    const doubled = await plain('//evil.example/');
    expect(doubled.headers.get('Location')).toBe(`https://${domain}//evil.example/`);
    const shop = await plain('/api/new_address', { method: 'POST' });
    expect([shop.status, await shop.text()]).toEqual([403, expect.stringContaining('replace it')]);
    expect((await plain('/dashboard', { method: 'POST' })).status).toBe(403);
    for (const page of ['/docs', '/api/tx?txid=1']) {
      const { status, headers } = await plain(page);
      expect([status, headers.get('Location')]).toEqual([308, `https://${domain}${page}`]);
    }
    for (const page of ['/', '/docs', '/api/x', '/.well-known/acme-challenge/x']) {
      const { headers } = await plain(page);
      expect([page, headers.get('X-Content-Type-Options')]).toEqual([page, 'nosniff']);
    }
    for (const token of ['x', '..%2f..%2fetc%2fpasswd', 'constructor', '__proto__']) {
      expect((await plain(`/.well-known/acme-challenge/${token}`)).status).toBe(404);
    }
  });
});

if ('missing' in pebble) {
  process.stderr.write(`test/tls/acme: 6 tests skipped, for ${pebble.missing}\n`);
}
