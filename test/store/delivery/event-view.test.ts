// Lists of events: each set of filters, and how many rows a page reads.

import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { maxRowsRead } from '../../../src/store/db/searched-list.ts';
import type { EventFilter } from '../../../src/store/delivery/event-view.ts';
import {
  deliveries,
  type EventState,
  type EventType,
  eventColumns,
} from '../../../src/store/schema/delivery-schema.ts';
import { orders } from '../../../src/store/schema/order-schema.ts';
import { combinations } from '../../support/combinations.ts';
import { cleanUp } from '../../support/files.ts';
import { costOf } from '../../support/plans.ts';
import { now, openTestStore, type TestRecords } from '../../support/store.ts';

let shop: TestRecords;

beforeEach(async () => {
  shop = await openTestStore();
  await shop.addWallet();
  for (const name of ['one', 'two']) {
    await shop.addStore({ callbackUrl: `https://shop.example/${name}` });
  }
});

afterEach(cleanUp);

const txidOf = (number: number): Txid => String(number).padStart(64, '0') as Txid;

/** An order of each reference, with a payment by the transaction of its place. */
async function addOrders(references: readonly string[]): Promise<void> {
  await shop.write((tx) => {
    for (const [at, reference] of references.entries()) {
      const storeId = 1 + (at % 2);
      const { id: addressId } = shop.addresses.issue(tx, now, 1, storeId);
      shop.database.orm
        .insert(orders)
        .values({
          ...{ publicId: `ord_${at}`, storeId, addressId, amountSat: 1, quoteSeconds: 900 },
          ...{ toleranceBasisPoints: 0, latePolicy: 'worth', createdAt: now, status: 'open' },
          ...{ version: 1, fingerprint: '', reference },
        })
        .run();
      shop.database.orm.run(sql`insert into payments
        (address_id, txid, value_sat, state, first_seen_at, changed_at)
        values (${addressId}, ${txidOf(at % 3)}, 1000, 'settled', ${now}, ${now})`);
    }
  });
}

/** Events of all orders by turns, or of none. */
const addEvents = (count: number, states: readonly EventState[], types: readonly EventType[]) =>
  shop.write(() => {
    const addresses = shop.database.orm.select().from(orders).all();
    for (let at = 0; at < count; at += 1) {
      const order = addresses[at % (addresses.length + 1)];
      shop.database.orm
        .insert(deliveries)
        .values({
          ...{ channel: 'webhook', id: at + 1, eventId: `evt_${at}` },
          ...{ storeId: order?.storeId ?? 1, orderId: order?.id ?? null },
          ...{ addressId: order?.addressId ?? 1, content: '{}', createdAt: now + at },
          ...{ nextAttemptAt: now, state: states[at % states.length] ?? 'owed' },
          type: types[at % types.length] ?? 'order.paid',
        })
        .run();
    }
  });

const states: readonly EventState[] = ['owed', 'delivered', 'exhausted', 'unsent', 'superseded'];
const types: readonly EventType[] = ['order.paid', 'payment.seen'];

test('each set of filters lists what matches, the newest first, page by page', async () => {
  await addOrders(['a', 'a', 'b', 'c']);
  await addEvents(60, states, types);
  const { orm } = shop.database;
  const all = orm.select(eventColumns).from(deliveries).all().reverse();
  const made = orm.select().from(orders).all();
  const referenceOf = (id: number | null) => made.find((order) => order.id === id)?.reference;
  const paidBy = (id: number | null) => id !== null && (id - 1) % 3 === 0;
  const queries = combinations({
    ...{ storeId: [undefined, 1, 2, 3], state: [undefined, 'owed', 'exhausted', 'unsent'] },
    ...{ type: [undefined, 'order.paid'], since: [undefined, now + 10] },
    until: [undefined, now + 50],
    named: [{}, { publicId: 'evt_20' }, { orderId: 2 }, { reference: 'a' }, { txid: txidOf(0) }],
  });
  let matches = 0;
  for (const { named, ...rest } of queries) {
    const query = { ...rest, ...named } as Omit<EventFilter, 'limit'>;
    const expected = all
      .filter(
        (row) =>
          row.storeId === (query.storeId ?? row.storeId) &&
          row.state === (query.state ?? row.state) &&
          row.type === (query.type ?? row.type) &&
          row.createdAt >= (query.since ?? 0) &&
          row.createdAt < (query.until ?? Number.POSITIVE_INFINITY) &&
          row.publicId === (query.publicId ?? row.publicId) &&
          (query.orderId === undefined || row.orderId === query.orderId) &&
          (query.reference === undefined || referenceOf(row.orderId) === query.reference) &&
          (query.txid === undefined || paidBy(row.orderId)),
      )
      .map(({ id }) => id);
    matches += expected.length;
    const listed = shop.eventView.list({ ...query, limit: 100 }).map(({ id }) => id);
    expect([query, listed]).toEqual([query, expected]);
    const paged: number[] = [];
    for (let beforeId: number | undefined; ; beforeId = paged.at(-1)) {
      const { rows, goesOnAt } = shop.eventView.page({ ...query, beforeId, limit: 4 });
      expect(goesOnAt).toBeUndefined();
      paged.push(...rows.map(({ id }) => id));
      if (rows.length < 4) break;
    }
    expect([query, paged]).toEqual([query, expected]);
  }
  expect(matches).toBeGreaterThan(500);
});

