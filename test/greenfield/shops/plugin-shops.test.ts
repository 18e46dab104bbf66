// A played shop for each plugin for BTCPay Server: the state of its order in the end, beside the
// status of the order of paygate. The shops of a test have one paygate, and a store each.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import type { Sale } from './plugin.ts';
import { connect, openShops, type PluginShops, typedShops } from './plugin-scenario.ts';
import type { PluginShop } from './plugin-shop.ts';

afterEach(closeApps);
afterEach(cleanUp);

/** Pays a share of the price. */
async function pay({ app }: PluginShops, shop: PluginShop, { invoice }: Sale, share = 1) {
  const at = `/stores/{s}/invoices/${invoice.id}/payment-methods`;
  const [{ destination, amount }] = await shop.api('GET', at);
  app.pay(destination, Math.round(Number(amount) * 1e8 * share));
}

/** What paygate says of the sales of a shop: the status of each order, and those of its invoice. */
async function statusesOf({ app, shops }: PluginShops, shop: PluginShop): Promise<string[]> {
  const [orders, invoices] = await Promise.all([
    app.get(`/orders?store_id=${shops.indexOf(shop) + 2}`),
    shop.api('GET', '/stores/{s}/invoices?includeArchived=true'),
  ]);
  return shop.sales.map(({ invoice: { id } }) => {
    const isOwn = (each: { readonly id: string }): boolean => each.id === id;
    const { status, additionalStatus } = invoices.find(isOwn);
    return `${orders.body.data.find(isOwn).status}, ${status}, ${additionalStatus}`;
  });
}

/** So many notifications at the same time are read in turns, a second apart. */
async function settle({ app }: PluginShops): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) {
    await app.settle();
    await app.world.advance(1_000);
  }
  await app.settle();
}

/** The machine of paygate was off. */
async function restartAfter(opened: PluginShops, ms: number): Promise<void> {
  await opened.app.stop();
  await opened.app.world.advance(ms);
  await opened.app.start();
  const origin = `http://127.0.0.1:${opened.app.port}`;
  for (const shop of opened.shops) shop.type({ ...shop.typed, origin });
  await settle(opened);
}

async function mine(opened: PluginShops, blocks = 2): Promise<void> {
  opened.app.chain.mine(blocks);
  await settle(opened);
}

/** A line of a table without its alignment. */
const cells = (line: string): string[] => line.split('|').map((cell) => cell.trim());

/** By the name of the plugin. */
const rowsOf = (table: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    table
      .trim()
      .split('\n')
      .map((line) => {
        const [name = '', ...states] = cells(line);
        return [name, states] as const;
      }),
  );

const found = (shops: readonly PluginShop[], statesOf: (shop: PluginShop) => readonly string[]) =>
  new Map(shops.map((shop) => [shop.name, statesOf(shop)]));

const sales = ['whole', 'parts', 'over', 'short', 'late', 'expired', 'canceled'] as const;

const inTheEnd = `
WooCommerce                   | processing     | processing     | processing          | failed               | processing        | cancelled       | failed
WooCommerce, unprotected      | processing     | processing     | processing          | failed               | processing        | cancelled       | failed
WooCommerce (Coinsnap)        | settled        | settled        | settled             | failed               | settled           | failed          | failed
Easy Digital Downloads        | complete       | complete       | complete            | cancelled            | complete          | cancelled       | pending
GiveWP                        | complete       | complete       | complete            | cancelled            | complete          | cancelled       | new
PrestaShop                    | paid           | paid           | paid                | failed               | paid              | cart            | cart
Magento 2                     | processing     | processing     | processing          | pending payment      | processing        | pending payment | waiting for confirmation
OpenCart 4.2.2                | settled        | settled        | settled (paid over) | expired (partial)    | settled           | expired         | invalid
OpenCart of 2026              | completed      | completed      | paid over           | expired (partial)    | completed         | expired         | invalid
Shopware 6                    | paid           | paid           | paid                | paid partially       | paid              | failed          | failed
WHMCS                         | paid           | paid           | paid                | unpaid               | paid              | unpaid          | unpaid
FOSSBilling                   | paid           | paid           | paid                | unpaid               | paid              | unpaid          | unpaid
XenForo                       | received       | received       | received            | pending              | received          | pending         | pending
Phoca Cart                    | Settled        | Settled        | Settled, PaidOver   | Expired, PaidPartial | Settled, PaidLate | Expired         | Invalid
Medusa                        | captured 20.00 | captured 20.00 | captured 20.00      | failed               | captured 20.00    | failed          | failed
Zapier                        | Settled        | Settled        | Settled             | waiting              | Settled           | waiting         | waiting
`;

