// State that must survive restarts, downtime, copies of the file, a second server, and the CLI.

import { rmSync, statSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import {
  closeApps,
  loseByRestore,
  merchantKey,
  openApp,
  spendFromWallet,
  untilReady,
} from '../support/app.ts';

afterEach(closeApps);

test('P-104 a payment made and confirmed while paygate is down sends one callback, with its current status', async () => {
  const app = await openApp();
  await untilReady(app);
  const [early, late] = [await app.newAddress(), await app.newAddress()];
  app.pay(early, 1_000);
  await app.settle();
  await app.stop();
  app.chain.mine();
  app.pay(late, 2_000);
  app.chain.mine(4);
  await app.start();
  await untilReady(app);
  expect(app.statuses(early)).toEqual(['0', '2']);
  expect(app.statuses(late)).toEqual(['2']);

  const compared = app.world.logs.filter(({ message }) => message === 'every address is compared');
  expect(compared).toHaveLength(2);
  // Two that were given out, and those that are derived ahead of them.
  const server = expect.stringMatching(/^tcp:/);
  expect(compared[1]?.fields).toEqual({ server, addresses: 40 });
});

test('P-104 a payment that is spent again while paygate is down sends callbacks like any other', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  await app.stop();
  const txid = app.pay(address, 20_000) as Txid;
  app.chain.mine();
  spendFromWallet(app.chain, txid, 0);
  app.chain.mine(2);
  await app.start();
  await untilReady(app);
  expect(app.callbacks()).toEqual([{ status: '2', addr: address, value: '20000', txid }]);
});

test('a callback that was pending when paygate stopped is sent after the start, with the same id', async () => {
  const app = await openApp();
  await untilReady(app);
  app.receiver.script('reset');
  const address = await app.newAddress();
  app.pay(address, 1_000);
  await app.settle();
  await app.stop();
  await app.start();
  await untilReady(app);
  await app.world.advance(10_000);
  await app.settle();
  const ids = app.receiver.requests.map(({ headers }) => headers['webhook-id']);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
});

test('a clean stop leaves one complete file', async () => {
  const app = await openApp();
  await untilReady(app);
  await app.newAddress();
  expect(statSync(`${app.path}-wal`).size).toBeGreaterThan(0);
  await app.stop();
  expect(statSync(`${app.path}-wal`).size).toBe(0);
});

test('a restored older copy of the file never issues an address again', async () => {
  const app = await openApp();
  await untilReady(app);
  const before = [await app.newAddress()];
  const after = await loseByRestore(app, async () => [
    await app.newAddress(),
    await app.newAddress(),
  ]);
  await app.start();
  await untilReady(app);
  expect(app.running.health().warnings.join()).toContain('this database is a copy');
  const restored = await app.newAddress();
  expect([...before, ...after, restored]).toEqual(firstAddresses(merchantKey(), 4));
});

test('P-61 a payment to an address that only the lost file had issued calls back', async () => {
  const app = await openApp();
  await untilReady(app);
  const lost = await loseByRestore(app, () => app.newAddress());
  app.pay(lost, 3_000);
  await app.start();
  await untilReady(app);
  expect(app.callbacks()).toMatchObject([{ addr: lost, status: '0', value: '3000' }]);
});

test('P-105 such a payment that may belong to several stores of a wallet is reported to the operator', async () => {
  const app = await openApp();
  await untilReady(app);
  await app.addStore({ name: 'Second', callbackUrl: `${app.receiver.origin}/second` });
  const lost = await loseByRestore(app, () => app.newAddress('?match_callback=/second'));
  await app.start();
  await untilReady(app);
  const unclaimed = () =>
    app.running
      .health()
      .warnings.filter((each) => each.includes('no shop receives a callback for them'));
  expect(unclaimed()).toEqual([]);
  app.pay(lost, 3_000);
  await app.settle();
  expect(app.callbacks()).toEqual([]);
  expect(unclaimed()).toEqual([expect.stringContaining('1 payment')]);
  app.world.jumpWallClock(31 * 86_400_000);
  expect(unclaimed()).toEqual([]);
});

test('such a payment calls the store that replaced a removed one of the same wallet', async () => {
  const app = await openApp();
  await untilReady(app);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), 1, false)),
  );
  await app.addStore({ name: 'New', callbackUrl: `${app.receiver.origin}/new` });
  const lost = await loseByRestore(app, () => app.newAddress());
  app.pay(lost, 3_000);
  await app.start();
  await untilReady(app);
  expect(app.callbacks()).toMatchObject([{ addr: lost, status: '0' }]);
  expect(app.receiver.requests[0]?.url).toContain('/new?');
});

test('without its mark file a database that has issued addresses skips 100 indexes', async () => {
  const app = await openApp();
  await untilReady(app);
  await app.newAddress();
  await app.stop();
  rmSync(app.path.replace(/paygate\.db$/, '.paygate-mark'), { recursive: true });
  await app.start();
  await untilReady(app);
  const [expected] = firstAddresses(merchantKey(), 102).slice(101);
  expect(await app.newAddress()).toBe(expected);
  await app.stop();
  await app.start();
  await untilReady(app);
  // The alarm about the copy stays until it is acknowledged. Until then the merchant's wallet must
  // use a larger gap limit.
  expect(app.running.health().warnings).toEqual([
    expect.stringContaining('this database is a copy'),
    expect.stringContaining('--wallet-gap 140'),
  ]);
});

