// Effects of the chain and its servers on a payment: reorganisations, missing reports, lies.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

async function paid(app: TestApp, confirmations: number): Promise<{ address: string; txid: Txid }> {
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000) as Txid;
  await app.settle();
  app.chain.mine(confirmations);
  await app.settle();
  return { address, txid };
}

test('a payment that falls back to the mempool sends 0 again, as a new event', async () => {
  const app = await openApp();
  await untilReady(app);
  const { address } = await paid(app, 1);
  app.chain.reorganise(1, { transactions: 'mempool' });
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '1', '0']);
  app.chain.mine();
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '1', '0', '1']);
  const ids = app.receiver.requests.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(4);
});

test('P-118 a payment re-mined at the same height in another block counts from there, without a callback', async () => {
  const app = await openApp();
  await untilReady(app);
  const { address } = await paid(app, 1);
  app.chain.reorganise(1, { transactions: 'remine-same-height' });
  await app.settle();
  // The new branch is one block longer: the payment is two deep now.
  expect(app.statuses(address)).toEqual(['0', '1', '2']);
  const [row] = await app.withStore(async ({ ledger }) => ledger.offChain());
  expect(row).toBeUndefined();
});

test('a confirmed payment that falls back sends 0, then 1 and 2 again', async () => {
  const app = await openApp();
  await untilReady(app);
  const { address } = await paid(app, 2);
  app.chain.reorganise(2, { transactions: 'mempool' });
  await app.settle();
  app.chain.mine();
  await app.settle();
  app.chain.mine();
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '2', '0', '1', '2']);
});

test('P-123 S-18 a server that omits a payment reverts no status', async () => {
  const app = await openApp();
  await untilReady(app);
  const { address, txid } = await paid(app, 1);
  app.server.inject({ kind: 'omit', txids: [txid], deny: true });
  app.server.notifyAll();
  await app.settle();
  app.chain.mine(3);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '1', '2']);
});

test('P-123 the only server omits a payment and cannot query its node: the payment is not gone', async () => {
  const app = await openApp();
  await untilReady(app);
  const { address, txid } = await paid(app, 0);
  app.server.inject({ kind: 'omit', txids: [txid] });
  // What electrs says while its node is away.
  const away = app.server.inject({
    kind: 'error',
    code: 1,
    message: 'failed to get transaction',
    when: (method) => method === 'blockchain.transaction.get',
  });
  app.server.notifyAll();
  await app.settle();
  const gone = () => app.world.logs.filter(({ message }) => message === 'a payment is gone');
  expect(gone()).toEqual([]);

  // The node is back, and does not know it either.
  away();
  app.server.inject({ kind: 'omit', txids: [txid], deny: true });
  await app.world.advance(120_000);
  await app.settle();
  expect(gone()).toHaveLength(1);
  expect(app.statuses(address)).toEqual(['0']);
});

test('P-123 P-125 the only server omits a payment and refuses verbose requests: the raw one is used', async () => {
  const app = await openApp();
  await untilReady(app);
  const { txid } = await paid(app, 0);
  app.server.inject({
    kind: 'error',
    code: 1,
    message: 'verbose transactions are currently unsupported',
    when: (method, params) => method === 'blockchain.transaction.get' && params[1] === true,
  });
  app.server.inject({ kind: 'omit', txids: [txid] });
  app.server.notifyAll();
  await app.outlastAbsence();
  const gone = () => app.world.logs.filter(({ message }) => message === 'a payment is gone');
  expect(gone()).toEqual([]);
  app.chain.evict(txid);
  // It is looked at again each minute.
  await app.world.advance(61_000);
  await app.outlastAbsence();
  expect(gone()).toHaveLength(1);
});

test('P-57 P-135 S-15 a false proof promotes nothing; the liar is banned and another server is asked', async () => {
  const app = await openApp({ servers: 2 });
  await untilReady(app);
  const { server: inUse } = app.running.health().electrum;
  app.inUse().inject({ kind: 'lie', about: 'merkle' });
  const { address } = await paid(app, 1);
  await app.world.until(() => app.running.health().electrum.server !== inUse, 'another server');
  await untilReady(app);
  expect(app.statuses(address)).toEqual(['0', '1']);
  const { servers } = app.running.health().electrum;
  expect(servers.find(({ server }) => server === inUse)?.state).toBe('banned');
});

