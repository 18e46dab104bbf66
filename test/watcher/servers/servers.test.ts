// Which servers are used, what holds back a promotion to 2, and what an operator reads about it.

import { afterEach, describe, expect, test } from 'vitest';
import { networks } from '../../../src/bitcoin/network.ts';
import { FindingHistory } from '../../../src/status/finding-history.ts';
import { currentFindings } from '../../../src/status/findings.ts';
import { createHealth } from '../../../src/status/health.ts';
import type { PaymentRow } from '../../../src/store/payments/payment-records.ts';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { createBacklog } from '../../../src/watcher/backlog.ts';
import { createWatcher } from '../../../src/watcher/watcher.ts';
import { makeCertificate } from '../../electrum/certificates.ts';
import { startServer } from '../../electrum/scripted-server.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../../support/app.ts';
import { runCli } from '../../support/cli.ts';
import { cleanUp, connectionOf, whenOver } from '../../support/files.ts';
import { openTestStore } from '../../support/store.ts';
import { prepareWatching, type Watching, type WatchingOptions } from '../../support/watching.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(closeApps);
afterEach(cleanUp);

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** Lets minutes pass, and the work of each end. */
async function minutes(watching: Watching, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    await watching.world.advance(minuteMs - (watching.world.now() % minuteMs));
    await watching.watcher.idle();
  }
}

async function begin(options: WatchingOptions): Promise<Watching> {
  const watching = await prepareWatching({ servers: 2, ...options });
  await watching.start();
  await watching.world.until(() => live(watching) === watching.servers.length, 'all servers');
  await watching.watcher.idle();
  return watching;
}

const live = ({ watcher }: Watching): number =>
  watcher.status().servers.filter(({ state }) => state === 'live').length;

/** The index of the watched server. */
const place = ({ watcher, labels }: Watching): number =>
  labels.indexOf(watcher.status().server ?? '');

const doubts = ({ watcher }: Watching) => watcher.status().servers.map(({ doubt }) => doubt);

const rowOf = ({ records }: Watching, issued: IssuedAddress): PaymentRow | undefined => {
  const id = records.addresses.byScripthash(issued.scripthash)?.id ?? 0;
  return records.ledger.paymentsOf(id)[0];
};

const logged = ({ world }: Watching): string[] => world.logs.map(({ message }) => message);

describe('P-162 a server that lags', () => {
  test('is replaced by the other one after a minute, and used again once it has caught up', async () => {
    const watching = await begin({});
    const first = place(watching);
    const { chain, servers, watcher } = watching;
    const caughtUp = servers[first]?.inject({ kind: 'lag', blocks: 2 });
    const issued = await watching.records.issue();
    watcher.issued(issued.scripthash);
    chain.pay([{ address: issued.address, valueSat: 5_000 }]);
    chain.mine(2);
    await watcher.idle();
    expect(place(watching)).toBe(first);
    await minutes(watching, 3);
    expect(place(watching)).toBe(1 - first);
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirmed' });
    expect(doubts(watching)[first]).toBe('it is 2 blocks behind');
    expect(watching.world.logs).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'electrum server in doubt' }),
    );
    expect(watcher.status().servers.map(({ ban }) => ban)).toEqual([undefined, undefined]);
    caughtUp?.();
    servers[first]?.notifyAll();
    await minutes(watching, 1);
    expect(doubts(watching)).toEqual([undefined, undefined]);
    expect(logged(watching)).toContain('electrum server no longer in doubt');
  });

  test('one block behind is no lag', async () => {
    const watching = await begin({});
    const first = place(watching);
    watching.servers[first]?.inject({ kind: 'lag', blocks: 1 });
    watching.chain.mine(1);
    await minutes(watching, 3);
    expect(place(watching)).toBe(first);
    expect(doubts(watching)).toEqual([undefined, undefined]);
  });

  test('P-162 is no cross-check: a payment that it omits is not gone', async () => {
    const watching = await begin({});
    const { chain, servers, watcher } = watching;
    const issued = await watching.records.issue();
    watcher.issued(issued.scripthash);
    const txid = chain.pay([{ address: issued.address, valueSat: 5_000 }]);
    await watcher.idle();
    servers[1 - place(watching)]?.inject({ kind: 'lag', blocks: 3 });
    chain.mine(3, { include: 'none' });
    await minutes(watching, 2);
    chain.evict(txid);
    await minutes(watching, 2);
    expect(rowOf(watching, issued)).toMatchObject({ state: 'unconfirmed' });
    servers[1 - place(watching)]?.heal();
    servers[1 - place(watching)]?.notifyAll();
    await minutes(watching, 3);
    expect(rowOf(watching, issued)).toMatchObject({ state: 'dropped' });
  });

  test('P-164 is used if it is the only one, with a warning', async () => {
    const app = await openApp();
    await untilReady(app);
    app.chain.mine(5);
    await app.settle();
    app.server.inject({ kind: 'lag', blocks: 3 });
    app.server.notifyAll();
    await app.settle();
    await app.world.advance(2 * minuteMs);
    const { electrum, warnings, status } = app.running.health();
    expect(electrum.server).toBe(app.labels[0]);
    expect([status, ...warnings].join()).toContain(
      'because no better server is connected, but it is 3 blocks behind',
    );
    const address = await app.newAddress();
    app.pay(address, 5_000);
    await app.settle();
    expect(app.statuses(address)).toEqual(['0']);
  });
});