test('P-61 a payment to the look-ahead beyond the indexes that a copy skips sends a callback', async () => {
  const app = await openApp({ store: { startIndex: 300 } });
  await untilReady(app);
  await app.newAddress();
  await app.world.advance(100);
  await app.running.idle();
  const lost = await loseByRestore(app, async () => {
    for (let issued = 0; issued < 110; issued += 1) await app.newAddress();
    return app.newAddress();
  });
  rmSync(app.path.replace(/paygate\.db$/, '.paygate-mark'), { recursive: true });
  app.pay(lost, 3_000);
  await app.start();
  await untilReady(app);
  expect(app.callbacks()).toMatchObject([{ addr: lost, status: '0', value: '3000' }]);
});

test('such a payment does not call a store that replaced its own before the scan', async () => {
  const app = await openApp({ store: { startIndex: 300 } });
  await untilReady(app);
  await app.newAddress();
  const lost = await loseByRestore(app, async () => {
    for (let issued = 0; issued < 110; issued += 1) await app.newAddress();
    return app.newAddress();
  });
  rmSync(app.path.replace(/paygate\.db$/, '.paygate-mark'), { recursive: true });
  app.pay(lost, 3_000);
  app.server.inject({ kind: 'error', code: 1, message: 'busy', when: () => true });
  await app.start();
  await app.world.advance(1_000);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), 1, false)),
  );
  await app.addStore({ name: 'New', callbackUrl: `${app.receiver.origin}/new` });
  app.server.heal();
  await app.world.advance(60_000);
  await untilReady(app);
  expect(app.callbacks()).toEqual([]);
  expect(app.running.health().warnings.join()).toContain('no shop receives a callback for them');
});

test('a plain restart skips nothing and warns of nothing', async () => {
  const app = await openApp();
  await untilReady(app);
  const issued = [await app.newAddress()];
  await app.stop();
  await app.start();
  await untilReady(app);
  issued.push(await app.newAddress());
  expect(issued).toEqual(firstAddresses(merchantKey(), 2));
  expect(app.running.health()).toMatchObject({ status: 'ok', warnings: [] });
});

test('a wallet that was used before continues after its last used index', async () => {
  const app = await openApp({
    before: (chain) => {
      const used = firstAddresses(merchantKey(), 18);
      chain.pay([{ address: used[2] ?? '', valueSat: 1_000 }]);
      chain.pay([{ address: used[17] ?? '', valueSat: 1_000 }]);
      chain.mine();
    },
  });
  await untilReady(app);
  const [expected] = firstAddresses(merchantKey(), 19).slice(18);
  expect(await app.newAddress()).toBe(expected);
});

test('a wallet waits for its first scan, with a warning', async () => {
  const app = await openApp();
  const { status, headers, body } = await app.ask('/api/new_address');
  expect(status).toBe(503);
  expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
  expect(body.message).toContain('scanned');
  await untilReady(app);
  expect((await app.ask('/api/new_address')).status).toBe(200);
});

test('a store added while paygate runs is taken up within a second', async () => {
  const app = await openApp();
  await untilReady(app);
  const key = merchantKey(2, 'p2tr');
  await app.addStore({ name: 'Second', key, callbackUrl: `${app.receiver.origin}/second` });
  await app.world.advance(1_000);
  await untilReady(app);
  const address = await app.newAddress('?match_callback=/second');
  expect([address]).toEqual(firstAddresses(key, 1));
  app.pay(address, 6_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
});

test('without a server at the start the API issues addresses, reports that, and catches up', async () => {
  const app = await openApp({ store: { startIndex: 0 } });
  await untilReady(app);
  await app.stop();
  const refusal = app.server.inject({ kind: 'refuse' });
  await app.start();
  const address = await app.newAddress();
  const txid = app.pay(address, 5_000);
  app.chain.mine();
  await app.world.until(() => app.running.health().electrum.servers[0]?.error !== undefined);
  expect(app.running.health()).toMatchObject({
    status: 'degraded',
    warnings: [expect.stringContaining('no Electrum server is connected')],
  });
  refusal();
  await app.world.advance(60_000);
  await untilReady(app);
  expect(app.callbacks()).toEqual([{ status: '1', addr: address, value: '5000', txid }]);
});

test('a removed store issues no more, but payments to its addresses call back', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), 1, false)),
  );
  const { status, body } = await app.ask('/api/new_address');
  expect([status, body.error.code]).toEqual([400, 1001]);
  app.pay(address, 5_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
});

test('the rest of a reorganisation is processed after a restart, also if no history has changed', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  app.pay(address, 50_000);
  await app.settle();
  app.chain.mine();
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '1']);
  const when = (method: string) => method === 'blockchain.scripthash.get_history';
  const answers = app.server.inject({ kind: 'hang', when });
  // Into another block of the same height.
  app.chain.reorganise(1, { blocks: 0, transactions: 'mempool' });
  app.chain.mine();
  app.chain.mine();
  await app.world.until(
    () => app.world.logs.some(({ message }) => message === 'the best chain was reorganised'),
    'the other branch',
  );
  await app.stop();
  answers();
  await app.start();
  await untilReady(app);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '1', '2']);
});
