// The gaps of a wallet, however many of its addresses are unpaid.

import { sql } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import { gapLimitNeeded } from '../../../src/domain/store/allocation.ts';
import { cleanUp } from '../../support/files.ts';
import { now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

/** A wallet whose indexes from 0 up to 20,000, not including, were issued. */
async function openLong(): Promise<TestRecords> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  await records.write(() => {
    records.database.orm.run(sql`with recursive n(i) as
      (select 0 union all select i + 1 from n where i < 19999)
      insert or ignore into addresses
        (wallet_id, branch, derivation_index, address, script, scripthash, origin, store_id, issued_at)
      select 1, 0, i, 'a' || i, x'00', printf('%064d', i), 'issued', 1, ${now} from n`);
    records.database.orm.run(sql`update addresses set origin = 'issued', store_id = 1`);
    records.database.orm.run(sql`update wallets set next_index = 20000 where id = 1`);
  });
  return records;
}

const pay = (records: TestRecords, index: number, state = 'settled') =>
  records.write(() => {
    const { orm } = records.database;
    orm.run(sql`update addresses set status_hash = 'x' where derivation_index = ${index}`);
    orm.run(sql`insert into payments (address_id, txid, value_sat, state, first_seen_at, changed_at)
      select id, printf('%064d', derivation_index), 1000, ${state}, ${now}, ${now} from addresses
      where derivation_index = ${index}`);
  });

const gaps = ({ addresses }: TestRecords) => [
  ...[addresses.unpaidRun(1), addresses.widestStep(1), addresses.unpaidSinceBlock(1)],
];

test('each unpaid address behind the last paid one counts, also beyond 5,000', async () => {
  const records = await openLong();
  expect(gaps(records)).toEqual([20_000, 0, 20_000]);
  await pay(records, 80);
  expect(gaps(records)).toEqual([19_919, 81, 19_919]);
  expect(records.addresses.unpaidSinceBlock(1, 7)).toBe(7);
  const { addresses } = records;
  const found = { unpaid: addresses.unpaidRun(1), widest: addresses.widestStep(1) };
  expect(gapLimitNeeded(found, 9_999)).toBe(19_940);
  expect(gapLimitNeeded(found, 19_930)).toBeUndefined();
});

test('a paid invoice of its order makes no address paid, whatever was seen in a mempool', async () => {
  const records = await openLong();
  const payByLightning = () =>
    records.write(() => {
      records.database.orm.run(sql`insert into payments
        (address_id, txid, value_sat, state, preimage, first_seen_at, changed_at)
        select address_id, 'hash' || id, 1000, 'settled', 'aa', ${now}, ${now} from payments`);
    });
  await pay(records, 80, 'dropped');
  await payByLightning();
  // Its own history counts as seen.
  expect(gaps(records)).toEqual([20_000, 0, 19_999]);
  await records.write(() => {
    records.database.orm.run(sql`update payments set state = 'unconfirmed' where preimage is null`);
  });
  expect(gaps(records)).toEqual([19_919, 81, 19_999]);
});

test('a step from one paid address to the next is as wide as it is', async () => {
  const records = await openLong();
  await pay(records, 3);
  await pay(records, 15_000);
  await pay(records, 19_999);
  expect(gaps(records)).toEqual([0, 14_997, 0]);
});

test('a payment that is gone ends no gap, and an unconfirmed one ends none of strangers', async () => {
  const records = await openLong();
  await pay(records, 80);
  await pay(records, 19_000, 'dropped');
  expect(gaps(records)).toEqual([19_919, 81, 19_918]);
  await pay(records, 19_500, 'unconfirmed');
  expect(gaps(records)).toEqual([499, 19_420, 19_917]);
});

test('the widest step is looked for among the newest 5,000 paid ones', async () => {
  const records = await openLong();
  const { orm } = records.database;
  await pay(records, 100);
  await records.write(() => {
    orm.run(sql`update addresses set status_hash = 'x' where derivation_index >= 15000`);
    orm.run(sql`insert into payments (address_id, txid, value_sat, state, first_seen_at, changed_at)
      select id, printf('%064d', derivation_index), 1000, 'settled', ${now}, ${now} from addresses
      where derivation_index >= 15001`);
  });
  // 4,999 of them, the one before, and the beginning of the wallet are known.
  expect(records.addresses.widestStep(1)).toBe(14_901);
  await pay(records, 15_000);
  expect(records.addresses.widestStep(1)).toBe(1);
});
