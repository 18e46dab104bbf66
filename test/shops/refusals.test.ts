// Shops that answer something else than their plugin: pages, refusals, notices, nothing, redirects.
// An alarm names the store, and a repaired shop gets its callbacks.

import { afterEach, expect, test } from 'vitest';
import { judgeAnswer } from '../../src/domain/delivery/callback-answer.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openCart } from './carts.ts';
import { edd } from './edd.ts';
import { fossBilling, magento, medusa } from './others.ts';
import { alarmsOf, families, openOne, openShops, payFor, setStore } from './scenario.ts';
import { startShop } from './shop.ts';
import { wooCommerce391 } from './woocommerce.ts';

afterEach(closeApps);
afterEach(cleanUp);

const minuteMs = 60_000;

/** The alarm about an answer of a shop. */
const doubts = (name: string, words: string) =>
  expect.stringContaining(`"${name}": its shop answered 200, but the answer says "${words}"`);

test('what each plugin answers to a test callback, and what paygate makes of it', async () => {
  const verdicts: Record<string, string[]> = {};
  for (const family of [...families, magento, fossBilling, medusa, edd]) {
    const shop = await startShop(family, () => 0);
    const ask = async (url: string): Promise<string> => {
      const response = await fetch(`${url}&status=2&addr=bcrt1qunknown&value=1&txid=aa`);
      const body = new Uint8Array(await response.arrayBuffer());
      return response.status === 200 ? judgeAnswer(body, () => []).verdict : `${response.status}`;
    };
    const { callbackUrl, settings } = shop;
    const wrong = callbackUrl.replace(settings.secret, 'beef');
    const none = callbackUrl.replace(settings.secret, '');
    const answers = [await ask(callbackUrl), await ask(wrong), await ask(none)];
    settings.plugin = 'off';
    verdicts[family.name] = [...answers, await ask(callbackUrl)];
  }
  // The right secret, a wrong one, none, and the plugin off.
  expect(verdicts).toEqual({
    'WooCommerce 3.9.1': ['unknown-order', 'wrong-secret', 'empty', '400'],
    'WooCommerce 3.8.2': ['unknown-order', 'wrong-secret', 'empty', '400'],
    'GiveWP 0.1.1': ['unknown-order', 'wrong-secret', 'empty', '404'],
    'OpenCart 3': ['empty', 'wrong-secret', 'wrong-secret', '404'],
    WHMCS: ['empty', 'wrong-secret', 'wrong-secret', 'refused'],
    PrestaShop: ['unknown-order', 'wrong-secret', 'wrong-secret', '404'],
    'Magento 2': ['accepted', 'wrong-secret', 'wrong-secret', '404'],
    FOSSBilling: ['unknown-order', 'wrong-secret', 'wrong-secret', '404'],
    'Medusa 2': ['accepted', 'accepted', 'accepted', '404'],
    'Easy Digital Downloads': ['web-page', 'wrong-secret', 'wrong-secret', 'web-page'],
  });
});

test('the home page instead of the hook is doubted, and the callback sent again once it is back', async () => {
  const { app, shop } = await openOne(wooCommerce391);
  const order = shop.placeOrder();
  await payFor(app, shop, order);
  // Plain permalinks for a moment: the old path shows the home page with a 200.
  shop.settings.permalinks = 'plain';
  await app.settle();
  expect(order.state).toBe('pending');
  expect(await alarmsOf(app)).toEqual([
    expect.stringContaining('the answer is a web page titled "A shop" (1 doubtful answer)'),
  ]);
  shop.settings.permalinks = 'pretty';
  await app.world.advance(7 * minuteMs);
  await app.settle();
  expect({ state: order.state, alarms: await alarmsOf(app) }).toEqual({
    state: 'on-hold',
    alarms: [],
  });
});

test('the home page is the good answer of Easy Digital Downloads, and each callback comes once', async () => {
  const { app, shop } = await openOne(edd);
  const order = shop.placeOrder();
  await payFor(app, shop, order);
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  expect(order.state).toBe('publish');
  await app.world.advance(7 * minuteMs);
  await app.settle();
  const statuses = shop.requests.flatMap(({ url }) => /status=(\d)/.exec(url)?.[1] ?? []);
  expect({ statuses, alarms: await alarmsOf(app) }).toEqual({ statuses: ['0', '2'], alarms: [] });
});

test('a wrong secret of Easy Digital Downloads is an alarm', async () => {
  const { app, shop } = await openOne(edd);
  const order = shop.placeOrder();
  await payFor(app, shop, order);
  shop.settings.secret = 'another';
  app.chain.mine(2);
  await app.settle();
  expect(await alarmsOf(app)).toEqual([doubts('Easy Digital Downloads', 'Incorrect Secret')]);
});