describe('P-163 a server whose tip is stale', () => {
  const signet = { name: 'signet' } as const;

  test('is replaced by another one after eight hours, on every network but regtest', async () => {
    const watching = await begin({ network: signet, ownChains: true });
    watching.world.jumpWallClock(8 * hourMs + minuteMs);
    // The jump begins both sessions anew.
    await minutes(watching, 1);
    const first = place(watching);
    // Both servers are in doubt: the watched one stays.
    await minutes(watching, 2);
    expect(place(watching)).toBe(first);
    expect(doubts(watching)).toEqual([
      expect.stringContaining('8 hours old'),
      expect.stringContaining('8 hours old'),
    ]);
    watching.chains[1 - first]?.mine(1);
    await minutes(watching, 2);
    expect(place(watching)).toBe(1 - first);
    expect(doubts(watching)[1 - first]).toBeUndefined();
  });

  test('is never in doubt on regtest', async () => {
    const watching = await begin({});
    watching.world.jumpWallClock(90 * hourMs);
    await minutes(watching, 2);
    expect(doubts(watching)).toEqual([undefined, undefined]);
  });
});

describe('P-165 a server on another branch', () => {
  /** Two branches: the watched server's has the payment and more work. */
  async function disagreeing(): Promise<{
    watching: Watching;
    issued: IssuedAddress;
    other: number;
  }> {
    const watching = await begin({ ownChains: true });
    const { chains, watcher, records } = watching;
    const [used, other] = [place(watching), 1 - place(watching)];
    const issued = await records.issue();
    watcher.issued(issued.scripthash);
    chains[used]?.pay([{ address: issued.address, valueSat: 5_000 }]);
    chains[used]?.mine(1);
    await watcher.idle();
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirming' });
    chains[other]?.mine(3);
    chains[used]?.mine(3, { include: 'none' });
    await watcher.idle();
    return { watching, issued, other };
  }

  test('three blocks back for half an hour: nothing is promoted to 2 until it ends', async () => {
    const { watching, issued, other } = await disagreeing();
    const { watcher, records, chains } = watching;
    // It was a race until then: confirmed payments are final.
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirmed' });
    await minutes(watching, 29);
    expect(watcher.status().holdReasons).toEqual([]);
    await minutes(watching, 3);
    expect(watcher.status().holdReasons).toMatchObject([
      { text: expect.stringContaining('another branch') },
    ]);
    expect(watching.world.logs).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'nothing is promoted to 2' }),
    );
    const late = await records.issue();
    watcher.issued(late.scripthash);
    const used = chains[1 - other];
    used?.pay([{ address: late.address, valueSat: 6_000 }]);
    used?.mine(1);
    await watcher.idle();
    used?.mine(3);
    await watcher.idle();
    expect(rowOf(watching, late)).toMatchObject({ state: 'confirming' });
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirmed' });
    // It moves to our chain: all payments that waited are promoted.
    await follow(watching, other);
    await minutes(watching, 2);
    expect(watcher.status().holdReasons).toEqual([]);
    expect(rowOf(watching, late)).toMatchObject({ state: 'confirmed' });
  });

  test('the alarm has its first start, however the branches grow', async () => {
    const { watching } = await disagreeing();
    const { world, records, watcher, chains } = watching;
    const { refused } = records.database;
    const quiet = {
      hasRoom: () => true,
      refused,
      sources: [],
      channels: [],
    };
    const parts = { records, watcher, ...quiet, now: () => world.now() };
    const { now, monotonic, log } = world;
    const find = () => currentFindings(parts, watcher.status());
    const book = new FindingHistory({ records, find, now, monotonic, log });
    const standing = () => book.findings().find(({ code }) => code === 'promotion-held');
    await minutes(watching, 32);
    const first = standing();
    expect(first).toMatchObject({ fact: expect.stringContaining('4 blocks back') });
    for (const chain of chains) chain.mine(1);
    await minutes(watching, 2);
    expect(standing()).toMatchObject({
      fact: expect.stringContaining('5 blocks back'),
      since: first?.since,
    });
  });

  test('the hold and the alarm survive a restart', async () => {
    const { watching } = await disagreeing();
    await minutes(watching, 32);
    await watching.watcher.stop();
    const again = watching.again();
    expect(again.status().holdReasons).toHaveLength(1);
    const issued = await watching.records.issue();
    const used = watching.chains[0]?.tipHeight === 114 ? watching.chains[0] : watching.chains[1];
    used?.pay([{ address: issued.address, valueSat: 6_000 }]);
    used?.mine(4);
    await watching.start();
    await minutes(watching, 3);
    expect(again.status().holdReasons).toHaveLength(1);
    expect(rowOf(watching, issued)?.state).not.toBe('confirmed');
  });

  test('is not banned for true responses of its branch', async () => {
    const { watching } = await disagreeing();
    await minutes(watching, 40);
    expect(watching.watcher.status().servers.map(({ ban }) => ban)).toEqual([undefined, undefined]);
  });

  test('P-133 that has not seen a reorganisation delays no new payment of the same address', async () => {
    const watching = await begin({ ownChains: true });
    const { chains, watcher, records } = watching;
    const ours = chains[place(watching)];
    const issued = await records.issue();
    watcher.issued(issued.scripthash);
    for (const chain of chains) {
      chain.pay([{ address: issued.address, valueSat: 5_000 }]);
      chain.mine();
    }
    await watcher.idle();
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirming' });
    ours?.reorganise(1, { transactions: 'drop' });
    const txid = ours?.pay([{ address: issued.address, valueSat: 7_000 }]);
    await watcher.idle();
    expect(records.ledger.paymentsOf(1)).toMatchObject([{}, { txid, state: 'unconfirmed' }]);
  });

  /** The server's chain becomes that of the first server in the list whose chain is longer. */
  async function follow(watching: Watching, other: number): Promise<void> {
    const { servers } = watching;
    // Without its own blocks, its tip is an ancestor of ours: it lags, and does not disagree.
    servers[other]?.inject({ kind: 'lag', blocks: 3 });
    servers[other]?.notifyAll();
    await watching.watcher.idle();
  }
});

