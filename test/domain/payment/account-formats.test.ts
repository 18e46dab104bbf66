// The files of a shop's accounts: their columns and cells, which rows they have, and exact sums.

import { expect, test } from 'vitest';
import {
  type AccountFormatName,
  accountCsv,
  accountFileName,
  accountFormatNames,
  accountFormats,
  checkSeparator,
  currenciesOf,
  fileCurrency,
} from '../../../src/domain/payment/account-formats.ts';
import { type AccountRow, addUp, noSums } from '../../../src/domain/payment/account-row.ts';
import type { CsvSeparator } from '../../../src/lib/csv.ts';

const txid = 'ab'.repeat(32);
const orderId = 'ord_3yQ8tZr6WmB1nK5vXc2dLp';

/** 25,000 sat for an order of 12.50 EUR less 5 %, worth 12.45 EUR when they were seen. */
const paid: AccountRow = {
  firstSeenAt: Date.parse('2026-11-21T16:26:00.999Z'),
  state: 'settled',
  valueSat: 25_000,
  currency: 'EUR',
  priceCents: 4_980_000,
  priceSources: 'a.example b.example',
  storeName: 'Shop',
  address: 'bcrt1qaddress',
  txid,
  preimage: null,
  height: 800_000,
  minedAt: Date.parse('2026-11-21T16:40:01Z'),
  order: {
    publicId: orderId,
    reference: '1007',
    description: 'Two cups',
    linkTitle: 'Counter',
    currency: 'EUR',
    amountMinor: 1_250,
    adjustBasisPoints: -500,
    rateCents: 5_000_000,
    isLate: false,
  },
};
/** 5,000 sat of it were sent back, worth 2.55 EUR then. */
const refund: AccountRow = {
  ...paid,
  firstSeenAt: Date.parse('2026-12-02T09:00:00Z'),
  valueSat: -5_000,
  priceCents: 5_100_000,
  priceSources: null,
  address: 'bcrt1qcustomer',
  txid: 'cd'.repeat(32),
  height: null,
  minedAt: null,
};
const unpriced = { priceCents: null, priceSources: null };
const plain: AccountRow = { ...paid, ...unpriced, order: null, currency: null };

async function fileOf(
  name: AccountFormatName,
  rows: readonly AccountRow[],
  currency?: string,
  separator?: CsvSeparator,
  zone = 'UTC',
): Promise<string[]> {
  async function* pages() {
    yield rows;
  }
  let text = '';
  for await (const part of accountCsv(pages(), accountFormats[name], { currency, separator, zone }))
    text += part;
  expect(text.endsWith('\r\n')).toBe(true);
  return text.slice(0, -2).split('\r\n');
}

test('the own file has every payment with its status, and empty cells for what is unknown', async () => {
  const [head, ...lines] = await fileOf('paygate', [
    paid,
    { ...plain, state: 'unconfirmed', height: null, minedAt: null },
    { ...paid, state: 'confirming' },
    { ...plain, state: 'dropped', height: null, minedAt: null },
    refund,
    { ...refund, txid: null, priceCents: null },
  ]);
  expect(head).toBe(
    '\ufefftime_utc,type,store,order,reference,description,link,status,currency,price,' +
      'adjust_percent,amount_due,locked_rate,value_at_locked_rate,price_at_receipt,value_at_receipt,price_sources,sat,btc,txid,address,' +
      'block_height,confirmed_utc,late',
  );
  const time = '2026-11-21T16:26:00Z,payment,Shop';
  const sums = `25000,0.00025000,${txid},bcrt1qaddress`;
  const texts = `${orderId},1007,Two cups,Counter`;
  const refunded = `2026-12-02T09:00:00Z,refund,Shop,${texts},sent,EUR,12.50,-5,11.88,50000.00,-2.50`;
  const worths = 'EUR,12.50,-5,11.88,50000.00,12.50,49800.00,12.45,a.example b.example';
  expect(lines).toEqual([
    `${time},${texts},confirmed,${worths},${sums},800000,2026-11-21T16:40:01Z,false`,
    `${time},,,,,unconfirmed,,,,,,,,,,${sums},,,`,
    `${time},${texts},confirming,${worths},${sums},800000,,false`,
    `${time},,,,,dropped,,,,,,,,,,${sums},,,`,
    `${refunded},51000.00,-2.55,,-5000,-0.00005000,${'cd'.repeat(32)},bcrt1qcustomer,,,`,
    `${refunded},,,,-5000,-0.00005000,,bcrt1qcustomer,,,`,
  ]);
});

