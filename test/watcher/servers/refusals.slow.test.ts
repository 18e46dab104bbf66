// Servers that answer almost everything. A refused or unanswered request costs only its own item,
// until another server answers it.

import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript, scripthash } from '../../../src/bitcoin/address.ts';
import { deriveAddress, firstAddresses } from '../../../src/bitcoin/keychain.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import type { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import {
  closeApps,
  largeSat,
  merchantKey,
  openApp,
  type TestApp,
  untilReady,
} from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const minuteMs = 60_000;
const subscribe = 'blockchain.scripthash.subscribe';
const getHistory = 'blockchain.scripthash.get_history';

async function openReady(servers: number): Promise<TestApp> {
  const app = await openApp({ servers });
  await untilReady(app);
  return app;
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

const secondOf = (app: TestApp): SimulatedServer => {
  const found = app.servers.find((server) => server !== app.inUse());
  if (found === undefined) throw new Error('there is no second server');
  return found;
};

async function minutes(app: TestApp, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    await app.world.advance(minuteMs);
    await app.settle();
  }
}

describe('an address that a server does not answer for', () => {
  test('is requested each minute again once a server has answered for it', async () => {
    const app = await openReady(1);
    const address = await app.newAddress();
    const endFirst = refuse(app.server, [getHistory], address);
    app.pay(address, 5_000);
    await app.settle();
    // From now on, every ten minutes.
    await minutes(app, 10);
    endFirst();
    app.chain.mine(1);
    await app.settle();
    expect(app.statuses(address)).toEqual(['1']);
    const endSecond = refuse(app.server, [getHistory], address);
    app.pay(address, 6_000);
    await app.settle();
    endSecond();
    await minutes(app, 1);
    expect(app.callbacks().map(({ value }) => value)).toEqual(['5000', '6000']);
  });

  test('P-153 does not stop the others from being watched, also after a reconnect', async () => {
    const app = await openReady(1);
    const [flooded, other] = [await app.newAddress(), await app.newAddress()];
    refuse(app.server, [subscribe, getHistory], flooded);
    app.server.disconnectAll();
    await app.world.until(() => !app.running.health().electrum.caught_up);
    await app.world.advance(5_000);
    await untilReady(app);
    app.pay(other, 5_000);
    await app.settle();
    expect(app.statuses(other)).toEqual(['0']);
    expect(app.running.health().warnings.join('\n')).toContain('1 address');
    // A refused new address does not end the session either.
    const connections = app.server.count('server.version');
    app.server.inject({
      kind: 'error',
      code: 1,
      message: 'no',
      when: (name) => name === subscribe,
    });
    const late = await app.newAddress();
    await minutes(app, 2);
    expect(app.server.count('server.version')).toBe(connections);
    app.server.heal();
    app.pay(late, 6_000);
    app.pay(flooded, 7_000);
    await minutes(app, 2);
    expect([late, flooded].map((each) => app.statuses(each))).toEqual([['0'], ['0']]);
    expect(app.running.health().warnings).toEqual([]);
  });

  test.each([subscribe, getHistory])(
    'P-153 does not delay the others if the server never responds (%s)',
    async (method) => {
      const app = await openReady(1);
      const [silent, other] = [await app.newAddress(), await app.newAddress()];
      const when = (name: string, [first]: readonly unknown[]) =>
        name === method && first === hashOf(silent);
      app.server.inject({ kind: 'hang', when });
      app.pay(silent, 5_000);
      await app.world.turn();
      app.server.disconnectAll();
      await app.world.until(() => !app.running.health().electrum.caught_up);
      await app.world.advance(20_000);
      await app.world.until(() => app.running.health().electrum.caught_up, 'paygate to catch up');
      const connections = app.server.count('server.version');
      app.pay(other, 5_000);
      await app.world.until(() => app.statuses(other).length > 0, 'the other one');
      await app.world.advance(5 * minuteMs);
      expect(app.server.count('server.version')).toBe(connections);
      app.server.heal();
      await app.world.advance(2 * minuteMs);
      await app.settle();
      expect(app.statuses(silent)).toEqual(['0']);
    },
  );

  test('P-153 is requested less and less often, but at once from a new server', async () => {
    const app = await openReady(2);
    const address = await app.newAddress();
    await app.settle();
    for (const server of app.servers) {
      refuse(server, [getHistory], address);
      server.clearLog();
    }
    app.pay(address, 5_000);
    await minutes(app, 70);
    const [first, second] = [app.inUse(), secondOf(app)];
    const times = first.count(getHistory);
    // Each minute at first, then every ten minutes.
    expect(times).toBeGreaterThanOrEqual(15);
    expect(times).toBeLessThanOrEqual(18);
    second.heal();
    second.disconnectAll();
    await app.world.until(() => app.running.health().warnings.join('').includes('only one'));
    await app.world.advance(5_000);
    await app.world.until(() => app.statuses(address).length > 0, 'the second one');
    expect(app.inUse()).toBe(first);
  });

  test('does not stop the scan of its wallet', async () => {
    const app = await openApp({
      before: (chain) => {
        chain.pay([{ address: used, valueSat: 5_000 }]);
        chain.mine();
      },
    });
    refuse(app.server, [subscribe, getHistory], used);
    await app.world.until(() => app.running.health().wallets.scanning === 0, 'the scan');
    expect(await app.newAddress()).toBe(deriveAddress(merchantKey(), 0, 4)?.address);
  });

  test.each(['hang', 'error'] as const)(
    'a wallet scan that fails (%s) is restarted',
    async (kind) => {
      const app = await openReady(1);
      const when = (method: string) => method === getHistory;
      const fault = kind === 'hang' ? { kind } : { kind, code: 1, message: 'busy' };
      const end = app.server.inject({ ...fault, when });
      const key = merchantKey(2);
      await app.addStore({ name: 'Second', key, callbackUrl: `${app.receiver.origin}/second` });
      const connections = app.server.count('server.version');
      await app.world.advance(15_000);
      expect(app.running.health().wallets.scanning).toBe(1);
      end();
      await app.world.advance(2 * minuteMs);
      await app.settle();
      expect(app.running.health().wallets.scanning).toBe(0);
      expect(app.server.count('server.version')).toBe(connections);
    },
  );

  test('a wallet is scanned though the server in use never answers for one address of it', async () => {
    const app = await openReady(2);
    const [silent = ''] = firstAddresses(merchantKey(2), 1);
    const when = (method: string, [first]: readonly unknown[]) =>
      method === getHistory && first === hashOf(silent);
    app.inUse().inject({ kind: 'hang', when });
    const key = merchantKey(2);
    await app.addStore({ name: 'Second', key, callbackUrl: `${app.receiver.origin}/second` });
    await minutes(app, 5);
    expect(app.running.health().wallets.scanning).toBe(0);
    expect(await app.newAddress('?match_callback=/second')).toBe(silent);
  });

  test('a wallet whose scan fails repeatedly does not delay another one', async () => {
    const app = await openReady(1);
    const refused = new Set(firstAddresses(merchantKey(2), 6).map(hashOf));
    const when = (method: string, [first]: readonly unknown[]) =>
      method === getHistory && refused.has(first as string);
    app.server.inject({ kind: 'error', code: 1, message: 'history too large', when });
    for (const number of [2, 3]) {
      const callbackUrl = `${app.receiver.origin}/shop${number}`;
      await app.addStore({ name: `${number}`, key: merchantKey(number), callbackUrl });
    }
    await minutes(app, 2);
    expect(app.running.health().wallets.scanning).toBe(1);
    const address = await app.newAddress('?match_callback=/shop3');
    app.pay(address, 5_000);
    await app.settle();
    expect(app.statuses(address)).toEqual(['0']);
  });

  test('P-153 very many of them do not delay the others, if those are more', async () => {
    const app = await openReady(1);
    const all: string[] = [];
    for (let count = 0; count < 260; count += 1) all.push(await app.newAddress());
    await app.settle();
    const refused = new Set(all.slice(0, 110).map(hashOf));
    const when = (method: string, [first]: readonly unknown[]) =>
      method === subscribe && refused.has(first as string);
    app.server.inject({ kind: 'error', code: 1, message: 'history too large', when });
    app.server.disconnectAll();
    await app.world.until(() => !app.running.health().electrum.caught_up);
    await app.world.advance(5_000);
    await untilReady(app);
    const other = all.at(-1) ?? '';
    app.pay(other, 5_000);
    await app.settle();
    expect(app.statuses(other)).toEqual(['0']);
  });

  test('P-153 a server that refuses all addresses is replaced', async () => {
    const app = await openReady(2);
    for (let count = 0; count < 150; count += 1) await app.newAddress();
    await app.settle();
    const [bad, good] = [app.inUse(), secondOf(app)];
    bad.inject({ kind: 'error', code: 1, message: 'busy', when: (name) => name === subscribe });
    good.inject({ kind: 'refuse' });
    good.disconnectAll();
    bad.disconnectAll();
    await app.world.until(() => !app.running.health().electrum.caught_up);
    await app.world.advance(5_000);
    expect(app.running.health().electrum.caught_up).toBe(false);
    good.heal();
    await app.world.advance(2 * minuteMs);
    await untilReady(app);
    expect(app.inUse()).toBe(good);
  });

  test.each([
    ['its history', getHistory],
    ['that a transaction of it exists', 'blockchain.transaction.get'],
    ['the branch of its transaction', 'blockchain.transaction.get_merkle'],
    ['how deep the tree of its block is', 'blockchain.transaction.id_from_pos'],
  ])('P-155 %s: the request goes to another server', async (_, method) => {
    const app = await openReady(2);
    const address = await app.newAddress();
    const first = app.inUse();
    first.inject({ kind: 'error', code: -32601, message: 'no', when: (name) => name === method });
    app.pay(address, largeSat + 1);
    app.chain.mine();
    await app.settle();
    await minutes(app, 2);
    expect(app.statuses(address)).toEqual(['1']);
    app.chain.mine();
    await app.settle();
    expect(app.statuses(address)).toEqual(['1', '2']);
    expect(app.inUse()).toBe(first);
    expect(app.running.health().warnings).toEqual([]);
  });
});

