// What must survive: restarts, downtime, copies of the file, a second server, changes from the CLI.

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

test('P-104 a payment made and confirmed while paygate is down is told once, as it is now', async () => {
  const house = await openApp();
  await untilReady(house);
  const [early, late] = [await house.newAddress(), await house.newAddress()];
  house.pay(early, 1_000);
  await house.settle();
  await house.stop();
  house.chain.mine();
  house.pay(late, 2_000);
  house.chain.mine(4);
  await house.start();
  await untilReady(house);
  expect(house.statuses(early)).toEqual(['0', '2']);
  expect(house.statuses(late)).toEqual(['2']);

  const compared = house.world.logs.filter(
    ({ message }) => message === 'every address is compared',
  );
  expect(compared).toHaveLength(2);
  // Two that were given out, and those that are derived ahead of them.
  const server = expect.stringMatching(/^tcp:/);
  expect(compared[1]?.fields).toEqual({ server, addresses: 40 });
});

test('P-104 a payment that is spent again while paygate is down is told like any other', async () => {
  const house = await openApp();
  await untilReady(house);
  const address = await house.newAddress();
  await house.stop();
  const txid = house.pay(address, 20_000) as Txid;
  house.chain.mine();
  spendFromWallet(house.chain, txid, 0);
  house.chain.mine(2);
  await house.start();
  await untilReady(house);
  expect(house.callbacks()).toEqual([{ status: '2', addr: address, value: '20000', txid }]);
});

test('a callback that was owed when paygate stopped is sent after the start, same id', async () => {
  const house = await openApp();
  await untilReady(house);
  house.receiver.script('reset');
  const address = await house.newAddress();
  house.pay(address, 1_000);
  await house.settle();
  await house.stop();
  await house.start();
  await untilReady(house);
  await house.world.advance(10_000);
  await house.settle();
  const ids = house.receiver.requests.map(({ headers }) => headers['webhook-id']);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
});

test('a clean stop leaves one complete file', async () => {
  const house = await openApp();
  await untilReady(house);
  await house.newAddress();
  expect(statSync(`${house.path}-wal`).size).toBeGreaterThan(0);
  await house.stop();
  expect(statSync(`${house.path}-wal`).size).toBe(0);
});

test('a restored older copy of the file never issues an address again', async () => {
  const house = await openApp();
  await untilReady(house);
  const before = [await house.newAddress()];
  const after = await loseByRestore(house, async () => [
    await house.newAddress(),
    await house.newAddress(),
  ]);
  await house.start();
  await untilReady(house);
  expect(house.running.health().warnings.join()).toContain('this database is a copy');
  const restored = await house.newAddress();
  expect([...before, ...after, restored]).toEqual(firstAddresses(merchantKey(), 4));
});

test('P-61 a payment to an address that only the lost file had issued calls back', async () => {
  const house = await openApp();
  await untilReady(house);
  const lost = await loseByRestore(house, () => house.newAddress());
  house.pay(lost, 3_000);
  await house.start();
  await untilReady(house);
  expect(house.callbacks()).toMatchObject([{ addr: lost, status: '0', value: '3000' }]);
});

test('P-105 such a payment that several stores of a wallet may wait for is said to whoever runs paygate', async () => {
  const house = await openApp();
  await untilReady(house);
  await house.addStore({ name: 'Second', callbackUrl: `${house.receiver.origin}/second` });
  const lost = await loseByRestore(house, () => house.newAddress('?match_callback=/second'));
  await house.start();
  await untilReady(house);
  const unclaimed = () =>
    house.running.health().warnings.filter((each) => each.includes('no shop is told of them'));
  expect(unclaimed()).toEqual([]);
  house.pay(lost, 3_000);
  await house.settle();
  expect(house.callbacks()).toEqual([]);
  expect(unclaimed()).toEqual([expect.stringContaining('1 payment(s)')]);
  house.world.jumpWallClock(31 * 86_400_000);
  expect(unclaimed()).toEqual([]);
});

test('such a payment calls the store that a removed one of the same wallet made room for', async () => {
  const house = await openApp();
  await untilReady(house);
  await house.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, house.world.now(), 1, false)),
  );
  await house.addStore({ name: 'New', callbackUrl: `${house.receiver.origin}/new` });
  const lost = await loseByRestore(house, () => house.newAddress());
  house.pay(lost, 3_000);
  await house.start();
  await untilReady(house);
  expect(house.callbacks()).toMatchObject([{ addr: lost, status: '0' }]);
  expect(house.receiver.requests[0]?.url).toContain('/new?');
});

test('without its mark a file that has issued skips 100 indexes', async () => {
  const house = await openApp();
  await untilReady(house);
  await house.newAddress();
  await house.stop();
  rmSync(house.path.replace(/paygate\.db$/, '.paygate-mark'), { recursive: true });
  await house.start();
  await untilReady(house);
  const [expected] = firstAddresses(merchantKey(), 102).slice(101);
  expect(await house.newAddress()).toBe(expected);
  await house.stop();
  await house.start();
  await untilReady(house);
  // That it is a copy is said until somebody has read it; the merchant's wallet must look further as long as it is so.
  expect(house.running.health().warnings).toEqual([
    expect.stringContaining('this database is a copy'),
    expect.stringContaining('--wallet-gap 140'),
  ]);
});