test('with semicolons, decimals have a comma, and nothing else changes', async () => {
  const order = paid.order && { ...paid.order, reference: '10.07;=1+1', currency: 'KWD' };
  const rows = [{ ...paid, order, storeName: 'Shop' }, plain];
  const [head, first, second] = await fileOf('paygate', rows, undefined, 'semicolon');
  const [commaHead] = await fileOf('paygate', rows);
  expect(head).toBe(commaHead?.replaceAll(',', ';'));
  const sums = `25000;0,00025000;${txid};bcrt1qaddress;800000;2026-11-21T16:40:01Z`;
  expect([first, second]).toEqual([
    `2026-11-21T16:26:00Z;payment;Shop;${orderId};"10.07;=1+1";Two cups;Counter;confirmed;EUR;1,250;-5;` +
      `1,188;50000,00;12,500;49800,00;12,45;a.example b.example;${sums};false`,
    `2026-11-21T16:26:00Z;payment;Shop;;;;;confirmed;;;;;;;;;;${sums};`,
  ]);
});

test.each(accountFormatNames)('%s has semicolons if its program reads them', (name) => {
  const { label } = accountFormats[name];
  const check = () => checkSeparator(accountFormats[name], 'semicolon');
  if (name === 'paygate') expect(check).not.toThrow();
  else expect(check).toThrow(`${label} reads files with commas only`);
  expect(() => checkSeparator(accountFormats[name], 'comma')).not.toThrow();
});

test('an order in satoshis has no rate, and a late payment without a price has none yet', async () => {
  const { order } = paid;
  if (order === null) throw new Error('no order');
  const lines = await fileOf('paygate', [
    { ...paid, order: { ...order, currency: null, amountMinor: null, rateCents: null } },
    { ...paid, ...unpriced, order: { ...order, rateCents: null, isLate: true } },
  ]);
  expect(lines[1]).toContain(',confirmed,EUR,,,,,,49800.00,12.45,');
  expect(lines[2]).toContain(',confirmed,EUR,12.50,-5,11.88,,,,,,25000,');
  expect(lines[2]).toMatch(/,true$/);
});

test('Koinly gets a deposit of income with its worth', async () => {
  expect(await fileOf('koinly', [paid, plain, refund])).toEqual([
    'Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,' +
      'Net Worth Amount,Net Worth Currency,Label,Description,TxHash',
    '2026-11-21 16:26:00 UTC,,,0.00025000,BTC,,,12.45,EUR,income,' +
      `Order ${orderId} 1007 Shop,${txid}`,
    `2026-11-21 16:26:00 UTC,,,0.00025000,BTC,,,,,income,Bitcoin payment Shop,${txid}`,
    '2026-12-02 09:00:00 UTC,0.00005000,BTC,,,,,2.55,EUR,cost,' +
      `Refund Order ${orderId} 1007 Shop,${'cd'.repeat(32)}`,
  ]);
});

test('CoinTracking gets an income with its worth in the comment', async () => {
  expect(await fileOf('cointracking', [paid, { ...plain, storeName: null }, refund])).toEqual([
    'Type,Buy Amount,Buy Currency,Sell Amount,Sell Currency,Fee,Fee Currency,Exchange,' +
      'Trade-Group,Comment,Date,Tx-ID',
    `Income,0.00025000,BTC,,,,,paygate,Shop,Order ${orderId} 1007 Shop (12.45 EUR),` +
      `2026-11-21 16:26:00,${txid}`,
    `Income,0.00025000,BTC,,,,,paygate,,Bitcoin payment,2026-11-21 16:26:00,${txid}`,
    `Spend,,,0.00005000,BTC,,,paygate,Shop,Refund Order ${orderId} 1007 Shop (-2.55 EUR),` +
      `2026-12-02 09:00:00,${'cd'.repeat(32)}`,
  ]);
});

test('QuickBooks gets amounts in one currency, and plain text', async () => {
  const hostile = { ...paid, storeName: 'Käse & "Co" (=1+1)' };
  const rows = [
    ...[paid, refund, plain, hostile, { ...paid, currency: 'USD' }],
    ...[
      { ...paid, valueSat: 1 },
      { ...paid, priceCents: null },
    ],
  ];
  expect(await fileOf('quickbooks', rows, 'EUR')).toEqual([
    'Date,Description,Amount',
    `11/21/2026,Order ${orderId} 1007 Shop,12.45`,
    `12/02/2026,Refund Order ${orderId} 1007 Shop,-2.55`,
    `11/21/2026,Order ${orderId} 1007 Käse Co 1 1,12.45`,
    `11/21/2026,Order ${orderId} 1007 Shop,`,
  ]);
});

