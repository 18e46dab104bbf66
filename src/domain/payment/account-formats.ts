// The files of a shop's accounts. paygate's own CSV has all payments. The others have
// the confirmed ones as Koinly, CoinTracking and QuickBooks import them. The rules are in
// docs/accounts.md.

import {
  byteOrderMark,
  type CsvCell,
  type CsvSeparator,
  csvDecimal,
  csvRow,
} from '../../lib/csv.ts';
import { PaygateError } from '../../lib/errors.ts';
import { dueText } from '../order/quote.ts';
import { formatTime } from '../text/format.ts';
import { dayOf, formatDay } from '../text/time-zone.ts';
import { type AccountRow, isBooked, isRefund } from './account-row.ts';
import { worthOf } from './currency.ts';
import { exactBitcoin, formatMoney, formatPrice } from './money.ts';

export const accountFormatNames = ['paygate', 'koinly', 'cointracking', 'quickbooks'] as const;
export type AccountFormatName = (typeof accountFormatNames)[number];

export interface AccountFormat {
  readonly label: string;
  readonly columns: readonly string[];
  /** Programs may take a byte order mark for a part of the first column's name. */
  readonly hasByteOrderMark: boolean;
  /** Only booked payments, and of these only the ones with a worth in one currency. */
  readonly rows: 'all' | 'booked' | 'booked in a currency';
  /** @param zone of the days; times are in UTC */
  readonly cells: (row: AccountRow, zone: string) => readonly CsvCell[];
}

