// The look-ahead of a wallet: how many addresses are derived, when, and which are watched.

import { afterEach, expect, test } from 'vitest';
import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import { deriveAddress, firstAddresses } from '../../src/bitcoin/keychain.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import {
  closeApps,
  merchantKey,
  openApp,
  type TestApp,
  type TestAppOptions,
  untilReady,
} from '../support/app.ts';

afterEach(closeApps);

const startIndex = 300;

const derivedUntil = (app: TestApp): Promise<number> =>
  app.withStore(async ({ addresses }) => addresses.derivedUntil(1));

/** By the scripthashes that paygate subscribed at its server. */
const watchedAhead = (app: TestApp, from: number, until: number): Promise<number> =>
  app.withStore(async ({ addresses }) => {
    const asked = app.server.requests.filter(({ method }) =>
      method.endsWith('scripthash.subscribe'),
    );
    const told = new Set(asked.map(({ params }) => params[0]));
    return addresses.ahead(1, from, until).filter((each) => told.has(each)).length;
  });

const hashOf = (address: string): string => scripthash(addressToScript(address, networks.regtest));

async function openReady(more: Partial<TestAppOptions> = {}): Promise<TestApp> {
  const app = await openApp({ store: { startIndex }, ...more });
  await untilReady(app);
  // Right after a start it is not quiet yet.
  await app.world.advance(100);
  await app.running.idle();
  return app;
}

const issue = (app: TestApp, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => app.newAddress()));

test('a wallet that issued many addresses has as many in its look-ahead, all watched', async () => {
  const app = await openReady();
  expect(await derivedUntil(app)).toBe(2 * startIndex);
  expect(await watchedAhead(app, startIndex, 2 * startIndex)).toBe(startIndex);
});

test('a burst of requests uses up the look-ahead, which is refilled and watched afterwards', async () => {
  const app = await openReady();
  await issue(app, 160);
  expect(await derivedUntil(app)).toBe(2 * startIndex);
  // The first look after them finds that it was not quiet yet.
  await app.world.advance(100);
  await app.world.advance(100);
  await app.running.idle();
  const next = startIndex + 160;
  expect(await derivedUntil(app)).toBe(2 * next);
  expect(await watchedAhead(app, next, 2 * next)).toBe(next);
});

test('P-107 a burst of requests issues no index that another program has used', async () => {
  const used = deriveAddress(merchantKey(), 0, startIndex + 150);
  const before = (chain: SimulatedChain) => {
    chain.pay([{ script: used?.script ?? new Uint8Array(), valueSat: 77_000 }]);
    chain.mine(3);
  };
  const app = await openReady({ before });
  await app.settle();
  const issued = await issue(app, 160);
  expect(new Set(issued).size).toBe(160);
  expect(issued).not.toContain(used?.address);
  await app.settle();
  expect(app.callbacks()).toEqual([]);
});

test('the look-ahead survives a restart', async () => {
  const app = await openReady();
  await issue(app, 100);
  await app.stop();
  await app.start();
  await untilReady(app);
  await app.running.idle();
  const next = startIndex + 100;
  expect(await watchedAhead(app, next, next + 200)).toBe(200);
  const [address] = await issue(app, 1);
  app.pay(address ?? '', 1_000);
  await app.settle();
  expect(app.statuses(address ?? '')).toEqual(['0']);
});

test('a start compares the addresses before it fills the look-ahead', async () => {
  const app = await openReady();
  await issue(app, 160);
  await app.stop();
  const before = await derivedUntil(app);
  const when = (method: string) => method.endsWith('scripthash.subscribe');
  app.server.inject({ kind: 'delay', ms: 5_000, when });
  await app.start();
  await app.world.until(() => app.running.health().electrum.server !== null, 'the server');
  for (let quiet = 0; quiet < 3; quiet += 1) await app.world.advance(100);
  for (let turns = 0; turns < 200; turns += 1) await app.world.turn();
  expect(app.running.health().electrum.caught_up).toBe(false);
  expect(await derivedUntil(app)).toBe(before);
  app.server.heal();
  await app.world.advance(5_000);
  await untilReady(app);
  await app.running.idle();
  expect(await derivedUntil(app)).toBe(2 * (startIndex + 160));
});

test('the look-ahead is filled although a server cuts off the comparison', async () => {
  const app = await openReady();
  await issue(app, 160);
  await app.stop();
  const when = (method: string) => method.endsWith('scripthash.subscribe');
  app.server.inject({ kind: 'hang', when });
  await app.start();
  const isConnected = () => app.running.health().electrum.server !== null;
  await app.world.until(isConnected, 'the server');
  for (let quiet = 0; quiet < 3; quiet += 1) await app.world.advance(100);
  app.server.inject({ kind: 'refuse' });
  app.server.disconnectAll();
  await app.world.until(() => !isConnected(), 'the server to be lost');
  await app.running.idle();
  expect(await derivedUntil(app)).toBe(2 * (startIndex + 160));
});

test('a wallet whose scan fails does not stop the look-ahead of another one', async () => {
  const app = await openReady();
  const refused = new Set(firstAddresses(merchantKey(2), 6).map(hashOf));
  const when = (method: string, [first]: readonly unknown[]) =>
    method.endsWith('get_history') && refused.has(first as string);
  app.server.inject({ kind: 'error', code: 1, message: 'history too large', when });
  const callbackUrl = `${app.receiver.origin}/second`;
  await app.addStore({ name: 'Second', key: merchantKey(2), callbackUrl });
  await app.world.advance(60_000);
  await app.running.idle();
  expect(app.running.health().wallets.scanning).toBe(1);
  const told = () => app.running.health().warnings.join();
  expect(told()).toMatch(
    /no address is issued yet for 1 wallet: a scan .*; the last attempt failed: .*history too large/,
  );
  await Promise.all(Array.from({ length: 160 }, () => app.newAddress('?match_callback=/cb')));
  await app.world.advance(100);
  await app.world.advance(100);
  await app.running.idle();
  const next = startIndex + 160;
  expect(await watchedAhead(app, next, next + 40)).toBe(40);
  expect(await derivedUntil(app)).toBe(2 * next);
  app.server.heal();
  await app.world.advance(60_000);
  await app.running.idle();
  expect(app.running.health().wallets.scanning).toBe(0);
  expect(told()).not.toContain('scan');
});