describe('P-122 a heavier branch that forks deeper than 144', () => {
  async function deep(
    app: TestApp,
    depth = 150,
  ): Promise<{ address: string; late: string; height: unknown }> {
    const [address, late] = [await app.newAddress(), await app.newAddress()];
    app.pay(address, 50_000);
    await app.settle();
    app.chain.mine(depth - 1);
    await app.settle();
    app.pay(late, 20_000);
    app.chain.mine(1);
    await app.settle();
    const { height } = app.running.health().electrum;
    app.chain.reorganise(depth, { transactions: 'mempool' });
    await app.world.until(() => app.running.health().electrum.server === null, 'the halt');
    return { address, late, height };
  }

  test.each([150, 400])(
    '(%i) is not followed and no lie: no status is promoted or reverted, and an alarm is raised',
    async (depth) => {
      const app = await openApp();
      await untilReady(app);
      const { address, late, height } = await deep(app, depth);
      await app.world.advance(5 * minuteMs);
      const { electrum, warnings } = app.running.health();
      expect(electrum.height).toBe(height);
      expect(electrum.servers[0]).not.toHaveProperty('banned_until');
      expect(warnings.join('\n')).toContain('deeper than 144');
      expect(warnings.join('\n')).toContain('see which chain is right');
      expect(app.statuses(address)).toEqual(['0', '2']);
      expect(app.statuses(late)).toEqual(['1']);
      // The same after a restart.
      await app.stop();
      await app.start();
      await app.world.advance(5 * minuteMs);
      expect(app.running.health().electrum.server).toBeNull();
      expect(app.running.health().warnings.join('\n')).toContain('deeper than 144');
      expect(app.callbacks().map(({ status }) => status)).toEqual(['0', '2', '1']);
    },
  );

  test('is followed from its next block on if the operator decides so', async () => {
    const app = await openApp();
    await untilReady(app);
    const { late, height } = await deep(app);
    await app.world.turn();
    const label = app.labels[0] ?? '';
    const { stdout } = await runCli(['servers', 'follow', label, '--db', app.path]);
    expect(stdout).toContain('paygate follows the chain of block');
    await app.world.advance(2 * minuteMs);
    expect(app.running.health().electrum.height).toBe(height);
    app.chain.mine(2);
    await app.world.advance(3 * minuteMs);
    await untilReady(app);
    const { electrum, warnings } = app.running.health();
    expect(electrum.height).toBe(app.chain.tipHeight);
    expect(warnings).toEqual([]);
    expect(app.statuses(late)).toEqual(['1', '2']);
  });

  test('continues with another server on our chain, which ends the alarm once that chain leads', async () => {
    const watching = await begin({ ownChains: true });
    const { chains, watcher, records } = watching;
    const used = place(watching);
    const [ours, theirs] = [chains[used], chains[1 - used]];
    ours?.mine(150);
    await watcher.idle();
    // To any script, so that no block is the same.
    theirs?.mine(160, { to: Uint8Array.of(0x51) });
    await minutes(watching, 1);
    expect(watcher.status().tipHeight).toBe(260);
    expect(place(watching)).toBe(used);
    expect(watcher.status().holdReasons).toMatchObject([
      { text: expect.stringContaining('deeper than 144') },
    ]);
    const issued = await records.issue();
    watcher.issued(issued.scripthash);
    ours?.pay([{ address: issued.address, valueSat: 6_000 }]);
    ours?.mine(1);
    await watcher.idle();
    ours?.mine(3);
    await minutes(watching, 1);
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirming' });
    // On its way from one branch to the other, its tip is below both: the hold goes on.
    watching.servers[1 - used]?.inject({ kind: 'lag', blocks: 160 });
    watching.servers[1 - used]?.notifyAll();
    await minutes(watching, 2);
    expect(doubts(watching)[1 - used]).toBe('it is 154 blocks behind');
    expect(watcher.status().holdReasons).toHaveLength(1);
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirming' });
    // Our branch leads again, and the other server returns to it.
    ours?.mine(8);
    await minutes(watching, 2);
    expect(watcher.status().holdReasons).toEqual([]);
    expect(rowOf(watching, issued)).toMatchObject({ state: 'confirmed' });
  });
});

