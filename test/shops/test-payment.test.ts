// A test payment for a real order (`callbacks test --addr`) in each family: the shop books it as it
// books a payment, and paygate records none.

import { afterEach, expect, test } from 'vitest';
import { createSender } from '../../src/delivery/sender.ts';
import { sendTestPayment } from '../../src/delivery/test-payment.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import type { PricedApp } from '../support/priced.ts';
import type { Order } from './family.ts';
import { fossBilling, magento, medusa } from './others.ts';
import { families, openShops } from './scenario.ts';
import type { Shop } from './shop.ts';

afterEach(closeApps);
afterEach(cleanUp);

/**
 * Sends test payments to the address of an order.
 * @param between what happens to the shop once its page shows the address
 * @returns the verdict on the last answer
 */
async function testOrder(
  app: PricedApp,
  shop: Shop,
  order: Order,
  between: (shop: Shop) => void = () => {},
): Promise<string> {
  const page = await shop.visit(order);
  if (page.kind !== 'pay') throw new Error(`no address: ${JSON.stringify(page)}`);
  between(shop);
  const { world } = app;
  const sender = createSender(world, { version: '0.1', listeners: () => [], proxy: undefined });
  const { address, amountSat: valueSat } = page;
  const send = (status: 0 | 2) =>
    app.withStore((records) =>
      sendTestPayment({ records, sender, world }, 'test', { address, status, valueSat }),
    );
  await send(0);
  const { result } = await send(2);
  return `${result.verdict}: ${result.accepts ? 'accepted' : 'not accepted'}`;
}

test('a test payment completes the order, also a second one in the same shop', async () => {
  const { app, shops } = await openShops([...families, magento, fossBilling, medusa]);
  const seen: Record<string, unknown> = {};
  for (const shop of shops) {
    const verdicts = [];
    for (const order of [shop.placeOrder(), shop.placeOrder()]) {
      verdicts.push(await testOrder(app, shop, order), order.state);
    }
    seen[shop.family.name] = verdicts;
  }
  const twice = (...verdict: string[]) => [...verdict, ...verdict];
  expect(seen).toEqual({
    'WooCommerce 3.9.1': twice('empty: accepted', 'processing'),
    'WooCommerce 3.8.2': twice('empty: accepted', 'processing'),
    'GiveWP 0.1.1': twice('empty: accepted', 'publish'),
    'OpenCart 3': twice('empty: accepted', 'Complete'),
    WHMCS: twice('empty: accepted', 'Paid'),
    PrestaShop: twice('empty: accepted', 'Payment accepted'),
    'Magento 2': twice('accepted: accepted', 'processing'),
    FOSSBilling: twice('accepted: accepted', 'paid'),
    'Medusa 2': twice('accepted: accepted', 'captured'),
  });
  const payments = await app.withStore(async ({ paymentView }) => paymentView.list({ limit: 1 }));
  expect(payments).toEqual([]);
});

test('a test payment finds a wrong secret, and most plugins without the order', async () => {
  const { app, shops } = await openShops();
  const seen: Record<string, string[]> = {};
  for (const shop of shops) {
    const lost = await testOrder(app, shop, shop.placeOrder(), ({ loseRows }) => loseRows());
    const wrong = await testOrder(app, shop, shop.placeOrder(), ({ settings }) => {
      settings.secret = settings.secret.replace(/^..../, 'beef');
    });
    seen[shop.family.name] = [lost, wrong];
  }
  const wrongSecret = 'wrong-secret: not accepted';
  expect(seen).toEqual({
    'WooCommerce 3.9.1': ['unknown-order: not accepted', wrongSecret],
    'WooCommerce 3.8.2': ['unknown-order: not accepted', wrongSecret],
    'GiveWP 0.1.1': ['unknown-order: not accepted', wrongSecret],
    // These print nothing, as for a payment that they book.
    'OpenCart 3': ['empty: accepted', wrongSecret],
    WHMCS: ['empty: accepted', wrongSecret],
    PrestaShop: ['unknown-order: not accepted', wrongSecret],
  });
});
