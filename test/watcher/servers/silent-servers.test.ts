// Servers that answer but send no notifications: the blocks that they do not announce.

import { afterEach, expect, test } from 'vitest';
import type { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../../support/app.ts';

afterEach(closeApps);

async function passMinutes(app: TestApp, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    await app.world.advance(60_000);
    await app.settle();
  }
}

const stop = (...servers: readonly SimulatedServer[]): void => {
  for (const server of servers) server.inject({ kind: 'stopNotifications' });
};

test.each([1, 2])(
  'P-173 a payment is confirmed though no server announces blocks: %i',
  async (servers) => {
    const app = await openApp({ servers });
    await untilReady(app);
    const address = await app.newAddress();
    app.pay(address, 10_000);
    await app.settle();
    stop(...app.servers);
    app.chain.mine(2);
    await app.settle();
    expect(app.statuses(address)).toEqual(['0']);
    await passMinutes(app, 11);
    expect(app.statuses(address).at(-1)).toBe('2');
  },
);

test('P-173 a block that is not announced counts as a confirmation after a minute', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  app.pay(address, 10_000);
  app.chain.mine();
  await app.settle();
  stop(app.server);
  app.chain.mine();
  await passMinutes(app, 1);
  expect(app.statuses(address)).toEqual(['1', '2']);
});

test('P-162 a second server that announces no blocks is not in doubt for it', async () => {
  const app = await openApp({ servers: 2 });
  await untilReady(app);
  await app.world.until(() =>
    app.running.health().electrum.servers.every(({ state }) => state === 'live'),
  );
  const watched = app.inUse();
  stop(...app.servers.filter((server) => server !== watched));
  app.chain.mine(5);
  await passMinutes(app, 3);
  const { servers } = app.running.health().electrum;
  expect(servers.map(({ state, height }) => ({ state, height }))).toEqual([
    { state: 'live', height: 115 },
    { state: 'live', height: 115 },
  ]);
});