test('P-138 the only server lied: nothing is promoted to 2 until its proofs hold, and it stays in use', async () => {
  const app = await openApp({ store: { confirmations: 4 } });
  await untilReady(app);
  const [early, late] = [await app.newAddress(), await app.newAddress()];
  app.pay(early, 10_000);
  app.chain.mine(1);
  await app.settle();
  expect(app.statuses(early)).toEqual(['1']);
  app.pay(late, 20_000);
  await app.settle();
  const truth = app.server.inject({ kind: 'lie', about: 'merkle' });
  app.chain.mine(1);
  await app.world.until(() => app.running.health().electrum.server === null, 'the ban');
  // The headers alone would make the first payment final.
  app.chain.mine(4);
  const before = app.server.count('server.version');
  for (let minute = 0; minute < 5; minute += 1) await app.world.advance(minuteMs);
  expect(app.server.count('server.version')).toBeGreaterThanOrEqual(before + 4);
  expect(app.statuses(early)).toEqual(['1']);
  expect(app.statuses(late)).toEqual(['0']);
  expect(app.running.health().warnings.join('\n')).toContain('has lied');
  truth();
  await app.world.advance(3 * minuteMs);
  await app.settle();
  expect(app.statuses(early)).toEqual(['1', '2']);
  expect(app.statuses(late)).toEqual(['0', '1', '2']);
  // The payments waited until the proofs were true, then promoted at once. The ban remains.
  expect(app.running.health().warnings.join('\n')).not.toContain('has lied');
  expect(app.running.health().warnings.join('\n')).toContain('is banned until');
});

