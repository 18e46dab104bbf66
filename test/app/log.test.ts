// Log messages about payments: they answer an operator's question "was this order paid?".

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';

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
