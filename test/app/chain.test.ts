// What the chain and its servers may do to a payment: reorganisations, silence, lies.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

async function paid(
  house: TestApp,
  confirmations: number,
): Promise<{ address: string; txid: Txid }> {
  const address = await house.newAddress();
  const txid = house.pay(address, 50_000) as Txid;
  await house.settle();
  house.chain.mine(confirmations);
  await house.settle();
  return { address, txid };
}

test('a payment taken back to the mempool is told as 0 again, as a new event', async () => {
  const house = await openApp();
  await untilReady(house);
  const { address } = await paid(house, 1);
  house.chain.reorganise(1, { transactions: 'mempool' });
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '1', '0']);
  house.chain.mine();
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '1', '0', '1']);
  const ids = house.receiver.requests.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(4);
});

test('P-118 a payment re-mined at the same height in another block counts from there, silently', async () => {
  const house = await openApp();
  await untilReady(house);
  const { address } = await paid(house, 1);
  house.chain.reorganise(1, { transactions: 'remine-same-height' });
  await house.settle();
  // The new branch is one block longer: the payment is two deep now.
  expect(house.statuses(address)).toEqual(['0', '1', '2']);
  const [row] = await house.withStore(async ({ ledger }) => ledger.offChain());
  expect(row).toBeUndefined();
});

test('a confirmed payment that falls back is told as 0, then 1 and 2 again', async () => {
  const house = await openApp();
  await untilReady(house);
  const { address } = await paid(house, 2);
  house.chain.reorganise(2, { transactions: 'mempool' });
  await house.settle();
  house.chain.mine();
  await house.settle();
  house.chain.mine();
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '2', '0', '1', '2']);
});

test('P-123 S-18 a server that hides a payment takes nothing back', async () => {
  const house = await openApp();
  await untilReady(house);
  const { address, txid } = await paid(house, 1);
  house.server.inject({ kind: 'omit', txids: [txid], deny: true });
  house.server.announce();
  await house.settle();
  house.chain.mine(3);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '1', '2']);
});

test('P-123 the only server hides a payment and cannot ask its node: that is no word that it is gone', async () => {
  const house = await openApp();
  await untilReady(house);
  const { address, txid } = await paid(house, 0);
  house.server.inject({ kind: 'omit', txids: [txid] });
  // What electrs says while its node is away.
  const away = house.server.inject({
    kind: 'error',
    code: 1,
    message: 'failed to get transaction',
    when: (method) => method === 'blockchain.transaction.get',
  });
  house.server.announce();
  await house.settle();
  const gone = () => house.world.logs.filter(({ message }) => message === 'a payment is gone');
  expect(gone()).toEqual([]);

  // The node is back, and does not know it either.
  away();
  house.server.inject({ kind: 'omit', txids: [txid], deny: true });
  await house.world.advance(120_000);
  await house.settle();
  expect(gone()).toHaveLength(1);
  expect(house.statuses(address)).toEqual(['0']);
});

test('P-123 P-125 the only server hides a payment and refuses to be verbose: it is asked for the bytes', async () => {
  const house = await openApp();
  await untilReady(house);
  const { txid } = await paid(house, 0);
  house.server.inject({
    kind: 'error',
    code: 1,
    message: 'verbose transactions are currently unsupported',
    when: (method, params) => method === 'blockchain.transaction.get' && params[1] === true,
  });
  house.server.inject({ kind: 'omit', txids: [txid] });
  house.server.announce();
  await house.outlastAbsence();
  const gone = () => house.world.logs.filter(({ message }) => message === 'a payment is gone');
  expect(gone()).toEqual([]);
  house.chain.evict(txid);
  // It is looked at again each minute.
  await house.world.advance(61_000);
  await house.outlastAbsence();
  expect(gone()).toHaveLength(1);
});

test('P-57 P-135 S-15 a false proof promotes nothing; the liar is banned and another server is asked', async () => {
  const house = await openApp({ servers: 2 });
  await untilReady(house);
  const { server: inUse } = house.running.health().electrum;
  house.inUse().inject({ kind: 'lie', about: 'merkle' });
  const { address } = await paid(house, 1);
  await house.world.until(() => house.running.health().electrum.server !== inUse, 'another server');
  await untilReady(house);
  expect(house.statuses(address)).toEqual(['0', '1']);
  const { servers } = house.running.health().electrum;
  expect(servers.find(({ server }) => server === inUse)?.state).toBe('banned');
});