test('a page reads what its search names, however many other events there are', async () => {
  await addOrders([...Array.from({ length: 400 }, (_, at) => `many ${at}`), 'mine']);
  await addEvents(1_200, ['delivered'], types);
  const { orm } = shop.database;
  orm.run(sql`update deliveries set state = 'owed' where id in (7, 8)`);
  orm.run(sql`update deliveries set state = 'exhausted' where id = 9`);
  orm.run(sql`update payments set txid = ${'f'.repeat(64)} where id = 401`);
  const page = async (filter: Partial<EventFilter>) => {
    let count = 0;
    const { rows } = await costOf(() => {
      count = shop.eventView.page({ limit: 50, ...filter }).rows.length;
    });
    return { count, rows };
  };
  for (const [filter, count] of [
    [{ reference: 'mine' }, 2],
    [{ reference: 'nothing' }, 0],
    [{ txid: 'f'.repeat(64) as Txid }, 2],
    [{ orderId: 401 }, 2],
    [{ publicId: 'evt_1' }, 1],
    [{ state: 'owed' }, 2],
    [{ state: 'exhausted' }, 1],
    [{ state: 'exhausted', storeId: 2 }, 0],
  ] as const) {
    const found = await page(filter);
    expect([filter, found.count]).toEqual([filter, count]);
    expect([filter, found.rows <= 3 * count + 3]).toEqual([filter, true]);
  }
  expect((await page({})).rows).toBeLessThan(160);
  expect((await page({ type: 'order.paid' })).rows).toBeLessThan(160);
});

test('events of a reference of many orders are compared one by one, so many a page', async () => {
  await addOrders([...Array.from({ length: 205 }, () => 'same'), 'other']);
  await addEvents(208, ['delivered'], types);
  const list = (beforeId?: number) =>
    shop.eventView.page({ reference: 'same', beforeId, limit: 9 });
  expect(list().rows.map(({ id }) => id)).toEqual([208, 205, 204, 203, 202, 201, 200, 199, 198]);
  shop.database.orm.run(sql`insert into deliveries (channel, id, event_id, store_id,
      address_id, type, content, created_at, state, next_attempt_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${maxRowsRead})
    select 'webhook', 208 + i, 'evt_more_' || i, 1, 1, 'payment.seen', '{}', 0, 'delivered', 0 from n`);
  const first = list();
  expect(first).toEqual({ rows: [], goesOnAt: 209 });
  expect(list(first.goesOnAt).rows).toHaveLength(9);
});

test('an event shows the outcome of its last attempt', async () => {
  await addOrders(['a']);
  await addEvents(1, ['owed'], types);
  const attempt = (outcome: string, reason: string) =>
    shop.database.orm.run(sql`insert into attempts (channel,
      delivery_id, started_at, duration_ms, outcome, reason) values ('webhook', 1, 0, 0, ${outcome}, ${reason})`);
  expect(shop.eventView.event(1)).toMatchObject({ outcome: null, reason: null });
  attempt('status', 'first');
  attempt('timeout', 'second');
  const shown = { id: 1, publicId: 'evt_0', outcome: 'timeout', reason: 'second' };
  expect(shop.eventView.event('evt_0')).toMatchObject(shown);
  expect(shop.eventView.list({ limit: 1 })).toMatchObject([shown]);
  expect(() => shop.eventView.event(2)).toThrow('there is no event 2');
  expect(() => shop.eventView.event('evt_9')).toThrow('there is no event evt_9');
});
