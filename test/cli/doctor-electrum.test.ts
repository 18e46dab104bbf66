// The doctor's questions to Electrum servers, good ones and bad ones, over real sockets.

import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { networks } from '../../src/bitcoin/network.ts';
import { examine } from '../../src/doctor/check.ts';
import { electrumChecks } from '../../src/doctor/electrum.ts';
import { parseServerAddress } from '../../src/electrum/trust.ts';
import { SimulatedChain } from '../../src/sandbox/chain.ts';
import { SimulatedServer } from '../../src/sandbox/server.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { closeHouses, openHouse, untilReady } from '../support/house.ts';
import { openTestStore, type TestStore } from '../support/store.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

afterEach(async () => {
  await closeHouses();
  await cleanUp();
});

const hourMs = 3_600_000;

type Finding = { check: string; state: string; text: string };

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