test.each(accountFormatNames.filter((name) => name !== 'paygate'))(
  '%s gets confirmed payments only',
  async (name) => {
    const states = ['unconfirmed', 'confirming', 'confirmed', 'settled', 'dropped'] as const;
    const lines = await fileOf(
      name,
      states.map((state) => ({ ...paid, state })),
      'EUR',
    );
    expect(lines).toHaveLength(3);
    expect(lines[0]).not.toContain('\ufeff');
  },
);

test.each(accountFormatNames)('%s gets no cell that a spreadsheet runs', async (name) => {
  const order = paid.order && { ...paid.order, reference: '=HYPERLINK("http://evil")' };
  const hostile = { ...paid, order, storeName: '@SUM(1);=2' };
  const [, line = ''] = await fileOf(name, [hostile], 'EUR');
  expect(line).not.toMatch(/(^|[,;"])[=@]/);
  const comma = { ...order, reference: 'a,=2' } as typeof order;
  const [, split = ''] = await fileOf('paygate', [{ ...paid, order: comma }], 'EUR', 'semicolon');
  expect(split).toContain(";a,'=2;");
});

test('a file in one currency names the only currency, or asks for it', () => {
  const stores = [
    ...[
      { id: 1, currency: 'USD' },
      { id: 2, currency: 'EUR' },
    ],
    ...[
      { id: 3, currency: null },
      { id: 4, currency: 'USD' },
    ],
  ];
  expect(currenciesOf(stores, undefined)).toEqual(['EUR', 'USD']);
  expect(currenciesOf(stores, 4)).toEqual(['USD']);
  expect(currenciesOf(stores, 3)).toEqual([]);
  const { quickbooks, koinly } = accountFormats;
  expect(fileCurrency(quickbooks, undefined, ['EUR'])).toBe('EUR');
  expect(fileCurrency(quickbooks, 'CHF', ['EUR', 'USD'])).toBe('CHF');
  expect(fileCurrency(koinly, undefined, ['EUR', 'USD'])).toBeUndefined();
  expect(() => fileCurrency(quickbooks, undefined, ['EUR', 'USD'])).toThrow('have EUR, USD;');
  expect(() => fileCurrency(quickbooks, undefined, [])).toThrow('have none;');
});

test('sums are exact above what a double can have, and count what has no worth', () => {
  const whale = { ...paid, valueSat: 2_099_999_999_999_999, priceCents: 999_999_999_999_999 };
  const sums = addUp(addUp(noSums, [whale, plain]), [
    ...[{ ...paid, valueSat: 3 }, whale],
    ...[{ ...paid, state: 'dropped' as const }],
  ]);
  expect(sums.count).toBe(4);
  expect(sums.valueSat).toBe(2n * 2_099_999_999_999_999n + 25_003n);
  expect(sums.worths.get('EUR')).toBe(2n * 20_999_999_999_999_969_000_000n);
  expect(sums.unpricedCount).toBe(1);
});

test('sums have refunds below zero, and count them apart', () => {
  const sums = addUp(addUp(noSums, [paid, refund]), [{ ...refund, priceCents: null }]);
  expect(sums).toEqual({
    count: 1,
    refundCount: 2,
    valueSat: 15_000n,
    worths: new Map([['EUR', 990n]]),
    unpricedCount: 1,
  });
});

test.each([
  ['2026-11-01', '2026-11-30', 'payments-2026-11.csv'],
  ['2024-02-01', '2024-02-29', 'payments-2024-02.csv'],
  ['2026-12-01', '2026-12-31', 'payments-2026-12.csv'],
  ['2026-01-01', '2026-12-31', 'payments-2026.csv'],
  ['2025-01-01', '2026-12-31', 'payments-from-2025-01-01-to-2026-12-31.csv'],
  ['2024-02-01', '2024-02-28', 'payments-from-2024-02-01-to-2024-02-28.csv'],
  ['2026-11-02', undefined, 'payments-from-2026-11-02.csv'],
  [undefined, '2026-11-30', 'payments-to-2026-11-30.csv'],
  [undefined, undefined, 'payments.csv'],
])('the file from %s to %s is %s', (from, to, name) => {
  expect(accountFileName('paygate', from, to)).toBe(name);
  expect(accountFileName('koinly', from, to)).toBe(name.replace('payments', 'payments-koinly'));
});

test('a paid Lightning invoice has its payment hash, and no address', async () => {
  const lightning = { ...paid, preimage: 'ee'.repeat(32), height: null, minedAt: null };
  const [, line = ''] = await fileOf('paygate', [lightning]);
  expect(line).toContain('2026-11-21T16:26:00Z,lightning,Shop');
  expect(line).toContain(`,25000,0.00025000,${txid},,,,false`);
});
