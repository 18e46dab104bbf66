// The rows of a shop's accounts: what a payment has of its order, pages without a gap, and indexes.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { parseLinkInput } from '../../../src/domain/order/link-input.ts';
import type { AccountRow } from '../../../src/domain/payment/account-row.ts';
import { minuteMs } from '../../../src/lib/time-units.ts';
import type { Records } from '../../../src/store/open-records.ts';
import { type AccountFilter, createAccountView } from '../../../src/store/orders/account-view.ts';
import { createPaymentView } from '../../../src/store/payments/payment-view.ts';
import { orders, refunds } from '../../../src/store/schema/order-schema.ts';
import { payments } from '../../../src/store/schema/schema.ts';
import { cleanUp } from '../../support/files.ts';
import { inEuros, openOrder } from '../../support/order-scene.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

async function rowsOf(
  { accountView }: Pick<Records, 'accountView'>,
  filter: AccountFilter = {},
): Promise<AccountRow[]> {
  const found: AccountRow[] = [];
  for await (const page of accountView.pages(filter, now)) found.push(...page);
  return found;
}

test('a payment has the rate, the lateness and the block of its order', async () => {
  const scene = await openOrder({ ...inEuros, reference: '1007' });
  await scene.pay(10_000);
  await scene.price(4_900_000);
  const [seen] = await rowsOf(scene.shop);
  expect(seen).toMatchObject({
    state: 'unconfirmed',
    ...{ height: null, minedAt: null, valueSat: 10_000, storeName: 'Shop' },
    ...{ currency: 'EUR', priceCents: 4_900_000, priceSources: 'a.example b.example' },
    order: { reference: '1007', currency: 'EUR', amountMinor: 1_250, rateCents: 5_000_000 },
  });
  await scene.mine(2);
  await scene.pass(20 * minuteMs);
  await scene.pay(15_000);
  await scene.price(4_800_000);
  const [late, first] = await rowsOf(scene.shop);
  expect(first).toMatchObject({ state: 'confirmed', order: { isLate: false } });
  expect(first?.height).toBe(111);
  expect(first?.minedAt).toBe((scene.shop.headers.bestAt(111)?.header.time ?? 0) * 1000);
  // It counts at the lower of its quote and the price when it was seen.
  expect(late?.order).toMatchObject({ rateCents: 4_800_000, isLate: true });
});

test('a replaced payment is dropped, and counts in no sum', async () => {
  const scene = await openOrder(inEuros);
  await scene.pay(25_000);
  await scene.replace(25_100);
  await scene.mine(2);
  expect((await rowsOf(scene.shop)).map(({ state, valueSat }) => [state, valueSat])).toEqual([
    ['confirmed', 25_100],
    ['dropped', 25_000],
  ]);
  const sums = await scene.shop.accountView.sums({});
  expect(sums).toMatchObject({ count: 1, valueSat: 25_100n });
});

test('refunds that are sent are rows of their own, at their time', async () => {
  const scene = await openOrder(inEuros);
  await scene.pay(25_000);
  await scene.pass(minuteMs);
  await scene.pay(9_000);
  await scene.mine(2);
  const [second, first] = scene.shop.paymentView.list({ limit: 2 });
  const refund = { orderId: 1, address: 'bcrt1q', choice: 'excess', feeSat: 200 } as const;
  const between = (first?.firstSeenAt ?? 0) + 1;
  const later = (second?.firstSeenAt ?? 0) + 9 * minuteMs;
  scene.shop.database.orm
    .insert(refunds)
    .values([
      { ...refund, createdAt: now, amountSat: 5_000, doneAt: between, txid: 'ab' },
      {
        ...{ ...refund, createdAt: now, amountSat: 3_800, doneAt: later },
        ...{ currency: 'EUR', priceCents: 5_000_000 },
      },
      { ...refund, createdAt: now, amountSat: 100 },
    ])
    .run();
  const values = async (filter: AccountFilter = {}) =>
    (await rowsOf(scene.shop, filter)).map(({ valueSat }) => valueSat);
  expect(await values()).toEqual([-3_800, 9_000, -5_000, 25_000]);
  const [newest] = await rowsOf(scene.shop);
  expect(newest).toMatchObject({
    ...{ state: 'settled', firstSeenAt: later, currency: 'EUR', priceCents: 5_000_000 },
    ...{ storeName: 'Shop', address: 'bcrt1q', txid: null, height: null, minedAt: null },
    order: { currency: 'EUR', amountMinor: 1_250, isLate: false, rateCents: null },
  });
  expect(await values({ since: later })).toEqual([-3_800]);
  expect(await values({ until: later })).toEqual([9_000, -5_000, 25_000]);
  expect(await values({ since: between, until: between + 1 })).toEqual([-5_000]);
  expect(await values({ storeId: 2 })).toEqual([]);
  expect(await values({ storeId: null })).toEqual([]);
  expect(await values({ states: ['confirmed', 'settled'] })).toHaveLength(4);
  expect(await values({ states: ['unconfirmed'] })).toEqual([]);
  expect(await values({ reversedSince: 0 })).toEqual([]);
  expect(await values({ ids: [1] })).toEqual([-3_800, -5_000, 25_000]);
  expect(await values({ ids: [] })).toEqual([]);
  const sums = await scene.shop.accountView.sums({});
  expect(sums).toMatchObject({ count: 2, refundCount: 2, valueSat: 25_200n });
  expect(scene.shop.accountView.refunds({})).toHaveLength(2);
  const statements = await statementsOf(() =>
    createAccountView({ ...scene.shop, orm: scene.shop.database.orm }),
  );
  const ofRefunds = statements.filter((text) => text.includes('from "refunds"'));
  expect(plansOf(scene.shop.path, ofRefunds).flat().join()).toMatch(
    /SEARCH refunds USING INDEX refunds_done \(done_at>\? AND done_at<\?\)(?!.*TEMP B-TREE)/,
  );
});

