// `paygate payments list|show|export`: payments to issued addresses, in the shape of events.

import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import { parseTxid, type Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { type PaymentJson, paymentJson, paymentLine } from '../../domain/order/order-json.ts';
import {
  type DeliveryState,
  deliveryWords,
  formatStatus,
  paymentWords,
} from '../../domain/order/state-words.ts';
import {
  type AccountFormatName,
  accountCsv,
  accountFormatNames,
  accountFormats,
  checkSeparator,
  currenciesOf,
  fileCurrency,
} from '../../domain/payment/account-formats.ts';
import { parseCurrency, worthOf } from '../../domain/payment/currency.ts';
import { formatPrice } from '../../domain/payment/money.ts';
import type { CallbackStatus, PaymentState } from '../../domain/payment/payment.ts';
import { formatCount, formatTime } from '../../domain/text/format.ts';
import { pastedAddress, withoutInvisible } from '../../domain/text/pasted-text.ts';
import { dayStart, parseDay } from '../../domain/text/time-zone.ts';
import { type CsvSeparator, csvSeparators } from '../../lib/csv.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Records } from '../../store/open-records.ts';
import type { PaymentEntry } from '../../store/payments/payment-view.ts';
import {
  type FileOptions,
  fileCommand,
  fileName,
  parseTime,
  print,
  printPage,
  rowId,
  type TextList,
  table,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';
import { withOptionName } from '../stores/setting-options.ts';

const states: readonly PaymentState[] = [
  'unconfirmed',
  'confirming',
  'confirmed',
  'settled',
  'dropped',
];

export function paymentsCommand(): Command {
  return new Command('payments')
    .description('list, show and export payments')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(exportCommand());
}

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly state?: PaymentState;
  readonly address?: string;
  readonly txid?: Txid;
  readonly seenAfter?: number;
  readonly seenBefore?: number;
  readonly after?: number;
  readonly limit: number;
}

function txidOf(text: string): Txid {
  try {
    return parseTxid(withoutInvisible(text).toLowerCase());
  } catch {
    throw new InvalidArgumentError('Give the 64 hexadecimal digits of a transaction id.');
  }
}

function listCommand(): Command {
  return fileCommand('list', 'list payments, newest first')
    .option('--store <id>', 'only to this store', rowId)
    .addOption(new Option('--state <state>', 'only in this state').choices(states))
    .option('--address <address>', 'only to this address', pastedAddress)
    .option('--txid <txid>', 'only by this transaction', txidOf)
    .option('--seen-after <time>', 'only first seen from this UTC time or age on', parseTime)
    .option('--seen-before <time>', 'only first seen before this UTC time or age', parseTime)
    .option('--after <id>', 'only older than this payment: the next page', rowId)
    .option('--limit <n>', 'maximum number of payments', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, async (records) => {
        const { store: storeId, state, address, txid, limit } = given;
        const { seenAfter: since, seenBefore: until, after: beforeId } = given;
        const network = networks[records.network];
        const script = address === undefined ? undefined : addressToScript(address, network);
        const states = state === undefined ? undefined : [state];
        const filter = { storeId, states, txid, since, until, beforeId };
        const found = records.paymentView.list({
          ...filter,
          scripthash: script && scripthash(script),
          limit: limit + 1,
        });
        printPage(given, describePayments(records, found, world.now()), paymentList);
      }),
    );
}

function showCommand(): Command {
  return fileCommand('show', 'show a payment with its callbacks')
    .argument('<id>', 'of the payment, as it is listed', rowId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async (records) => {
        const entry = records.paymentView.payment(id);
        const callbacks = records.paymentView
          .callbacksOf(id)
          .map(({ id, status, state }) => ({ id, status, state }));
        for (const payment of describePayments(records, [entry], world.now())) {
          print(given, { ...payment, callbacks }, () => renderPayment(payment, callbacks));
        }
      }),
    );
}

