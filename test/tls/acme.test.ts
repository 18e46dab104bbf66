// Certificates by ACME (`--domain`) from a real authority: Pebble asks at port 80, issues, refuses,
// and is down. Without Pebble these tests are skipped with a message.

import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { createPort80 } from '../../src/web/port-80.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { makeAuthority } from '../support/authority.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { findPebble, type Pebble, startPebble } from '../support/pebble.ts';
import { askByTls } from '../support/tls.ts';
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
const fetched = (house: TestApp) => logged(house, 'a new certificate is in use');
const failed = (house: TestApp) => logged(house, 'no certificate from the authority');
const warnings = ({ running: app }: TestApp) =>
  app.health().warnings.filter((each) => each.includes('certificate'));
/** Up to the very tick: the clock does not go on while what it starts is on its way. */
const untilTick = ({ world }: TestApp) => world.advance(minuteMs - (world.now() % minuteMs));
async function untilFetched(house: TestApp, count = 1): Promise<void> {
  const isOver = () => fetched(house).length === count || failed(house).length > 0;
  await house.world.until(isOver, 'a certificate');
  expect(failed(house)).toEqual([]);
}
const untilFailed = (house: TestApp, count: number) =>
  house.world.until(() => failed(house).length === count, 'a failure');
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
    const house = await openWith({ httpPort, ...authority });
    return { house, authority, httpPort };
  }

  test('a certificate is ordered, used, and readable by paygate only', async () => {
    const { house, authority } = await openBoth();
    expect(warnings(house)).toEqual(['there is no HTTPS certificate yet']);
    await expect(shown(house, authority)).rejects.toThrow();
    await untilFetched(house);
    expect((await shown(house, authority)).status).toBe(200);
    expect(warnings(house)).toEqual([]);
    const folder = kept(house);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const files = readdirSync(folder).sort();
    expect(files).toEqual(['account.pem', 'certificate.json', 'last-try']);
    for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(house.world.logs)).not.toContain('PRIVATE');
  });

  test('the next start orders nothing', async () => {
    const { house, authority } = await openBoth();
    await untilFetched(house);
    const { sha256 } = await shown(house, authority);
    const root = await authority.root();
    await house.stop();
    await authority.stop();
    await house.start();
    await house.world.advance(5 * minuteMs);
    const { port } = house;
    const again = await askByTls({ port, path: '/healthz', ca: root, servername: domain });
    expect(again.sha256).toBe(sha256);
    expect([failed(house), warnings(house)]).toEqual([[], []]);
  });

  test('it is renewed when a third of its life is left, by the same account', async () => {
    const { house, authority } = await openBoth();
    await untilFetched(house);
    const before = await shown(house, authority);
    const account = readFileSync(join(kept(house), 'account.pem'), 'utf8');
    house.world.jumpWallClock(59 * dayMs);
    await house.world.advance(2 * minuteMs);
    expect(fetched(house)).toHaveLength(1);
    house.world.jumpWallClock(1.1 * dayMs);
    await untilTick(house);
    await untilFetched(house, 2);
    expect((await shown(house, authority)).sha256).not.toBe(before.sha256);
    expect(readFileSync(join(kept(house), 'account.pem'), 'utf8')).toBe(account);
  });

  test('S-21 while renewal fails the old one stays, and /healthz warns', async () => {
    const { house, authority } = await openBoth();
    await untilFetched(house);
    const before = await shown(house, authority);
    const root = await authority.root();
    await authority.stop();
    house.world.jumpWallClock(61 * dayMs);
    await untilTick(house);
    await untilFailed(house, 1);
    const again = await askByTls({
      port: house.port,
      path: '/healthz',
      ca: root,
      servername: domain,
    });
    expect(again.sha256).toBe(before.sha256);
    const refused = expect.stringMatching(
      /^no certificate for pay.example.com from the authority: it refuses connections/,
    );
    expect(warnings(house)).toEqual([refused]);
    house.world.jumpWallClock(16.5 * dayMs);
    const ends = expect.stringMatching(/^the HTTPS certificate expires on .*, in 12 day\(s\)$/);
    expect(warnings(house)).toEqual([ends, refused]);
  });

  test('a name of another server gets none, with the reason of the authority', async () => {
    const [httpPort, elsewhere] = [await freePort(), await freePort()];
    const authority = await startPebble(path, { httpPort: elsewhere });
    const house = await openWith({ httpPort, ...authority });
    await untilFailed(house, 1);
    expect(warnings(house)).toEqual([
      'there is no HTTPS certificate yet',
      expect.stringContaining('no certificate for pay.example.com from the authority: '),
    ]);
    expect(String(failed(house)[0]?.fields.reason)).toMatch(/connect|refused|unauthorized/i);
  });

  test('another authority gets a new order', async () => {
    const { house, authority } = await openBoth();
    await untilFetched(house);
    const file = join(kept(house), 'certificate.json');
    const other = JSON.parse(readFileSync(file, 'utf8'));
    await house.stop();
    writeFileSync(file, JSON.stringify({ ...other, directory: 'https://ca.example/dir' }));
    rmSync(join(kept(house), 'last-try'));
    await house.start();
    expect(warnings(house)).toEqual(['there is no HTTPS certificate yet']);
    await untilFetched(house, 2);
    expect((await shown(house, authority)).status).toBe(200);
  });
});

