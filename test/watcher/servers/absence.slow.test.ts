// No fault of a server goes unreported. Each request that a payment needs fails in each possible
// way. Within two minutes the shop gets its callback, or health and the doctor name server, request
// and advice.

import { afterEach, describe, expect, test } from 'vitest';
import { networks } from '../../../src/bitcoin/network.ts';
import { type NamedResult, runChecks } from '../../../src/doctor/doctor-check.ts';
import { electrumChecks } from '../../../src/doctor/electrum-checks.ts';
import { parseServerAddress } from '../../../src/electrum/server-address.ts';
import type { Fault } from '../../../src/sandbox/electrum/server-faults.ts';
import type { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import { closeApps, largeSat, openApp, type TestApp, untilReady } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const requests = [
  'server.features',
  'server.ping',
  'blockchain.headers.subscribe',
  'blockchain.block.headers',
  'blockchain.scripthash.subscribe',
  'blockchain.scripthash.get_history',
  'blockchain.transaction.get',
  'blockchain.transaction.get_merkle',
  'blockchain.transaction.id_from_pos',
] as const;

const faults: Readonly<Record<string, Fault>> = {
  refused: { kind: 'error', code: -32601, message: 'unknown method' },
  'never answered': { kind: 'hang' },
  'answered too late': { kind: 'delay', ms: 15_000 },
  slow: { kind: 'delay', ms: 9_000 },
  'the connection closed': { kind: 'closeMidLine' },
};

const withinMs = 120_000;
const advice = /--electrum/;

type Start = 'while it runs' | 'from a start on';

/** A whole app whose watched server, or first one, fails at a request. */
async function withFault(
  servers: number,
  start: Start,
  fault: Fault,
): Promise<{ app: TestApp; address: string; faulty: SimulatedServer; label: string }> {
  const app = await openApp({ servers });
  await untilReady(app);
  const faulty = app.inUse();
  const label = app.labels[app.servers.indexOf(faulty)] ?? '';
  if (start === 'while it runs') faulty.inject(fault);
  const address = await app.newAddress();
  await app.world.advance(1_000);
  if (start === 'from a start on') {
    await app.stop();
    faulty.inject(fault);
  }
  return { app, address, faulty, label };
}

/** Moves the clock in seconds, with time for real sockets. */
async function pass({ world }: TestApp, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) await world.advance(Math.min(left, 1_000));
}

async function doctorOf(app: TestApp, label: string): Promise<NamedResult[]> {
  const { world } = app;
  const servers = [parseServerAddress(label)];
  const parts = { world, network: networks.regtest, servers, proxy: undefined, records: undefined };
  let done: NamedResult[] | undefined;
  runChecks(world, electrumChecks(parts)).then((checked) => {
    done = checked;
  });
  for (let second = 0; done === undefined && second < 60; second += 1) await pass(app, 1_000);
  return done ?? [];
}

const names = (texts: readonly string[], label: string, request: string): boolean =>
  texts.some((text) => text.includes(label) && text.includes(request) && advice.test(text));

describe.each(['while it runs', 'from a start on'] as const)('%s', (start) => {
  describe.each(requests)('%s', (request) => {
    describe.each(Object.entries(faults))('%s', (_, kind) => {
      const fault: Fault = { ...kind, when: (method) => method === request };

      test('P-167 by the only server: the callback is sent, or a warning names the server', async () => {
        const { app, address, label } = await withFault(1, start, fault);
        if (start === 'while it runs') await pass(app, 40_000);
        app.pay(address, largeSat + 1);
        await pass(app, 2_000);
        app.chain.mine(3);
        if (start === 'from a start on') await app.start();
        await pass(app, withinMs);
        const { status, warnings } = app.running.health();
        const isDelivered = app.statuses(address).includes('2');
        if (isDelivered) return;
        expect(status).toBe('degraded');
        expect(names(warnings, label, request), warnings.join('\n')).toBe(true);
        const checked = (await doctorOf(app, label)).map(({ state, text }) => `${state} ${text}`);
        expect(names(checked, label, request), checked.join('\n')).toBe(true);
      });

      test('P-167 beside an honest server: the callback is sent', async () => {
        const { app, address } = await withFault(2, start, fault);
        if (start === 'while it runs') await pass(app, 40_000);
        app.pay(address, largeSat + 1);
        await pass(app, 2_000);
        app.chain.mine(3);
        if (start === 'from a start on') await app.start();
        await pass(app, withinMs);
        expect(app.statuses(address), app.running.health().warnings.join('\n')).toContain('2');
      });
    });
  });
});

test('a request that both connected servers refuse goes to a listed server that is not connected', async () => {
  const app = await openApp({ servers: 3 });
  await untilReady(app);
  const address = await app.newAddress();
  const states = () => app.running.health().electrum.servers.map(({ state }) => state);
  await app.world.until(() => states().filter((state) => state === 'live').length === 2);
  const when = (method: string) => method === 'blockchain.transaction.get';
  for (const [at, server] of app.servers.entries()) {
    if (states()[at] === 'live') server.inject({ ...(faults.refused as Fault), when });
  }
  app.pay(address, 5_000);
  await pass(app, 10_000);
  expect(app.statuses(address)).toEqual(['0']);
  expect(app.running.health().warnings).toEqual([]);
});

test('unsubscribed addresses are compared each minute, however long that takes, and have callbacks', async () => {
  const when = (method: string) => method === 'blockchain.scripthash.subscribe';
  const { app, address, label } = await withFault(1, 'from a start on', {
    ...(faults.refused as Fault),
    when,
  });
  await app.start();
  for (let minute = 0; minute < 30; minute += 1) await app.world.advance(60_000);
  app.pay(address, 5_000);
  await pass(app, withinMs);
  expect(app.statuses(address)).toEqual(['0']);
  const { warnings } = app.running.health();
  expect(names(warnings, label, 'blockchain.scripthash.subscribe'), warnings.join()).toBe(true);
});
