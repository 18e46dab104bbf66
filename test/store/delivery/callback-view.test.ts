// Lists of callbacks: each set of filters, and how many rows a page reads.

import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Scripthash, Txid } from '../../../src/bitcoin/ids.ts';
import { maxRowsRead } from '../../../src/store/db/searched-list.ts';
import type { CallbackFilter } from '../../../src/store/delivery/callback-view.ts';
import type { NewCallback } from '../../../src/store/delivery/outbox.ts';
import { callbackColumns, deliveries } from '../../../src/store/schema/delivery-schema.ts';
import { payments } from '../../../src/store/schema/schema.ts';
import { type Owed, openOwed, withStatus } from '../../delivery/owed.ts';
import { combinations } from '../../support/combinations.ts';
import { costOf } from '../../support/plans.ts';
import { now } from '../../support/store.ts';

let owed: Owed;

beforeEach(() => {
  owed = openOwed();
});

afterEach(() => owed.close());

const hash = (number: number): string => number.toString(16).padStart(64, '0');

/** Callbacks of payments to two stores by turns; each address has two payments. */
async function addCallbacks(paymentCount: number): Promise<void> {
  const storeIds = [owed.addStore(), owed.addStore({ callbackUrl: 'http://127.0.0.1:1/b' })];
  let sibling: NewCallback | undefined;
  for (let at = 0; at < paymentCount; at += 1) {
    const storeId = storeIds[Math.floor(at / 2) % 2] ?? 1;
    const callback = owed.addPayment(storeId, at % 2 === 0 ? undefined : sibling);
    sibling = callback;
    await owed.enqueue(now + at, callback, withStatus(callback, 1));
  }
}

/** The same answers for all callbacks: a doubtful one, then one that was none. */
function addDoubts(ids: readonly number[], thenClear: readonly number[]): void {
  const add = (id: number, doubt: string | null) =>
    owed.database.orm.run(sql`insert into attempts
      (channel, delivery_id, started_at, duration_ms, outcome, doubt)
      values ('callback', ${id}, 0, 0, 'delivered', ${doubt})`);
  for (const id of ids) add(id, 'html');
  for (const id of thenClear) add(id, null);
}

test('each set of filters lists what matches, the newest first, page by page', async () => {
  await addCallbacks(20);
  const { orm } = owed.database;
  orm.run(sql`update deliveries set state = case id % 5 when 0 then 'owed' when 1 then 'held'
    when 2 then 'delivered' when 3 then 'superseded' else 'exhausted' end`);
  addDoubts([2, 7, 12, 17, 22, 23, 24], [12]);
  addDoubts([7], []);
  const doubted = new Set([2, 7, 17, 22]);
  const all = orm.select(callbackColumns).from(deliveries).all().reverse();
  const paid = orm.select().from(payments).all();
  const queries = combinations({
    ...{ storeId: [undefined, 1, 2, 3], state: [undefined, 'owed', 'held', 'delivered'] },
    ...{ since: [undefined, now + 5], until: [undefined, now + 15], doubted: [undefined, true] },
    id: [undefined, 7],
    scripthash: [undefined, hash(3) as Scripthash],
    txid: [undefined, hash(6) as Txid],
  });
  let matches = 0;
  for (const query of queries) {
    const { id, scripthash, txid } = query;
    const expected = all
      .filter((row) => {
        const payment = paid[row.paymentId - 1];
        return (
          row.storeId === (query.storeId ?? row.storeId) &&
          row.state === (query.state ?? row.state) &&
          row.createdAt >= (query.since ?? 0) &&
          row.createdAt < (query.until ?? Number.POSITIVE_INFINITY) &&
          (!query.doubted || doubted.has(row.id)) &&
          row.id === (id ?? row.id) &&
          (scripthash === undefined || hash((payment?.addressId ?? 0) - 1) === scripthash) &&
          (txid === undefined || payment?.txid === txid)
        );
      })
      .map((row) => row.id);
    matches += expected.length;
    const listed = owed.outbox.list({ ...query, limit: 100 }).map((row) => row.id);
    expect([query, listed]).toEqual([query, expected]);
    const paged: number[] = [];
    for (let beforeId: number | undefined; ; beforeId = paged.at(-1)) {
      const { rows, goesOnAt } = owed.outbox.page({ ...query, beforeId, limit: 3 });
      expect(goesOnAt).toBeUndefined();
      paged.push(...rows.map((row) => row.id));
      if (rows.length < 3) break;
    }
    expect([query, paged]).toEqual([query, expected]);
  }
  expect(matches).toBeGreaterThan(200);
});

test('a page reads what its search names, however many other callbacks there are', async () => {
  await addCallbacks(300);
  const { orm } = owed.database;
  orm.run(sql`update deliveries set state = 'delivered'`);
  orm.run(sql`update deliveries set state = 'owed' where id in (7, 8)`);
  orm.run(sql`update deliveries set state = 'exhausted' where id = 9`);
  addDoubts([5], []);
  const page = async (filter: Partial<CallbackFilter>) => {
    let count = 0;
    const { rows } = await costOf(() => {
      count = owed.outbox.page({ limit: 50, ...filter }).rows.length;
    });
    return { count, rows };
  };
  for (const [filter, count] of [
    [{ id: 3 }, 1],
    [{ txid: hash(7) as Txid }, 2],
    [{ scripthash: hash(7) as Scripthash }, 4],
    [{ scripthash: hash(7) as Scripthash, txid: hash(0) as Txid }, 0],
    [{ state: 'owed' }, 2],
    [{ state: 'exhausted' }, 1],
    [{ state: 'exhausted', storeId: 2 }, 0],
    [{ doubted: true }, 1],
  ] as const) {
    const found = await page(filter);
    expect([filter, found.count]).toEqual([filter, count]);
    expect([filter, found.rows <= 3 * count + 4]).toEqual([filter, true]);
  }
  expect((await page({})).rows).toBeLessThan(160);
});

test('callbacks that no index names are compared one by one, so many a page', async () => {
  await addCallbacks(1);
  owed.database.orm.run(sql`update deliveries set state = 'held' where id = 1`);
  owed.database.orm.run(sql`insert into deliveries (channel, id, payment_id,
      address_id, store_id, version, event_id, status, content, state, next_attempt_at, created_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${maxRowsRead})
    select 'callback', 2 + i, 1, 1, 1, 2 + i, 'e' || i, 0, '', 'delivered', 0, 0 from n`);
  for (const named of [{}, { txid: hash(0) as Txid }, { scripthash: hash(0) as Scripthash }]) {
    const page = (beforeId?: number) =>
      owed.outbox.page({ state: 'held', limit: 9, ...named, beforeId });
    const first = page();
    expect(first).toEqual({ rows: [], goesOnAt: 3 });
    const older = page(first.goesOnAt);
    expect([older.rows.map(({ id }) => id), older.goesOnAt]).toEqual([[1], undefined]);
    expect(owed.outbox.list({ state: 'held', limit: 9, ...named })).toHaveLength(1);
  }
});