test('a sale ends in each shop as its status says', async () => {
  const opened = await openShops();
  const { app, shops } = opened;
  const made = new Map<PluginShop, Record<(typeof sales)[number], Sale>>();
  for (const shop of shops) {
    const [whole, parts, over, short, late, expired, canceled] = [
      ...[await shop.sell(), await shop.sell(), await shop.sell(), await shop.sell()],
      ...[await shop.sell(), await shop.sell(), await shop.sell()],
    ] as [Sale, Sale, Sale, Sale, Sale, Sale, Sale];
    made.set(shop, { whole, parts, over, short, late, expired, canceled });
    await pay(opened, shop, whole);
    await pay(opened, shop, parts, 0.6);
    await pay(opened, shop, over, 1.5);
    await pay(opened, shop, short, 0.5);
    await shop.api('POST', `/invoices/${canceled.invoice.id}/status`, { status: 'Invalid' });
    await shop.plugin.afterCancel?.(shop, canceled);
  }
  const payAll = async (name: (typeof sales)[number], share: number) => {
    for (const [shop, each] of made) await pay(opened, shop, each[name], share);
    await settle(opened);
    await mine(opened);
  };
  await settle(opened);
  await payAll('parts', 0.4);
  await app.world.advance(3_700_000);
  await app.settle();
  await payAll('late', 1);

  const salesOf = (shop: PluginShop) => sales.map((name) => made.get(shop)?.[name] as Sale);
  for (const shop of shops) {
    expect(await statusesOf(opened, shop), shop.name).toEqual([
      'paid, Settled, None',
      'paid, Settled, None',
      'paid, Settled, PaidOver',
      'expired, Expired, PaidPartial',
      'paid, Settled, PaidLate',
      'expired, Expired, None',
      'canceled, Invalid, Marked',
    ]);
    // No event was refused, and none came twice.
    expect(new Set(shop.answers), shop.name).toEqual(new Set([200]));
    expect(shop.events.every(({ isRedelivery }) => !isRedelivery)).toBe(true);
  }
  expect(found(shops, (shop) => salesOf(shop).map(({ state }) => state))).toEqual(rowsOf(inTheEnd));
  const effects = (name: string, at: number) =>
    shops.find((shop) => shop.name === name)?.sales[at]?.effects;
  // What cannot be undone happens once, and for the right money.
  expect([0, 1, 2, 4].map((at) => effects('WooCommerce', at))).toEqual(
    [1, 2, 3, 4].map(() => ['stock -1']),
  );
  expect([0, 1, 2].map((at) => effects('PrestaShop', at))).toEqual([
    ...[['payment 20.00'], ['payment 12.00', 'payment 8.00'], ['payment 30.00']],
  ]);
  expect(effects('Magento 2', 1)).toEqual([
    'to the customer: 0.00024 BTC at 50000.00',
    'to the customer: 0.0004 BTC at 50000.00',
    'captured',
  ]);
  expect([0, 1, 2, 4].map((at) => effects('WHMCS', at))).toEqual(
    [1, 2, 3, 4].map(() => ['credit 20.00']),
  );
  expect(effects('OpenCart 4.2.2', 1)).toEqual(['mail: settled']);
  expect(effects('Phoca Cart', 1)).toEqual(['mail: New', 'mail: Processing', 'mail: Settled']);
});

/** Paid; its block has left; settled again; spent twice. */
const afterReorganisations = `
WooCommerce                   | processing     | processing          | processing     | processing
WooCommerce, unprotected      | processing     | on-hold             | processing     | failed
WooCommerce (Coinsnap)        | settled        | processing          | settled        | failed
Easy Digital Downloads        | complete       | processing          | complete       | pending
GiveWP                        | complete       | processing          | complete       | complete
PrestaShop                    | paid           | confirming          | paid           | paid
Magento 2                     | processing     | paid, unconfirmed   | processing     | waiting for confirmation
OpenCart 4.2.2                | settled        | paid (unconfirmed)  | settled        | invalid
OpenCart of 2026              | completed      | completed           | completed      | invalid
Shopware 6                    | paid           | paid                | paid           | paid
WHMCS                         | paid           | paid                | paid           | paid
FOSSBilling                   | paid           | paid                | paid           | paid
XenForo                       | received       | received            | received       | received
Phoca Cart                    | Settled        | Settled             | Settled        | Invalid
Medusa                        | captured 20.00 | authorised          | captured 20.00 | failed
Zapier                        | Settled        | Settled             | Settled        | Settled
`;

/** What plugins do at InvoiceCreated. */
const created: Readonly<Record<string, string>> = {
  'Easy Digital Downloads': 'pending',
  'Phoca Cart': 'New',
};

