// How plugins set themselves up: the button of their settings page, and the wizard of WooCommerce,
// with the plugin window open and closed.

import { afterEach, expect, test } from 'vitest';
import { storeSettings } from '../../src/domain/store/store-settings.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import type { PricedApp } from '../support/priced.ts';
import { openCart, openCart4, prestaShop, whmcs } from './carts.ts';
import { alarmsOf, openOne, openShops, payFor } from './scenario.ts';
import type { Shop } from './shop.ts';
import { wizard, wooCommerce391 } from './woocommerce.ts';

afterEach(closeApps);
afterEach(cleanUp);

const withButton = [wooCommerce391, whmcs, openCart, prestaShop];

/** The store's URL has the secret of an earlier installation. */
const oldSecret = ({ callbackUrl }: Shop): string => `${callbackUrl.slice(0, -4)}0000`;

/** What `paygate plugin allow --minutes 15 --key ID` does. */
const allowPlugin = (app: PricedApp, keyId: number): Promise<void> =>
  app.withStore(({ keys, database }) =>
    database.write((tx) => keys.allowPlugin(tx, app.world.now(), keyId, app.world.now() + 900_000)),
  );

const storedUrls = (app: PricedApp): Promise<string[]> =>
  app.withStore(async ({ catalog }) => catalog.stores().map(({ callbackUrl }) => callbackUrl));

const press = async (shop: Shop): Promise<string> => (await shop.family.testSetup?.(shop)) ?? '';

async function pressAll(shops: readonly Shop[]): Promise<Record<string, string>> {
  const shown: Record<string, string> = {};
  for (const shop of shops) shown[shop.family.name] = await press(shop);
  return shown;
}

test('Test Setup is content with the right store, not with a wrong key; WooCommerce uses an address', async () => {
  const { app, shops } = await openShops(withButton);
  const issued = async (): Promise<number> =>
    (await app.ask('/api/v2/wallets/1')).body.data.xpub_index;
  const counts = [];
  for (const _ of [1, 2]) {
    expect(await pressAll(shops)).toEqual({
      'WooCommerce 3.9.1': 'BTC ✅',
      WHMCS: 'green',
      'OpenCart 3': 'Setup is all done!',
      PrestaShop: 'Setup is all done!',
    });
    await app.settle();
    counts.push(await issued());
  }
  expect(counts).toEqual([4, 5]);
  for (const shop of shops) shop.connect({ apiKey: 'wrong' });
  expect(new Set(Object.values(await pressAll(shops)))).toEqual(new Set(['API Key is incorrect']));
  const [shop] = shops;
  expect(shop && (await wizard(shop, 'Shop'))).toBe('API Key is incorrect');
});

test('Test Setup with an old secret in the store fails, until the plugin window is open', async () => {
  const { app, shops } = await openShops(withButton, oldSecret);
  const before = await storedUrls(app);
  const noStore = expect.stringContaining('match_callback fits the Callback URL of no store');
  expect(await pressAll(shops)).toEqual({
    'WooCommerce 3.9.1': 'Please add a new store with the callback URL shown',
    WHMCS: 'Could not update store callback',
    'OpenCart 3': noStore,
    PrestaShop: noStore,
  });
  expect(await storedUrls(app)).toEqual(before);

  // With the window open, the plugins that write their store repair it.
  const shown: Record<string, string> = {};
  for (const [at, shop] of shops.entries()) {
    // Key 1 is that of all stores.
    await allowPlugin(app, at + 2);
    shown[shop.family.name] = await press(shop);
  }
  expect(shown).toEqual({
    'WooCommerce 3.9.1': 'Please add a new store with the callback URL shown',
    WHMCS: 'green',
    'OpenCart 3': 'Setup is all done!',
    PrestaShop: 'Setup is all done!',
  });
  const [, ...repaired] = shops.map(({ callbackUrl }) => callbackUrl);
  expect((await storedUrls(app)).slice(1)).toEqual(repaired);
});

test('the bare | in the URL of OpenCart 4 is encoded on the way to the shop only', async () => {
  const { app, shop } = await openOne(openCart4, ({ callbackUrl }) =>
    storeSettings.callbackUrl.parse(callbackUrl),
  );
  expect(await press(shop)).toBe('Setup is all done!');
  const order = shop.placeOrder();
  await payFor(app, shop, order);
  app.chain.mine(2);
  await app.settle();
  expect([order.state, await alarmsOf(app)]).toEqual(['Complete', []]);
  const callbacks = shop.requests.filter(({ url }) => url.includes('status='));
  expect(callbacks.every(({ url }) => url.includes('/blockonomics%7Ccallback&'))).toBe(true);
});

test('the wizard says Success! to a refusal, and checkout fails; with the window open it repairs', async () => {
  const { app, shop } = await openOne(wooCommerce391, oldSecret);
  const success = 'Success! Blockonomics is now enabled';
  expect(await wizard(shop, 'Shop')).toBe(success);
  expect(await press(shop)).toContain('Please add a new store');
  // Not the advice about another coin, which two texts would lead to.
  expect(await shop.visit(shop.placeOrder())).toEqual({
    kind: 'error',
    code: 1003,
    text: expect.stringContaining('click Test Setup to diagnose the exact issue'),
  });
  await allowPlugin(app, 2);
  expect(await wizard(shop, 'Shop')).toBe(success);
  expect([await storedUrls(app), await press(shop)]).toEqual([[shop.callbackUrl], 'BTC ✅']);
  const order = shop.placeOrder();
  await payFor(app, shop, order);
  app.chain.mine(2);
  await app.settle();
  expect([order.state, await alarmsOf(app)]).toEqual(['processing', []]);
});

test('the wizard makes a store for a public shop, and none for one on a private address', async () => {
  const { app, shop } = await openOne(wooCommerce391);
  shop.connect({ apiKey: app.apiKey });
  const failed = 'Failed to create store';
  const elsewhere = shop.callbackUrl.replace(shop.origin, 'https://shop.example');
  const wizardOf = (callbackUrl: string) => wizard({ ...shop, callbackUrl }, 'Second');
  expect(await wizardOf(elsewhere)).toBe(failed);
  await allowPlugin(app, 1);
  const local = shop.callbackUrl.replace(shop.origin, 'http://127.0.0.1:8');
  expect(await wizardOf(local)).toBe(failed);
  const refusals = app.world.logs.filter(({ message }) => message === 'a request was refused');
  expect(refusals.map(({ fields }) => fields.reason)).toEqual([
    expect.stringContaining('Changing stores through the API is switched off'),
    expect.stringContaining('127.0.0.1 is a private address'),
  ]);
  expect(await wizardOf(elsewhere)).toBe('Success! Blockonomics is now enabled');
  expect(await storedUrls(app)).toEqual([shop.callbackUrl, elsewhere]);
  const match = encodeURIComponent(elsewhere);
  const made = await shop.ask(`/api/new_address?match_callback=${match}`, {});
  expect(made).toMatchObject({ status: 200, body: { address: expect.stringMatching(/^bcrt1/) } });
});