test('a server that is queried instead of another is no liar because of the histories of that one', async () => {
  const app = await openReady(2);
  const address = await app.newAddress();
  const [first, second] = [app.inUse(), secondOf(app)];
  const when = (method: string) => method === 'blockchain.transaction.get_merkle';
  const refusal = first.inject({ kind: 'error', code: 1, message: 'no', when });
  // As from a server that ignores the height in the request.
  second.inject({ kind: 'lie', about: 'merkle' });
  // Its own history does not name that place.
  const isHistory = (method: string) => method === getHistory;
  second.inject({ kind: 'error', code: 1, message: 'no', when: isHistory });
  app.pay(address, 5_000);
  app.chain.mine();
  await app.settle();
  await minutes(app, 3);
  expect(app.statuses(address)).not.toContain('1');
  expect(app.running.health().electrum.servers.map(({ ban_reason }) => ban_reason)).toEqual([
    undefined,
    undefined,
  ]);
  refusal();
  await minutes(app, 2);
  expect(app.statuses(address).at(-1)).toBe('1');
});

test('a payment that only the second server names, and refuses once, is requested again after a minute', async () => {
  const app = await openReady(2);
  const address = await app.newAddress();
  // So many addresses that no sweep reaches each one every minute.
  for (let count = 0; count < 40; count += 1) await app.newAddress();
  await app.settle();
  app.inUse().inject({ kind: 'omit', scripthashes: [hashOf(address) as never], deny: true });
  const getTransaction = 'blockchain.transaction.get';
  const when = (method: string) => method === getTransaction;
  const second = secondOf(app);
  second.inject({ kind: 'error', code: 1, message: 'busy', when, times: 1 });
  app.pay(address, 7_000);
  for (let minute = 0; minute < 12 && second.count(getTransaction) === 0; minute += 1) {
    await minutes(app, 1);
  }
  expect(app.statuses(address)).toEqual([]);
  await minutes(app, 2);
  expect(app.statuses(address)).toEqual(['0']);
});

