// One paygate with a played shop for each plugin. Each shop has a store and a key of its own.

import { newPluginSecret } from '../../../src/delivery/signature.ts';
import { openPriced, type PricedApp } from '../../support/priced.ts';
import * as carts from './carts.ts';
import * as others from './others.ts';
import type { Plugin } from './plugin.ts';
import { type PluginShop, startPluginShop } from './plugin-shop.ts';
import * as wordpress from './wordpress.ts';

const isPlugin = (value: unknown): value is Plugin => typeof value === 'object';
export const plugins: readonly Plugin[] = [wordpress, carts, others].flatMap((all) =>
  Object.values(all).filter(isPlugin),
);

export interface PluginShops {
  readonly app: PricedApp;
  readonly shops: readonly PluginShop[];
}

/** Shops whose merchants have typed the URL, the key and the store's id. */
export async function typedShops(chosen = plugins): Promise<PluginShops> {
  const app = await openPriced();
  const shops = await Promise.all(chosen.map(startPluginShop));
  const typed = await app.withStore(({ catalog, keys, database }) =>
    database.write((tx) => {
      const now = app.world.now();
      const { id: _, publicId: _id, createdAt: _at, ...settings } = catalog.store(1);
      return shops.map(({ name, plugin: { keyPlugin = 'standard' } }) => {
        const fields = { ...settings, name, callbackUrl: '' };
        const { id, publicId } = catalog.addStore(tx, now, fields);
        const secret = app.world.randomBytes(32);
        const scope = 'payments' as const;
        return {
          storeId: publicId,
          key: keys.add(tx, now, { storeId: id, scope, plugin: keyPlugin, secret }),
        };
      });
    }),
  );
  for (const [at, shop] of shops.entries()) {
    const { key = '', storeId = '' } = typed[at] ?? {};
    shop.type({ origin: `http://127.0.0.1:${app.port}`, key, storeId });
  }
  return { app, shops };
}

/** Opens "Connect a plugin" for the key of a shop, and for no other; or shuts it. */
export const allow = (app: PricedApp, { typed }: PluginShop, forMs = 60_000) =>
  app.withStore(({ keys, database }) =>
    database.write((tx) => {
      const now = app.world.now();
      keys.allowPlugin(tx, now, keys.find(typed.key, now)?.id ?? 0, now + forMs);
    }),
  );

/** The webhook that the dashboard adds for a plugin that makes none. */
export const addHook = (app: PricedApp, shop: PluginShop) =>
  app.withStore(({ catalog, webhookRecords, database }) =>
    database.write((tx) => {
      const secret = newPluginSecret(app.world.randomBytes);
      const { id = 0 } = catalog.stores().find((row) => row.publicId === shop.typed.storeId) ?? {};
      const fields = { url: shop.hookUrl, secret, isEnabled: true };
      const events = shop.plugin.events?.join() ?? '';
      const row = webhookRecords.add(tx, app.world.now(), id, { ...fields, events });
      shop.hook = { id: row.publicId, secret };
    }),
  );

export async function connect(app: PricedApp, shops: readonly PluginShop[]): Promise<void> {
  for (const shop of shops) {
    await allow(app, shop);
    await shop.connect();
    if (shop.plugin.hook === undefined) await addHook(app, shop);
    await allow(app, shop, 0);
  }
}

export async function openShops(chosen = plugins): Promise<PluginShops> {
  const opened = await typedShops(chosen);
  await connect(opened.app, opened.shops);
  return opened;
}
