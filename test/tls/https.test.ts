// HTTPS with the operator's own files: what a browser and a shop get, and what happens when the
// files change.

import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { certificateFiles } from '../../src/tls/certificate-files.ts';
import {
  closeApps,
  openApp,
  type TestApp,
  type TestAppOptions,
  untilReady,
} from '../support/app.ts';
import { makeAuthority } from '../support/authority.ts';
import { runCli } from '../support/cli.ts';
import { asOrdinaryUser, cleanUp, contentOf, tempFolder } from '../support/files.ts';
import { askByTls, suitesOf } from '../support/tls.ts';
import { cheapHash, password } from '../support/visitor.ts';
import { createTestWorld } from '../support/world.ts';

const host = 'pay.example.com';
const [from, until] = ['20200101000000Z', '20400101000000Z'];
const dayMs = 86_400_000;

let authority: ReturnType<typeof makeAuthority>;
beforeAll(() => {
  authority = makeAuthority();
});
afterAll(() => authority.remove());
afterEach(async () => {
  await closeApps();
  await cleanUp();
});

interface Pair {
  readonly cert: string;
  readonly key: string;
}

function pairFiles(pair: Pair = authority.issue(host, from, until)) {
  const folder = tempFolder();
  const files = { tlsCert: join(folder, 'fullchain.pem'), tlsKey: join(folder, 'privkey.pem') };
  const put = ({ cert, key }: Pair): void => {
    writeFileSync(files.tlsCert, cert);
    writeFileSync(files.tlsKey, key);
  };
  put(pair);
  return { folder, files, put };
}

const openSecure = (files: object, options: TestAppOptions = {}): Promise<TestApp> =>
  openApp({
    world: createTestWorld({ startAt: Date.now() }),
    ...options,
    config: { ...files, ...options.config },
  });

const ask = ({ port, apiKey }: TestApp, path: string, options: object = {}) =>
  askByTls({
    port,
    path,
    ca: authority.certificate,
    servername: host,
    headers: { Host: host, Authorization: `Bearer ${apiKey}` },
    ...options,
  });

const shown = async (app: TestApp): Promise<string> => (await ask(app, '/healthz')).sha256;
const logged = (app: TestApp, words: string) =>
  app.world.logs.filter(({ message }) => message.includes(words));

describe('the API', () => {
  test('answers HTTPS only at its port', async () => {
    const app = await openSecure(pairFiles().files);
    await untilReady(app);
    const { status, text } = await ask(app, '/api/new_address');
    expect(status).toBe(200);
    expect(JSON.parse(text).address).toMatch(/^bcrt1q/);
    await expect(fetch(`http://127.0.0.1:${app.port}/healthz`)).rejects.toThrow();
  });

  test('S-19 speaks TLS 1.2 and 1.3, and nothing older', async () => {
    const app = await openSecure(pairFiles().files);
    const by = (version: string) =>
      ask(app, '/healthz', {
        minVersion: version,
        maxVersion: version,
        // OpenSSL would refuse this by itself otherwise.
        ciphers: 'DEFAULT:@SECLEVEL=0',
      }).then(({ protocol }) => protocol);
    expect([await by('TLSv1.2'), await by('TLSv1.3')]).toEqual(['TLSv1.2', 'TLSv1.3']);
    for (const old of ['TLSv1', 'TLSv1.1']) {
      await expect(by(old)).rejects.toThrow(/protocol version|unsupported/i);
    }
  });

  test('S-46 has forward secrecy and authenticated encryption only, also after a renewal', async () => {
    for (const kind of ['ec', 'rsa'] as const) {
      const { files, put } = pairFiles(authority.issue(host, from, until, kind));
      const app = await openSecure(files);
      const by = kind === 'ec' ? 'ECDSA' : 'RSA';
      const best = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'];
      const wanted = best.map((each) => `ECDHE-${by}-${each}`);
      expect((await suitesOf(app.port)).sort()).toEqual(wanted);
      const before = await shown(app);
      put(authority.issue(host, from, until, kind));
      await app.world.advance(10_000);
      expect(await shown(app)).not.toBe(before);
      expect((await suitesOf(app.port)).sort()).toEqual(wanted);
    }
  });

  test('sends a payment to the live socket', async () => {
    const app = await openSecure(pairFiles().files);
    await untilReady(app);
    const address = JSON.parse((await ask(app, '/api/new_address')).text).address;
    const socket = new WebSocket(`wss://127.0.0.1:${app.port}/payment/${address}`, [], {
      ca: authority.certificate,
      servername: host,
    } as object);
    const said: string[] = [];
    socket.on('message', (text) => said.push(String(text)));
    await new Promise((resolve) => socket.once('open', resolve));
    app.pay(address, 20_000);
    await app.settle();
    await app.world.until(() => said.length > 0, 'the news');
    expect(said[0]).toContain('20000');
    socket.terminate();
  });
});

