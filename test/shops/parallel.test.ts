// Plugins read and write their table without a lock. paygate sends callbacks of different orders at
// the same time, but never two of one address.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { whmcs } from './carts.ts';
import { openShops, payFor } from './scenario.ts';
import type { Shop } from './shop.ts';
import { giveWp, wooCommerce391 } from './woocommerce.ts';

afterEach(closeApps);
afterEach(cleanUp);

/** Whether each shop works on both of its orders, or has been sent overlapping callbacks. */
const isBusy = (shops: readonly Shop[]): boolean =>
  shops.every(({ working, overlaps }) => working.length === 2 || overlaps.length > 0);

test('two payments of one order in one block are booked one after the other, beside another order', async () => {
  const { app, shops } = await openShops();
  // Until its first 200 a store gets one request at a time.
  for (const shop of shops) await payFor(app, shop, shop.placeOrder());
  app.chain.mine(2);
  await app.settle();
  const before = shops.map(({ effects }) => effects.length);
  const pages = [];
  for (const shop of shops) {
    shop.hold();
    const [twice, once] = [
      await shop.visit(shop.placeOrder()),
      await shop.visit(shop.placeOrder()),
    ];
    pages.push(twice, twice, once);
  }
  for (const page of pages) if (page.kind === 'pay') app.pay(page.address, page.amountSat);
  app.chain.mine(2);
  await app.world.until(() => isBusy(shops), 'both orders of each shop');
  await app.world.turn();
  expect(shops.map(({ working }) => new Set(working).size)).toEqual([2, 2, 2, 2, 2, 2]);
  for (const shop of shops) shop.release();
  await app.settle();
  expect(shops.flatMap(({ overlaps }) => overlaps)).toEqual([]);
  const booked = shops.map(({ family, effects }, at) => [family.name, effects.slice(before[at])]);
  expect(Object.fromEntries(booked)).toEqual({
    // These ignore the second payment of a paid order.
    'WooCommerce 3.9.1': ['processing mailed', 'processing mailed'],
    'WooCommerce 3.8.2': ['processing mailed', 'processing mailed'],
    'GiveWP 0.1.1': ['publish mailed', 'publish mailed'],
    // These book each payment, one of them as a credit of the customer.
    'OpenCart 3': ['Complete mailed', 'Complete mailed', 'Complete mailed'],
    WHMCS: ['credited 20.00', 'credited 20.00', 'credited 20.00'],
    PrestaShop: Array(3).fill('Payment accepted mailed'),
  });
  expect(shops.map(({ stock }) => stock)).toEqual([97, 97, 100, 100, 100, 100]);
});

test('the played shops are damaged by callbacks of one address that overlap', async () => {
  const { app, shops } = await openShops([wooCommerce391, giveWp, whmcs]);
  for (const shop of shops) {
    const order = shop.placeOrder();
    const page = await shop.visit(order);
    if (page.kind !== 'pay') throw new Error(`no address: ${page.kind}`);
    shop.hold();
    const both = ['aa', 'bb'].map((txid) =>
      fetch(
        `${shop.callbackUrl}&status=2&addr=${page.address}&value=${page.amountSat}&txid=${txid}`,
      ),
    );
    await app.world.until(() => shop.working.length === 2, 'both callbacks');
    shop.release();
    await Promise.all(both);
    expect(shop.overlaps).toEqual([page.address]);
  }
  const [woo, give, invoices] = shops;
  expect(woo).toMatchObject({ effects: ['processing mailed', 'processing mailed'], stock: 98 });
  expect(give?.effects).toEqual(['publish mailed', 'publish mailed']);
  // Two credits are in the books, and the invoice knows one.
  expect(invoices?.effects).toEqual(['credited 20.00', 'credited 20.00']);
  expect(Object.keys(invoices?.orders.get(1)?.credits ?? {})).toHaveLength(1);
});