describe('the sweeps continue', () => {
  /** A payment that the first server hides and the second one shows, found by the sweeps alone. */
  async function isFound(app: TestApp, address: string): Promise<void> {
    await app.settle();
    app.inUse().inject({ kind: 'omit', scripthashes: [hashOf(address) as never], deny: true });
    app.pay(address, 7_000);
    await minutes(app, 12);
    expect(app.statuses(address)).toEqual(['0']);
  }

  test('P-156 if a server never answers a broadcast', async () => {
    const app = await openReady(2);
    app.pay(await app.newAddress(), 5_000);
    await app.settle();
    const when = (method: string) => method === 'blockchain.transaction.broadcast';
    secondOf(app).inject({ kind: 'hang', when });
    await app.world.advance(6 * 3_600_000 + minuteMs);
    await isFound(app, await app.newAddress());
    expect(app.inUse().count('blockchain.transaction.broadcast')).toBe(1);
  });

  test.each(['error', 'hang'] as const)(
    'P-156 if a server answers an address only with an %s',
    async (kind) => {
      const app = await openReady(2);
      const older = await app.newAddress();
      const address = await app.newAddress();
      const when = (method: string, [first]: readonly unknown[]) =>
        method === subscribe && first === hashOf(address);
      const fault = kind === 'hang' ? { kind } : { kind, code: 1, message: 'history too large' };
      secondOf(app).inject({ ...fault, when });
      await isFound(app, older);
    },
  );
});