test('P-61 a payment beyond what a file without its mark skips calls back, though it was derived ahead', async () => {
  const house = await openApp({ store: { startIndex: 300 } });
  await untilReady(house);
  await house.newAddress();
  await house.world.advance(100);
  await house.running.idle();
  const lost = await loseByRestore(house, async () => {
    for (let issued = 0; issued < 110; issued += 1) await house.newAddress();
    return house.newAddress();
  });
  rmSync(house.path.replace(/paygate\.db$/, '.paygate-mark'), { recursive: true });
  house.pay(lost, 3_000);
  await house.start();
  await untilReady(house);
  expect(house.callbacks()).toMatchObject([{ addr: lost, status: '0', value: '3000' }]);
});

test('nor does it call a store that was added in place of its own before the chain could be asked', async () => {
  const house = await openApp({ store: { startIndex: 300 } });
  await untilReady(house);
  await house.newAddress();
  const lost = await loseByRestore(house, async () => {
    for (let issued = 0; issued < 110; issued += 1) await house.newAddress();
    return house.newAddress();
  });
  rmSync(house.path.replace(/paygate\.db$/, '.paygate-mark'), { recursive: true });
  house.pay(lost, 3_000);
  house.server.inject({ kind: 'error', code: 1, message: 'busy', when: () => true });
  await house.start();
  await house.world.advance(1_000);
  await house.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, house.world.now(), 1, false)),
  );
  await house.addStore({ name: 'New', callbackUrl: `${house.receiver.origin}/new` });
  house.server.heal();
  await house.world.advance(60_000);
  await untilReady(house);
  expect(house.callbacks()).toEqual([]);
  expect(house.running.health().warnings.join()).toContain('no shop is told of them');
});

test('a plain restart skips nothing and warns of nothing', async () => {
  const house = await openApp();
  await untilReady(house);
  const issued = [await house.newAddress()];
  await house.stop();
  await house.start();
  await untilReady(house);
  issued.push(await house.newAddress());
  expect(issued).toEqual(firstAddresses(merchantKey(), 2));
  expect(house.running.health()).toMatchObject({ status: 'ok', warnings: [] });
});

test('a wallet that was used before goes on after its last used index', async () => {
  const house = await openApp({
    before: (chain) => {
      const used = firstAddresses(merchantKey(), 18);
      chain.pay([{ address: used[2] ?? '', valueSat: 1_000 }]);
      chain.pay([{ address: used[17] ?? '', valueSat: 1_000 }]);
      chain.mine();
    },
  });
  await untilReady(house);
  const [expected] = firstAddresses(merchantKey(), 19).slice(18);
  expect(await house.newAddress()).toBe(expected);
});

test('a wallet waits for its first scan, and says so', async () => {
  const house = await openApp();
  const { status, headers, body } = await house.ask('/api/new_address');
  expect(status).toBe(503);
  expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
  expect(body.message).toContain('scanned');
  await untilReady(house);
  expect((await house.ask('/api/new_address')).status).toBe(200);
});

test('a store added while paygate runs is taken up within a second', async () => {
  const house = await openApp();
  await untilReady(house);
  const key = merchantKey(2, 'p2tr');
  await house.addStore({ name: 'Second', key, callbackUrl: `${house.receiver.origin}/second` });
  await house.world.advance(1_000);
  await untilReady(house);
  const address = await house.newAddress('?match_callback=/second');
  expect([address]).toEqual(firstAddresses(key, 1));
  house.pay(address, 6_000);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0']);
});

test('with no server at the start the API issues, says so, and catches up', async () => {
  const house = await openApp({ store: { startIndex: 0 } });
  await untilReady(house);
  await house.stop();
  const refusal = house.server.inject({ kind: 'refuse' });
  await house.start();
  const address = await house.newAddress();
  const txid = house.pay(address, 5_000);
  house.chain.mine();
  await house.world.until(() => house.running.health().electrum.servers[0]?.error !== undefined);
  expect(house.running.health()).toMatchObject({
    status: 'degraded',
    warnings: [expect.stringContaining('no Electrum server is connected')],
  });
  refusal();
  await house.world.advance(60_000);
  await untilReady(house);
  expect(house.callbacks()).toEqual([{ status: '1', addr: address, value: '5000', txid }]);
});

test('a removed store issues no more, but payments to its addresses call back', async () => {
  const house = await openApp();
  await untilReady(house);
  const address = await house.newAddress();
  await house.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, house.world.now(), 1, false)),
  );
  const { status, body } = await house.ask('/api/new_address');
  expect([status, body.error.code]).toEqual([400, 1001]);
  house.pay(address, 5_000);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0']);
});

test('what a stop leaves of a reorganisation is looked at after it, also where each status is as before', async () => {
  const house = await openApp();
  await untilReady(house);
  const address = await house.newAddress();
  house.pay(address, 50_000);
  await house.settle();
  house.chain.mine();
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '1']);
  const when = (method: string) => method === 'blockchain.scripthash.get_history';
  const answers = house.server.inject({ kind: 'hang', when });
  // Into another block of the same height.
  house.chain.reorganise(1, { blocks: 0, transactions: 'mempool' });
  house.chain.mine();
  house.chain.mine();
  await house.world.until(
    () => house.world.logs.some(({ message }) => message === 'the best chain was reorganised'),
    'the other branch',
  );
  await house.stop();
  answers();
  await house.start();
  await untilReady(house);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '1', '2']);
});
