// What a customer gets from paygate on a shop's payment page: the live socket and the link to the
// transaction. Without an address or a price the page shows an error.

import { afterEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { closeApps, untilReady } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openShops, originOf } from './scenario.ts';
import type { Shop } from './shop.ts';

afterEach(closeApps);
afterEach(cleanUp);

test('the page of each family moves on when the socket reports the payment, and links its receipt', async () => {
  const { app, shops } = await openShops();
  const moved: Record<string, unknown> = {};
  for (const { family, orders, ...shop } of shops) {
    const page = await shop.visit(shop.placeOrder());
    if (page.kind !== 'pay') throw new Error(page.kind);
    const path = family.socket(page.address, app.world.now());
    const socket = new WebSocket(`ws://127.0.0.1:${app.port}${path}`, { origin: shop.origin });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const first = new Promise<string>((resolve) =>
      socket.once('message', (data) => resolve(String(data))),
    );
    const txid = app.pay(page.address, page.amountSat);
    const { status, value } = JSON.parse(await first);
    socket.close();
    moved[family.name] = [status, value];
    const receipt = await fetch(`${originOf(app)}${family.receipt(txid, page.address)}`);
    const type = receipt.headers.get('content-type');
    expect([receipt.status, type]).toEqual([200, expect.stringContaining('text/html')]);
    expect(await receipt.text()).toContain(txid);
  }
  expect(new Set(Object.values(moved).map(String))).toEqual(new Set(['0,40000']));
});

/** What each shop's page of a new order shows. */
async function visitAll(shops: readonly Shop[]): Promise<string[]> {
  const pages = await Promise.all(shops.map((shop) => shop.visit(shop.placeOrder())));
  return [...new Set(pages.map(({ kind }) => kind))];
}

test('without a price no page shows an address, and with paygate stopped neither', async () => {
  const { app, shops } = await openShops();
  app.market.rates = undefined;
  await app.world.advance(660_000);
  expect(await visitAll(shops)).toEqual(['error']);
  // Those that request the price first use up no address.
  expect((await app.ask('/api/v2/wallets/1')).body.data.xpub_index).toBe(4);
  app.market.rates = { EUR: 50_000 };
  await app.world.advance(120_000);
  expect(await visitAll(shops)).toEqual(['pay']);
  await app.stop();
  expect(await visitAll(shops)).toEqual(['error']);
  await app.start();
  await untilReady(app);
  for (const shop of shops) shop.connect({ origin: originOf(app) });
  expect(await visitAll(shops)).toEqual(['pay']);
});