test('P-138 the only server lies: nothing is promoted until it tells the truth', async () => {
  const app = await openApp();
  await untilReady(app);
  const truth = app.server.inject({ kind: 'lie', about: 'merkle' });
  const { address } = await paid(app, 1);
  await app.world.until(() => app.running.health().electrum.server === null, 'the ban');
  await app.world.advance(120_000);
  await app.world.turn();
  expect(app.statuses(address)).toEqual(['0']);
  truth();
  await app.world.advance(120_000);
  await untilReady(app);
  expect(app.statuses(address)).toEqual(['0', '1']);
});

for (const about of ['header-work', 'header-bits', 'header-link'] as const) {
  test(`P-135 a block with a false header (${about}) confirms nothing`, async () => {
    const app = await openApp();
    await untilReady(app);
    const height = app.running.health().electrum.height;
    app.server.inject({ kind: 'lie', about });
    const { address } = await paid(app, 1);
    await app.world.until(() => app.running.health().electrum.server === null, 'the ban');
    expect(app.statuses(address)).toEqual(['0']);
    expect(app.running.health().electrum.height).toBe(height);
  });
}

test('P-135 a transaction whose bytes do not match its id is no payment, and bans the server', async () => {
  const app = await openApp();
  await untilReady(app);
  app.server.inject({ kind: 'lie', about: 'transaction' });
  app.pay(await app.newAddress(), 10_000);
  await app.world.until(() => app.running.health().electrum.server === null, 'the ban');
  expect(app.callbacks()).toEqual([]);
});

test('P-140 an invented transaction is no payment, and does not delay a true one', async () => {
  const app = await openApp();
  await untilReady(app);
  const truth = app.server.inject({ kind: 'lie', about: 'invented-transaction' });
  const address = await app.newAddress();
  const txid = app.pay(address, 10_000);
  await app.settle();
  expect(app.callbacks()).toMatchObject([{ status: '0', txid }]);
  truth();
  app.chain.mine();
  await app.settle();
  expect(app.callbacks()).toMatchObject([{ status: '0' }, { status: '1', txid }]);
});

test('a server of another network is not used', async () => {
  const app = await openApp({ store: { startIndex: 0 } });
  await app.stop();
  app.server.inject({ kind: 'lie', about: 'genesis' });
  await app.start();
  await app.world.until(() => app.running.health().electrum.servers[0]?.error !== undefined);
  expect(app.running.health().electrum.servers[0]?.error).toContain('network');
});

test('P-61 P-107 a payment to an unissued address sends no callback, and the address is skipped', async () => {
  const app = await openApp();
  await untilReady(app);
  const [next] = await app.withStore(async ({ addresses }) => addresses.upcoming(40).slice(-1));
  const row = await app.withStore(async ({ addresses }) =>
    next === undefined ? undefined : addresses.byScripthash(next.scripthash),
  );
  app.pay(row?.address ?? '', 1_000);
  await app.settle();
  expect(app.callbacks()).toEqual([]);
  expect(app.world.logs.map(({ message }) => message)).toContain(
    'an address was paid that was not issued yet',
  );
  expect(await app.newAddress()).not.toBe(row?.address);
});

test('P-161 a connection that breaks in the middle of a line loses nothing', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  app.server.inject({ kind: 'closeMidLine', times: 1 });
  app.pay(address, 10_000);
  await app.world.until(() => app.running.health().electrum.server === null, 'the break');
  app.chain.mine();
  await app.world.advance(5_000);
  await untilReady(app);
  expect(app.statuses(address).at(-1)).toBe('1');
});

test('P-161 a server that does not answer is left after its deadline', async () => {
  const app = await openApp({ servers: 2 });
  await untilReady(app);
  const address = await app.newAddress();
  app.inUse().inject({ kind: 'hang' });
  app.pay(address, 10_000);
  await app.world.turn();
  await app.world.advance(60_000);
  await untilReady(app);
  expect(app.statuses(address)).toEqual(['0']);
});

test.each([
  ['1.4', '1.4'],
  // A Fulcrum before 2.0.
  ['1.4', '1.5.3'],
  ['1.6', '1.6'],
] as const)('protocol %s to %s serves the whole job', async (...protocols) => {
  const app = await openApp({ server: { protocols } });
  await untilReady(app);
  const { address } = await paid(app, 2);
  expect(app.statuses(address)).toEqual(['0', '2']);
});
