import { eq, sql } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { maxRowsRead } from '../../../src/store/db/searched-list.ts';
import { createPaymentCounts } from '../../../src/store/payments/payment-counts.ts';
import { createPaymentView, type PaymentFilter } from '../../../src/store/payments/payment-view.ts';
import { addresses, payments } from '../../../src/store/schema/schema.ts';
import { cleanUp } from '../../support/files.ts';
import { costOf, plansOf, statementsOf } from '../../support/plans.ts';
import { openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

/** A payment of 1,000 sat for each time at which one was first seen, to an address of its own. */
async function paidAt(...times: number[]): Promise<TestRecords> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  const seen = { state: 'settled' as const, valueSat: 1_000, changedAt: 0 };
  await records.write((tx) => {
    for (const [index, firstSeenAt] of times.entries()) {
      const { id: addressId } = records.addresses.issue(tx, 1, 1, 1);
      const txid = String(index).padStart(64, '0') as Txid;
      records.database.orm
        .insert(payments)
        .values({ ...seen, addressId, txid, firstSeenAt })
        .run();
    }
  });
  return records;
}

test('a span of time is paged without a gap, newest first, also after a clock was set back', async () => {
  const { paymentView: paymentDesk } = await paidAt(10, 20, 20, 5, 20, 30, 40);
  for (const limit of [1, 2, 3, 100]) {
    const found: number[] = [];
    const span = { since: 10, until: 40, limit };
    let page = paymentDesk.list(span);
    for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
      found.push(...page.map(({ id }) => id));
      page = paymentDesk.list({ ...span, beforeId: last.id });
    }
    expect(found).toEqual([6, 5, 3, 2, 1]);
  }
});

