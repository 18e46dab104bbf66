// The doctor's questions to Electrum servers, good ones and bad ones, over real sockets.

import { type AddressInfo, connect, createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type Network, networks } from '../../src/bitcoin/network.ts';
import { type CheckState, runChecks } from '../../src/doctor/doctor-check.ts';
import { electrumChecks, mergeOffline } from '../../src/doctor/electrum-checks.ts';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import type { ServerLie } from '../../src/sandbox/electrum/server-faults.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { type Certificate, makeCertificate } from '../electrum/certificates.ts';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { openTestStore, type TestRecords } from '../support/store.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const hourMs = 3_600_000;

type Finding = { check: string; state: string; text: string };

describe('a server', () => {
  const network = networks.regtest;

  async function findingOf(
    label: string,
    records?: TestRecords,
    world: TestWorld = createTestWorld(),
    asked: Network = network,
  ): Promise<Finding | undefined> {
    const servers = [parseServerAddress(label)];
    const parts = { world, network: asked, servers, proxy: undefined, records };
    const checks = electrumChecks(parts);
    const [found] = await runChecks(world, checks);
    return found;
  }

  async function simulated(seed: string, world: TestWorld) {
    const chain = new SimulatedChain({ seed, now: () => world.now() / 1000 });
    chain.mine(120);
    const server = new SimulatedServer({ chain, timer: world });
    const { port, close } = await server.listen({ host: '127.0.0.1', port: 0 });
    whenOver(close);
    return { server, port, label: `tcp://127.0.0.1:${port}` };
  }
  const serverOf = async (seed: string, world: TestWorld): Promise<string> =>
    (await simulated(seed, world)).label;

  /**
   * The server behind TLS, as most public ones are.
   * @returns its address, to which a choice may be added
   */
  async function behindTls(port: number, { key, cert }: Certificate): Promise<string> {
    const front = createTlsServer({ key, cert }, (socket) => {
      const back = connect(port, '127.0.0.1');
      for (const each of [socket, back]) each.on('error', () => {});
      socket.pipe(back).pipe(socket);
    });
    await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
    whenOver(() => void front.close());
    return `ssl://127.0.0.1:${(front.address() as AddressInfo).port}`;
  }

  it.each<[ServerLie, CheckState, string]>([
    ['merkle', 'fail', 'its proof for block 120 is wrong'],
    ['header-work', 'fail', 'block 120 has no work'],
    ['genesis', 'fail', 'another network'],
  ])('that lies about %s is told', async (about, state, text) => {
    const world = createTestWorld();
    const { server, label } = await simulated('a chain', world);
    expect(await findingOf(label, undefined, world)).toMatchObject({
      state: 'ok',
      text: expect.stringContaining('proves a transaction of it, no TLS'),
    });
    server.inject({ kind: 'lie', about });
    const found = await findingOf(label, undefined, world);
    expect(found).toMatchObject({ state, text: expect.stringContaining(text) });
    expect(found?.text).toContain(label);
  });

  it.each([
    ['blockchain.transaction.id_from_pos', 'warn', '--prove-depth-above'],
    ['blockchain.transaction.get', 'fail', 'txindex=1'],
    ['blockchain.transaction.get_merkle', 'fail', '--electrum'],
    ['blockchain.scripthash.subscribe', 'fail', '--electrum'],
    ['blockchain.scripthash.get_history', 'fail', '--electrum'],
    ['blockchain.headers.subscribe', 'fail', '--electrum'],
  ] as const)('that refuses %s: %s, with advice', async (refused, state, advice) => {
    const world = createTestWorld();
    const { server, label } = await simulated('a chain', world);
    const when = (method: string) => method === refused;
    server.inject({ kind: 'error', code: -32601, message: 'unknown\u001b[2J method', when });
    const found = await findingOf(label, undefined, world);
    expect(found?.state).toBe(state);
    expect(found?.text).toContain(`${label}: `);
    expect(found?.text).toContain(`the server refused ${refused}: unknown [2J method (-32601)`);
    expect(found?.text).toContain(advice);
  });

  it('that refuses the coinbase by position is checked with a payment of ours instead', async () => {
    const app = await openApp();
    await untilReady(app);
    app.pay(await app.newAddress(), 5_000);
    app.chain.mine();
    await app.settle();
    const records = await openTestStore({ path: app.path });
    const [label = ''] = app.labels;
    const places = 'blockchain.transaction.id_from_pos';
    const refusal = { kind: 'error', code: 1, message: 'no' } as const;
    app.server.inject({ ...refusal, when: (method) => method === places });
    expect(await findingOf(label, records, app.world)).toMatchObject({ state: 'warn' });
    app.server.inject({ ...refusal, when: (method) => method === 'blockchain.transaction.get' });
    const found = await findingOf(label, records, app.world);
    expect(found).toMatchObject({ state: 'fail', text: expect.stringContaining('txindex=1') });
  });

  it.each(['error', 'closeMidLine'] as const)(
    'that does not support server.features (%s) passes',
    async (kind) => {
      const world = createTestWorld();
      const { server, label } = await simulated('a chain', world);
      const when = (method: string) => method === 'server.features';
      const fault = kind === 'error' ? { kind, code: 1, message: 'no' } : { kind };
      server.inject({ ...fault, when });
      expect(await findingOf(label, undefined, world)).toMatchObject({ state: 'ok' });
    },
  );

  it('several whose names do not resolve give one finding about the network of the machine', async () => {
    const world = createTestWorld();
    const { label } = await simulated('a chain', world);
    const offline = Array.from({ length: 13 }, (_, at) => `ssl://no-such-${at}.invalid:50002`);
    const look = async (labels: readonly string[]) => {
      const servers = labels.map((each) => parseServerAddress(each));
      const parts = { world, network, servers, proxy: undefined, records: undefined };
      return mergeOffline(await runChecks(world, electrumChecks(parts)));
    };
    expect(await look(offline)).toEqual([
      {
        check: 'electrum',
        state: 'fail',
        text: 'No Electrum server can be reached: names do not resolve. Is this machine online? (13 tried)',
      },
    ]);
    expect(await look([...offline.slice(0, 1), label])).toMatchObject([
      { state: 'fail', text: expect.stringMatching(/no-such-0.*--electrum/) },
      { state: 'ok' },
    ]);
  });

  it('whose newest block is old is reported, except on a test chain without miners', async () => {
    const world = createTestWorld();
    const { label } = await simulated('a chain', world);
    const real: Network = { ...network, name: 'mainnet' };
    expect(await findingOf(label, undefined, world, real)).toMatchObject({ state: 'ok' });
    world.jumpWallClock(9 * hourMs);
    expect(await findingOf(label, undefined, world)).toMatchObject({ state: 'ok' });
    expect(await findingOf(label, undefined, world, real)).toMatchObject({
      state: 'warn',
      text: expect.stringContaining('that block is 9 hours old'),
    });
  });

  it('whose certificate is pinned, changed, or not checked; the check pins nothing', async () => {
    const world = createTestWorld();
    const { port } = await simulated('a chain', world);
    const [first, second] = [makeCertificate(), makeCertificate()];
    const label = await behindTls(port, first);
    const records = await openTestStore();
    expect(await findingOf(label, records, world)).toMatchObject({
      state: 'ok',
      text: expect.stringMatching(/, its certificate is pinned$/),
    });
    expect(records.servers.trust(label)).toBeUndefined();
    expect(await findingOf(`${label}?pin=${second.sha256}`, records, world)).toMatchObject({
      state: 'fail',
      text: expect.stringContaining('certificate'),
    });
    expect(await findingOf(`${label}?insecure`, records, world)).toMatchObject({
      state: 'ok',
      text: expect.stringMatching(/, any certificate is accepted$/),
    });
    const known = { kind: 'pinned', sha256: second.sha256 } as const;
    await records.servers.learn(label, known, 0);
    expect(await findingOf(label, records, world)).toMatchObject({ state: 'fail' });
  });

  it('of a chain other than the verified one is reported', async () => {
    const app = await openApp();
    await untilReady(app);
    const records = await openTestStore({ path: app.path });
    const [own = ''] = app.labels;
    expect(await findingOf(own, records, app.world)).toMatchObject({ state: 'ok' });
    const other = await serverOf('another', app.world);
    expect(await findingOf(other, records, app.world)).toMatchObject({
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

  it('that does not respond times out', async () => {
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
