// Payments of another amount than the order's, in each family: half, more, slightly less, two
// halves, and dust.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import type { PricedApp } from '../support/priced.ts';
import { openCart, whmcs } from './carts.ts';
import type { Family } from './family.ts';
import { openOne, openShops, payFor, setStore } from './scenario.ts';
import type { Shop } from './shop.ts';
import { wooCommerce391 } from './woocommerce.ts';

afterEach(closeApps);
afterEach(cleanUp);

async function mineTwo(app: PricedApp): Promise<void> {
  for (const _ of [1, 2]) {
    await app.settle();
    app.chain.mine();
  }
  await app.settle();
}

/** Plays four orders in each shop, which a customer pays with parts of their amounts. */
async function playAmounts() {
  const { app, shops } = await openShops();
  for (const shop of shops) {
    shop.settings.slackPercent = 2;
    for (const times of [0.5, 1.5, 0.99]) await payFor(app, shop, shop.placeOrder(), times);
    const { address } = await payFor(app, shop, shop.placeOrder(), 0.5);
    app.pay(address, 20_000);
  }
  await mineTwo(app);
  return { app, shops };
}

const statesOf = (shops: readonly Shop[]): Record<string, string[]> =>
  Object.fromEntries(
    shops.map(({ family, orders }) => [
      family.name,
      [...orders.values()].map((each) => each.state),
    ]),
  );

test('half, half as much again, one percent less with a tolerance of two, and two halves', async () => {
  const { app, shops } = await playAmounts();
  expect(statesOf(shops)).toEqual({
    'WooCommerce 3.9.1': ['on-hold', 'processing', 'processing', 'on-hold'],
    'WooCommerce 3.8.2': ['pending', 'processing', 'processing', 'pending'],
    'GiveWP 0.1.1': ['failed', 'publish', 'failed', 'failed'],
    'OpenCart 3': ['Canceled', 'Complete', 'Complete', 'Canceled'],
    WHMCS: ['Unpaid', 'Paid', 'Paid', 'Paid'],
    PrestaShop: ['Payment error', 'Payment accepted', 'Payment error', 'Payment error'],
  });
  const invoices = shops.find(({ family }) => family === whmcs);
  expect(invoices?.effects.toSorted()).toEqual([
    'credited 10.00',
    'credited 10.00',
    'credited 10.00',
    'credited 20.00',
    'credited 30.00',
  ]);

  // WooCommerce and WHMCS ask for the rest of the first order, at a new address.
  const rests: Record<string, unknown> = {};
  for (const shop of shops) {
    const [order] = shop.orders.values();
    const known = shop.rows.size;
    const page = await shop.visit(order ?? shop.placeOrder());
    const isNew = page.kind === 'pay' && shop.rows.size > known;
    rests[shop.family.name] = isNew ? page.amountSat : page.kind;
    if (isNew) app.pay(page.address, page.amountSat);
  }
  expect(rests).toEqual({
    'WooCommerce 3.9.1': 20_000,
    'WooCommerce 3.8.2': 20_000,
    'GiveWP 0.1.1': 'thanks',
    'OpenCart 3': 'pay',
    WHMCS: 20_000,
    PrestaShop: 'thanks',
  });
  await mineTwo(app);
  const completed = Object.entries(statesOf(shops)).map(([name, [state]]) => [name, state]);
  expect(Object.fromEntries(completed)).toMatchObject({
    'WooCommerce 3.9.1': 'processing',
    'WooCommerce 3.8.2': 'processing',
    WHMCS: 'Paid',
  });
});

test('a page that was open too long: its first amount is too little once the price has fallen', async () => {
  const { app, shop } = await openOne(wooCommerce391);
  const order = shop.placeOrder();
  const first = await shop.visit(order);
  app.market.rates = { EUR: 45_000 };
  await app.world.advance(10 * 60_000);
  const second = await shop.visit(order);
  expect([first, second]).toEqual([
    { kind: 'pay', address: shop.rows.keys().next().value, amountSat: 40_000 },
    { kind: 'pay', address: shop.rows.keys().next().value, amountSat: 44_444 },
  ]);
  if (first.kind === 'pay') app.pay(first.address, first.amountSat);
  await mineTwo(app);
  expect([order.state, shop.effects.at(-1)]).toEqual([
    'on-hold',
    'Additional Payment Required mailed',
  ]);
});

/** A stranger sends 1,000 sat to the address of a paid order. @returns its states */
async function playDust(family: Family, minimumSat: number | null): Promise<string[]> {
  const { app, shop } = await openOne(family);
  await setStore(app, 1, { minimumSat });
  const order = shop.placeOrder();
  const { address } = await payFor(app, shop, order);
  await mineTwo(app);
  const states = [order.state];
  app.pay(address, 1_000);
  await app.settle();
  states.push(order.state);
  await mineTwo(app);
  return [...states, order.state];
}

test('dust to a paid order of OpenCart cancels it, unless the store has a minimum', async () => {
  expect(await playDust(openCart, null)).toEqual(['Complete', 'Pending', 'Canceled']);
  expect(await playDust(openCart, 10_000)).toEqual(['Complete', 'Complete', 'Complete']);
});
