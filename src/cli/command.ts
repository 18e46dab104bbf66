// What all commands share: common options, printing of answers and errors, exit codes, and opening
// the database beside a running server.

import { Command, InvalidArgumentError } from 'commander';
import { defaultNetwork, type NetworkName } from '../bitcoin/network.ts';
import { type Config, options, readConfig } from '../config.ts';
import { plainLines, plainText } from '../domain/text/format.ts';
import { parsePath } from '../domain/text/option.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../lib/time-units.ts';
import { commandClient, type OperatorChange } from '../store/access/audit.ts';
import type { Tx } from '../store/db/writer.ts';
import { useFailure } from '../store/file/database.ts';
import { inspectFile } from '../store/file/file-guards.ts';
import { openRecords, type Records } from '../store/open-records.ts';
import { createNodeWorld } from '../world/node-world.ts';
import type { World } from '../world/world.ts';
import { becomeOwner, hintFor } from './database/file-owner.ts';
import { printFailure } from './failure.ts';
import { flagValues } from './service/serve-options.ts';

/** The options of a command that works on the database. */
export interface FileOptions {
  readonly db?: string;
  readonly network?: string;
  readonly json?: boolean;
}

/** A command that works on the database: `--db`, `--network`, `--json`. */
export function fileCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option(`${options.db.flag} <file>`, `${options.db.help} (default: ${options.db.default})`)
    .option(`${options.network.flag} <name>`, 'network of the database')
    .option('--json', 'print JSON');
}

// A bundle that does not use it drops it: `serve` makes a world of its own.
export const world: World = /* @__PURE__ */ createNodeWorld({ logLevel: 'warn' });

/** Opens the database, which must exist, runs `work`, and closes it. */
export const withStore = <T>(
  given: FileOptions,
  work: (records: Records) => Promise<T>,
): Promise<T> => withOpenFile(ownedConfig(given), false, work);

/**
 * As withStore, but creates a database that does not exist. `check` runs first: a command that is
 * refused must not leave a file behind, because a file is bound to its network.
 */
export async function withNewStore<P, T>(
  given: FileOptions,
  check: (network: NetworkName) => Promise<P>,
  work: (records: Records, checked: P, isNew: boolean) => Promise<T>,
): Promise<T> {
  const config = ownedConfig(given);
  if (inspectFile(config.db) === 'ours') {
    return withOpenFile(config, false, async (records) =>
      work(records, await check(records.network), false),
    );
  }
  const network = config.network ?? defaultNetwork;
  const checked = await check(network);
  return withOpenFile({ ...config, network }, true, (records) => work(records, checked, true));
}

/** Writes a change to the audit log, in the transaction that makes it. Never pass a secret. */
export const recordChange = (
  { audit }: Pick<Records, 'audit'>,
  tx: Tx,
  ...change: OperatorChange
): void => audit.noteChange(tx, world.now(), commandClient, ...change);

const configOf = ({ db, network }: FileOptions): Config =>
  readConfig(flagValues({ db, network }), process.env);

/** The network of the option or the environment. @throws PaygateError invalid */
export const networkNamed = (given: Pick<FileOptions, 'network'>): NetworkName | undefined =>
  configOf(given).network;

export const databasePath = (given: FileOptions): string => configOf(given).db;

/** The configuration; root becomes the owner of the database's folder first. */
function ownedConfig(given: FileOptions): Config {
  const config = configOf(given);
  return { ...config, db: becomeOwner(config.db) };
}

async function withOpenFile<T>(
  { db, network }: Config,
  create: boolean,
  work: (records: Records) => Promise<T>,
): Promise<T> {
  const records = await openRecords({
    path: db,
    create,
    network,
    newInstance: () => Buffer.from(world.randomBytes(16)).toString('hex'),
  });
  try {
    return await work(records);
  } catch (error) {
    throw useFailure(db, error);
  } finally {
    await records.database.close();
  }
}

/** Prints JSON with `--json`, else text without characters that a terminal acts on. */
export function print({ json }: FileOptions, answer: unknown, text: () => string): void {
  process.stdout.write(`${json ? JSON.stringify(answer, null, 2) : plainLines(text())}\n`);
}

const removedFolderText =
  'the working folder was removed; change to one that exists, and name files by their whole path';

/** Parses the path of a file for commander. @throws PaygateError invalid */
export function fileName(text: string): string {
  try {
    return parsePath(text);
  } catch (error) {
    throw new PaygateError('invalid', `${JSON.stringify(text)}: ${reasonOf(error)}`);
  }
}

/** As `printFailure`, with a hint where root works as another user. */
export function fail(error: unknown, isJson = false): void {
  const isFolderRemoved = (error as NodeJS.ErrnoException).syscall === 'uv_cwd';
  const known = isFolderRemoved ? new PaygateError('unavailable', removedFolderText) : error;
  printFailure(known, isJson, hintFor(reasonOf(known)));
}

/** A parser of whole numbers for commander, which prints the error and exits with 2. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
    throw new InvalidArgumentError(`Give a whole number${range}.`);
  };

export const rowId = wholeNumber(1, Number.MAX_SAFE_INTEGER);

const unitMs: Readonly<Record<string, number>> = {
  s: secondMs,
  m: minuteMs,
  h: hourMs,
  d: dayMs,
};

/** `90s`, `15m`, `24h`, `7d` in milliseconds. */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Give a time such as 15m, 24h or 7d.');
  return Number(count) * (unitMs[unit] ?? 0);
}

/**
 * A time in epoch milliseconds: `24h` is that long ago, `2026-11-21` and `2026-11-21T16:26:00` are
 * in UTC, `1763742360` is in Unix seconds.
 */
export function parseTime(text: string): number {
  if (/^\d{1,6}[smhd]$/.test(text)) return world.now() - parseDuration(text);
  if (/^\d{9,11}$/.test(text)) return Number(text) * secondMs;
  const [, day = '', clock = 'T00:00:00'] =
    /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d:\d\d)?Z?$/.exec(text) ?? [];
  const time = Date.parse(`${day}${clock}Z`);
  // `Date.parse` takes the 31st of each month.
  if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(day)) return time;
  throw new InvalidArgumentError(
    'Give a time in UTC such as 2026-11-21 or 2026-11-21T16:26:00Z, or an age such as 24h or 7d.',
  );
}

/** Text in columns, for a terminal. A cell of untrusted text stays one line. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map((cell) => plainText(cell)));
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export interface TextList<Row> {
  /** Printed if no row matches. */
  readonly none: string;
  readonly columns: Readonly<Record<string, (row: Row) => string | number | null>>;
  /** The option that shows the page after this row. */
  readonly next: (last: Row) => string;
  /** A row as JSON; itself if this is left out. */
  readonly json?: (row: Row) => unknown;
}

/**
 * Prints one page of a list.
 * @param found one row more than the limit, if there are more
 */
export function printPage<Row>(
  given: FileOptions & { readonly limit: number },
  found: readonly Row[],
  { none, columns, next, json = (row) => row }: TextList<Row>,
): void {
  const rows = found.slice(0, given.limit);
  print(given, rows.map(json), () => {
    const last = rows.at(-1);
    if (last === undefined) return none;
    const cells = Object.values(columns);
    const lines = rows.map((row) => cells.map((cell) => String(cell(row) ?? '')));
    const text = table([Object.keys(columns), ...lines]);
    if (found.length === rows.length) return text;
    return `${text}\n\nThere are more: ${next(last)} shows the next page.`;
  });
}