test('S-10 the dashboard has its strict cookie, and accepts forms of its own origin only', async () => {
  const app = await openSecure(pairFiles().files);
  await app.withStore(({ admin, database }) =>
    database.write((tx) => admin.setPassword(tx, app.world.now(), cheapHash(password))),
  );
  const page = await ask(app, '/dashboard/sign-in');
  expect(page.status).toBe(200);
  expect(page.headers['strict-transport-security']).toBe('max-age=31536000');
  const [given = ''] = page.headers['set-cookie'] ?? [];
  expect(given).toMatch(/^__Host-paygate-visitor=[^;]+; .*Path=\/.*HttpOnly.*Secure/i);
  const [cookie = ''] = given.split(';');
  const token = /name="token" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const form = String(new URLSearchParams({ token, do: 'sign-in', password }));
  const signIn = (origin: string) =>
    askByTls(
      {
        port: app.port,
        path: '/dashboard/sign-in',
        method: 'POST',
        ca: authority.certificate,
        servername: host,
        headers: {
          Host: host,
          Cookie: cookie,
          Origin: origin,
          'Content-Type': 'application/x-www-form-urlencoded',
        },
      },
      form,
    );
  expect((await signIn('https://evil.example')).status).toBe(403);
  expect((await signIn(`http://${host}`)).status).toBe(403);
  const entered = await signIn(`https://${host}`);
  expect(entered.status).toBe(303);
  const strict = /^__Host-paygate=[^;]+; .*Path=\/.*HttpOnly.*Secure.*SameSite=Strict/i;
  expect(entered.headers['set-cookie']).toEqual([expect.stringMatching(strict)]);
});

