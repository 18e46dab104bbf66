// `paygate payments export`: payments as a file for accounts, to standard output or to a new file.

import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
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
import { formatCount } from '../../domain/text/format.ts';
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
  rowId,
  withStore,
  world,
} from '../command.ts';
import { withOptionName } from '../stores/setting-options.ts';

interface ExportOptions extends FileOptions {
  readonly format: AccountFormatName;
  readonly separator: CsvSeparator;
  readonly store?: number;
  readonly from?: number;
  readonly to?: number;
  readonly currency?: string;
  readonly output?: string;
}

export function exportCommand(): Command {
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
