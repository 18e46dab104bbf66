// What was received in a span of time: confirmed payments alone, and their worth by currency.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { maxMoneySat } from '../../../src/bitcoin/transaction.ts';
import { minorWorthOf, worthOf } from '../../../src/domain/payment/currency.ts';
import { payments } from '../../../src/store/schema/schema.ts';
import { cleanUp } from '../../support/files.ts';
import { openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

type Values = Partial<typeof payments.$inferInsert>;

async function paid(...rows: Values[]): Promise<TestRecords> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  await records.write((tx) => {
    for (const [index, values] of rows.entries()) {
      const { id: addressId } = records.addresses.issue(tx, 1, 1, 1);
      const txid = String(index).padStart(64, '0') as Txid;
      const usual = { state: 'settled' as const, valueSat: 1_000, firstSeenAt: 10, changedAt: 0 };
      records.database.orm
        .insert(payments)
        .values({ ...usual, ...values, addressId, txid })
        .run();
    }
  });
  return records;
}

const span = { since: 10, until: 20, currencies: [] as string[] };

test('payments of a span are summed, without those that are not confirmed', async () => {
  const { receivedView } = await paid(
    ...[{ firstSeenAt: 9 }, { firstSeenAt: 10 }, { firstSeenAt: 19 }, { firstSeenAt: 20 }],
    ...[{ state: 'confirmed' as const }, { state: 'dropped' as const }],
    ...[{ state: 'unconfirmed' as const }, { state: 'confirming' as const, valueSat: 500 }],
  );
  expect(receivedView.received(span)).toEqual({ count: 3, valueSat: 3_000, worths: [] });
  expect(receivedView.unconfirmed()).toEqual({ count: 2, valueSat: 1_500 });
  expect(receivedView.payment(4)).toEqual({ firstSeenAt: 20, currency: null });
});

test('sums of invented payments are at most all bitcoins', async () => {
  // 64 bits hold the sum of 4,392 of them.
  const records = await paid();
  const { id: addressId } = await records.issue();
  const huge = { valueSat: maxMoneySat, addressId, firstSeenAt: 10, changedAt: 0 };
  const price = { currency: 'EUR', priceCents: 1_000_000_000_000 };
  await records.write(() => {
    for (let count = 1; count <= 9_000; count += 1) {
      const txid = String(count).padStart(64, '0') as Txid;
      const state = count <= 4_500 ? 'unconfirmed' : 'settled';
      const row = { ...huge, ...price, txid, state } as const;
      records.database.orm.insert(payments).values(row).run();
    }
  });
  const { receivedView } = records;
  expect(receivedView.unconfirmed()).toEqual({ count: 4_500, valueSat: maxMoneySat });
  expect(receivedView.received({ ...span, currencies: ['EUR'] })).toEqual({
    count: 4_500,
    valueSat: maxMoneySat,
    worths: [{ currency: 'EUR', minor: Number.MAX_SAFE_INTEGER, valueSat: maxMoneySat }],
  });
});

test('the worth is the sum of the rounded worths, whatever the decimals of a currency', async () => {
  const rows: (Values & { readonly valueSat: number })[] = [
    ...[1, 7, 333, 50_000].map((valueSat) => ({
      valueSat,
      currency: 'EUR',
      priceCents: 5_012_345,
    })),
    ...[999, 20_000].map((valueSat) => ({ valueSat, currency: 'JPY', priceCents: 1_500_000_050 })),
    { valueSat: 4_001, currency: 'KWD', priceCents: 1_912_345 },
    // Without a price, and in a currency that is not asked for.
    ...[{ valueSat: 5_000, currency: 'EUR' }],
    ...[{ valueSat: 5_000, currency: 'USD', priceCents: 6_000_000 }],
  ];
  const { receivedView } = await paid(...rows);
  const currencies = ['EUR', 'JPY', 'KWD', 'CHF'];
  const { worths, count } = receivedView.received({ ...span, currencies });
  expect(count).toBe(rows.length);
  const digits = { EUR: 2, JPY: 0, KWD: 3 } as const;
  for (const [currency, decimals] of Object.entries(digits)) {
    const priced = rows.flatMap(({ priceCents, valueSat, ...row }) =>
      row.currency === currency && typeof priceCents === 'number'
        ? [Number(worthOf(valueSat, priceCents, currency))]
        : [],
    );
    const sum = priced.reduce((all, each) => all + each * 10 ** decimals, 0);
    expect(worths.find((each) => each.currency === currency)?.minor).toBe(Math.round(sum));
  }
  expect(worths.map(({ currency }) => currency)).toEqual(['EUR', 'JPY', 'KWD']);
  expect(receivedView.currencies(10).sort()).toEqual(['EUR', 'JPY', 'KWD', 'USD']);
  expect(receivedView.currencies(11)).toEqual([]);
});

test('an amount of all bitcoins has a worth', async () => {
  const huge = { valueSat: 2_100_000_000_000_000, currency: 'EUR', priceCents: 10_000_000 };
  const { receivedView } = await paid(huge, huge);
  const [worth] = receivedView.received({ ...span, currencies: ['EUR'] }).worths;
  expect(worth?.minor).toBe(2 * 210_000_000_000_000);
});

test('the worth is exact where satoshis times the price leave the integers of SQLite', async () => {
  // One unit of the product below a half, so that a rounded product is a yen too much.
  const rows = [
    [10_000_000_003, 8_333_333_333],
    [99_999_999_999, 5_000_000_001],
    [12_345_678_901, 8_409_468_899],
    [2_100_000_000_000_000, 1_500_000_001],
    // Within 64 bits, and the last without the half that is added.
    [7, 1_500_000_001],
    [9_223_372_036, 1_000_000_000],
  ].map(([valueSat = 0, priceCents = 0]) => ({ valueSat, priceCents, currency: 'JPY' }));
  const { receivedView } = await paid(...rows, { ...rows[0], currency: 'EUR' });
  const { worths } = receivedView.received({ ...span, currencies: ['EUR', 'JPY'] });
  const exact = (currency: string, of: typeof rows) =>
    of.reduce((sum, row) => sum + minorWorthOf(row.valueSat, row.priceCents, currency), 0n);
  expect(worths.map(({ minor }) => BigInt(minor))).toEqual([
    exact('EUR', rows.slice(0, 1)),
    exact('JPY', rows),
  ]);
});
