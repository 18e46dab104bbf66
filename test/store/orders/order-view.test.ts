// Lists of orders, and the index by which SQLite finds each of them.

import { eq } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import { parseLinkInput } from '../../../src/domain/order/link-input.ts';
import { idBytes, idOf } from '../../../src/domain/order/order-id.ts';
import {
  createOrderView,
  type OrderQuery,
  type OrderRow,
} from '../../../src/store/orders/order-view.ts';
import { orders } from '../../../src/store/schema/order-schema.ts';
import { cleanUp } from '../../support/files.ts';
import { costOf, plansOf, statementsOf } from '../../support/plans.ts';
import { now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

/** Orders made at these times; every third one has the reference `a`, every fourth one a link. */
async function storeWith(times: readonly number[]): Promise<TestRecords> {
  const records = await openTestStore();
  await records.addWallet();
  for (const name of ['one', 'two']) {
    await records.addStore({ callbackUrl: `https://shop.example/${name}` });
  }
  await records.write((tx) => {
    const link = parseLinkInput({ title: 'Tips' });
    const publicId = idOf('lnk', new Uint8Array(idBytes));
    const { id: linkId } = records.links.create(tx, now, { ...link, publicId, storeId: 1 });
    for (const [at, time] of times.entries()) {
      const storeId = 1 + (at % 2);
      records.orders.create(tx, time, {
        publicId: idOf('ord', new Uint8Array(idBytes).fill(at)),
        ...{ storeId, addressId: records.addresses.issue(tx, time, 1, storeId).id },
        ...{ price: { kind: 'sat', amountSat: 1_000 }, rateCents: null, toleranceBasisPoints: 0 },
        ...{ latePolicy: 'worth', quoteSeconds: 900, expiresAt: null },
        ...{ reference: at % 3 === 0 ? 'a' : null, description: null, metadata: {} },
        ...{ returnUrl: null, language: null, ...(at % 4 === 0 && { linkId }) },
      });
    }
  });
  return records;
}

const statuses = ['open', 'processing', 'paid', 'expired', 'canceled'] as const;

/** Each set of filters. */
const queries = [undefined, 1, 2, 3].flatMap((storeId) =>
  [undefined, 'open', 'paid'].flatMap((status) =>
    [undefined, 'a', 'b'].flatMap((reference) =>
      [undefined, 1, 2].flatMap((linkId) =>
        [undefined, now + 2].flatMap((createdAfter) =>
          [undefined, now + 6].map(
            (createdBefore) =>
              ({
                ...{ storeId, status, reference, linkId, createdAfter, createdBefore },
              }) as Omit<OrderQuery, 'limit'>,
          ),
        ),
      ),
    ),
  ),
);

test('each set of filters lists what matches, the newest first, page by page', async () => {
  // The clock was set back between two of them, and stood still between others.
  const records = await storeWith([0, 1, 2, 3, 2, 5, 6, 7, 7, 7, 6, 2, 1, 8].map((ms) => now + ms));
  const { orm } = records.database;
  const rows = orm.select().from(orders).all();
  expect(records.orderView.list({ limit: 100 })).toHaveLength(rows.length);
  for (const [at, { id }] of rows.entries()) {
    const status = statuses[at % statuses.length] ?? 'open';
    if (at > 4) orm.update(orders).set({ status }).where(eq(orders.id, id)).run();
  }
  const all = orm.select().from(orders).all();
  let matches = 0;
  for (const query of queries) {
    const expected = all
      .filter(
        (row) =>
          row.storeId === (query.storeId ?? row.storeId) &&
          row.status === (query.status ?? row.status) &&
          row.reference === (query.reference ?? row.reference) &&
          row.linkId === (query.linkId ?? row.linkId) &&
          row.createdAt >= (query.createdAfter ?? 0) &&
          row.createdAt < (query.createdBefore ?? Number.POSITIVE_INFINITY),
      )
      .sort((one, other) => other.createdAt - one.createdAt || other.id - one.id);
    matches += expected.length;
    expect([query, records.orderView.list({ ...query, limit: 100 })]).toEqual([query, expected]);
    const paged: OrderRow[] = [];
    for (let beforeId: number | undefined; ; beforeId = paged.at(-1)?.id) {
      const page = records.orderView.list({ ...query, beforeId, limit: 2 });
      paged.push(...page);
      if (page.length < 2) break;
    }
    expect([query, paged]).toEqual([query, expected]);
  }
  expect(matches).toBeGreaterThan(200);
  // A page behind an order that does not match is as good.
  const [newest] = records.orderView.list({ limit: 1 });
  const behind = { createdBefore: now + 2, beforeId: newest?.id };
  expect(records.orderView.list({ ...behind, limit: 9 })).toEqual(
    records.orderView.list({ createdBefore: now + 2, limit: 9 }),
  );
  expect(records.orderView.list({ beforeId: 999, limit: 9 })).toEqual([]);
});

test('each list reads an index to its end, whatever the filters are', async () => {
  const records = await storeWith([0, 1]);
  const lists = (
    await statementsOf(() =>
      createOrderView({ ...records, orm: records.database.orm, baseUrl: '' }),
    )
  ).filter((text) => text.includes('limit'));
  const plans = plansOf(records.path, lists).map((steps) => steps.join('; '));
  const indexes = [
    'orders_status (store_id=? AND status=? AND',
    'orders_reference (store_id=? AND reference=? AND status=? AND',
    'orders_link (store_id=? AND link_id=? AND status=? AND',
    'orders_link_reference (store_id=? AND link_id=? AND reference=? AND status=? AND',
  ];
  expect(plans).toEqual(
    indexes.flatMap((index) => [
      `SEARCH orders USING INDEX ${index} created_at=? AND rowid<?)`,
      `SEARCH orders USING INDEX ${index} created_at<?)`,
    ]),
  );
});

test('a page costs as much among many orders that do not match as among few', async () => {
  const rowsOf = async (others: number): Promise<number> => {
    const records = await storeWith(Array.from({ length: others }, (_, at) => now + at));
    const { orm } = records.database;
    orm.update(orders).set({ status: 'paid', reference: 'a', linkId: 1 }).run();
    orm.update(orders).set({ status: 'open' }).where(eq(orders.id, 1)).run();
    const { rows } = await costOf(() => {
      for (const query of queries) records.orderView.list({ ...query, status: 'open', limit: 20 });
    });
    return rows;
  };
  expect(await rowsOf(80)).toBe(await rowsOf(20));
});
