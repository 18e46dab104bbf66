// `paygate serve` as a process of its own: what it prints, where it listens, and how it ends.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { applicationId, isOutdated } from '../../src/store/file/file-guards.ts';
import { deliveries } from '../../src/store/schema/delivery-schema.ts';
import { migrations } from '../../src/store/schema/migrations.ts';
import { payments } from '../../src/store/schema/schema.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { type Child, startChild, startChildIn } from '../support/child.ts';
import { cleanUp, damageTable, look, pragma, tempFolder, whenOver } from '../support/files.ts';
import { findPebble, startPebble } from '../support/pebble.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import { askByTls } from '../support/tls.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, '../../src/main.ts');

/** A file with a callback that is due at a shop. */
async function fileOwing(callbackUrl: string): Promise<string> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore({ callbackUrl, allowHttpCallback: true, allowPrivateCallback: true });
  await records.write((tx) => records.keys.rotateMerchantKey(tx, 0, new Uint8Array(32), 0));
  await records.issue();
  const { orm } = records.database;
  const txid = 'ab'.repeat(32) as Txid;
  const seen = { state: 'unconfirmed', firstSeenAt: 0, changedAt: 0 } as const;
  orm
    .insert(payments)
    .values({ id: 1, addressId: 1, txid, valueSat: 1, ...seen })
    .run();
  orm
    .insert(deliveries)
    .values({
      ...{
        channel: 'callback',
        id: 1,
        paymentId: 1,
        addressId: 1,
        storeId: 1,
        version: 1,
        eventId: 'msg_1',
        status: 0,
        content: 'status=0',
      },
      ...{ state: 'owed', nextAttemptAt: 0, createdAt: 0 },
    })
    .run();
  await records.database.close();
  return records.path;
}

async function emptyFile(): Promise<string> {
  const { path, database } = await openTestStore();
  await database.close();
  return path;
}

const nowhere = 'tcp://127.0.0.1:1';

/** A server of a chain: without one callbacks wait at a start. */
async function startServer(): Promise<string> {
  const world = createNodeWorld({ logLevel: 'silent' });
  const chain = new SimulatedChain({ seed: 'serve', now: () => world.now() / 1000 });
  chain.mine(10);
  const server = new SimulatedServer({ chain, timer: world });
  const listening = await server.listen({ host: '127.0.0.1', port: 0 });
  whenOver(() => listening.close());
  return `tcp://127.0.0.1:${listening.port}`;
}

const argsOf = (path: string, electrum: string) => [
  ...['serve', '--db', path, '--listen', '127.0.0.1:0', '--electrum', electrum],
];

const serve = (path: string, electrum: string, ...more: string[]): Child =>
  startChild(program, ...argsOf(path, electrum), ...more);

async function portOf(child: Child): Promise<number> {
  for (;;) {
    const line = await child.line();
    const [, port] = /:(\d+)\/healthz$/.exec(line ?? '') ?? [];
    if (port !== undefined || line === undefined) return Number(port);
  }
}

test('a SIGUSR1 opens no debugger', async () => {
  const { path, database } = await openTestStore();
  await database.close();
  const child = serve(path, nowhere);
  const port = await portOf(child);
  process.kill(child.pid, 'SIGUSR1');
  // A debugger that is opened says so at once, in a thread of its own.
  for (let asked = 0; asked < 20; asked += 1) await fetch(`http://127.0.0.1:${port}/healthz`);
  child.stop();
  const { by, errors } = await child.ended;
  expect(errors).not.toMatch(/debugger|inspector/i);
  expect(by).toBe(0);
});

test('a closed terminal stops it', async () => {
  const { path, database } = await openTestStore();
  await database.close();
  const child = serve(path, nowhere);
  await portOf(child);
  process.kill(child.pid, 'SIGHUP');
  expect(await child.ended).toMatchObject({ by: 0 });
});

/** Whether anybody listens there. */
function answers(port: number): Promise<boolean> {
  const client = connect(port, '127.0.0.1');
  whenOver(() => void client.destroy());
  return new Promise((resolve) => {
    client.once('connect', () => resolve(true)).once('error', () => resolve(false));
  });
}

// The terminal sends one to every process of its group, and npm passes its own on.
test('a second Ctrl-C does not cut off the stop that the first one began', async () => {
  const { path, database } = await openTestStore();
  await database.close();
  const child = serve(path, nowhere);
  const port = await portOf(child);
  const client = connect(port, '127.0.0.1').on('error', () => {});
  whenOver(() => void client.destroy());
  // A request that is not over holds the stop.
  await new Promise((sent) => client.write('GET /healthz HTTP/1.1\r\nHost: ', sent));
  process.kill(child.pid, 'SIGINT');
  while (await answers(port));
  process.kill(child.pid, 'SIGINT');
  client.destroy();
  expect(await child.ended).toMatchObject({ by: 0 });
  expect(existsSync(`${path}-shm`)).toBe(false);
});

