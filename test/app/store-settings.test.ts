// What a store may ask of its callbacks: a minimum, and silence about `rbf`. A flood of dust below the
// minimum is recorded, told to nobody, and holds nobody else up.

import { afterEach, expect, test } from 'vitest';
import type { StoreChange } from '../../src/store/records/catalog.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

async function openWith(fields: StoreChange, blocks = 110): Promise<TestApp> {
  const house = await openApp({ blocks });
  await change(house, fields);
  await untilReady(house);
  return house;
}

const change = (house: TestApp, fields: StoreChange): Promise<unknown> =>
  house.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, fields)),
  );

async function pay(house: TestApp, valueSat: number): Promise<string> {
  const address = await house.newAddress();
  house.pay(address, valueSat);
  await house.settle();
  return address;
}

async function mine(house: TestApp): Promise<void> {
  house.chain.mine();
  await house.settle();
}

test('P-55 rbf is told, and left out where the store wants that', async () => {
  const house = await openWith({});
  await pay(house, 5_000);
  await change(house, { omitRbf: true });
  const address = await pay(house, 6_000);
  const told = house.receiver.requests.map(({ url }) => url.includes('rbf'));
  expect(told).toEqual([true, false]);
  // The record has it all the same.
  expect((await house.ask(`/api/merchant/tx?addr=${address}`)).body.rbf).toBe(1);
});

test('P-60 a payment below the minimum is recorded and shown, and owes no callback', async () => {
  const house = await openWith({ minimumSat: 1_000 });
  const [small, edge] = [await pay(house, 999), await pay(house, 1_000)];
  await mine(house);
  await mine(house);
  expect(house.statuses(small)).toEqual([]);
  expect(house.statuses(edge)).toEqual(['0', '1', '2']);
  const { body } = await house.ask(`/api/merchant/tx?addr=${small}`);
  expect(body).toMatchObject({ addr: small, status: 2, value: 999, confirmations: 2 });
});

test('P-60 a minimum that is set later mutes no payment that was told already', async () => {
  const house = await openWith({});
  const early = await pay(house, 999);
  await change(house, { minimumSat: 1_000 });
  const late = await pay(house, 999);
  await mine(house);
  await change(house, { minimumSat: null });
  await mine(house);
  expect(house.statuses(early)).toEqual(['0', '1', '2']);
  expect(house.statuses(late)).toEqual(['2']);
});

test('what is deep enough once a store asks for less is told at once, without another block', async () => {
  const house = await openWith({ requiredConfirmations: 3 });
  const address = await pay(house, 5_000);
  await mine(house);
  await mine(house);
  expect(house.statuses(address)).toEqual(['0', '1']);
  await change(house, { requiredConfirmations: 2 });
  await house.world.advance(2_000);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '1', '2']);
});

test('P-29 P-60 P-109 dust below the minimum is recorded behind a payment that came after it', async () => {
  const flood = 400;
  const house = await openApp({ before: (chain) => chain.stock(flood, 20_000) });
  await change(house, { minimumSat: 1_000 });
  await untilReady(house);
  const [flooded, other] = [await house.newAddress(), await house.newAddress()];
  const txids = Array.from({ length: flood }, () => house.pay(flooded, 600));
  house.pay(other, 5_000);
  await house.receiver.waitFor(1);
  const recorded = (await house.ask(`/api/merchant/tx?addr=${flooded}`)).body.txs ?? [];
  expect(house.callbacks()).toMatchObject([{ addr: other, status: '0' }]);
  expect(recorded.length).toBeLessThan(flood);
  await house.settle();
  house.chain.mine(2);
  await house.settle();
  expect(house.statuses(other)).toEqual(['0', '2']);
  expect(house.statuses(flooded)).toEqual([]);
  // The newest are listed; each of them is found.
  const { body } = await house.ask(`/api/merchant/tx?addr=${flooded}`);
  expect(body.txs).toHaveLength(200);
  for (const txid of [txids[0], txids[flood / 2], txids[flood - 1]]) {
    const one = await house.ask(`/api/merchant/tx?addr=${flooded}&txid=${txid}`);
    expect(one.body.txs).toMatchObject([{ txid, value: 600, status: 2 }]);
    const page = await fetch(`http://127.0.0.1:${house.port}/api/tx?addr=${flooded}&txid=${txid}`);
    expect(page.status).toBe(200);
  }
});
