// `paygate doctor` as a person types it: beside a running paygate, without one, and on what is wrong. Each
// check is seen well and ill, over real sockets and files.

import { chmodSync, existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { networks } from '../../src/bitcoin/network.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { type Check, examine, ok } from '../../src/doctor/check.ts';
import { electrumChecks } from '../../src/doctor/electrum.ts';
import { fileChecks } from '../../src/doctor/file.ts';
import { webChecks } from '../../src/doctor/web.ts';
import { parseServerAddress } from '../../src/electrum/trust.ts';
import { SimulatedChain } from '../../src/sandbox/chain.ts';
import { SimulatedServer } from '../../src/sandbox/server.ts';
import { markPath, openHighwater } from '../../src/store/highwater.ts';
import { makeAuthority } from '../support/authority.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { closeHouses, type House, openHouse, untilReady } from '../support/house.ts';
import { type ReceiverOptions, startReceiver } from '../support/receiver.ts';
import { openTestStore, type TestStore } from '../support/store.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

afterEach(async () => {
  await closeHouses();
  await cleanUp();
});

const hourMs = 3_600_000;
type Finding = { check: string; state: string; text: string };

async function receiver(options: ReceiverOptions = {}) {
  const started = await startReceiver(options);
  whenOver(() => started.close());
  return started;
}

async function doctor(house: House, ...more: string[]) {
  const args = ['doctor', '--db', house.path, '--electrum', ...house.labels, '--json'];
  const listen = ['--listen', `127.0.0.1:${house.port}`];
  const { code, stdout, stderr } = await runCli([...args, ...listen, ...more]);
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
  const of = (name: string) => checks.find(({ check }) => check === name);
  return { code, ok, checks, of };
}

/** `paygate` sets its umask; the tests' own process has another. */
function makePrivate(path: string): void {
  for (const end of ['', '-wal', '-shm', '.lock']) {
    if (existsSync(`${path}${end}`)) chmodSync(`${path}${end}`, 0o600);
  }
}

describe('a paygate that is well', () => {
  it('passes beside a running serve; the shop is asked no callback', async () => {
    const house = await openHouse();
    await untilReady(house);
    await house.newAddress();
    await house.world.advance(15 * 60_000);
    await house.world.until(() => existsSync(join(dirname(house.path), 'backups/latest.db')));
    makePrivate(house.path);
    const { code, ok, checks, of } = await doctor(
      house,
      ...['--public-url', `http://127.0.0.1:${house.port}`],
    );
    expect(checks.filter(({ state }) => state === 'fail')).toEqual([]);
    expect([code, ok]).toEqual([0, true]);
    expect(checks.map(({ check }) => check)).toEqual([
      ...['database', 'mark', 'disk', 'permissions', 'clock', 'wallets', 'snapshot'],
      ...['electrum', 'serve', 'public URL', 'callback'],
    ]);
    expect(of('electrum')?.text).toContain(
      'block 110, paygate sandbox 1, proves a transaction of it',
    );
    expect(of('serve')).toMatchObject({ state: 'ok' });
    expect(of('public URL')).toMatchObject({ state: 'warn' });
    expect(of('public URL')?.text).toContain('without TLS');
    expect(of('callback')).toMatchObject({
      state: 'ok',
      text: `store 1: HEAD ${house.receiver.origin}/ was answered with 200 by 127.0.0.1`,
    });
    expect(house.receiver.requests).toMatchObject([{ method: 'HEAD', url: '/' }]);
    expect(house.receiver.requests[0]?.headers['webhook-signature']).toBeUndefined();
    expect(JSON.stringify(checks)).not.toMatch(/s3cr3t|tpub|pgk_|whsec/);
  });

  it('is looked at without a serve too, in lines for a person; a fault ends with 1', async () => {
    const house = await openHouse();
    await untilReady(house);
    await house.stop();
    makePrivate(house.path);
    const args = ['doctor', '--db', house.path, '--listen', `127.0.0.1:${house.port}`];
    const well = await runCli([...args, '--electrum', house.labels[0] ?? '']);
    expect(well).toMatchObject({ code: 0, stderr: '' });
    expect(well.stdout).toMatch(/^skip +serve +no paygate runs at /m);
    expect(well.stdout).toMatch(/^ok +mark +/m);
    const ill = await runCli([...args, '--electrum', 'tcp://127.0.0.1:1']);
    expect(ill.code).toBe(1);
    expect(ill.stdout).toMatch(/^fail +electrum +tcp:\/\/127\.0\.0\.1:1: cannot connect/m);
  });

  it('is told of a file that is damaged, or none, and the rest is looked at', async () => {
    const path = join(tempFolder(), 'paygate.db');
    const shop = await receiver();
    const args = ['doctor', '--db', path, '--network', 'regtest', '--json'];
    const asked = [...args, '--electrum', 'tcp://127.0.0.1:1', '--public-url', shop.origin];
    const none = await runCli(asked);
    expect(JSON.parse(none.stdout).checks[0]).toMatchObject({ check: 'database', state: 'skip' });
    expect(existsSync(path)).toBe(false);
    writeFileSync(path, 'not a database at all'.repeat(100));
    const foreign = JSON.parse((await runCli(asked)).stdout);
    expect(foreign.checks[0]).toMatchObject({
      state: 'fail',
      text: `${path}: is not a paygate database`,
    });
    expect(foreign.checks.at(-1).text).toContain('something else than paygate answers 200');
  });
});

describe('the file', () => {
  async function findings(store: TestStore, world: TestWorld = createTestWorld(), walletGap = 20) {
    const parts = { world, store, walletGap, uid: process.getuid?.() };
    const found = await examine(world, fileChecks(parts));
    return Object.fromEntries(found.map(({ check, ...finding }) => [check, finding]));
  }

  async function shop(): Promise<TestStore> {
    const store = await openTestStore();
    chmodSync(dirname(store.path), 0o700);
    makePrivate(store.path);
    await store.addWallet();
    await store.addStore();
    return store;
  }

  it('whose mark is gone after it has issued is taken for a copy at the next start', async () => {
    const store = await shop();
    const mark = openHighwater(store.path, store.instance);
    mark.raise([]);
    mark.close();
    await store.issue();
    expect((await findings(store)).mark).toMatchObject({ state: 'ok' });
    rmSync(markPath(store.path));
    expect((await findings(store)).mark).toMatchObject({
      state: 'fail',
      text: expect.stringContaining('no mark stands beside it'),
    });
  });

  it('that others may read or replace gives its keys away', async () => {
    const store = await shop();
    expect((await findings(store)).permissions).toMatchObject({ state: 'ok' });
    chmodSync(store.path, 0o640);
    chmodSync(dirname(store.path), 0o777);
    const { permissions } = await findings(store);
    expect(permissions?.state).toBe('fail');
    expect(permissions?.text).toContain(`${store.path}: others may read keys in it; chmod 600 it`);
    expect(permissions?.text).toContain('others may put files there');
  });

  it('of another user is told', async () => {
    const store = await shop();
    const world = createTestWorld();
    const checks = fileChecks({ world, store, walletGap: 20, uid: 54_321 });
    const found = await examine(world, checks);
    expect(found.find(({ check }) => check === 'permissions')?.text).toContain('not to 54321');
  });

  it('on a disk that is almost full', async () => {
    const store = await shop();
    const full = (bytes: number) => ({
      ...store,
      database: { ...store.database, freeBytes: () => bytes },
    });
    expect((await findings(store)).disk).toMatchObject({ state: 'ok' });
    expect((await findings(full(1_000))).disk).toMatchObject({ state: 'fail' });
    const { disk } = await findings(full(64 * 1024 * 1024));
    expect(disk).toMatchObject({
      state: 'warn',
      text: expect.stringContaining('a snapshot needs'),
    });
  });

  it('has no snapshot, a fresh one, or one that was not followed by others', async () => {
    const store = await shop();
    const latest = join(dirname(store.path), 'backups/latest.db');
    expect((await findings(store)).snapshot).toMatchObject({ state: 'warn' });
    expect((await runCli(['backup', '--db', store.path])).code).toBe(0);
    writeFileSync(latest, '', { mode: 0o600 });
    expect((await findings(store)).snapshot).toMatchObject({ state: 'ok' });
    const age = async (hours: number) => {
      const at = new Date(Date.now() - hours * hourMs);
      utimesSync(latest, at, at);
      return (await findings(store)).snapshot?.state;
    };
    expect([await age(0.5), await age(3), await age(25)]).toEqual(['ok', 'warn', 'fail']);
  });

  it('of a machine whose clock is behind the newest block', async () => {
    const house = await openHouse();
    await untilReady(house);
    const store = await openTestStore({ path: house.path });
    expect((await findings(store, house.world)).clock).toMatchObject({ state: 'ok' });
    house.world.jumpWallClock(-5 * hourMs);
    expect((await findings(store, house.world)).clock).toMatchObject({ state: 'fail' });
  });

  it('whose wallet waits for its scan, or is beyond its gap limit', async () => {
    const store = await shop();
    expect((await findings(store)).wallets).toMatchObject({ state: 'ok' });
    for (let count = 0; count < 16; count += 1) await store.issue();
    expect((await findings(store)).wallets?.text).toContain('set the gap limit');
    expect((await findings(store, createTestWorld(), 60)).wallets).toMatchObject({ state: 'ok' });
  });
});

describe('a server', () => {
  const network = networks.regtest;

  async function findingOf(
    label: string,
    store?: TestStore,
    world: TestWorld = createTestWorld(),
  ): Promise<Finding | undefined> {
    const servers = [parseServerAddress(label)];
    const checks = electrumChecks({ world, network, servers, proxy: undefined, store });
    const [found] = await examine(world, checks);
    return found;
  }

  async function serverOf(seed: string, world: TestWorld): Promise<string> {
    const chain = new SimulatedChain({ seed, now: () => world.now() / 1000 });
    chain.mine(120);
    const server = new SimulatedServer({ chain, timer: world });
    const { port, close } = await server.listen({ host: '127.0.0.1', port: 0 });
    whenOver(close);
    return `tcp://127.0.0.1:${port}`;
  }

  it('of another chain than the verified one is told', async () => {
    const house = await openHouse();
    await untilReady(house);
    const store = await openTestStore({ path: house.path });
    const [own = ''] = house.labels;
    expect(await findingOf(own, store, house.world)).toMatchObject({ state: 'ok' });
    const other = await serverOf('another', house.world);
    expect(await findingOf(other, store, house.world)).toMatchObject({
      state: 'warn',
      text: `${other}: its block 110 is not the one that paygate has verified, no TLS`,
    });
  });

  it('whose newest block is from the future makes the clock doubtful', async () => {
    const world = createTestWorld();
    const label = await serverOf('a chain', world);
    expect(await findingOf(label, undefined, world)).toMatchObject({ state: 'ok' });
    world.jumpWallClock(-5 * hourMs);
    const found = await findingOf(label, undefined, world);
    expect(found).toMatchObject({
      state: 'fail',
      text: expect.stringContaining('from the future'),
    });
  });

  it('that says nothing is given up on', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    whenOver(() => void silent.close());
    await new Promise((listening) => silent.once('listening', listening));
    const { port } = silent.address() as { port: number };
    const world = createTestWorld();
    const found = findingOf(`tcp://127.0.0.1:${port}`, undefined, world);
    const [socket] = await new Promise<[{ destroy(): void }]>((resolve) =>
      silent.once('connection', (one) => resolve([one])),
    );
    await world.turn();
    await world.advance(20_000);
    expect(await found).toMatchObject({ state: 'fail' });
    socket.destroy();
  });
});