test('after a change of permalinks the new Callback URL and a resend repair the order', async () => {
  const { app, shop } = await openOne(wooCommerce391);
  const order = shop.placeOrder();
  await payFor(app, shop, order);
  shop.settings.permalinks = 'plain';
  app.chain.mine(2);
  await app.settle();
  expect(order.state).toBe('pending');
  // Checkout fails at once, so that the merchant notices.
  expect(await shop.visit(shop.placeOrder())).toMatchObject({ kind: 'error', code: 1003 });
  await setStore(app, 1, { callbackUrl: shop.callbackUrl });
  await app.withStore(({ outbox, database }) =>
    database.write((tx) => outbox.resendDoubtful(tx, app.world.now(), 1, 0)),
  );
  await app.world.advance(2_000);
  await app.settle();
  expect({ state: order.state, alarms: await alarmsOf(app) }).toEqual({
    state: 'processing',
    alarms: [],
  });
  expect(await shop.visit(shop.placeOrder())).toMatchObject({ kind: 'pay' });
});

test('with the plugin off each family answers in its way, and gets its callbacks afterwards', async () => {
  const { app, shops } = await openShops();
  const orders = [];
  for (const shop of shops) {
    const order = shop.placeOrder();
    orders.push(order);
    await payFor(app, shop, order);
    shop.settings.plugin = 'off';
  }
  app.chain.mine(2);
  await app.settle();
  // Only WHMCS answers 200; paygate tries the others again.
  expect(await alarmsOf(app)).toEqual([doubts('WHMCS', 'Module Not Activated')]);
  for (const { settings } of shops) settings.plugin = 'on';
  await app.world.advance(7 * minuteMs);
  await app.settle();
  expect(orders.map(({ state }) => state)).toEqual([
    ...['processing', 'processing', 'publish', 'Complete', 'Paid', 'Payment accepted'],
  ]);
  expect(await alarmsOf(app)).toEqual([]);
});

test('notices of PHP before an answer hide neither a good one nor a refusal', async () => {
  const { app, shops } = await openShops();
  const orders = [];
  for (const shop of shops) {
    shop.settings.printsNotices = true;
    const order = shop.placeOrder();
    orders.push(order);
    await payFor(app, shop, order);
  }
  app.chain.mine(2);
  await app.settle();
  expect(orders.map(({ state }) => state)).toEqual([
    ...['processing', 'processing', 'publish', 'Complete', 'Paid', 'Payment accepted'],
  ]);
  expect(await alarmsOf(app)).toEqual([]);
  for (const shop of shops) {
    await payFor(app, shop, shop.placeOrder());
    shop.settings.secret = shop.settings.secret.replace(/^..../, 'beef');
  }
  await app.settle();
  expect(await alarmsOf(app)).toEqual([
    doubts('WooCommerce 3.9.1', 'Error: secret does not match'),
    doubts('WooCommerce 3.8.2', 'Error: secret does not match'),
    doubts('GiveWP 0.1.1', 'Error: secret does not match'),
    doubts('OpenCart 3', 'Invalid secret'),
    doubts('WHMCS', 'Secret verification failure'),
    doubts('PrestaShop', 'Secret not matching'),
  ]);
});

test('a shop without its rows: those that say so raise an alarm, OpenCart and WHMCS answer nothing', async () => {
  const { app, shops } = await openShops();
  for (const shop of shops) {
    await payFor(app, shop, shop.placeOrder());
    shop.loseRows();
  }
  await app.settle();
  expect(await alarmsOf(app)).toEqual([
    doubts('WooCommerce 3.9.1', 'Error: Blockonomics order not found'),
    doubts('WooCommerce 3.8.2', 'Error: Blockonomics order not found'),
    doubts('GiveWP 0.1.1', 'Error: Blockonomics order not found'),
    doubts('PrestaShop', 'Order not found'),
  ]);
});

test('a URL that loses its secret: the empty 200 of WooCommerce tells nothing, the next checkout does', async () => {
  const { app, shop } = await openOne(wooCommerce391);
  const order = shop.placeOrder();
  const page = await shop.visit(order);
  await setStore(app, 1, { callbackUrl: shop.callbackUrl.replace(/\?secret=.*/, '') });
  if (page.kind === 'pay') app.pay(page.address, page.amountSat);
  await app.settle();
  // Its good answers are empty, too.
  expect({ state: order.state, alarms: await alarmsOf(app) }).toEqual({
    state: 'pending',
    alarms: [],
  });
  expect(await shop.visit(shop.placeOrder())).toMatchObject({ kind: 'error', code: 1003 });
  expect(await alarmsOf(app)).toEqual([expect.stringContaining('store 1, whose key it was')]);
});

test('OpenCart redirects a reversal that is not its last transaction, and paygate tries again', async () => {
  const { app, shop } = await openOne(openCart);
  await setStore(app, 1, { reversalCallback: true });
  const order = shop.placeOrder();
  const { address, txid } = await payFor(app, shop, order);
  app.chain.mine(2);
  await app.settle();
  expect(order.state).toBe('Complete');
  app.pay(address, 1_000);
  await app.settle();
  app.chain.reorganise(2, { blocks: 3, transactions: (id) => (id === txid ? 'drop' : 'mempool') });
  await app.outlastAbsence();
  const newest = await app.withStore(async ({ outbox }) => outbox.list({ limit: 1 }));
  expect(newest).toMatchObject([
    {
      ...{ status: -1, txid, state: 'owed', outcome: 'redirect' },
      reason: expect.stringContaining('answered 302, pointing to /index.php?…'),
    },
  ]);
});
