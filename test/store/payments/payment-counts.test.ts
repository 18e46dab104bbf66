import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import type { StatusHash } from '../../../src/domain/payment/script-history.ts';
import { createPaymentCounts } from '../../../src/store/payments/payment-counts.ts';
import { addresses, payments } from '../../../src/store/schema/schema.ts';
import { cleanUp } from '../../support/files.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

const now = 1_763_650_000_000;
const statusHash = 'ab'.repeat(32) as StatusHash;

/** A payment to an address that was skipped, and that no store is known for. */
async function paidNobody() {
  const shop = await openTestStore();
  await shop.addWallet();
  await shop.addStore();
  const { id } = await shop.issue();
  const { orm } = shop.database;
  orm.update(addresses).set({ origin: 'skipped', storeId: null, statusHash }).run();
  const txid = 'ab'.repeat(32) as Txid;
  const seen = { txid, valueSat: 1_000, firstSeenAt: now, changedAt: now } as const;
  const flags = { coinbase: false, signalsRbf: false } as const;
  orm
    .insert(payments)
    .values({ addressId: id, state: 'confirmed', ...seen, ...flags })
    .run();
  return { ...shop, drop: () => void orm.update(payments).set({ state: 'dropped' }).run() };
}

test('payments of no store are counted since a time, by the index of skipped addresses', async () => {
  const { path, database } = await paidNobody();
  const counts = createPaymentCounts(database.orm);
  expect(counts.unclaimed(now - 1)).toEqual({ count: 1, firstAt: now });
  expect(counts.unclaimed(now + 60_000)).toEqual({ count: 0, firstAt: undefined });
  const statements = await statementsOf(() => createPaymentCounts(database.orm));
  const plan = plansOf(
    path,
    statements.filter((text) => text.includes('skipped')),
  ).flat();
  expect(plan).toContainEqual(expect.stringContaining('INDEX addresses_origin'));
  expect(plan.join()).not.toMatch(/SCAN (addresses|payments)/);
});

test('a count is cached for a minute, and evicted by a change that may affect it', async () => {
  const { database, drop } = await paidNobody();
  const counts = createPaymentCounts(database.orm);
  expect(counts.unclaimed(now - 1).count).toBe(1);
  drop();
  counts.moved({ before: 'unconfirmed', after: 'confirming' });
  expect(counts.unclaimed(now + 59_998).count).toBe(1);
  counts.moved({ before: 'confirmed', after: 'dropped' });
  expect(counts.unclaimed(now + 59_998).count).toBe(0);
});