describe('by HTTP', () => {
  const host = 'localhost';
  let authority: ReturnType<typeof makeAuthority>;
  beforeAll(() => {
    authority = makeAuthority();
    return () => authority.remove();
  });

  async function findings(parts: {
    publicUrl?: string;
    port?: number;
    store?: TestStore;
    world?: TestWorld;
  }) {
    const { world = createTestWorld(), publicUrl, port = 1, store } = parts;
    const listen = { host: '127.0.0.1', port };
    const sender = createSender(world, { version: '0.1', listeners: () => [] });
    const network = 'regtest';
    const checks = webChecks({ world, sender, listen, https: false, publicUrl, network, store });
    const found = await examine(world, checks);
    return Object.fromEntries(found.map(({ check, ...finding }) => [check, finding]));
  }

  const healthy = { status: 200, body: '{"version":"0.1.0","network":"regtest"}' } as const;

  it('a public URL with a certificate that nobody vouches for, or of another network', async () => {
    const tls = await receiver({ tls: true });
    const publicUrl = `https://localhost:${tls.port}`;
    expect((await findings({ publicUrl }))['public URL']).toMatchObject({
      state: 'fail',
      text: `GET ${publicUrl}/healthz: localhost:${tls.port} could not be trusted: its certificate is self-signed`,
    });
    const body = '{"version":"0.1.0","network":"mainnet"}';
    const other = await receiver({ answer: () => ({ status: 200, body }) });
    const found = await findings({ publicUrl: `${other.origin}/pay` });
    expect(found['public URL']?.text).toContain('a paygate of another network answers');
    expect(other.requests[0]?.url).toBe('/pay/healthz');
    expect((await findings({}))['public URL']).toMatchObject({ state: 'skip' });
  });

  it('a public URL with a good certificate, and how long it is good', async () => {
    const inDays = (days: number) =>
      new Date(Date.now() + days * 24 * hourMs)
        .toISOString()
        .replace(/[-:T]|\..*/g, '')
        .concat('Z');
    const ca = join(tempFolder(), 'ca.pem');
    writeFileSync(ca, authority.certificate);
    const path = join(tempFolder(), 'none.db');
    for (const [days, state] of [
      [90, 'ok'],
      [7, 'warn'],
    ] as const) {
      const tls = authority.issue(host, inDays(-1), inDays(days));
      const shop = await receiver({ tls, host: 'localhost', answer: () => healthy });
      const url = ['--public-url', `https://localhost:${shop.port}`];
      const args = ['doctor', '--json', '--db', path, '--network', 'regtest', ...url];
      const nowhere = ['--electrum', 'tcp://127.0.0.1:1'];
      const env = { NODE_EXTRA_CA_CERTS: ca };
      const { checks } = JSON.parse((await runCli([...args, ...nowhere], env)).stdout);
      const found = checks.find(({ check }: Finding) => check === 'public URL');
      expect(found.state).toBe(state);
      expect(found.text).toMatch(new RegExp(`its certificate ends in ${days - 1} days$`));
    }
  });

  it('a serve that is not ready, with its reasons', async () => {
    const body = '{"ready":false,"reasons":["the disk is almost full\\u001b[2J"]}';
    const unready = await receiver({ answer: () => ({ status: 503, body }) });
    const found = await findings({ port: unready.port });
    expect(found.serve).toMatchObject({ state: 'fail' });
    expect(found.serve?.text).toMatch(/\/readyz: the disk is almost full \[2J$/);
  });

  it('a shop that does not answer, whose name does not exist, that is private', async () => {
    const store = await openTestStore();
    await store.addWallet();
    const callee = async (callbackUrl: string, flags = true) => {
      const changes = { callbackUrl, allowPrivateCallback: flags, allowHttpCallback: flags };
      await store.write((tx) => {
        for (const { id } of store.catalog.stores()) store.catalog.archiveStore(tx, 0, id, true);
      });
      await store.addStore(changes);
      return (await findings({ store })).callback;
    };
    const shop = await receiver({ answer: () => ({ status: 404 }) });
    const url = `${shop.origin}/cb?secret=s3cr3t`;
    expect(await callee(url)).toMatchObject({ state: 'ok' });
    expect(await callee(url, false)).toMatchObject({ state: 'fail' });
    const gone = await callee('http://127.0.0.1:1/cb?secret=s3cr3t');
    expect(gone?.text).toContain('could not be reached: it refuses connections');
    const unknown = await callee('https://shop.invalid/cb?secret=s3cr3t');
    expect(unknown?.text).toContain('shop.invalid could not be resolved');
    expect(JSON.stringify([gone, unknown])).not.toContain('s3cr3t');
  });
});

describe('a check', () => {
  it('has a deadline, and one that breaks does not end the others', async () => {
    const world = createTestWorld();
    let ended: unknown;
    const checks: Check[] = [
      {
        name: 'slow',
        run: (signal) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              ended = signal.reason;
              resolve(ok('too late'));
            });
          }),
      },
      {
        name: 'broken',
        run: () => {
          throw new Error('it broke');
        },
      },
      { name: 'well', run: () => ok('yes') },
    ];
    const found = examine(world, checks);
    await world.advance(20_000);
    expect(await found).toEqual([
      { check: 'slow', state: 'fail', text: 'it was not done after 20 seconds' },
      { check: 'broken', state: 'fail', text: 'it broke' },
      { check: 'well', state: 'ok', text: 'yes' },
    ]);
    expect(ended).toBeInstanceOf(Error);
  });
});