test('SIGTERM ends it within 10 seconds, though a shop hangs and clients stall', async () => {
  const shop = await startReceiver({ answer: () => 'hang' });
  whenOver(() => shop.close());
  const child = serve(await fileOwing(`${shop.origin}/cb`), await startServer());
  const port = await portOf(child);
  await shop.waitFor(1);
  const client = connect(port, '127.0.0.1').on('error', () => {});
  await new Promise((sent) => client.write('GET /healthz HTTP/1.1\r\nHost: ', sent));
  const began = performance.now();
  child.stop();
  expect(await child.ended).toMatchObject({ by: 0 });
  expect(performance.now() - began).toBeLessThan(10_000);
  client.destroy();
});

test.skipIf(!existsSync('/proc/self/comm'))('ps and pgrep find it by its name', async () => {
  const { path, database } = await openTestStore();
  await database.close();
  const child = serve(path, nowhere);
  await portOf(child);
  expect(readFileSync(`/proc/${child.pid}/comm`, 'utf8')).toBe('paygate\n');
});

test('S-144 its log is JSON with the time in UTC, or readable text', async () => {
  const shop = await startReceiver();
  whenOver(() => shop.close());
  const path = await fileOwing(`${shop.origin}/cb`);
  for (const format of ['json', 'pretty']) {
    const child = serve(path, nowhere, '--log-format', format);
    await portOf(child);
    child.stop();
    const { by, errors } = await child.ended;
    expect(by).toBe(0);
    const line = errors.split('\n').find((each) => each.includes('is stopping')) ?? '';
    if (format === 'json') {
      const lines = errors.trimEnd().split('\n');
      for (const each of lines) {
        expect(JSON.parse(each)).toMatchObject({
          level: expect.any(String),
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          message: expect.any(String),
        });
      }
      expect(JSON.parse(line).message).toBe('paygate is stopping');
    } else expect(line).toMatch(/^\[\d{4}-.*\] INFO: paygate is stopping {"signal":"SIGTERM"}$/);
  }
});

test.each([
  ['with colours', ''],
  ['without colours under NO_COLOR', '1'],
])('on a terminal its log is readable text, %s', async (_, noColour) => {
  const path = await emptyFile();
  const bundle = bundleOf(program);
  const command = ['serve', '--db', path, '--listen', '127.0.0.1:0', '--electrum', nowhere];
  const typed = [process.execPath, bundle, ...command].map((each) => `'${each}'`).join(' ');
  // `script` of util-linux runs a command in a terminal, and passes on its output.
  const child = spawn('script', ['-qefc', typed, '/dev/null'], {
    env: { ...process.env, ...bundleEnv(bundle), NO_COLOR: noColour },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const wasUp = /Health +http/.test(printed);
    printed += text;
    // Ctrl-C.
    if (!wasUp && /Health +http/.test(printed)) child.stdin.write('\x03');
  });
  await ended;
  expect(printed).toMatch(/INFO.*: .*paygate is up/);
  expect(printed.includes('\x1b[')).toBe(noColour === '');
  // An empty line divides it from the log.
  expect(printed).toMatch(/\n\r?\npaygate \S+ is up on /);
  expect(printed).not.toContain('{"level"');
});

test('without a store it says how to add one, and asks no merchant for a Callback URL', async () => {
  const child = serve(await emptyFile(), nowhere);
  const lines: string[] = [];
  while (!lines.at(-1)?.includes('another terminal')) lines.push((await child.line()) ?? '');
  while (!lines.at(-1)?.startsWith('--way')) lines.push((await child.line()) ?? '');
  expect(lines.join('\n')).toMatch(/ store add .*--xpub zpub… --way links\n/);
  expect(lines.join('\n')).not.toMatch(/callback/i);
});

test('each link that it prints is answered', async () => {
  const child = serve(await emptyFile(), nowhere);
  const links: string[] = [];
  while (links.length < 4) {
    const line = await child.line();
    if (line === undefined) break;
    links.push(...(line.match(/http:\/\/127\.0\.0\.1:\S+/g) ?? []));
  }
  expect(links.map((link) => new URL(link).pathname)).toEqual([
    '/dashboard',
    '/docs',
    '/healthz',
    '/dashboard/enter',
  ]);
  for (const link of links) {
    const { status, headers } = await fetch(link);
    expect([link, status, headers.get('content-type')?.split(';')[0]]).toEqual([
      link,
      200,
      link.endsWith('healthz') ? 'application/json' : 'text/html',
    ]);
  }
});

test('a database in a deleted working folder is saved as well', async () => {
  const folder = tempFolder();
  const child = startChildIn(folder, program, ...argsOf('paygate.db', nowhere));
  await portOf(child);
  rmSync(folder, { recursive: true });
  child.stop();
  expect(await child.ended).toMatchObject({ by: 0 });
  expect(checkFile(join(folder, 'backups', 'latest.db')).ok).toBe(true);
});

