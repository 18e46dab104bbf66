// The addresses that a wallet keeps derived ahead: how many, when, and which of them are watched.

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

const derivedUntil = (house: TestApp): Promise<number> =>
  house.withStore(async ({ addresses }) => addresses.derivedUntil(1));

/** By the scripthashes that paygate subscribed at its server. */
const watchedAhead = (house: TestApp, from: number, until: number): Promise<number> =>
  house.withStore(async ({ addresses }) => {
    const asked = house.server.requests.filter(({ method }) =>
      method.endsWith('scripthash.subscribe'),
    );
    const told = new Set(asked.map(({ params }) => params[0]));
    return addresses.ahead(1, from, until).filter((each) => told.has(each)).length;
  });

const hashOf = (address: string): string => scripthash(addressToScript(address, networks.regtest));

async function openReady(more: Partial<TestAppOptions> = {}): Promise<TestApp> {
  const house = await openApp({ store: { startIndex }, ...more });
  await untilReady(house);
  // Right after a start it is not quiet yet.
  await house.world.advance(100);
  await house.running.idle();
  return house;
}

const issue = (house: TestApp, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => house.newAddress()));

test('a wallet that issued much has as many ahead, all of them watched', async () => {
  const house = await openReady();
  expect(await derivedUntil(house)).toBe(2 * startIndex);
  expect(await watchedAhead(house, startIndex, 2 * startIndex)).toBe(startIndex);
});

test('a rush uses them up, and they are filled up and watched when it is over', async () => {
  const house = await openReady();
  await issue(house, 160);
  expect(await derivedUntil(house)).toBe(2 * startIndex);
  // The first look after them finds that it was not quiet yet.
  await house.world.advance(100);
  await house.world.advance(100);
  await house.running.idle();
  const next = startIndex + 160;
  expect(await derivedUntil(house)).toBe(2 * next);
  expect(await watchedAhead(house, next, 2 * next)).toBe(next);
});

test('P-107 a rush hands out no index that another program has used', async () => {
  const used = deriveAddress(merchantKey(), 0, startIndex + 150);
  const before = (chain: SimulatedChain) => {
    chain.pay([{ script: used?.script ?? new Uint8Array(), valueSat: 77_000 }]);
    chain.mine(3);
  };
  const house = await openReady({ before });
  await house.settle();
  const issued = await issue(house, 160);
  expect(new Set(issued).size).toBe(160);
  expect(issued).not.toContain(used?.address);
  await house.settle();
  expect(house.callbacks()).toEqual([]);
});

test('what is in reserve at a stop is there at the next start', async () => {
  const house = await openReady();
  await issue(house, 100);
  await house.stop();
  await house.start();
  await untilReady(house);
  await house.running.idle();
  const next = startIndex + 100;
  expect(await watchedAhead(house, next, next + 200)).toBe(200);
  const [address] = await issue(house, 1);
  house.pay(address ?? '', 1_000);
  await house.settle();
  expect(house.statuses(address ?? '')).toEqual(['0']);
});

test('a start has its addresses compared before the reserve is filled', async () => {
  const house = await openReady();
  await issue(house, 160);
  await house.stop();
  const before = await derivedUntil(house);
  const when = (method: string) => method.endsWith('scripthash.subscribe');
  house.server.inject({ kind: 'delay', ms: 5_000, when });
  await house.start();
  await house.world.until(() => house.running.health().electrum.server !== null, 'the server');
  for (let quiet = 0; quiet < 3; quiet += 1) await house.world.advance(100);
  for (let turns = 0; turns < 200; turns += 1) await house.world.turn();
  expect(house.running.health().electrum.caught_up).toBe(false);
  expect(await derivedUntil(house)).toBe(before);
  house.server.heal();
  await house.world.advance(5_000);
  await untilReady(house);
  await house.running.idle();
  expect(await derivedUntil(house)).toBe(2 * (startIndex + 160));
});

test('a comparison that a server cuts off leaves the reserve to be filled', async () => {
  const house = await openReady();
  await issue(house, 160);
  await house.stop();
  const when = (method: string) => method.endsWith('scripthash.subscribe');
  house.server.inject({ kind: 'hang', when });
  await house.start();
  const isConnected = () => house.running.health().electrum.server !== null;
  await house.world.until(isConnected, 'the server');
  for (let quiet = 0; quiet < 3; quiet += 1) await house.world.advance(100);
  house.server.inject({ kind: 'refuse' });
  house.server.disconnectAll();
  await house.world.until(() => !isConnected(), 'the server to be lost');
  await house.running.idle();
  expect(await derivedUntil(house)).toBe(2 * (startIndex + 160));
});

test('a wallet whose scan fails keeps no other one from being filled up and watched', async () => {
  const house = await openReady();
  const refused = new Set(firstAddresses(merchantKey(2), 6).map(hashOf));
  const when = (method: string, [first]: readonly unknown[]) =>
    method.endsWith('get_history') && refused.has(first as string);
  house.server.inject({ kind: 'error', code: 1, message: 'history too large', when });
  const callbackUrl = `${house.receiver.origin}/second`;
  await house.addStore({ name: 'Second', key: merchantKey(2), callbackUrl });
  await house.world.advance(60_000);
  await house.running.idle();
  expect(house.running.health().wallets.scanning).toBe(1);
  const told = () => house.running.health().warnings.join();
  expect(told()).toMatch(
    /1 wallet\(s\) wait for a scan .*; the last try failed: .*history too large/,
  );
  await Promise.all(Array.from({ length: 160 }, () => house.newAddress('?match_callback=/cb')));
  await house.world.advance(100);
  await house.world.advance(100);
  await house.running.idle();
  const next = startIndex + 160;
  expect(await watchedAhead(house, next, next + 40)).toBe(40);
  expect(await derivedUntil(house)).toBe(2 * next);
  house.server.heal();
  await house.world.advance(60_000);
  await house.running.idle();
  expect(house.running.health().wallets.scanning).toBe(0);
  expect(told()).not.toContain('scan');
});
