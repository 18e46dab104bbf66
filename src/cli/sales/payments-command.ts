// `paygate payments list|show|export`: payments to issued addresses, in the shape of events.

import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import { parseTxid, type Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import {
  type AccountFormatName,
  accountCsv,
  accountFormatNames,
  accountFormats,
  checkSeparator,
  currenciesOf,
  fileCurrency,
} from '../../domain/payment/account-formats.ts';
import { parseCurrency } from '../../domain/payment/currency.ts';
import type { PaymentState } from '../../domain/payment/payment.ts';
import { formatCount } from '../../domain/text/format.ts';
import { pastedAddress, withoutInvisible } from '../../domain/text/pasted-text.ts';
import { type CsvSeparator, csvSeparators } from '../../lib/csv.ts';
import { PaygateError } from '../../lib/errors.ts';
import { dayMs } from '../../lib/time-units.ts';
import type { Records } from '../../store/open-records.ts';
import {
  type FileOptions,
  fileCommand,
  fileName,
  parseTime,
  print,
  printPage,
  rowId,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';
import { withOptionName } from '../stores/setting-options.ts';
import { describePayments, paymentList, renderPayment } from './payment-text.ts';

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
  readonly from?: number;
  readonly to?: number;
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
    .option('--from <time>', 'only first seen from this UTC time or age on', parseTime)
    .option('--to <time>', 'only first seen until the end of this UTC day, or before a time', endOf)
    .addOption(
      new Option('--separator <name>', 'between cells; semicolon brings decimal commas')
        .choices(csvSeparators)
        .default('comma'),
    )
    .option('--currency <code>', 'of a file for QuickBooks', withOptionName(parseCurrency))
    .option('-o, --output <file>', 'file to write; must not exist yet', fileName)
    .action((given: ExportOptions) => withStore(given, (records) => writeExport(given, records)));
}

/** A day counts as a whole. */
const endOf = (text: string): number =>
  /^\d{4}-\d\d-\d\d$/.test(text) ? parseTime(text) + dayMs : parseTime(text);

async function writeExport(given: ExportOptions, records: Records): Promise<void> {
  const { store: storeId, from: since, to: until, output, separator } = given;
  const format = accountFormats[given.format];
  const stores = records.catalog.stores({ archived: true });
  checkSeparator(format, separator);
  const currency = fileCurrency(format, given.currency, currenciesOf(stores, storeId));
  const tally = { written: 0, leftOut: 0 };
  const pages = records.accountView.pages({ storeId, since, until }, world.now());
  const text = Readable.from(accountCsv(pages, format, { currency, separator }, tally));
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
