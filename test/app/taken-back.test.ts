// Callbacks to a shop that was unreachable while the chain took payments back: they report no
// earlier status of those payments.

import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

/** A payment while the shop is unreachable, and the callbacks once it is reachable. */
async function withShopAway(servers = 1) {
  let isAway = true;
  const answer = () => ({ status: isAway ? 503 : 200 });
  const app = await openApp({ servers, receiver: { answer } });
  await untilReady(app);
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000) as Txid;
  await app.settle();
  let before = 0;
  const comeBack = () => {
    before = app.statuses(address).length;
    isAway = false;
  };
  const heard = () => app.statuses(address).slice(before);
  return { app, txid, comeBack, heard };
}

async function mine(app: TestApp, blocks: number): Promise<void> {
  for (let count = 0; count < blocks; count += 1) {
    app.chain.mine();
    await app.settle();
  }
}

async function pass(app: TestApp, ms: number): Promise<void> {
  await app.world.advance(ms);
  await app.settle();
}

const newest = (app: TestApp) => app.withStore(async ({ outbox }) => outbox.list({ limit: 1 })[0]);

const states = (app: TestApp) =>
  app.withStore(async ({ paymentView: paymentDesk }) =>
    paymentDesk.list({ limit: 9 }).map((row) => row.state),
  );

const resend = (app: TestApp) =>
  app.withStore(({ database, outbox }) =>
    database.write((tx) =>
      outbox.resend(tx, app.world.now(), outbox.list({ limit: 1 })[0]?.id ?? 0),
    ),
  );

describe.each([1, 2])('with %i server(s)', (servers) => {
  test('P-119 a shop that was down gets no 2 for a payment that a reorganisation reverted', async () => {
    const { app, comeBack, heard } = await withShopAway(servers);
    await mine(app, 2);
    app.chain.reorganise(2, { transactions: 'drop' });
    await app.outlastAbsence();
    await mine(app, 1);
    expect(await states(app)).toEqual(['dropped']);
    expect(await newest(app)).toMatchObject({ status: 2, state: 'held' });
    comeBack();
    await pass(app, 600_000);
    expect(heard()).toEqual([]);
  });

  test('P-119 it gets no 0 for a payment whose replacement no longer pays it', async () => {
    const { app, txid, comeBack, heard } = await withShopAway(servers);
    app.chain.replace(txid, []);
    await app.outlastAbsence();
    await mine(app, 2);
    expect(await states(app)).toEqual(['dropped']);
    comeBack();
    await pass(app, 600_000);
    expect(heard()).toEqual([]);
  });
});

test('P-119 a callback held back for a gone payment is sent when the payment returns with the same status', async () => {
  const { app, txid, comeBack, heard } = await withShopAway();
  app.chain.evict(txid);
  await app.outlastAbsence();
  expect(await newest(app)).toMatchObject({ status: 0, state: 'held' });
  comeBack();
  await pass(app, 60_000);
  expect(heard()).toEqual([]);
  app.chain.rebroadcast(txid);
  await app.settle();
  await pass(app, 1_000);
  expect(heard()).toEqual(['0']);
});

test('P-31 P-119 while the block is off the chain and no server reports the payment, no 2 is sent', async () => {
  const { app, comeBack, heard } = await withShopAway();
  await mine(app, 2);
  app.chain.reorganise(2, { transactions: 'drop' });
  await app.settle();
  comeBack();
  await pass(app, 20_000);
  expect(await newest(app)).toMatchObject({ status: 2, state: 'owed' });
  expect(heard()).toEqual([]);
});

test('P-31 P-119 a start reads the chain first: no 2 is sent for a block that left it meanwhile', async () => {
  const { app, comeBack, heard } = await withShopAway();
  await mine(app, 2);
  await app.stop();
  app.chain.reorganise(2, { transactions: 'mempool' });
  comeBack();
  app.world.jumpWallClock(3_600_000);
  await app.start();
  await untilReady(app);
  await app.settle();
  expect(heard()).toEqual(['0']);
});

test('a manual resend sends neither', async () => {
  const app = await openApp();
  await untilReady(app);
  app.pay(await app.newAddress(), 50_000);
  await app.settle();
  await mine(app, 2);
  app.chain.reorganise(2, { transactions: 'drop' });
  await app.settle();
  await expect(resend(app)).rejects.toThrow('the block of its payment has left the chain');
  await app.outlastAbsence();
  await expect(resend(app)).rejects.toThrow('its payment is gone');
});