describe('an authority that is down', () => {
  const nowhere = async () =>
    openWith({
      httpPort: await freePort(),
      directory: `https://127.0.0.1:${await freePort()}/dir`,
    });

  test('gets an order after 1, 10, 60 and then every 360 minutes', async () => {
    const house = await nowhere();
    await untilFailed(house, 1);
    for (const [count, waitMinutes] of [1, 10, 60, 360].entries()) {
      expect(failed(house).at(-1)?.fields.nextTryInMinutes).toBe(waitMinutes);
      // An attempt begins at a full minute and takes some time.
      await house.world.advance((waitMinutes / 2) * minuteMs);
      expect(failed(house)).toHaveLength(count + 1);
      await house.world.advance((waitMinutes / 2 + 2) * minuteMs);
      await untilFailed(house, count + 2);
    }
    expect(failed(house).at(-1)?.fields.nextTryInMinutes).toBe(360);
  });

  test('gets no order at each start of a service that restarts in a loop', async () => {
    const house = await nowhere();
    await untilFailed(house, 1);
    for (let start = 0; start < 3; start += 1) {
      await house.stop();
      await house.start();
      await house.world.advance(2 * minuteMs);
    }
    expect(failed(house)).toHaveLength(1);
    await house.world.advance(8 * minuteMs);
    expect(failed(house)).toHaveLength(1);
    await house.world.advance(2 * minuteMs);
    await house.world.until(() => failed(house).length > 1, 'the next try');
  });

  test('gets none at each such start with a certificate to renew', async () => {
    const ours = makeAuthority();
    whenOver(() => ours.remove());
    const { cert, key } = ours.issue(domain, '20200101000000Z', '20400101000000Z');
    const httpPort = await freePort();
    const directory = `https://127.0.0.1:${await freePort()}/dir`;
    const house = await openWith({ httpPort, directory }, Date.UTC(2039, 0, 1));
    await untilFailed(house, 1);
    await house.stop();
    const file = join(kept(house), 'certificate.json');
    writeFileSync(file, JSON.stringify({ domain, directory, cert, key }));
    for (let start = 0; start < 3; start += 1) {
      await house.start();
      expect(warnings(house)).toEqual([]);
      await house.world.advance(2 * minuteMs);
      await house.stop();
    }
    expect(failed(house)).toHaveLength(1);
    await house.start();
    await house.world.advance(10 * minuteMs);
    await house.world.until(() => failed(house).length > 1, 'the next try');
  });

  test('a damaged state file does not prevent an order', async () => {
    const house = await nowhere();
    await untilFailed(house, 1);
    await house.stop();
    for (const text of ['', '{', '{"domain":"pay.example.com"}', 'null', '[]']) {
      writeFileSync(join(kept(house), 'certificate.json'), text);
      writeFileSync(join(kept(house), 'last-try'), text);
      await house.start();
      expect(warnings(house)[0]).toBe('there is no HTTPS certificate yet');
      await house.stop();
    }
    expect(existsSync(join(kept(house), 'account.pem'))).toBe(true);
  });

  test('this machine gets /healthz at port 80, also before the first certificate', async () => {
    const httpPort = await freePort();
    const directory = `https://127.0.0.1:${await freePort()}/dir`;
    const house = await openWith({ httpPort, directory });
    const env = { PAYGATE_LISTEN_HTTP: `127.0.0.1:${httpPort}`, PAYGATE_DOMAIN: domain };
    const asked = await runCli(['health', '--listen', `127.0.0.1:${house.port}`], env);
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