test('a row has the texts of its order, and the title of its link', async () => {
  const scene = await openOrder({ ...inEuros, reference: '1007', description: 'Two cups' });
  await scene.pay(25_000);
  const { shop } = scene;
  const [own] = await rowsOf(shop);
  expect(own?.order).toMatchObject({ description: 'Two cups', linkTitle: null });
  await shop.write((tx) => {
    const link = { ...parseLinkInput({ title: 'Counter' }), publicId: 'lnk_1', storeId: 1 };
    const { id: linkId } = shop.links.create(tx, now, link);
    shop.database.orm.update(orders).set({ linkId }).run();
  });
  const [ofLink] = await rowsOf(shop);
  expect(ofLink?.order).toMatchObject({ description: 'Two cups', linkTitle: 'Counter' });
});

test('a payment whose block left the chain has no block', async () => {
  const scene = await openOrder();
  await scene.pay(25_000);
  await scene.mine(1);
  await scene.reorganise(1, 'mempool');
  const [row] = await rowsOf(scene.shop);
  expect(row).toMatchObject({ height: null, minedAt: null, order: { rateCents: null } });
});

/** Payments of 1,000 sat, a second apart, each to an address of its own without an order. */
async function paid(count: number): Promise<TestRecords> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  await records.write((tx) => {
    for (let index = 0; index < count; index += 1) {
      const { id: addressId } = records.addresses.issue(tx, 1, 1, 1);
      const txid = String(index).padStart(64, '0') as Txid;
      const seen = { state: 'settled' as const, valueSat: 1_000, changedAt: 0 };
      records.database.orm
        .insert(payments)
        .values({ ...seen, addressId, txid, firstSeenAt: index * 1_000 })
        .run();
    }
  });
  return records;
}

test('pages have no gap and no row twice, and a turn of the event loop each', async () => {
  const records = await paid(250);
  const sizes: number[] = [];
  for await (const page of records.accountView.pages({}, now)) sizes.push(page.length);
  expect(sizes).toEqual([100, 100, 50]);
  const txids = (await rowsOf(records)).map(({ txid }) => Number(txid));
  expect(txids).toEqual(Array.from({ length: 250 }, (_, index) => 249 - index));
  const span = await rowsOf(records, { since: 10_000, until: 200_000 });
  expect(span.map(({ txid }) => Number(txid))).toEqual(
    Array.from({ length: 190 }, (_, index) => 199 - index),
  );
  expect((await records.accountView.sums({ since: 10_000 })).valueSat).toBe(240_000n);
});

test('every page is found by an index, and read in its order', async () => {
  const records = await paid(150);
  const statements = await statementsOf(() => createPaymentView(records.database.orm));
  const lists = statements.filter((text) => /first_seen_at" desc/.test(text));
  expect(plansOf(records.path, lists).map(([first]) => first)).toEqual([
    'SEARCH payments USING INDEX payments_seen (state=? AND first_seen_at=? AND id<?)',
    'SEARCH payments USING INDEX payments_seen (state=? AND first_seen_at<?)',
  ]);
  const steps = plansOf(records.path, lists).flat();
  expect(steps.join()).not.toMatch(/SCAN|TEMP B-TREE/);
});