test('P-166 a dead node behind its server raises an alarm', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  const alive = app.server.inject({
    kind: 'hang',
    when: (method) => method === 'blockchain.transaction.get',
  });
  app.pay(address, 5_000);
  await app.world.turn();
  await app.world.advance(15_000);
  expect(app.running.health().warnings.join('\n')).toContain('1 address could not be processed');
  alive();
  await app.world.advance(2 * minuteMs);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
  expect(app.running.health().warnings).toEqual([]);
});

test('P-166 a server whose node is dead: another one returns the payment, and is used from the second payment on', async () => {
  const app = await openApp({ servers: 2 });
  await untilReady(app);
  const first = app.running.health().electrum.server;
  const address = await app.newAddress();
  app.inUse().inject({ kind: 'hang', when: (method) => method === 'blockchain.transaction.get' });
  app.pay(address, 5_000);
  await app.world.turn();
  await app.world.advance(10_000);
  await app.world.until(() => app.statuses(address).length > 0, 'the other server');
  expect(app.statuses(address)).toEqual(['0']);
  expect(app.running.health().electrum.server).toBe(first);
  app.pay(address, 6_000);
  await app.world.turn();
  await app.world.advance(10_000);
  await app.world.until(() => app.statuses(address).length > 1, 'the other server again');
  expect(app.running.health().electrum.server).not.toBe(first);
});

test('P-171 a changed certificate raises an alarm with the command that accepts it', async () => {
  const records = await openTestStore();
  const server = await startServer({}, { tls: makeCertificate() });
  whenOver(() => server.close());
  const { address } = server;
  const sha256 = 'ab'.repeat(32);
  const world = createTestWorld();
  await records.servers.learn(address.label, { kind: 'pinned', sha256 }, world.now());
  const watcher = createWatcher({
    world,
    records,
    network: networks.regtest,
    servers: [address],
    proxy: undefined,
    proveDepthAboveSat: 0,
    backlog: createBacklog(world, () => {}),
  });
  whenOver(() => watcher.stop());
  const health = createHealth({
    records,
    watcher,
    hasRoom: () => true,
    refused: records.database.refused,
    sources: [],
    channels: [],
    now: () => world.now(),
  });
  watcher.start();
  await world.until(() => watcher.status().servers[0]?.lastError !== undefined, 'the refusal');
  const { warnings, electrum } = health();
  expect(warnings.join('\n')).toContain(`pinned is ${sha256}`);
  expect(warnings.join('\n')).toContain(`paygate servers accept ${address.label} `);
  expect(electrum.servers[0]).toMatchObject({ certificate: 'pinned', pin: sha256 });
});

