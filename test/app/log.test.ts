// What the log says of payments: an operator answers "was this order paid?" by it.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';

afterEach(closeApps);

const ofPayments = (house: TestApp) =>
  house.world.logs.filter(({ message }) => message.startsWith('payment '));

test('names each step of a payment once, with its address, amount, transaction and status', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const txid = house.pay(address, 25_000);
  await house.settle();
  for (let blocks = 0; blocks < 3; blocks += 1) {
    house.chain.mine();
    await house.settle();
  }
  const fields = { paymentId: 1, storeId: 1, address, valueSat: 25_000, txid };
  expect(ofPayments(house)).toEqual([
    { level: 'info', message: 'payment seen', fields: { ...fields, status: 0 } },
    { level: 'info', message: 'payment confirming', fields: { ...fields, status: 1 } },
    { level: 'info', message: 'payment confirmed', fields: { ...fields, status: 2 } },
  ]);
});

test('calls a payment confirmed that was found when it was beyond any reorganisation', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  await house.stop();
  const txid = house.pay(address, 25_000);
  house.chain.mine(150);
  await house.start();
  await house.settle();
  expect(ofPayments(house)).toMatchObject([
    { message: 'payment confirmed', fields: { txid, status: 2 } },
  ]);
});

test('warns of a payment that another transaction has replaced, and names that', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const txid = house.pay(address, 25_000);
  await house.settle();
  const rival = house.chain.replace(txid as Txid);
  await house.settle();
  await house.outlastAbsence();
  expect(ofPayments(house)).toMatchObject([
    { level: 'info', message: 'payment seen', fields: { txid } },
    { level: 'info', message: 'payment seen', fields: { txid: rival } },
    { level: 'warn', message: 'payment gone', fields: { address, txid, replacedBy: rival } },
  ]);
});
