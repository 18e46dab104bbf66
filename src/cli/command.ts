// What every command shares: options that come back, how an answer and an error are printed, and how
// a file is opened beside a running server.

import { Command, InvalidArgumentError } from 'commander';
import { defaultNetwork, type NetworkName } from '../bitcoin/network.ts';
import { type Config, options, readConfig } from '../config.ts';
import { plainLines, plainText } from '../domain/format.ts';
import { parsePath } from '../domain/option.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../lib/time-units.ts';
import { useFailure } from '../store/db/database.ts';
import { inspectFile } from '../store/db/file-guards.ts';
import type { Tx } from '../store/db/writer.ts';
import { openStore, type Store } from '../store/open-store.ts';
import { commandClient } from '../store/records/audit.ts';
import { createNodeWorld } from '../world/node-world.ts';
import type { World } from '../world/world.ts';
import { becomeOwner, hintFor } from './file-owner.ts';
import { asGiven } from './serve-options.ts';

/** What a command that works on the file takes. */
export interface FileOptions {
  readonly db?: string;
  readonly network?: string;
  readonly json?: boolean;
}

/** A command that works on the file: `--db`, `--network`, `--json`. */
export function fileCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option(`${options.db.flag} <file>`, `${options.db.help} (default: ${options.db.default})`)
    .option(`${options.network.flag} <name>`, options.network.help)
    .option('--json', 'answer as JSON');
}

// Not made where nobody uses it, as in the executable's serve, which has a world of its own.
export const world: World = /* @__PURE__ */ createNodeWorld({ logLevel: 'warn' });

/** Opens the file, which must be there, works, and closes it again. */
export const withStore = <T>(given: FileOptions, work: (store: Store) => Promise<T>): Promise<T> =>
  inFile(fileOf(given), false, work);

/**
 * The same, and makes the file where there is none. What was given is checked against the network
 * first: a command that is refused leaves no file behind, which would have fixed the network.
 */
export async function withNewStore<P, T>(
  given: FileOptions,
  check: (network: NetworkName) => Promise<P>,
  work: (store: Store, checked: P) => Promise<T>,
): Promise<T> {
  const config = fileOf(given);
  if (inspectFile(config.db) === 'ours') {
    return inFile(config, false, async (store) => work(store, await check(store.network)));
  }
  const network = config.network ?? defaultNetwork;
  const checked = await check(network);
  return inFile({ ...config, network }, true, (store) => work(store, checked));
}

/** Records in the audit log what a command changes, in the transaction that changes it. Never a secret. */
export function noteChange(
  { audit }: Pick<Store, 'audit'>,
  tx: Tx,
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
  storeId: number | null = null,
): void {
  const known = { ...detail, client: commandClient };
  audit.note(tx, world.now(), { keyId: null, action, storeId, detail: known });
}

const configOf = ({ db, network }: FileOptions): Config =>
  readConfig(asGiven({ db, network }), process.env);

/** The network that is named, by an option or in the environment. @throws PaygateError invalid */
export const networkNamed = (given: Pick<FileOptions, 'network'>): NetworkName | undefined =>
  configOf(given).network;

/** The file that a command is about. */
export const databasePath = (given: FileOptions): string => configOf(given).db;

/** For who works on the file from here on. */
function fileOf(given: FileOptions): Config {
  const config = configOf(given);
  return { ...config, db: becomeOwner(config.db) };
}

async function inFile<T>(
  { db, network }: Config,
  create: boolean,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore({
    path: db,
    create,
    network,
    newInstance: () => Buffer.from(world.randomBytes(16)).toString('hex'),
  });
  try {
    return await work(store);
  } catch (error) {
    throw useFailure(db, error);
  } finally {
    await store.database.close();
  }
}

/** Prints the answer: as JSON where asked for, else as text for a person, whose terminal acts on none of it. */
export function print({ json }: FileOptions, answer: unknown, text: () => string): void {
  process.stdout.write(`${json ? JSON.stringify(answer, null, 2) : plainLines(text())}\n`);
}

const goneFolder =
  'the working folder was removed; change to one that is there, and name files by their whole path';

/** A parser of a file that a command names, for commander. @throws PaygateError invalid */
export function fileName(text: string): string {
  try {
    return parsePath(text);
  } catch (error) {
    throw new PaygateError('invalid', `${JSON.stringify(text)}: ${reasonOf(error)}`);
  }
}

/** Exit codes: 2 for what the caller must write differently, 1 for everything else. */
export function fail(error: unknown): void {
  const invalid = error instanceof PaygateError && error.code === 'invalid';
  const { syscall } = error as NodeJS.ErrnoException;
  const isNowhere = syscall === 'uv_cwd';
  const reason = isNowhere ? goneFolder : reasonOf(error);
  process.stderr.write(`paygate: ${plainLines(reason)}\n${hintFor(reason)}`);
  if (!isNowhere && !(error instanceof PaygateError) && error instanceof Error) {
    process.stderr.write(`${plainLines(error.stack ?? '')}\n`);
  }
  process.exitCode = invalid ? 2 : 1;
}

/** A parser of a whole number for commander, which prints the fault and exits with 2. */
export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most} is expected.`);
  };

/** Of a row in the file. */
export const anyId = wholeNumber(1, Number.MAX_SAFE_INTEGER);

const unitMs: Readonly<Record<string, number>> = {
  s: secondMs,
  m: minuteMs,
  h: hourMs,
  d: dayMs,
};

/** `90s`, `15m`, `24h`, `7d` in milliseconds. */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new InvalidArgumentError('A time such as 15m, 24h or 7d expected.');
  return Number(count) * (unitMs[unit] ?? 0);
}

/** Unix seconds, as answers in JSON have them. */
export const seconds = (epochMs: number | null): number | null =>
  epochMs === null ? null : Math.floor(epochMs / 1000);

/** Text in columns, for a terminal. A cell may be a stranger's words: it is one line, and no other row. */
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

/** `2026-11-21T162600Z`: sorts by time, and no file system minds it. */
export const timeName = (epochMs: number): string =>
  new Date(epochMs).toISOString().slice(0, 19).replaceAll(':', '').concat('Z');
