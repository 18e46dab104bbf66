import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import type { PaymentState } from '../../../src/domain/payment/payment.ts';
import { payments } from '../../../src/store/schema/schema.ts';
import { createWatchedPages, type Watched } from '../../../src/store/wallets/watched-addresses.ts';
import { cleanUp } from '../../support/files.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

async function shop(): Promise<TestRecords> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  return records;
}

const issueAt = (records: TestRecords, ...times: number[]): Promise<number[]> =>
  records.write((tx) => times.map((at) => records.addresses.issue(tx, at, 1, 1).id));

function through(page: (last: Watched | undefined, limit: number) => Watched[], limit: number) {
  const ids: number[] = [];
  let rows = page(undefined, limit);
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    ids.push(...rows.map(({ id }) => id));
    rows = page(last, limit);
  }
  return ids;
}

test('recent ones come once each, newest first, also those of one millisecond', async () => {
  const records = await shop();
  const [old, a, b, c, d] = await issueAt(records, now - 9, now - 2, now - 5, now - 2, now - 2);
  await records.write((tx) => records.addresses.deriveAhead(tx, 1, 20));
  const { addresses } = records;
  for (const limit of [1, 2, 3, 100]) {
    expect(through((last, most) => addresses.recent(now - 9, last, most), limit)).toEqual([
      d,
      c,
      a,
      b,
    ]);
  }
  expect(addresses.countRecent(now - 9)).toBe(4);
  expect(addresses.recent(now - 10, undefined, 100).at(-1)?.id).toBe(old);
});

test('an address with a payment that may change comes once, however many payments it has', async () => {
  const records = await shop();
  const ids = await issueAt(records, ...Array.from({ length: 6 }, () => now));
  const states: PaymentState[][] = [
    ['unconfirmed'],
    ['settled'],
    ['confirmed', 'settled', 'confirming'],
    ['dropped'],
    [],
    ['confirming'],
  ];
  const { orm } = records.database;
  const rows = states.flatMap((each, at) => each.map((state, count) => ({ at, state, count })));
  await records.write(() => {
    for (const { at, state, count } of rows) {
      const txid = `${at}${count}`.padStart(64, '0') as Txid;
      const facts = { addressId: ids[at] ?? 0, txid, state };
      orm
        .insert(payments)
        .values({ ...facts, valueSat: 1, firstSeenAt: now, changedAt: now })
        .run();
    }
  });
  const page = (last: Watched | undefined, limit: number) =>
    records.addresses.unsettled(last?.id ?? Number.MAX_SAFE_INTEGER, limit);
  for (const limit of [1, 2, 100]) expect(through(page, limit)).toEqual([ids[5], ids[2], ids[0]]);
  expect(records.addresses.countUnsettled()).toBe(4);
});

test('no page reads more rows than it returns', async () => {
  const records = await shop();
  const { orm } = records.database;
  const statements = await statementsOf(() => createWatchedPages(orm));
  const pages = statements.filter((text) => text.includes('limit'));
  expect(pages).toHaveLength(4);
  // A key or an index to begin at, and nothing to sort.
  for (const step of plansOf(records.path, pages).flat())
    expect(step).toMatch(/^SEARCH \w+ USING /);
});

test('the look-ahead is read wallet by wallet, however many addresses were issued', async () => {
  const records = await shop();
  const { orm } = records.database;
  const statements = await statementsOf(() => createWatchedPages(orm));
  const near = statements.filter((text) => text.includes('"wallets"'));
  expect(near).toHaveLength(1);
  expect(plansOf(records.path, near).flat()).toContainEqual(
    expect.stringMatching(/^SEARCH addresses USING INDEX addresses_origin /),
  );
});
