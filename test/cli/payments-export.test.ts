// `paygate payments export`, a process of its own beside an open file.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { payments } from '../../src/store/schema/schema.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { openTestStore, type TestRecords } from '../support/store.ts';

afterEach(cleanUp);

type Values = Partial<typeof payments.$inferInsert>;

/** Payments of 2026-11-01 to 2026-11-28, one at noon of each day. */
async function paid(...rows: Values[]): Promise<TestRecords> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore({ currency: 'EUR' });
  await records.addStore({ name: 'Other', callbackUrl: 'https://other.example/cb' });
  await records.write((tx) => {
    for (const [index, values] of rows.entries()) {
      const { id: addressId } = records.addresses.issue(tx, 1, 1, 1);
      const txid = String(index).padStart(64, '0') as Txid;
      const usual = { state: 'settled' as const, valueSat: 100_000, changedAt: 0 };
      const priced = { currency: 'EUR', priceCents: 5_000_000 };
      records.database.orm
        .insert(payments)
        .values({
          ...{ ...usual, ...priced, firstSeenAt: Date.UTC(2026, 10, 1 + index, 12) },
          ...{ ...values, addressId, txid },
        })
        .run();
    }
  });
  return records;
}

const run = (shop: TestRecords, ...args: string[]) =>
  runCli(['payments', 'export', ...args, '--db', shop.path]);

/** The days of the rows of a file. */
async function daysOf(shop: TestRecords, ...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run(shop, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => line.slice(8, 10));
}

it('writes the payments of a span and a store, with both days', async () => {
  const shop = await paid({}, {}, { state: 'dropped' }, { state: 'unconfirmed' }, {});
  expect(await daysOf(shop)).toEqual(['05', '04', '03', '02', '01']);
  expect(await daysOf(shop, '--from', '2026-11-02', '--to', '2026-11-04')).toEqual([
    ...['04', '03', '02'],
  ]);
  expect(await daysOf(shop, '--to', '2026-11-04T12:00:00Z')).toEqual(['03', '02', '01']);
  expect(await daysOf(shop, '--store', '2')).toEqual([]);
  expect(await daysOf(shop, '--format', 'koinly', '--store', '1')).toEqual(['05', '02', '01']);
  expect(await daysOf(shop, '--format', 'cointracking')).toHaveLength(3);
});

it('counts days of the time zone of the merchant, and times in UTC', async () => {
  const firstSeenAt = Date.UTC(2026, 10, 3, 10);
  const shop = await paid({ firstSeenAt: firstSeenAt - 1 }, { firstSeenAt });
  const times = async (...args: string[]) =>
    [...(await run(shop, ...args)).stdout.matchAll(/T(\d\d:\d\d):\d\dZ,payment/g)].map(
      ([, time]) => time,
    );
  expect(await times('--from', '2026-11-04')).toEqual([]);
  await shop.write((tx) => shop.state.timeZone.write(tx, 'Pacific/Kiritimati'));
  expect(await times('--from', '2026-11-04', '--to', '2026-11-04')).toEqual(['10:00']);
  expect(await times('--to', '2026-11-03')).toEqual(['09:59']);
  expect(await times('--from', '2026-11-03T10:00:00Z')).toEqual(['10:00']);
  const books = await run(shop, '--format', 'quickbooks');
  expect(books.stdout.match(/^\d\d\/\d\d/gm)).toEqual(['11/04', '11/03']);
});

it('writes a new file, and never over another', async () => {
  const shop = await paid({}, { priceCents: null }, { state: 'dropped' });
  const file = join(tempFolder(), 'november.csv');
  const options = ['--format', 'quickbooks', '-o', file];
  const { code, stdout, stderr } = await run(shop, ...options);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `1 payment written to ${file}.\n` });
  expect(stderr).toBe('paygate: left out 1 confirmed payment without a value in EUR\n');
  expect(readFileSync(file, 'utf8')).toBe(
    'Date,Description,Amount\r\n11/01/2026,Bitcoin payment Shop,50.00\r\n',
  );
  writeFileSync(file, 'mine');
  expect(await run(shop, ...options)).toMatchObject({
    ...{ code: 2, stdout: '' },
    stderr: `paygate: ${file}: exists already; name a new file\n`,
  });
  expect(readFileSync(file, 'utf8')).toBe('mine');
  const json = await run(shop, '--json', '-o', `${file}.2`);
  expect(JSON.parse(json.stdout)).toEqual({ output: `${file}.2`, payments: 3, left_out: 0 });
  const lost = join(tempFolder(), 'none', 'x.csv');
  expect(await run(shop, '-o', lost)).toMatchObject({
    ...{ code: 2, stderr: `paygate: ${lost}: no such folder\n` },
  });
});

it('writes decimal commas between semicolons, for the own file only', async () => {
  const shop = await paid({});
  const { code, stdout } = await run(shop, '--separator', 'semicolon');
  expect(code).toBe(0);
  const [head, row] = stdout.split('\r\n');
  expect(head).toContain('\ufefftime_utc;type;store;order;reference;');
  expect(row).toContain(
    '2026-11-01T12:00:00Z;payment;Shop;;;;;confirmed;EUR;;;;;;50000,00;50,00;;100000;0,00100000;',
  );
  expect((await run(shop, '--separator', 'comma')).stdout).toBe((await run(shop)).stdout);
  for (const [format, label] of [
    ['koinly', 'Koinly'],
    ['cointracking', 'CoinTracking'],
    ['quickbooks', 'QuickBooks'],
  ] as const) {
    const options = ['--format', format, '--separator', 'semicolon', '--currency', 'EUR'];
    expect(await run(shop, ...options)).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: `paygate: ${label} reads files with commas only\n`,
    });
  }
});

it('refuses a format, a currency and a time that make no sense', async () => {
  const shop = await paid();
  for (const options of [
    ['--format', 'datev'],
    ['--separator', 'tab'],
    ['--separator', ''],
    ['--currency', 'EURO'],
    ['--from', '2026-02-31'],
    ['--to', 'soon'],
  ]) {
    expect(await run(shop, ...options)).toMatchObject({ code: 2, stdout: '' });
  }
  const { code, stderr } = await run(shop, '--format', 'quickbooks', '--store', '2');
  expect(code).toBe(2);
  expect(stderr).toContain(
    'QuickBooks needs one currency, and the chosen stores have none; name the currency',
  );
});
