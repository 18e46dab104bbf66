// Servers that answer almost everything. A refused or unanswered request costs only its own item,
// until another server answers it.

import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import { deriveAddress, firstAddresses } from '../../src/bitcoin/keychain.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import {
  closeApps,
  largeSat,
  merchantKey,
  openApp,
  type TestApp,
  untilReady,
} from '../support/app.ts';
import { cleanUp } from '../support/files.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const minuteMs = 60_000;
const subscribe = 'blockchain.scripthash.subscribe';
const getHistory = 'blockchain.scripthash.get_history';

async function openReady(servers: number): Promise<TestApp> {
  const house = await openApp({ servers });
  await untilReady(house);
  return house;
}

const used = deriveAddress(merchantKey(), 0, 3)?.address ?? '';

const hashOf = (address: string): string => scripthash(addressToScript(address, networks.regtest));

/** As ElectrumX does with a history that is too long for it. */
function refuse(server: SimulatedServer, methods: readonly string[], address: string): () => void {
  return server.inject({
    kind: 'error',
    code: 1,
    message: 'history too large',
    when: (method, [first]) => methods.includes(method) && first === hashOf(address),
  });
}

const secondOf = (house: TestApp): SimulatedServer => {
  const found = house.servers.find((server) => server !== house.inUse());
  if (found === undefined) throw new Error('there is no second server');
  return found;
};

async function minutes(house: TestApp, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    await house.world.advance(minuteMs);
    await house.settle();
  }
}