test('reversed payments are found among gone ones by an index, and their number matches', async () => {
  const { path, paymentView: paymentDesk, database } = await paidAt(10, 20, 30, 40, 50);
  const { orm } = database;
  const change = (id: number, values: Partial<typeof payments.$inferInsert>): void =>
    void orm.update(payments).set(values).where(eq(payments.id, id)).run();
  change(1, { state: 'dropped', changedAt: 100, status: 0 });
  change(2, { state: 'dropped', changedAt: 100, status: 2 });
  change(3, { state: 'dropped', changedAt: 101, status: 0, cycle: 1 });
  change(4, { state: 'dropped', changedAt: 101, status: null });
  change(5, { state: 'settled', changedAt: 101, status: 2 });
  const list = (reversedSince: number) => paymentDesk.list({ reversedSince, limit: 9 });
  for (const [since, ids] of [
    [99, [3, 2]],
    [100, [3]],
    [101, []],
  ] as const) {
    expect(list(since).map(({ id }) => id)).toEqual(ids);
    expect(createPaymentCounts(orm).reversals(since).count).toBe(ids.length);
  }
  const statements = await statementsOf(() => {
    createPaymentView(orm);
    createPaymentCounts(orm);
  });
  const plans = plansOf(
    path,
    statements.filter((text) => /changed_at" > /.test(text)),
  ).map(([first]) => first);
  expect(plans).toHaveLength(2);
  for (const step of plans) {
    expect(step).toMatch(/^SEARCH payments USING (COVERING )?INDEX payments_reversed /);
  }
});

/** Payments in all states to addresses of two stores, one without a store, and of a few times. */
async function mixed(): Promise<TestRecords> {
  const times = [10, 20, 20, 5, 20, 30, 40, 40, 7, 7, 7, 50, 1, 2, 3, 30, 30, 30];
  const records = await paidAt(...times);
  await records.addStore({ callbackUrl: 'https://second.example/' });
  const { orm } = records.database;
  const states = ['unconfirmed', 'confirming', 'confirmed', 'settled', 'dropped'] as const;
  for (const [place] of times.entries()) {
    const id = place + 1;
    const change = { state: states[id % 5] ?? 'settled', changedAt: 100 + id, status: 1 } as const;
    orm.update(payments).set(change).where(eq(payments.id, id)).run();
    const storeId = id % 3 === 0 ? 2 : id % 7 === 0 ? null : 1;
    const origin = storeId === null ? 'skipped' : 'issued';
    orm.update(addresses).set({ storeId, origin }).where(eq(addresses.id, id)).run();
  }
  return records;
}

const states = [undefined, ['dropped'], ['unconfirmed', 'confirming'], ['settled']] as const;
const filters: readonly Omit<PaymentFilter, 'limit'>[] = [undefined, 1, 2, null].flatMap(
  (storeId) =>
    states.flatMap((some) =>
      [undefined, 7].flatMap((since) =>
        [undefined, 30].flatMap((until) =>
          [undefined, 109].map((reversedSince) => ({
            ...{ storeId, states: some, since, until, reversedSince },
          })),
        ),
      ),
    ),
);

test('each set of filters lists what matches, page by page', async () => {
  const { paymentView, database } = await mixed();
  const all = paymentView.list({ limit: 100 });
  expect(all).toHaveLength(18);
  const changed = new Map(
    database.orm
      .select()
      .from(payments)
      .all()
      .map((row) => [row.id, row.changedAt] as const),
  );
  const [one] = all;
  const scripthash = addressOf(database, one?.addressId ?? 0);
  const places = [{}, { scripthash }, { txid: one?.txid }, { scripthash, txid: all[1]?.txid }];
  let matches = 0;
  for (const query of filters.flatMap((filter) =>
    places.map((place) => ({ ...filter, ...place })),
  )) {
    const { storeId, since = 0, until = 100, reversedSince } = query;
    const expected = all
      .filter(
        (row) =>
          (storeId === undefined || row.storeId === storeId) &&
          (query.states?.includes(row.state as never) ?? true) &&
          row.firstSeenAt >= since &&
          row.firstSeenAt < until &&
          (reversedSince === undefined ||
            (row.state === 'dropped' && (changed.get(row.id) ?? 0) > reversedSince)) &&
          (!('scripthash' in query) || row.addressId === one?.addressId) &&
          (!('txid' in query) || row.txid === query.txid),
      )
      .map(({ id }) => id);
    matches += expected.length;
    const isById = storeId === null || reversedSince !== undefined;
    const sorted = isById ? expected.toSorted((a, b) => b - a) : expected;
    const listed = paymentView.list({ ...query, limit: 100 }).map(({ id }) => id);
    expect([query, listed]).toEqual([query, sorted]);
    const paged: number[] = [];
    for (let beforeId: number | undefined; ; beforeId = paged.at(-1)) {
      const page = paymentView.list({ ...query, beforeId, limit: 2 });
      paged.push(...page.map(({ id }) => id));
      if (page.length < 2) break;
    }
    expect([query, paged]).toEqual([query, sorted]);
  }
  expect(matches).toBeGreaterThan(150);
  expect(paymentView.list({ beforeId: 99, limit: 9 })).toEqual([]);
});

const addressOf = ({ orm }: TestRecords['database'], id: number) =>
  orm.select().from(addresses).where(eq(addresses.id, id)).get()?.scripthash;

test('a page of a store compares so many payments, and goes on behind them', async () => {
  const records = await paidAt(1, 2, 3);
  await records.addStore({ callbackUrl: 'https://second.example/' });
  const { orm } = records.database;
  orm.update(addresses).set({ storeId: 2 }).where(eq(addresses.id, 1)).run();
  await records.write(() =>
    orm.run(sql`insert into payments (address_id, txid, value_sat, state, first_seen_at, changed_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${maxRowsRead})
      select 2, 'n' || i, 1000, 'settled', 10, 0 from n`),
  );
  const { paymentView } = records;
  const first = paymentView.page({ storeId: 2, limit: 9 });
  expect([first.rows, first.goesOnAt]).toEqual([[], 4]);
  const second = paymentView.page({ storeId: 2, limit: 9, beforeId: first.goesOnAt });
  expect([second.rows.map(({ id }) => id), second.goesOnAt]).toEqual([[1], undefined]);
  // Also in parts that a page does not fill.
  expect(paymentView.list({ storeId: 2, limit: 9 }).map(({ id }) => id)).toEqual([1]);
  expect(paymentView.page({ limit: 9 }).goesOnAt).toBeUndefined();
});

test('a page costs as much among many payments that do not match as among few', async () => {
  const rowsOf = async (others: number): Promise<number> => {
    const records = await paidAt(...Array.from({ length: others }, () => 40));
    const { orm } = records.database;
    const lone = { state: 'dropped', firstSeenAt: 1, status: 1 } as const;
    orm.update(payments).set(lone).where(eq(payments.id, 1)).run();
    const exact = filters.filter(
      (each) => each.storeId === undefined && each.states?.includes('dropped' as never),
    );
    const { rows } = await costOf(() => {
      for (const filter of exact) records.paymentView.page({ ...filter, limit: 5 });
      records.paymentView.page({ until: 20, limit: 5 });
    });
    return rows;
  };
  expect(await rowsOf(60)).toBe(await rowsOf(20));
});

test('a paid Lightning invoice is no payment of the chain', async () => {
  const { paymentView: paymentDesk, database } = await paidAt(10, 20, 30);
  database.orm.update(payments).set({ preimage: 'ff' }).where(eq(payments.id, 3)).run();
  const ids = (isOnChain?: true) =>
    paymentDesk.list({ ...(isOnChain && { isOnChain }), limit: 1 }).map(({ id }) => id);
  expect(ids()).toEqual([3]);
  expect(ids(true)).toEqual([2]);
});