/** `2026-11-21T16:26:00Z` */
const isoTime = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}Z`;

const worthAt = (row: AccountRow, priceCents: number | null, currency: string | null) =>
  priceCents === null || currency === null ? null : worthOf(row.valueSat, priceCents, currency);

const worthAtReceipt = (row: AccountRow): string | null =>
  worthAt(row, row.priceCents, row.currency);

/** What a person searches for: the order with the shop's number, or the store. */
const describe = ({ order, storeName, ...row }: AccountRow): string =>
  [
    isRefund(row) ? 'Refund' : '',
    order === null ? 'Bitcoin payment' : `Order ${order.publicId}`,
    order?.reference,
    storeName,
  ]
    .filter((text) => text)
    .join(' ');

const paygate: AccountFormat = {
  label: 'CSV',
  columns: [
    ...['time_utc', 'type', 'store', 'order', 'reference', 'description', 'link', 'status'],
    ...['currency', 'price', 'adjust_percent', 'amount_due', 'locked_rate', 'value_at_locked_rate'],
    ...['price_at_receipt'],
    ...['value_at_receipt', 'price_sources', 'sat', 'btc', 'txid', 'address', 'block_height'],
    ...['confirmed_utc', 'late'],
  ],
  hasByteOrderMark: true,
  rows: 'all',
  cells: (row) => [
    isoTime(row.firstSeenAt),
    isRefund(row) ? 'refund' : row.preimage === null ? 'payment' : 'lightning',
    row.storeName,
    ...orderCells(row),
    csvDecimal(row.priceCents === null ? null : formatPrice(row.priceCents)),
    csvDecimal(worthAtReceipt(row)),
    row.priceSources,
    row.valueSat,
    csvDecimal(exactBitcoin(row.valueSat)),
    row.txid,
    row.preimage === null ? row.address : null,
    row.height,
    row.minedAt !== null && isBooked(row) ? isoTime(row.minedAt) : null,
    row.order === null || isRefund(row) ? null : String(row.order.isLate),
  ],
};

function orderCells(row: AccountRow): CsvCell[] {
  const { order } = row;
  const { amountMinor, rateCents, currency, adjustBasisPoints } = order ?? noOrder;
  return [
    order?.publicId ?? null,
    order?.reference ?? null,
    order?.description ?? null,
    order?.linkTitle ?? null,
    // A settled payment is a confirmed one for a reader.
    isRefund(row) && row.height === null
      ? 'sent'
      : row.state === 'settled'
        ? 'confirmed'
        : row.state,
    row.currency,
    csvDecimal(
      amountMinor === null || currency === null ? null : formatMoney(BigInt(amountMinor), currency),
    ),
    csvDecimal(currency === null ? null : String(adjustBasisPoints / 100)),
    csvDecimal(dueText({ amountMinor, currency, adjustBasisPoints })),
    csvDecimal(rateCents === null ? null : formatPrice(rateCents)),
    csvDecimal(worthAt(row, rateCents, currency)),
  ];
}

const noOrder = { amountMinor: null, rateCents: null, currency: null, adjustBasisPoints: 0 };

const noAmount = [null, null];

const koinly: AccountFormat = {
  label: 'Koinly',
  columns: [
    ...['Date', 'Sent Amount', 'Sent Currency', 'Received Amount', 'Received Currency'],
    ...['Fee Amount', 'Fee Currency', 'Net Worth Amount', 'Net Worth Currency'],
    ...['Label', 'Description', 'TxHash'],
  ],
  hasByteOrderMark: false,
  rows: 'booked',
  cells: (row) => {
    const worth = worthAtReceipt(row);
    const amount = [exactBitcoin(Math.abs(row.valueSat)), 'BTC'];
    const [sent, received] = isRefund(row) ? [amount, noAmount] : [noAmount, amount];
    return [
      ...[formatTime(row.firstSeenAt), ...sent, ...received, null, null],
      ...[worth?.replace('-', '') ?? null, worth && row.currency],
      ...[isRefund(row) ? 'cost' : 'income', describe(row), row.txid],
    ];
  },
};

const cointracking: AccountFormat = {
  label: 'CoinTracking',
  columns: [
    ...['Type', 'Buy Amount', 'Buy Currency', 'Sell Amount', 'Sell Currency', 'Fee'],
    ...['Fee Currency', 'Exchange', 'Trade-Group', 'Comment', 'Date', 'Tx-ID'],
  ],
  hasByteOrderMark: false,
  rows: 'booked',
  cells: (row) => {
    const worth = worthAtReceipt(row);
    const comment = worth === null ? describe(row) : `${describe(row)} (${worth} ${row.currency})`;
    const amount = [exactBitcoin(Math.abs(row.valueSat)), 'BTC'];
    const [bought, sold] = isRefund(row) ? [noAmount, amount] : [amount, noAmount];
    return [
      ...[isRefund(row) ? 'Spend' : 'Income', ...bought, ...sold, null, null],
      ...['paygate', row.storeName, comment],
      ...[formatTime(row.firstSeenAt).replace(' UTC', ''), row.txid],
    ];
  },
};

const quickbooks: AccountFormat = {
  label: 'QuickBooks',
  columns: ['Date', 'Description', 'Amount'],
  hasByteOrderMark: false,
  rows: 'booked in a currency',
  cells: (row, zone) => [
    usDate(dayOf(row.firstSeenAt, zone)),
    plainDescription(row),
    csvDecimal(nonZero(worthAtReceipt(row))),
  ],
};

/** `11/21/2026` */
function usDate(of: number): string {
  const [year, month, day] = formatDay(of).split('-');
  return `${month}/${day}/${year}`;
}

/** QuickBooks refuses special characters, and long descriptions. */
const plainDescription = (row: AccountRow): string =>
  describe(row)
    .replace(/[^\p{L}\p{N}_.-]+/gu, ' ')
    .trim()
    .slice(0, 200);

/** QuickBooks wants an empty cell for an amount of zero. */
const nonZero = (amount: string | null): string | null =>
  amount !== null && /[1-9]/.test(amount) ? amount : null;

export const accountFormats: Readonly<Record<AccountFormatName, AccountFormat>> = {
  paygate,
  koinly,
  cointracking,
  quickbooks,
};

/**
 * `payments-2026-11.csv` for a month, `payments-2026.csv` for a year, with both days for another
 * span.
 * @param from,to days such as 2026-11-21; undefined without one
 */
export function accountFileName(
  format: AccountFormatName,
  from: string | undefined,
  to: string | undefined,
): string {
  const program = format === 'paygate' ? [] : [format];
  return `${['payments', ...program, ...spanName(from, to)].join('-')}.csv`;
}

function spanName(from: string | undefined, to: string | undefined): string[] {
  const isYear = from?.endsWith('-01-01') && to === `${from.slice(0, 4)}-12-31`;
  if (from !== undefined && isYear) return [from.slice(0, 4)];
  if (from?.endsWith('-01') && to === lastDayOf(from)) return [from.slice(0, 7)];
  return [...(from === undefined ? [] : ['from', from]), ...(to === undefined ? [] : ['to', to])];
}

/** The last day of the month of a day. */
export function lastDayOf(day: string): string {
  const [year = 0, month = 0] = day.split('-').map(Number);
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10);
}

export interface AccountFileOptions {
  /** The currency of a file whose rows are booked in one. */
  readonly currency: string | undefined;
  readonly separator?: CsvSeparator | undefined;
  readonly zone: string;
}

export interface AccountTally {
  written: number;
  /** Booked payments without a worth in the currency of the file. */
  leftOut: number;
}

/**
 * The text of a file, page by page.
 * @param tally counts the payments while the file is read
 */
export async function* accountCsv(
  pages: AsyncIterable<readonly AccountRow[]>,
  format: AccountFormat,
  { currency, separator = 'comma', zone }: AccountFileOptions,
  tally: AccountTally = { written: 0, leftOut: 0 },
): AsyncGenerator<string, void> {
  yield (format.hasByteOrderMark ? byteOrderMark : '') + csvRow(format.columns, separator);
  for await (const page of pages) {
    const wanted = format.rows === 'all' ? page : page.filter(isBooked);
    const rows =
      format.rows === 'booked in a currency'
        ? wanted.filter((row) => row.currency === currency && row.priceCents !== null)
        : wanted;
    tally.written += rows.length;
    tally.leftOut += wanted.length - rows.length;
    if (rows.length > 0)
      yield rows.map((row) => csvRow(format.cells(row, zone), separator)).join('');
  }
}

/** @throws PaygateError invalid for a program that reads commas only */
export function checkSeparator(format: AccountFormat, separator: CsvSeparator): void {
  if (separator === 'comma' || format === paygate) return;
  throw new PaygateError('invalid', `${format.label} reads files with commas only`);
}

/**
 * The currency of a file: an account in QuickBooks has one, and amounts of two are no sum.
 * @param asked the one that was asked for
 * @param known the currencies of the stores
 * @throws PaygateError invalid if there is not exactly one to choose
 */
export function fileCurrency(
  format: AccountFormat,
  asked: string | undefined,
  known: readonly string[],
): string | undefined {
  if (format.rows !== 'booked in a currency' || asked !== undefined) return asked;
  if (known.length === 1) return known[0];
  const chosen = known.length === 0 ? 'none' : known.join(', ');
  throw new PaygateError(
    'invalid',
    `${format.label} needs one currency, and the chosen stores have ${chosen}; name the currency`,
  );
}

/**
 * The currencies of stores, in the order of the alphabet.
 * @param storeId of the only store that counts; null or undefined for all
 */
export const currenciesOf = (
  stores: readonly { readonly id: number; readonly currency: string | null }[],
  storeId: number | null | undefined,
): string[] =>
  [
    ...new Set(
      stores.flatMap(({ id, currency }) => ((storeId ?? id) === id ? (currency ?? []) : [])),
    ),
  ].sort();