describe('an address of which a server tells nothing', () => {
  test('is tried again each minute anew once it was told of', async () => {
    const house = await openReady(1);
    const address = await house.newAddress();
    const endFirst = refuse(house.server, [getHistory], address);
    house.pay(address, 5_000);
    await house.settle();
    // From now on, every ten minutes.
    await minutes(house, 10);
    endFirst();
    house.chain.mine(1);
    await house.settle();
    expect(house.statuses(address)).toEqual(['1']);
    const endSecond = refuse(house.server, [getHistory], address);
    house.pay(address, 6_000);
    await house.settle();
    endSecond();
    await minutes(house, 1);
    expect(house.callbacks().map(({ value }) => value)).toEqual(['5000', '6000']);
  });

  test('P-153 does not keep the others from being watched, also after a reconnect', async () => {
    const house = await openReady(1);
    const [flooded, other] = [await house.newAddress(), await house.newAddress()];
    refuse(house.server, [subscribe, getHistory], flooded);
    house.server.disconnectAll();
    await house.world.until(() => !house.running.health().electrum.caught_up);
    await house.world.advance(5_000);
    await untilReady(house);
    house.pay(other, 5_000);
    await house.settle();
    expect(house.statuses(other)).toEqual(['0']);
    expect(house.running.health().warnings.join('\n')).toContain('1 address(es)');
    // A refused new address does not end the session either.
    const connections = house.server.count('server.version');
    house.server.inject({
      kind: 'error',
      code: 1,
      message: 'no',
      when: (name) => name === subscribe,
    });
    const late = await house.newAddress();
    await minutes(house, 2);
    expect(house.server.count('server.version')).toBe(connections);
    house.server.heal();
    house.pay(late, 6_000);
    house.pay(flooded, 7_000);
    await minutes(house, 2);
    expect([late, flooded].map((each) => house.statuses(each))).toEqual([['0'], ['0']]);
    expect(house.running.health().warnings).toEqual([]);
  });

  test.each([subscribe, getHistory])('P-153 not even an answer (%s)', async (method) => {
    const house = await openReady(1);
    const [silent, other] = [await house.newAddress(), await house.newAddress()];
    const when = (name: string, [first]: readonly unknown[]) =>
      name === method && first === hashOf(silent);
    house.server.inject({ kind: 'hang', when });
    house.pay(silent, 5_000);
    await house.world.turn();
    house.server.disconnectAll();
    await house.world.until(() => !house.running.health().electrum.caught_up);
    await house.world.advance(20_000);
    await house.world.until(() => house.running.health().electrum.caught_up, 'paygate to catch up');
    const connections = house.server.count('server.version');
    house.pay(other, 5_000);
    await house.world.until(() => house.statuses(other).length > 0, 'the other one');
    await house.world.advance(5 * minuteMs);
    expect(house.server.count('server.version')).toBe(connections);
    house.server.heal();
    await house.world.advance(2 * minuteMs);
    await house.settle();
    expect(house.statuses(silent)).toEqual(['0']);
  });

  test('P-153 it is asked about ever less often, and at once where a server is new', async () => {
    const house = await openReady(2);
    const address = await house.newAddress();
    await house.settle();
    for (const server of house.servers) {
      refuse(server, [getHistory], address);
      server.clearLog();
    }
    house.pay(address, 5_000);
    await minutes(house, 70);
    const [first, second] = [house.inUse(), secondOf(house)];
    const times = first.count(getHistory);
    // Each minute at first, then every ten minutes.
    expect(times).toBeGreaterThanOrEqual(15);
    expect(times).toBeLessThanOrEqual(18);
    second.heal();
    second.disconnectAll();
    await house.world.until(() => house.running.health().warnings.join('').includes('only one'));
    await house.world.advance(5_000);
    await house.world.until(() => house.statuses(address).length > 0, 'the second one');
    expect(house.inUse()).toBe(first);
  });

  test('does not keep its wallet from being scanned', async () => {
    const house = await openApp({
      before: (chain) => {
        chain.pay([{ address: used, valueSat: 5_000 }]);
        chain.mine();
      },
    });
    refuse(house.server, [subscribe, getHistory], used);
    await house.world.until(() => house.running.health().wallets.scanning === 0, 'the scan');
    expect(await house.newAddress()).toBe(deriveAddress(merchantKey(), 0, 4)?.address);
  });

  test.each(['hang', 'error'] as const)(
    'a wallet scan that fails (%s) is begun again',
    async (kind) => {
      const house = await openReady(1);
      const when = (method: string) => method === getHistory;
      const fault = kind === 'hang' ? { kind } : { kind, code: 1, message: 'busy' };
      const end = house.server.inject({ ...fault, when });
      const key = merchantKey(2);
      await house.addStore({ name: 'Second', key, callbackUrl: `${house.receiver.origin}/second` });
      const connections = house.server.count('server.version');
      await house.world.advance(15_000);
      expect(house.running.health().wallets.scanning).toBe(1);
      end();
      await house.world.advance(2 * minuteMs);
      await house.settle();
      expect(house.running.health().wallets.scanning).toBe(0);
      expect(house.server.count('server.version')).toBe(connections);
    },
  );

  test('a wallet is scanned though the server in use never answers for one address of it', async () => {
    const house = await openReady(2);
    const [silent = ''] = firstAddresses(merchantKey(2), 1);
    const when = (method: string, [first]: readonly unknown[]) =>
      method === getHistory && first === hashOf(silent);
    house.inUse().inject({ kind: 'hang', when });
    const key = merchantKey(2);
    await house.addStore({ name: 'Second', key, callbackUrl: `${house.receiver.origin}/second` });
    await minutes(house, 5);
    expect(house.running.health().wallets.scanning).toBe(0);
    expect(await house.newAddress('?match_callback=/second')).toBe(silent);
  });

  test('a wallet whose scan fails again and again does not keep another one waiting', async () => {
    const house = await openReady(1);
    const refused = new Set(firstAddresses(merchantKey(2), 6).map(hashOf));
    const when = (method: string, [first]: readonly unknown[]) =>
      method === getHistory && refused.has(first as string);
    house.server.inject({ kind: 'error', code: 1, message: 'history too large', when });
    for (const number of [2, 3]) {
      const callbackUrl = `${house.receiver.origin}/shop${number}`;
      await house.addStore({ name: `${number}`, key: merchantKey(number), callbackUrl });
    }
    await minutes(house, 2);
    expect(house.running.health().wallets.scanning).toBe(1);
    const address = await house.newAddress('?match_callback=/shop3');
    house.pay(address, 5_000);
    await house.settle();
    expect(house.statuses(address)).toEqual(['0']);
  });

  test('P-153 nor do very many of them, where there are more of the others', async () => {
    const house = await openReady(1);
    const all: string[] = [];
    for (let count = 0; count < 260; count += 1) all.push(await house.newAddress());
    await house.settle();
    const refused = new Set(all.slice(0, 110).map(hashOf));
    const when = (method: string, [first]: readonly unknown[]) =>
      method === subscribe && refused.has(first as string);
    house.server.inject({ kind: 'error', code: 1, message: 'history too large', when });
    house.server.disconnectAll();
    await house.world.until(() => !house.running.health().electrum.caught_up);
    await house.world.advance(5_000);
    await untilReady(house);
    const other = all.at(-1) ?? '';
    house.pay(other, 5_000);
    await house.settle();
    expect(house.statuses(other)).toEqual(['0']);
  });

  test('P-153 a server that refuses them all is left', async () => {
    const house = await openReady(2);
    for (let count = 0; count < 150; count += 1) await house.newAddress();
    await house.settle();
    const [bad, good] = [house.inUse(), secondOf(house)];
    bad.inject({ kind: 'error', code: 1, message: 'busy', when: (name) => name === subscribe });
    good.inject({ kind: 'refuse' });
    good.disconnectAll();
    bad.disconnectAll();
    await house.world.until(() => !house.running.health().electrum.caught_up);
    await house.world.advance(5_000);
    expect(house.running.health().electrum.caught_up).toBe(false);
    good.heal();
    await house.world.advance(2 * minuteMs);
    await untilReady(house);
    expect(house.inUse()).toBe(good);
  });

  test.each([
    ['its history', getHistory],
    ['that a transaction of it exists', 'blockchain.transaction.get'],
    ['the branch of its transaction', 'blockchain.transaction.get_merkle'],
    ['how deep the tree of its block is', 'blockchain.transaction.id_from_pos'],
  ])('P-155 %s: another server is asked', async (_, method) => {
    const house = await openReady(2);
    const address = await house.newAddress();
    const first = house.inUse();
    first.inject({ kind: 'error', code: -32601, message: 'no', when: (name) => name === method });
    house.pay(address, largeSat + 1);
    house.chain.mine();
    await house.settle();
    await minutes(house, 2);
    expect(house.statuses(address)).toEqual(['1']);
    house.chain.mine();
    await house.settle();
    expect(house.statuses(address)).toEqual(['1', '2']);
    expect(house.inUse()).toBe(first);
    expect(house.running.health().warnings).toEqual([]);
  });
});