test('a shop that was down for hours, and whose payment is reorganised, is set right', async () => {
  const opened = await openShops();
  const { app, shops } = opened;
  for (const shop of shops) {
    const sale = await shop.sell();
    await app.settle();
    shop.isDown = true;
    await pay(opened, shop, sale);
  }
  await settle(opened);
  await mine(opened);
  await restartAfter(opened, 3 * 3_600_000);
  for (const shop of shops) {
    expect(shop.sales[0]?.state, shop.name).toBe(created[shop.name] ?? shop.plugin.firstState);
    for (const sale of shop.sales) await shop.plugin.cron?.(shop, sale);
    shop.isDown = false;
  }
  // Magento asks by itself.
  expect(shops.filter(({ sales: [sale] }) => sale?.effects.includes('captured'))).toMatchObject([
    { name: 'Magento 2', sales: [{ state: 'processing' }] },
  ]);
  await restartAfter(opened, 6 * 3_600_000);
  const note = () => found(shops, ({ sales: all }) => all.map(({ state }) => state));
  const states = [note()];
  for (const { name, events, plugin } of shops) {
    const types = events.map(({ type }) => type);
    const asked = ['InvoiceProcessing', 'InvoiceSettled'].filter(
      (type) => plugin.events?.includes(type) ?? true,
    );
    expect(
      types.filter((type) => asked.includes(type)),
      name,
    ).toEqual(asked);
  }
  app.chain.reorganise(2, { transactions: 'mempool' });
  await settle(opened);
  states.push(note());
  await mine(opened, 3);
  await app.world.advance(3_600_000);
  await app.settle();
  states.push(note());
  app.chain.reorganise(3, { blocks: 4, transactions: 'drop' });
  await app.outlastAbsence();
  await settle(opened);
  states.push(note());
  const history = found(shops, ({ name }) => states.flatMap((state) => state.get(name) ?? []));
  expect(history).toEqual(rowsOf(afterReorganisations));
  const [paid, ...others] = new Set(
    await Promise.all(shops.map(async (shop) => (await statusesOf(opened, shop)).join())),
  );
  expect([paid, others]).toEqual(['expired, Invalid, None', []]);
  const effects = (name: string) => shops.find((shop) => shop.name === name)?.sales[0]?.effects;
  expect(effects('WooCommerce')).toEqual([
    ...['stock -1', 'note: not on-hold', 'note: not failed'],
  ]);
  expect(effects('FOSSBilling')).toEqual(['credit 20']);
  expect(effects('WHMCS')).toEqual(['credit 20.00', 'manual review']);
  expect(effects('PrestaShop')).toEqual(['payment 20.00', 'note: not failed']);
});

test('a plugin sets itself up in the window alone, again after an update, and never elsewhere', async () => {
  const opened = await typedShops();
  const { app, shops } = opened;
  const [first, second] = shops as [PluginShop, PluginShop];
  const own = new Map(shops.map(({ name, typed }) => [name, typed]));
  for (const shop of shops) {
    if (shop.plugin.hook === undefined) continue;
    await expect(shop.connect(), shop.name).rejects.toThrow(/403.*Connect a plugin/);
  }
  await connect(app, shops);
  const hooksOf = async (shop: PluginShop): Promise<string[]> =>
    (await shop.api('GET', '/stores/{s}/webhooks')).map(({ id }: { id: string }) => id);
  for (const shop of shops) expect(await hooksOf(shop), shop.name).toEqual([shop.hook?.id]);

  // The key of another store sells nothing, and no plugin takes it for its own.
  for (const shop of shops) {
    const { typed } = shop;
    shop.type({ ...typed, key: (shop === first ? second : first).typed.key });
    if (shop.plugin.connect !== undefined) {
      await expect(shop.connect(), shop.name).rejects.toThrow();
    }
    await expect(shop.sell(), shop.name).rejects.toThrow();
    expect([...shop.settings.values()].filter((value) => value === '1')).toHaveLength(2);
    shop.type(typed);
  }

  // Its settings are saved again, and then it is installed anew.
  for (const forgets of [false, true]) {
    for (const shop of shops) if (forgets) delete shop.hook;
    await connect(app, shops);
    for (const shop of shops) expect(await hooksOf(shop), shop.name).toEqual([shop.hook?.id]);
  }
  for (const shop of shops) await pay(opened, shop, await shop.sell());
  await settle(opened);
  await mine(opened);
  for (const { name, answers, events, hook } of shops) {
    const { storeId } = own.get(name) ?? {};
    expect(new Set(answers), name).toEqual(new Set([200]));
    expect(new Set(events.map((each) => `${each.storeId} ${each.webhookId}`)), name).toEqual(
      new Set([`${storeId} ${hook?.id}`]),
    );
  }
});
