import { eq } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { payments } from '../../../src/store/db/schema.ts';
import { createPaymentCounts } from '../../../src/store/views/payment-counts.ts';
import { cleanUp } from '../../support/files.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { openTestStore, type TestStore } from '../../support/store.ts';

afterEach(cleanUp);

/** A payment of 1,000 sat for each time at which one was first seen, to an address of its own. */
async function paidAt(...times: number[]): Promise<TestStore> {
  const store = await openTestStore();
  await store.addWallet();
  await store.addStore();
  const seen = { state: 'settled' as const, valueSat: 1_000, changedAt: 0 };
  await store.write((tx) => {
    for (const [index, firstSeenAt] of times.entries()) {
      const { id: addressId } = store.addresses.issue(tx, 1, 1, 1);
      const txid = String(index).padStart(64, '0') as Txid;
      store.database.orm
        .insert(payments)
        .values({ ...seen, addressId, txid, firstSeenAt })
        .run();
    }
  });
  return store;
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
  const plan = plansOf(path, await statementsOf(() => list(99))).flat();
  expect(plan[0]).toBe('SEARCH payments USING INDEX payments_state (state=?)');
  expect(plan.join()).not.toContain('SCAN');
});