test.each(['--listen', '--metrics-listen'])(
  'a taken port of %s is an error before the file exists, because a file fixes the network',
  async (flag) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    whenOver(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const path = join(tempFolder(), 'paygate.db');
    const { by, errors } = await serve(path, nowhere, flag, `127.0.0.1:${port}`).ended;
    expect([by, errors]).toEqual([
      1,
      `paygate: cannot listen on 127.0.0.1:${port}: the port is taken; choose another address with ${flag}\n`,
    ]);
    expect(readdirSync(dirname(path))).toEqual([]);
  },
);

test('a port of two listeners is an error before the file exists', async () => {
  const path = join(tempFolder(), 'paygate.db');
  const at = `127.0.0.1:${await freePort()}`;
  const doors = ['--listen', at, '--metrics-listen', at];
  const { by, errors } = await serve(path, nowhere, ...doors).ended;
  expect([by, errors]).toEqual([
    1,
    `paygate: cannot listen on ${at}: the port is taken; choose another address with --metrics-listen\n`,
  ]);
  expect(readdirSync(dirname(path))).toEqual([]);
});

test('a missing price source is an error before the file exists', async () => {
  const path = join(tempFolder(), 'paygate.db');
  const { by, errors } = await serve(path, nowhere, '--price', 'own').ended;
  expect([by, errors]).toEqual([2, 'paygate: --price own: name a source with --price-source\n']);
  expect(readdirSync(dirname(path))).toEqual([]);
});

test('a metrics listener beyond loopback is refused', async () => {
  const child = serve('nowhere.db', nowhere, '--metrics-listen', '0.0.0.0:9090');
  const { by, errors } = await child.ended;
  expect(by).toBe(2);
  expect(errors).toContain('--metrics-listen: 0.0.0.0 is not a loopback address');
});

test('a network other than that of the file is a wrong setting, after which systemd does not restart it', async () => {
  const { path, database } = await openTestStore();
  await database.close();
  const { by, errors } = await serve(path, nowhere, '--network', 'mainnet').ended;
  expect(by).toBe(2);
  expect(errors).toContain('this database is for regtest, not mainnet');
});

const damaged = (path: string) =>
  `paygate: ${path}: the database is damaged (database disk image is malformed); put a backup in its place by \`paygate restore BACKUP --db ${path}\`\n`;

test.each(['addresses', 'attempts', 'deliveries', 'payments', 'settings', 'stores', 'wallets'])(
  'a file whose %s are damaged is refused with one line that names the remedy',
  async (table) => {
    const path = await fileOwing('http://127.0.0.1:1/cb');
    damageTable(path, table);
    const { by, errors } = await serve(path, nowhere, '--log-level', 'silent').ended;
    expect([by, errors]).toEqual([1, damaged(path)]);
  },
);

test('a file that becomes damaged ends it with the same line', async () => {
  const { path, database } = await openTestStore();
  await database.close();
  const child = serve(path, nowhere, '--log-level', 'silent');
  await portOf(child);
  damageTable(path, 'stores');
  // The dispatcher reads the stores each second, from the disk after a commit of another process.
  look(path).exec("INSERT INTO settings VALUES ('a', '')");
  const { by, errors } = await child.ended;
  expect([by, errors]).toEqual([1, damaged(path)]);
});

test('a file of an older version is updated by serve', async () => {
  const path = join(tempFolder(), 'paygate.db');
  look(path).pragma(`application_id = ${applicationId}`);
  const child = serve(path, nowhere, '--network', 'mainnet');
  expect(await portOf(child)).toBeGreaterThan(0);
  expect(pragma(look(path, { readonly: true }), 'user_version')).toBe(migrations.length);
  // Also as it lies there without its log, which is what the doctor looks at.
  expect(isOutdated(path)).toBe(false);
  child.stop();
  const [first = ''] = (await child.ended).errors.split('\n');
  expect(JSON.parse(first)).toMatchObject({
    level: 'info',
    from: 0,
    to: migrations.length,
    message: 'the database is brought to this version; nobody is answered meanwhile',
  });
});

const pebble = findPebble();
if ('missing' in pebble) process.stdout.write(`${pebble.missing}: 1 test is skipped\n`);

test.skipIf('missing' in pebble)(
  'the bundle, without what libraries bring along, gets a certificate from Pebble',
  async () => {
    const [port, httpPort] = [await freePort(), await freePort()];
    const path = 'path' in pebble ? pebble.path : '';
    const authority = await startPebble(path, { httpPort });
    const domain = 'pay.example.com';
    const child = serve(
      await emptyFile(),
      nowhere,
      ...['--domain', domain, '--listen', `127.0.0.1:${port}`],
      ...['--listen-http', `127.0.0.1:${httpPort}`],
      ...['--acme-directory', authority.directory, '--acme-ca', authority.ca],
    );
    const asked = { port, path: '/healthz', servername: domain, headers: { Host: domain } };
    const ca = await authority.root();
    for (let status: number | undefined; status !== 200; ) {
      ({ status } = await askByTls({ ...asked, ca }).catch(() => ({ status: undefined })));
    }
    child.stop();
    expect((await child.ended).by).toBe(0);
  },
);
