// paygate with shops of several families, each with a store and a key of its own. It plays an order
// in each shop, from its payment page to the final payment. A mistake is one wrong setting.

import type { StoreChange } from '../../src/store/wallets/catalog.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';
import { createTestWorld } from '../support/world.ts';
import { openCart, prestaShop, whmcs } from './carts.ts';
import type { Family, Order } from './family.ts';
import { type Page, type Shop, startShop } from './shop.ts';
import { giveWp, wooCommerce382, wooCommerce391 } from './woocommerce.ts';

export const families = [wooCommerce391, wooCommerce382, giveWp, openCart, whmcs, prestaShop];

export interface Shops {
  readonly app: PricedApp;
  readonly shops: readonly Shop[];
}

/** @param urlOf the Callback URL of a shop's store, the one that the plugin shows by default */
export async function openShops(
  chosen: readonly Family[] = families,
  urlOf: (shop: Shop, at: number) => string = ({ callbackUrl }) => callbackUrl,
): Promise<Shops> {
  const world = createTestWorld();
  const shops = await Promise.all(chosen.map((family) => startShop(family, world.now)));
  const stores = shops.map((shop, at) => ({
    name: shop.family.name,
    callbackUrl: urlOf(shop, at),
    omitRbf: shop.family.wantsNoRbf,
  }));
  const app = await openPriced({ world });
  const apiKeys = await prepareStores(app, stores);
  for (const [at, apiKey] of apiKeys.entries())
    shops[at]?.connect({ origin: originOf(app), apiKey });
  return { app, shops };
}

/**
 * Changes the app's store into the first one, and adds the others.
 * @returns a key of each, as `key add --store ID --scope payments` makes it
 */
const prepareStores = (
  app: PricedApp,
  stores: readonly (StoreChange & { readonly name: string; readonly callbackUrl: string })[],
): Promise<string[]> =>
  app.withStore(({ catalog, keys, database }) =>
    database.write((tx) => {
      const now = app.world.now();
      const { id: _, publicId: _id, createdAt: _at, ...settings } = catalog.store(1);
      return stores.map((fields, at) => {
        if (at === 0) catalog.changeStore(tx, 1, fields);
        else catalog.addStore(tx, now, { ...settings, ...fields });
        const secret = app.world.randomBytes(32);
        return keys.add(tx, now, { storeId: at + 1, scope: 'payments', secret });
      });
    }),
  );

/** One shop, whose store has the number 1. */
export async function openOne(family: Family, urlOf?: (shop: Shop) => string) {
  const { app, shops } = await openShops([family], urlOf);
  const [shop] = shops;
  if (shop === undefined) throw new Error('no shop');
  return { app, shop };
}

export const originOf = ({ port }: PricedApp): string => `http://127.0.0.1:${port}`;

/** What `paygate store set` does. */
export const setStore = (app: PricedApp, id: number, change: StoreChange): Promise<unknown> =>
  app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, id, change)),
  );

export type Mistake =
  /** `--no-rbf-parameter` was forgotten. */
  | 'rbf=1 is sent'
  /** _Hold stock_ is an hour, as WooCommerce has it by default. */
  | 'stock is held for an hour'
  /** The store has the secret of an earlier installation. */
  | 'the secret is an old one'
  /** The merchant makes a new secret in the plugin while a customer pays. */
  | 'the secret changes'
  /** The shop has moved from `/old`. */
  | 'the URL is an old one';

export interface Outcome {
  /** What the payment page shows: an amount to pay, or the number of paygate's refusal. */
  readonly checkout: 'pay' | number;
  /** State of the order once the payment is seen, an hour later, in a block, and final. */
  readonly states?: readonly string[];
  /** What the payment page shows to a customer who has paid and reloads it. */
  readonly reload?: Page['kind'];
  /** What /healthz says about this store. */
  readonly alarms: readonly string[];
}

/** An order in a shop of its own. */
export interface Play {
  readonly family: Family;
  readonly mistake?: Mistake;
}

/** Plays all orders at the same time, each in a shop with a store of its own. */
export async function playOrders(plays: readonly Play[]): Promise<Outcome[]> {
  const { app, shops } = await openShops(
    plays.map(({ family }) => family),
    storedUrl(plays),
  );
  for (const [at, { mistake }] of plays.entries()) {
    if (mistake === 'rbf=1 is sent') await setStore(app, at + 1, { omitRbf: false });
  }
  const visits = await Promise.all(shops.map((shop, at) => visitFirst(shop, plays[at]?.mistake)));
  const payers = visits.flatMap(({ page, ...visit }) =>
    page.kind === 'pay' ? [{ ...visit, page }] : [],
  );
  // Most wallets send payments that can be replaced.
  for (const { page } of payers) app.pay(page.address, page.amountSat);
  await app.settle();
  const note = () => payers.map(({ order }) => order.state);
  const seen = note();
  const reloads = await Promise.all(payers.map(({ shop, order }) => shop.visit(order)));
  await app.world.advance(3_600_000);
  for (const shop of shops) shop.cancelUnpaid(app.world.now());
  const later = [note()];
  for (const _ of ['in a block', 'final']) {
    app.chain.mine();
    await app.settle();
    later.push(note());
  }
  const warnings = await alarmsOf(app);
  return visits.map(({ shop, page }, at) => {
    const own = new RegExp(`\\bstore ${at + 1}\\b`);
    const alarms = warnings.filter((text) => own.test(text));
    if (page.kind !== 'pay') return { checkout: page.kind === 'error' ? page.code : 0, alarms };
    const payer = payers.findIndex((each) => each.shop === shop);
    const states = [seen, ...later].map((noted) => noted[payer] ?? '');
    return { checkout: 'pay', reload: reloads[payer]?.kind ?? 'error', states, alarms };
  });
}

/** The Callback URL of the store of each play. */
const storedUrl =
  (plays: readonly Play[]) =>
  ({ origin, callbackUrl }: Shop, at: number): string => {
    const { mistake } = plays[at] ?? {};
    if (mistake === 'the secret is an old one') return `${callbackUrl.slice(0, -4)}0000`;
    return mistake === 'the URL is an old one'
      ? callbackUrl.replace(origin, `${origin}/old`)
      : callbackUrl;
  };

async function visitFirst(shop: Shop, mistake: Mistake | undefined) {
  const { settings } = shop;
  if (mistake === 'stock is held for an hour') settings.holdStockMinutes = 60;
  const order = shop.placeOrder();
  const page = await shop.visit(order);
  if (mistake === 'the secret changes') settings.secret = settings.secret.replace(/^..../, 'beef');
  return { shop, order, page };
}

/** The warnings of /healthz. */
export const alarmsOf = async (app: PricedApp): Promise<string[]> =>
  (await app.ask('/healthz')).body.warnings;

/** A customer visits the payment page and pays its amount, or a multiple. @returns the txid */
export async function payFor(
  app: PricedApp,
  shop: Shop,
  order: Order,
  times = 1,
): Promise<{ readonly address: string; readonly txid: string }> {
  const page = await shop.visit(order);
  if (page.kind !== 'pay') throw new Error(`no address: ${JSON.stringify(page)}`);
  const txid = app.pay(page.address, Math.round(page.amountSat * times));
  return { address: page.address, txid };
}