interface ExportOptions extends FileOptions {
  readonly format: AccountFormatName;
  readonly separator: CsvSeparator;
  readonly store?: number;
  readonly from?: DayOrTime;
  readonly to?: DayOrTime;
  readonly currency?: string;
  readonly output?: string;
}

function exportCommand(): Command {
  return fileCommand('export', 'write payments as CSV, for accounts')
    .addOption(
      new Option('--format <name>', 'of the program that imports the file')
        .choices(accountFormatNames)
        .default('paygate'),
    )
    .option('--store <id>', 'only to this store', rowId)
    .option('--from <day>', 'only first seen from this day, UTC time or age on', dayOrTime)
    .option('--to <day>', 'only first seen until the end of this day, or before a time', dayOrTime)
    .addOption(
      new Option('--separator <name>', 'between cells; semicolon brings decimal commas')
        .choices(csvSeparators)
        .default('comma'),
    )
    .option('--currency <code>', 'of a file for QuickBooks', withOptionName(parseCurrency))
    .option('-o, --output <file>', 'file to write; must not exist yet', fileName)
    .action((given: ExportOptions) => withStore(given, (records) => writeExport(given, records)));
}

/** A day of the merchant's zone, or epoch milliseconds. */
type DayOrTime = { readonly day: number } | { readonly at: number };

function dayOrTime(text: string): DayOrTime {
  const day = parseDay(text);
  return day === undefined ? { at: parseTime(text) } : { day };
}

async function writeExport(given: ExportOptions, records: Records): Promise<void> {
  const { store: storeId, from, to, output, separator } = given;
  const format = accountFormats[given.format];
  const stores = records.catalog.stores({ archived: true });
  checkSeparator(format, separator);
  const currency = fileCurrency(format, given.currency, currenciesOf(stores, storeId));
  const tally = { written: 0, leftOut: 0 };
  const zone = records.state.zone();
  const since = from && ('day' in from ? dayStart(from.day, zone) : from.at);
  // A day counts as a whole.
  const until = to && ('day' in to ? dayStart(to.day + 1, zone) : to.at);
  const pages = records.accountView.pages({ storeId, since, until }, world.now());
  const text = Readable.from(accountCsv(pages, format, { currency, separator, zone }, tally));
  if (output === undefined) {
    await writeToOutput(text);
  } else {
    await writeToFile(text, output);
    print(
      given,
      { output, payments: tally.written, left_out: tally.leftOut },
      () => `${formatCount(tally.written, 'payment')} written to ${output}.`,
    );
  }
  if (tally.leftOut > 0) {
    const left = formatCount(tally.leftOut, 'confirmed payment');
    process.stderr.write(`paygate: left out ${left} without a value in ${currency}\n`);
  }
}

