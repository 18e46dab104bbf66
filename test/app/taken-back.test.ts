// What a shop that was away hears of payments that the chain took back meanwhile: nothing of what they were.

import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

/** A payment whose shop is away, and what that hears once it is back. */
async function withShopAway(servers = 1) {
  let isAway = true;
  const answer = () => ({ status: isAway ? 503 : 200 });
  const house = await openApp({ servers, receiver: { answer } });
  await untilReady(house);
  const address = await house.newAddress();
  const txid = house.pay(address, 50_000) as Txid;
  await house.settle();
  let before = 0;
  const comeBack = () => {
    before = house.statuses(address).length;
    isAway = false;
  };
  const heard = () => house.statuses(address).slice(before);
  return { house, txid, comeBack, heard };
}

async function mine(house: TestApp, blocks: number): Promise<void> {
  for (let count = 0; count < blocks; count += 1) {
    house.chain.mine();
    await house.settle();
  }
}

async function pass(house: TestApp, ms: number): Promise<void> {
  await house.world.advance(ms);
  await house.settle();
}

const newest = (house: TestApp) =>
  house.withStore(async ({ outbox }) => outbox.list({ limit: 1 })[0]);

const states = (house: TestApp) =>
  house.withStore(async ({ paymentView: paymentDesk }) =>
    paymentDesk.list({ limit: 9 }).map((row) => row.state),
  );

const resend = (house: TestApp) =>
  house.withStore(({ database, outbox }) =>
    database.write((tx) =>
      outbox.resend(tx, house.world.now(), outbox.list({ limit: 1 })[0]?.id ?? 0),
    ),
  );

describe.each([1, 2])('with %i server(s)', (servers) => {
  test('P-119 a shop that was away hears no 2 of a payment that a reorganisation took back', async () => {
    const { house, comeBack, heard } = await withShopAway(servers);
    await mine(house, 2);
    house.chain.reorganise(2, { transactions: 'drop' });
    await house.outlastAbsence();
    await mine(house, 1);
    expect(await states(house)).toEqual(['dropped']);
    expect(await newest(house)).toMatchObject({ status: 2, state: 'held' });
    comeBack();
    await pass(house, 600_000);
    expect(heard()).toEqual([]);
  });

  test('P-119 nor a 0 of one that was replaced and pays it no more', async () => {
    const { house, txid, comeBack, heard } = await withShopAway(servers);
    house.chain.replace(txid, []);
    await house.outlastAbsence();
    await mine(house, 2);
    expect(await states(house)).toEqual(['dropped']);
    comeBack();
    await pass(house, 600_000);
    expect(heard()).toEqual([]);
  });
});

test('P-119 what was held for a payment that is gone is told once it returns with the same status', async () => {
  const { house, txid, comeBack, heard } = await withShopAway();
  house.chain.evict(txid);
  await house.outlastAbsence();
  expect(await newest(house)).toMatchObject({ status: 0, state: 'held' });
  comeBack();
  await pass(house, 60_000);
  expect(heard()).toEqual([]);
  house.chain.rebroadcast(txid);
  await house.settle();
  await pass(house, 1_000);
  expect(heard()).toEqual(['0']);
});

test('P-31 P-119 while its block has left the chain and nobody names the payment, no 2 goes out', async () => {
  const { house, comeBack, heard } = await withShopAway();
  await mine(house, 2);
  house.chain.reorganise(2, { transactions: 'drop' });
  await house.settle();
  comeBack();
  await pass(house, 20_000);
  expect(await newest(house)).toMatchObject({ status: 2, state: 'owed' });
  expect(heard()).toEqual([]);
});

test('P-31 P-119 a start hears of the chain first: no 2 goes out of a block that left it meanwhile', async () => {
  const { house, comeBack, heard } = await withShopAway();
  await mine(house, 2);
  await house.stop();
  house.chain.reorganise(2, { transactions: 'mempool' });
  comeBack();
  house.world.jumpWallClock(3_600_000);
  await house.start();
  await untilReady(house);
  await house.settle();
  expect(heard()).toEqual(['0']);
});

test('neither is sent again by hand', async () => {
  const house = await openApp();
  await untilReady(house);
  house.pay(await house.newAddress(), 50_000);
  await house.settle();
  await mine(house, 2);
  house.chain.reorganise(2, { transactions: 'drop' });
  await house.settle();
  await expect(resend(house)).rejects.toThrow('the block of its payment has left the chain');
  await house.outlastAbsence();
  await expect(resend(house)).rejects.toThrow('its payment is gone');
});
