// Log messages about payments, orders and callbacks: they answer an operator's question "was this
// order paid?", and contain no secret.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';

afterEach(closeApps);

const ofPayments = (app: TestApp) =>
  app.world.logs.filter(({ message }) => message.startsWith('payment '));

test('names each step of a payment once, with its address, amount, transaction and status', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 25_000);
  await app.settle();
  for (let blocks = 0; blocks < 3; blocks += 1) {
    app.chain.mine();
    await app.settle();
  }
  const fields = { paymentId: 1, storeId: 1, address, valueSat: 25_000, txid };
  expect(ofPayments(app)).toEqual([
    { level: 'info', message: 'payment seen', fields: { ...fields, status: 0 } },
    { level: 'info', message: 'payment confirming', fields: { ...fields, status: 1 } },
    { level: 'info', message: 'payment confirmed', fields: { ...fields, status: 2 } },
  ]);
});

test('calls a payment confirmed that was found when it was beyond any reorganisation', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  await app.stop();
  const txid = app.pay(address, 25_000);
  app.chain.mine(150);
  await app.start();
  await app.settle();
  expect(ofPayments(app)).toMatchObject([
    { message: 'payment confirmed', fields: { txid, status: 2 } },
  ]);
});

test('warns of a payment that another transaction has replaced, and names that', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 25_000);
  await app.settle();
  const rival = app.chain.replace(txid as Txid);
  await app.settle();
  await app.outlastAbsence();
  expect(ofPayments(app)).toMatchObject([
    { level: 'info', message: 'payment seen', fields: { txid } },
    { level: 'info', message: 'payment seen', fields: { txid: rival } },
    { level: 'warn', message: 'payment gone', fields: { address, txid, replacedBy: rival } },
  ]);
});

const ofOrders = (app: TestApp) =>
  app.world.logs.filter(({ message }) => message.startsWith('order '));

test('names each step of an order, and never its whole id', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const { publicId } = await makeOrder(app, address);
  app.pay(address, 25_000);
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  const order = `${publicId.slice(0, 8)}…`;
  const fields = { order, storeId: 1, address, amountSat: 25_000, receivedSat: 25_000 };
  expect(ofOrders(app)).toEqual([
    { level: 'info', message: 'order processing', fields: { ...fields, status: 'processing' } },
    { level: 'info', message: 'order paid', fields: { ...fields, status: 'paid' } },
  ]);
  expect(JSON.stringify(app.world.logs)).not.toContain(publicId);
});

test('says that an order has expired', async () => {
  const app = await openReady();
  const { publicId } = await makeOrder(app, await app.newAddress());
  await app.world.advance(61 * 60_000);
  await app.settle();
  expect(ofOrders(app)).toMatchObject([
    { message: 'order expired', fields: { receivedSat: 0, status: 'expired' } },
  ]);
  expect(JSON.stringify(app.world.logs)).not.toContain(publicId);
});

test('a callback attempt has the facts of its payment', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 25_000);
  await app.settle();
  expect(app.world.logs.filter(({ message }) => message === 'callback attempted')).toMatchObject([
    {
      level: 'info',
      fields: { outcome: 'delivered', storeId: 1, address, valueSat: 25_000, txid, status: 0 },
    },
  ]);
});