test('a block that the disk refuses is no fault of its server, and is stored later', async () => {
  const watching = await begin({ servers: 1 });
  const { records, watcher, world, chains } = watching;
  const { refused } = records.database;
  const others = { hasRoom: () => true, refused, sources: [], channels: [] };
  const health = createHealth({ records, watcher, ...others, now: () => world.now() });
  const connection = connectionOf(records.database);
  const issued = await records.issue();
  watcher.issued(issued.scripthash);
  await watcher.idle();
  connection.pragma('query_only = ON');
  chains[0]?.pay([{ address: issued.address, valueSat: 5_000 }]);
  chains[0]?.mine(1);
  await world.until(() => refused() !== undefined, 'the refusal');
  await minutes(watching, 5);
  expect(health().warnings).toEqual([
    'the database cannot be written: its disk refuses writes (SQLITE_READONLY): no address is issued, ' +
      'and nothing new is recorded or sent, until it takes writes again',
  ]);
  expect(live(watching)).toBe(1);
  connection.pragma('query_only = OFF');
  await records.database.probe();
  await minutes(watching, 11);
  expect(health().warnings).toEqual([]);
  expect(records.headers.tip()?.height).toBe(chains[0]?.tipHeight);
  expect(rowOf(watching, issued)).toMatchObject({ height: chains[0]?.tipHeight });
});

describe('paygate servers list', () => {
  const list = async (app: TestApp, ...more: string[]): Promise<string> => {
    const { stdout } = await runCli(['servers', 'list', '--db', app.path, ...more]);
    return stdout;
  };

  test('shows height, latency, protocol and ban of each while serve runs', async () => {
    const app = await openApp({ servers: 2 });
    await untilReady(app);
    const [used, liar] = [app.running.health().electrum.server, app.inUse()];
    liar.inject({ kind: 'lie', about: 'header-work' });
    app.chain.mine(1);
    await app.world.until(() => app.running.health().electrum.server !== used, 'the ban');
    await untilReady(app);
    const listen = `127.0.0.1:${app.port}`;
    const lines = (await list(app, '--listen', listen)).split('\n');
    expect(lines[0]).toMatch(/server +state +height +latency +protocol +certificate +problem/);
    const lineOf = (label: string) => lines.find((line) => line.startsWith(`${label} `));
    expect(lineOf(used ?? '')).toMatch(/banned .*banned until .*meet its target/);
    const other = app.labels.find((label) => label !== used) ?? '';
    expect(lineOf(other)).toMatch(/live +111 +\d+ ms +1\.6/);
  });

  test('shows the stored values if no serve runs', async () => {
    const app = await openApp();
    const sha256 = 'cd'.repeat(32);
    await app.withStore(async ({ servers }) => {
      await servers.learn('ssl://one.example:50002', { kind: 'pinned', sha256 }, 0);
      const until = Date.now() + hourMs;
      await servers.setBan('ssl://two.example:50002', { until, reason: 'it lied' }, 0);
    });
    await app.stop();
    const { servers } = JSON.parse(await list(app, '--json', '--listen', '127.0.0.1:1'));
    expect(servers).toMatchObject([
      { server: 'ssl://one.example:50002', state: 'remembered', pin: sha256 },
      { server: 'ssl://two.example:50002', ban_reason: 'it lied' },
    ]);
  });
});

test('a clean stop is no loss of servers, and raises no warning', async () => {
  const app = await openApp({ servers: 2 });
  await untilReady(app);
  app.pay(await app.newAddress(), 5_000);
  await app.settle();
  app.pay(await app.newAddress(), 5_000);
  await app.stop();
  // The same in the middle of connecting, following the chain and subscribing.
  for (let turns = 0; turns < 8; turns += 1) {
    await app.start();
    for (let turn = 0; turn < turns; turn += 1) await app.world.turn();
    await app.stop();
  }
  const troubles = app.world.logs.filter(({ level }) => level === 'warn' || level === 'error');
  expect(troubles).toEqual([]);
});
