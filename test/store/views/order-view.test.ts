// Lists of orders, and the index by which SQLite finds each of them.

import { afterEach, expect, test } from 'vitest';
import { parseLinkInput } from '../../../src/domain/link-input.ts';
import { idBytes, idOf } from '../../../src/domain/order-id.ts';
import { createLinkView } from '../../../src/store/views/link-view.ts';
import { newestFirst, type OrderQuery } from '../../../src/store/views/order-view.ts';
import { cleanUp } from '../../support/files.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { now, openTestStore, type TestStore } from '../../support/store.ts';

afterEach(cleanUp);

/** Orders made at these times; every third one has the reference `a`, every fourth one a link. */
async function storeWith(times: readonly number[]): Promise<TestStore> {
  const store = await openTestStore();
  await store.addWallet();
  for (const name of ['one', 'two']) {
    await store.addStore({ callbackUrl: `https://shop.example/${name}` });
  }
  await store.write((tx) => {
    const link = parseLinkInput({ title: 'Tips' });
    const publicId = idOf('lnk', new Uint8Array(idBytes));
    const { id: linkId } = store.links.create(tx, now, { ...link, publicId, storeId: 1 });
    for (const [at, time] of times.entries()) {
      const storeId = 1 + (at % 2);
      store.orders.create(tx, time, {
        publicId: idOf('ord', new Uint8Array(idBytes).fill(at)),
        ...{ storeId, addressId: store.addresses.issue(tx, time, 1, storeId).id },
        ...{ price: { kind: 'sat', amountSat: 1_000 }, rateCents: null, toleranceBasisPoints: 0 },
        ...{ latePolicy: 'worth', quoteSeconds: 900, expiresAt: null },
        ...{ reference: at % 3 === 0 ? 'a' : null, description: null, metadata: {} },
        ...{ returnUrl: null, language: null, ...(at % 4 === 0 && { linkId }) },
      });
    }
  });
  return store;
}

/** Walks no orders of other stores. */
const span = 'orders_created (store_id=? AND created_at';

const queries: readonly (readonly [string, Omit<OrderQuery, 'limit'>, string])[] = [
  ['all of a store', { storeId: 1 }, 'orders_store ('],
  ['a status of a store', { storeId: 1, status: 'open' }, 'orders_status ('],
  ['a reference', { storeId: 1, status: 'open', reference: 'a' }, 'orders_reference ('],
  [
    'a reference in a span',
    { storeId: 1, reference: 'a', createdAfter: now },
    'orders_reference (',
  ],
  ['a span', { storeId: 1, status: 'open', createdAfter: now + 2 }, span],
  ['the end of a span', { storeId: 1, createdBefore: now + 4 }, span],
  ['a link', { storeId: 1, linkId: 1, createdAfter: now }, 'orders_link'],
];

test.each(queries)('%s is found by its index, page by page', async (_what, query, index) => {
  // The clock was set back between two of them.
  const store = await storeWith([0, 1, 2, 3, 2, 5, 6, 7].map((ms) => now + ms));
  const all = store.orderView.list({ ...query, limit: 100 });
  const expected = store.orderView
    .list({ limit: 100 })
    .filter(
      (row) =>
        row.storeId === query.storeId &&
        row.reference === (query.reference ?? row.reference) &&
        row.linkId === (query.linkId ?? row.linkId) &&
        row.createdAt >= (query.createdAfter ?? 0) &&
        row.createdAt < (query.createdBefore ?? Number.POSITIVE_INFINITY),
    )
    .sort(newestFirst({ ...query, limit: 100 }));
  expect(all.length).toBeGreaterThan(0);
  expect(all).toEqual(expected);
  const paged = [];
  for (let beforeId: number | undefined; ; ) {
    const [row] = store.orderView.list({ ...query, beforeId, limit: 1 });
    if (row === undefined) break;
    paged.push(row);
    beforeId = row.id;
  }
  expect(paged).toEqual(expected);
  const statements = await statementsOf(() => store.orderView.list({ ...query, limit: 1 }));
  const plan = plansOf(store.path, statements).flat();
  expect(plan[0]).toContain(`SEARCH orders USING INDEX ${index}`);
  expect(plan.join()).not.toMatch(/SCAN|TEMP B-TREE/);
});

test('the orders of a link are counted by indexes', async () => {
  const store = await storeWith([0, 1, 2, 3, 4]);
  expect(store.linkView.counts(1)).toEqual({ orders: 2, paid: 0 });
  const statements = await statementsOf(() => createLinkView(store.database.orm, '').counts(1));
  const plans = plansOf(
    store.path,
    statements.filter((text) => text.includes('count(')),
  ).flat();
  expect(plans).toEqual([
    expect.stringContaining('USING COVERING INDEX orders_link '),
    expect.stringContaining('USING COVERING INDEX orders_link_paid '),
  ]);
});
