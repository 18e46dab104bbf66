// The rows of a shop's accounts: what a payment has of its order, pages without a gap, and indexes.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import type { AccountRow } from '../../../src/domain/payment/account-row.ts';
import { minuteMs } from '../../../src/lib/time-units.ts';
import type { Records } from '../../../src/store/open-records.ts';
import type { AccountFilter } from '../../../src/store/orders/account-view.ts';
import { createRefundedSatOf } from '../../../src/store/orders/refunded.ts';
import { createPaymentView } from '../../../src/store/payments/payment-view.ts';
import { refunds } from '../../../src/store/schema/order-schema.ts';
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
    ...{ height: null, minedAt: null, valueSat: 10_000, storeName: 'Shop', refundedSat: 0 },
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

test('refunds of an order that are done are at its first confirmed payment', async () => {
  const scene = await openOrder(inEuros);
  await scene.pay(25_000);
  await scene.replace(25_100);
  await scene.mine(2);
  await scene.pay(9_000);
  await scene.mine(2);
  const refund = { orderId: 1, address: 'bcrt1q', choice: 'excess', feeSat: 200 } as const;
  scene.shop.database.orm
    .insert(refunds)
    .values([
      { ...refund, createdAt: now, amountSat: 5_000, doneAt: now, txid: 'ab' },
      { ...refund, createdAt: now, amountSat: 3_800, doneAt: now },
      { ...refund, createdAt: now, amountSat: 100 },
    ])
    .run();
  expect((await rowsOf(scene.shop)).map((row) => [row.valueSat, row.refundedSat])).toEqual([
    [9_000, 0],
    [25_100, 8_800],
    [25_000, 0],
  ]);
  const statements = await statementsOf(() => createRefundedSatOf(scene.shop.database.orm));
  expect(plansOf(scene.shop.path, statements).flat()).toEqual([
    'SEARCH refunds USING INDEX refunds_order (order_id=?)',
  ]);
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