/** The reader may close the pipe, as `head` does. */
async function writeToOutput(text: Readable): Promise<void> {
  try {
    await pipeline(text, process.stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/** Never overwrites a file; removes a file that is written in part. */
async function writeToFile(text: Readable, output: string): Promise<void> {
  const file = createWriteStream(output, { flags: 'wx' });
  try {
    await pipeline(text, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      throw new PaygateError('invalid', `${output}: exists already; name a new file`);
    }
    if (code === 'ENOENT') throw new PaygateError('invalid', `${output}: no such folder`);
    await rm(output, { force: true });
    throw error;
  }
}

export type PaymentAnswer = ReturnType<typeof describe>;

/** The JSON of payments. An address is read once, because it may have many payments. */
export function describePayments(
  { orderView }: Pick<Records, 'orderView'>,
  entries: readonly PaymentEntry[],
  now: number,
): PaymentAnswer[] {
  const addresses = new Map<number, PaidAddress>();
  return entries.map((entry) => {
    const { addressId, txid } = entry;
    const address = addresses.get(addressId) ?? readAddress(orderView, addressId, now);
    addresses.set(addressId, address);
    const payment = address.payments.get(txid);
    if (payment === undefined) throw new Error(`the payment ${entry.id} is not at its address`);
    return describe(entry, payment, address.orderId);
  });
}

interface PaidAddress {
  readonly orderId: string | null;
  readonly payments: ReadonlyMap<string, PaymentJson>;
}

function readAddress(orderView: Records['orderView'], addressId: number, now: number): PaidAddress {
  const order = orderView.byAddressId(addressId);
  const payments =
    order === undefined
      ? orderView.paymentsOf(addressId).map((payment) => ({ payment, ...withoutRate }))
      : orderView.standing(orderView.record(order), now).payments;
  return {
    orderId: order?.publicId ?? null,
    payments: new Map(payments.map((each) => [each.payment.txid, paymentJson(each)])),
  };
}

const withoutRate = { rateCents: null, isLate: false };

/** A payment as events show it, with what the dashboard shows of it. */
function describe(entry: PaymentEntry, payment: PaymentJson, orderId: string | null) {
  const { currency, priceCents, valueSat } = entry;
  const isPriced = currency !== null && priceCents !== null;
  return {
    id: entry.id,
    store_id: entry.storeId,
    order_id: orderId,
    address: entry.address,
    state: entry.state,
    ...payment,
    currency,
    worth_when_seen: isPriced ? worthOf(valueSat, priceCents, currency) : null,
    price_when_seen: isPriced ? formatPrice(priceCents) : null,
  };
}

export const paymentList: TextList<PaymentAnswer> = {
  none: 'No payment matches.',
  columns: {
    id: (payment) => payment.id,
    'first seen': (payment) => formatTime(paymentLine(payment).first_seen_at * 1000),
    store: (payment) => storeOf(payment),
    address: (payment) => payment.address,
    sat: (payment) => payment.value_sat,
    'worth then': (payment) => worthText(payment) ?? '-',
    state: (payment) => paymentWords[payment.state].text,
    confirmations: (payment) => paymentLine(payment).confirmations,
    txid: (payment) => paymentLine(payment).txid,
  },
  next: ({ id }) => `--after ${id}`,
};

const storeOf = ({ store_id: storeId }: PaymentAnswer): string =>
  storeId === null ? '-' : String(storeId);

const worthText = ({ currency, worth_when_seen: worth }: PaymentAnswer): string | undefined =>
  worth === null ? undefined : `${worth} ${currency}`;

export interface CallbackOfPayment {
  readonly id: number;
  readonly status: CallbackStatus;
  readonly state: DeliveryState;
}

export function renderPayment(
  payment: PaymentAnswer,
  callbacks: readonly CallbackOfPayment[],
): string {
  const { order_id: order, price_when_seen: price, kind } = payment;
  const { replaced_by: successor, height, rate, txid, ...line } = paymentLine(payment);
  const worth = worthText(payment);
  const facts = table([
    ['state', paymentWords[payment.state].text],
    ['value', `${payment.value_sat} sat`],
    ...(worth === undefined ? [] : [['worth then', `${worth}, at ${price} a bitcoin`]]),
    [kind === 'onchain' ? 'transaction' : 'payment hash', txid],
    ...(payment.kind === 'onchain' ? [] : [['preimage', payment.preimage]]),
    ['address', payment.address],
    ['store', storeOf(payment)],
    ...(order === null ? [] : [['order', order]]),
    ...(rate === null ? [] : [['rate in order', payment.late ? `${rate}, late` : rate]]),
    ['first seen', formatTime(line.first_seen_at * 1000)],
    ['confirmations', String(line.confirmations)],
    ...(height === null ? [] : [['block', String(height)]]),
    ...(successor === null ? [] : [['replaced by', successor]]),
  ]);
  if (callbacks.length === 0) return facts;
  const lines = callbacks.map(({ id, status, state }) => [
    String(id),
    formatStatus(status),
    deliveryWords[state].text,
  ]);
  return `${facts}\n\n${table([['callback', 'status', 'state'], ...lines])}`;
}