test.each([
  { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' },
  { 'X-Forwarded-Proto': 'http' },
])('the dashboard is closed to an unlisted proxy, also by HTTPS: %j', async (headers) => {
  const app = await openSecure(pairFiles().files);
  const seen = await ask(app, '/dashboard/sign-in', { headers: { Host: host, ...headers } });
  expect(seen.status).toBe(403);
  expect(seen.text).not.toContain('<form');
});

describe('files that change', () => {
  const lookMs = 10_000;

  test('are loaded without a restart', async () => {
    const { files, put } = pairFiles();
    const app = await openSecure(files);
    const before = await shown(app);
    put(authority.issue(host, from, until));
    await app.world.advance(lookMs);
    const after = await shown(app);
    expect(after).not.toBe(before);
    expect(logged(app, 'new certificate files are in use')).toHaveLength(1);
    await app.world.advance(10 * lookMs);
    expect(await shown(app)).toBe(after);
    expect(logged(app, 'new certificate files are in use')).toHaveLength(1);
  });

  test('are loaded from links, as certbot makes them', async () => {
    const { folder, files } = pairFiles();
    const [one, two] = ['one', 'two'].map((name) => {
      const { cert, key } = authority.issue(host, from, until);
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'cert'), cert);
      writeFileSync(join(folder, name, 'key'), key);
      return join(folder, name);
    });
    const point = (to = ''): void => {
      for (const [path, name] of [
        [files.tlsCert, 'cert'],
        [files.tlsKey, 'key'],
      ] as const) {
        symlinkSync(join(to, name), `${path}.new`);
        renameSync(`${path}.new`, path);
      }
    };
    point(one);
    const app = await openSecure(files);
    const before = await shown(app);
    point(two);
    await app.world.advance(lookMs);
    expect(await shown(app)).not.toBe(before);
  });

  test('S-22 are refused while invalid, and loaded once they are repaired', async () => {
    const { files, put } = pairFiles();
    const app = await openSecure(files);
    const before = await shown(app);
    const other = authority.issue(host, from, until);
    const good = authority.issue(host, from, until);
    const cases: [string, Pair | undefined, RegExp][] = [
      ['another key', { cert: good.cert, key: other.key }, /does not belong to the certificate/],
      ['no certificate', { cert: 'hello', key: good.key }, /the certificate cannot be read/],
      ['no key', { cert: good.cert, key: '' }, /the key cannot be read/],
      ['half a file', { cert: good.cert.slice(0, 300), key: good.key }, /cannot be read/],
      [
        'a broken chain',
        {
          cert: `${good.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
          key: good.key,
        },
        /the chain cannot be read/,
      ],
      ['an ended one', authority.issue(host, from, '20210101000000Z'), /it expired on 2021-01-01/],
      ['none', undefined, /ENOENT/],
      ['a large one', { cert: 'x'.repeat(300_000), key: good.key }, /too large/],
    ];
    for (const [what, pair, reason] of cases) {
      if (pair === undefined) rmSync(files.tlsKey);
      else put(pair);
      await app.world.advance(lookMs);
      expect([what, await shown(app)]).toEqual([what, before]);
      const entry = logged(app, 'refused').at(-1);
      expect([what, entry?.level, String(entry?.fields.reason)]).toEqual([
        what,
        'error',
        expect.stringMatching(reason),
      ]);
      expect(app.running.health().warnings.join()).toMatch(/refused and the old one in use/);
    }
    expect(logged(app, 'refused')).toHaveLength(cases.length);
    put(good);
    await app.world.advance(lookMs);
    expect(await shown(app)).not.toBe(before);
    expect(app.running.health().warnings.join()).not.toContain('certificate');
  });

  test('are not loaded while unreadable, and paygate continues', async () => {
    const { files, put } = pairFiles();
    const app = await openSecure(files);
    const before = await shown(app);
    rmSync(files.tlsKey);
    symlinkSync(files.tlsKey, files.tlsKey);
    await app.world.advance(10 * lookMs);
    expect(await shown(app)).toBe(before);
    expect(app.running.health().warnings.join()).toMatch(/old one in use: --tls-key: .*: ELOOP$/);
    expect(logged(app, 'refused')).toHaveLength(1);
    rmSync(files.tlsKey);
    put(authority.issue(host, from, until));
    await app.world.advance(lookMs);
    expect(await shown(app)).not.toBe(before);
  });

  test('are loaded once paygate may read them, without another change', async () => {
    const { folder, files, put } = pairFiles();
    chmodSync(folder, 0o755);
    const { now, log, logs } = createTestWorld({ startAt: Date.now() });
    let look = (): void => {};
    const schedule = (_: string, run: () => void) => {
      look = run;
      return () => {};
    };
    const source = certificateFiles(
      { cert: files.tlsCert, key: files.tlsKey },
      { now, log, schedule },
    );
    const taken: string[] = [];
    source.start(({ key }) => taken.push(key));
    const renewed = authority.issue(host, from, until);
    put(renewed);
    chmodSync(files.tlsKey, 0);
    for (let times = 0; times < 2; times++) asOrdinaryUser(look);
    expect(source.warnings()).toEqual([expect.stringMatching(/--tls-key: .*: EACCES$/)]);
    chmodSync(files.tlsKey, 0o644);
    asOrdinaryUser(look);
    expect([taken, source.warnings()]).toEqual([[renewed.key], []]);
    expect(logs.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('never show the key in a log entry or a warning', async () => {
    const { files, put } = pairFiles();
    const app = await openSecure(files);
    const { key, cert } = authority.issue(host, from, until);
    put({ cert: key, key: cert });
    await app.world.advance(lookMs);
    const said = JSON.stringify([app.world.logs, app.running.health()]);
    expect(said).toContain('refused');
    expect(said).not.toContain(key.split('\n')[1]);
  });
});

test('/healthz warns 14 days before the end, and after it', async () => {
  const world = createTestWorld({ startAt: Date.UTC(2039, 11, 10) });
  const app = await openSecure(pairFiles().files, { world });
  const told = () => app.running.health().warnings.filter((each) => each.includes('certificate'));
  expect(told()).toEqual([]);
  world.jumpWallClock(9 * dayMs);
  expect(told()).toEqual(['the HTTPS certificate expires on 2040-01-01, in 13 days']);
  world.jumpWallClock(20 * dayMs);
  expect(told()).toEqual(['the HTTPS certificate expired on 2040-01-01: browsers refuse it']);
});

describe('paygate health', () => {
  test.each([
    ['HTTPS', () => pairFiles().files],
    ['HTTP', () => ({})],
  ])('asks by %s', async (_, files) => {
    const app = await openSecure(files());
    await untilReady(app);
    const asked = await runCli(['health', '--listen', `127.0.0.1:${app.port}`]);
    expect(asked).toEqual({ code: 0, stdout: 'ok\n', stderr: '' });
  });

  test('exits with 1 without an answer', async () => {
    const asked = await runCli(['health', '--listen', '127.0.0.1:1']);
    expect(asked).toMatchObject({ code: 1, stdout: '' });
    expect(asked.stderr).toContain('no paygate answers at 127.0.0.1:1');
  });
});

describe('paygate serve', () => {
  test.each([
    [['--listen', '0.0.0.0:0'], 2, 'is not a loopback address'],
    [
      ['--tls-cert', 'nowhere.pem', '--tls-key', 'nowhere.pem'],
      2,
      '--tls-cert: nowhere.pem: ENOENT',
    ],
    [['--domain', 'localhost'], 2, '--domain: a name such as'],
    [['--domain', host, '--acme-ca', 'nowhere.pem'], 2, '--acme-ca: nowhere.pem: ENOENT'],
  ])('%j leaves nothing behind', async (args, code, reason) => {
    const folder = tempFolder();
    const refused = await runCli(['serve', '--db', join(folder, 'paygate.db'), ...args]);
    expect(refused).toMatchObject({ code, stdout: '' });
    expect(refused.stderr).toContain(reason);
    expect(contentOf(folder)).toEqual({});
  });

  test('exits with 1 for files that may be repaired, so that it is restarted', async () => {
    const { folder, files, put } = pairFiles(authority.issue(host, from, '20210101000000Z'));
    const args = ['serve', '--db', join(folder, 'paygate.db'), '--listen', '127.0.0.1:0'];
    const tls = ['--tls-cert', files.tlsCert, '--tls-key', files.tlsKey];
    const refused = async () => {
      const { code, stderr } = await runCli([...args, ...tls]);
      return [code, stderr];
    };
    expect(await refused()).toEqual([1, expect.stringContaining('it expired on 2021-01-01')]);
    const [one, other] = [0, 1].map(() => authority.issue(host, from, until)) as [Pair, Pair];
    put({ cert: one.cert, key: other.key });
    expect(await refused()).toEqual([
      1,
      expect.stringContaining('does not belong to the certificate'),
    ]);
  });
});
