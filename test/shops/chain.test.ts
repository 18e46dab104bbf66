// What the chain does to a payment after its first callback: a fee bump, a reorganisation, a double
// spend. No family books anything twice for it.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { alarmsOf, openShops, payFor } from './scenario.ts';

afterEach(closeApps);
afterEach(cleanUp);

test('a fee bump and a reorganisation of two blocks book no order twice', async () => {
  const { app, shops } = await openShops();
  const txids: Txid[] = [];
  for (const shop of shops) txids.push((await payFor(app, shop, shop.placeOrder())).txid as Txid);
  await app.settle();
  const bumped = txids.map((txid) => app.chain.replace(txid));
  await app.settle();
  const mineTwo = async () => {
    for (const _ of [1, 2]) {
      app.chain.mine();
      await app.settle();
    }
  };
  await mineTwo();
  app.chain.reorganise(2, { transactions: 'mempool' });
  await app.settle();
  await mineTwo();
  const effects = shops.map(({ family, effects }) => [family.name, effects]);
  expect(Object.fromEntries(effects)).toEqual({
    'WooCommerce 3.9.1': ['on-hold mailed', 'processing mailed'],
    'WooCommerce 3.8.2': ['processing mailed'],
    'GiveWP 0.1.1': ['publish mailed'],
    'OpenCart 3': ['Pending mailed', 'Pending mailed', 'Complete mailed'],
    WHMCS: ['credited 20.00'],
    // It sets its state at each status 2.
    PrestaShop: ['Payment accepted mailed', 'Payment accepted mailed'],
  });
  expect(shops.map(({ rows }) => [...rows.values()].map(({ txid }) => txid))).toEqual(
    bumped.map((txid) => [txid]),
  );
  expect(await alarmsOf(app)).toEqual([]);
});

test('a payment that is double-spent before a block leaves an order waiting, and never paid', async () => {
  const { app, shops } = await openShops();
  for (const shop of shops) {
    const { txid } = await payFor(app, shop, shop.placeOrder());
    await app.settle();
    app.chain.replace(txid as Txid, []);
  }
  await app.outlastAbsence();
  app.chain.mine(3);
  await app.settle();
  const states = shops.map(({ family, orders }) => [family.name, orders.get(1)?.state]);
  expect(Object.fromEntries(states)).toEqual({
    // Its payment page leads to the thank-you page, without a word to the merchant.
    'WooCommerce 3.9.1': 'on-hold',
    'WooCommerce 3.8.2': 'pending',
    'GiveWP 0.1.1': 'pending',
    'OpenCart 3': 'Pending',
    WHMCS: 'Unpaid',
    PrestaShop: 'Awaiting Bitcoin Payment',
  });
});