test('a server asked in place of another is not called a liar for what that one named', async () => {
  const house = await openReady(2);
  const address = await house.newAddress();
  const [first, second] = [house.inUse(), secondOf(house)];
  const when = (method: string) => method === 'blockchain.transaction.get_merkle';
  const refusal = first.inject({ kind: 'error', code: 1, message: 'no', when });
  // As from a server that ignores the height in the request.
  second.inject({ kind: 'lie', about: 'merkle' });
  // Its own history does not name that place.
  const isHistory = (method: string) => method === getHistory;
  second.inject({ kind: 'error', code: 1, message: 'no', when: isHistory });
  house.pay(address, 5_000);
  house.chain.mine();
  await house.settle();
  await minutes(house, 3);
  expect(house.statuses(address)).not.toContain('1');
  expect(house.running.health().electrum.servers.map(({ ban_reason }) => ban_reason)).toEqual([
    undefined,
    undefined,
  ]);
  refusal();
  await minutes(house, 2);
  expect(house.statuses(address).at(-1)).toBe('1');
});

test('what a second server alone names, and refuses once to show, is asked of it again in a minute', async () => {
  const house = await openReady(2);
  const address = await house.newAddress();
  // So many addresses that no sweep reaches each one every minute.
  for (let count = 0; count < 40; count += 1) await house.newAddress();
  await house.settle();
  house.inUse().inject({ kind: 'omit', scripthashes: [hashOf(address) as never], deny: true });
  const getTransaction = 'blockchain.transaction.get';
  const when = (method: string) => method === getTransaction;
  const second = secondOf(house);
  second.inject({ kind: 'error', code: 1, message: 'busy', when, times: 1 });
  house.pay(address, 7_000);
  for (let minute = 0; minute < 12 && second.count(getTransaction) === 0; minute += 1) {
    await minutes(house, 1);
  }
  expect(house.statuses(address)).toEqual([]);
  await minutes(house, 2);
  expect(house.statuses(address)).toEqual(['0']);
});

describe('the sweeps go on', () => {
  /** A payment that the first server hides and the second one shows, found by the sweeps alone. */
  async function isFound(house: TestApp, address: string): Promise<void> {
    await house.settle();
    house.inUse().inject({ kind: 'omit', scripthashes: [hashOf(address) as never], deny: true });
    house.pay(address, 7_000);
    await minutes(house, 12);
    expect(house.statuses(address)).toEqual(['0']);
  }

  test('P-156 where a server never answers a broadcast', async () => {
    const house = await openReady(2);
    house.pay(await house.newAddress(), 5_000);
    await house.settle();
    const when = (method: string) => method === 'blockchain.transaction.broadcast';
    secondOf(house).inject({ kind: 'hang', when });
    await house.world.advance(6 * 3_600_000 + minuteMs);
    await isFound(house, await house.newAddress());
    expect(house.inUse().count('blockchain.transaction.broadcast')).toBe(1);
  });

  test.each(['error', 'hang'] as const)(
    'P-156 where a server has but an %s for an address',
    async (kind) => {
      const house = await openReady(2);
      const older = await house.newAddress();
      const address = await house.newAddress();
      const when = (method: string, [first]: readonly unknown[]) =>
        method === subscribe && first === hashOf(address);
      const fault = kind === 'hang' ? { kind } : { kind, code: 1, message: 'history too large' };
      secondOf(house).inject({ ...fault, when });
      await isFound(house, older);
    },
  );
});