test('P-138 the only server lies: nothing is promoted until it tells the truth', async () => {
  const house = await openApp();
  await untilReady(house);
  const truth = house.server.inject({ kind: 'lie', about: 'merkle' });
  const { address } = await paid(house, 1);
  await house.world.until(() => house.running.health().electrum.server === null, 'the ban');
  await house.world.advance(120_000);
  await house.world.turn();
  expect(house.statuses(address)).toEqual(['0']);
  truth();
  await house.world.advance(120_000);
  await untilReady(house);
  expect(house.statuses(address)).toEqual(['0', '1']);
});

for (const about of ['header-work', 'header-bits', 'header-link'] as const) {
  test(`P-135 a block with a false header (${about}) confirms nothing`, async () => {
    const house = await openApp();
    await untilReady(house);
    const height = house.running.health().electrum.height;
    house.server.inject({ kind: 'lie', about });
    const { address } = await paid(house, 1);
    await house.world.until(() => house.running.health().electrum.server === null, 'the ban');
    expect(house.statuses(address)).toEqual(['0']);
    expect(house.running.health().electrum.height).toBe(height);
  });
}

test('P-135 a transaction in other bytes than its id says is no payment, and ends in a ban', async () => {
  const house = await openApp();
  await untilReady(house);
  house.server.inject({ kind: 'lie', about: 'transaction' });
  house.pay(await house.newAddress(), 10_000);
  await house.world.until(() => house.running.health().electrum.server === null, 'the ban');
  expect(house.callbacks()).toEqual([]);
});

test('P-140 a transaction that a server made up is none, and does not hold up a true one', async () => {
  const house = await openApp();
  await untilReady(house);
  const truth = house.server.inject({ kind: 'lie', about: 'invented-transaction' });
  const address = await house.newAddress();
  const txid = house.pay(address, 10_000);
  await house.settle();
  expect(house.callbacks()).toMatchObject([{ status: '0', txid }]);
  truth();
  house.chain.mine();
  await house.settle();
  expect(house.callbacks()).toMatchObject([{ status: '0' }, { status: '1', txid }]);
});

test('a server of another network is not used', async () => {
  const house = await openApp({ store: { startIndex: 0 } });
  await house.stop();
  house.server.inject({ kind: 'lie', about: 'genesis' });
  await house.start();
  await house.world.until(() => house.running.health().electrum.servers[0]?.error !== undefined);
  expect(house.running.health().electrum.servers[0]?.error).toContain('network');
});

test('P-61 P-107 a payment to an address that was not issued yet calls nobody and is skipped', async () => {
  const house = await openApp();
  await untilReady(house);
  const [next] = await house.withStore(async ({ addresses }) => addresses.upcoming(40).slice(-1));
  const row = await house.withStore(async ({ addresses }) =>
    next === undefined ? undefined : addresses.byScripthash(next.scripthash),
  );
  house.pay(row?.address ?? '', 1_000);
  await house.settle();
  expect(house.callbacks()).toEqual([]);
  expect(house.world.logs.map(({ message }) => message)).toContain(
    'an address was paid that was not issued yet',
  );
  expect(await house.newAddress()).not.toBe(row?.address);
});

test('P-161 a connection that breaks in the middle of a line loses nothing', async () => {
  const house = await openApp();
  await untilReady(house);
  const address = await house.newAddress();
  house.server.inject({ kind: 'closeMidLine', times: 1 });
  house.pay(address, 10_000);
  await house.world.until(() => house.running.health().electrum.server === null, 'the break');
  house.chain.mine();
  await house.world.advance(5_000);
  await untilReady(house);
  expect(house.statuses(address).at(-1)).toBe('1');
});

test('P-161 a server that does not answer is left after its deadline', async () => {
  const house = await openApp({ servers: 2 });
  await untilReady(house);
  const address = await house.newAddress();
  house.inUse().inject({ kind: 'hang' });
  house.pay(address, 10_000);
  await house.world.turn();
  await house.world.advance(60_000);
  await untilReady(house);
  expect(house.statuses(address)).toEqual(['0']);
});

test.each([
  ['1.4', '1.4'],
  // A Fulcrum before 2.0.
  ['1.4', '1.5.3'],
  ['1.6', '1.6'],
] as const)('protocol %s to %s serves the whole job', async (...protocols) => {
  const house = await openApp({ server: { protocols } });
  await untilReady(house);
  const { address } = await paid(house, 2);
  expect(house.statuses(address)).toEqual(['0', '2']);
});
