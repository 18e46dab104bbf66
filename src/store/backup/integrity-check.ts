// Checks a database file, a backup or the one in use, and changes nothing of it. It checks every
// page and reference, that the schema is exactly ours, and the contents. A backup can come from
// anywhere, so a foreign trigger or view is a fault too.

import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import { freeBytesAt, removeLeftovers } from '../../world/disk.ts';
import { isDamage, type Sqlite, withSqlite } from '../db/driver.ts';
import { logEnds, truePath } from '../db/file-path.ts';
import { migrate, userVersion } from '../db/migrate.ts';
import { useFailure } from '../file/database.ts';
import { inspectFile, refuseLostLog } from '../file/file-guards.ts';
import { migrations } from '../schema/migrations.ts';

export interface WalletReport {
  readonly id: number;
  readonly script: string;
  readonly last_index: number | null;
  readonly next_index: number;
}

/** What `paygate check` answers; times are Unix seconds. */
export interface FileReport {
  readonly file: string;
  readonly ok: boolean;
  /** Messages of SQLite or ours; empty if all is well. */
  readonly faults: readonly string[];
  /** Those of them that only a backup mends: what SQLite says of the pages. */
  readonly damage: readonly string[];
  readonly bytes: number;
  readonly schema: { readonly migrations: number; readonly newest: number };
  readonly network: string | null;
  /** The name that the database was given when it was made; copies share it. */
  readonly instance: string | null;
  readonly counts: Readonly<Record<Counted, number>>;
  readonly last_issued_at: number | null;
  readonly wallets: readonly WalletReport[];
}

const counted = {
  stores: 'SELECT count(*) FROM stores WHERE archived_at IS NULL',
  addresses: "SELECT count(*) FROM addresses WHERE origin = 'issued'",
  payments: 'SELECT count(*) FROM payments',
  callbacks_owed: "SELECT count(*) FROM deliveries WHERE channel = 'callback' AND state = 'owed'",
} as const;
type Counted = keyof typeof counted;

/** https://www.sqlite.org/pragma.html#pragma_quick_check */
export type Depth = 'integrity_check' | 'quick_check';

const maxFaults = 20;

/**
 * @param depth quick: every page, but not whether each index agrees with its table, which reads all
 * of the file.
 * @throws PaygateError if it is no database of ours, or cannot be read
 */
export function checkFile(path: string, depth: Depth = 'integrity_check'): FileReport {
  refuseForeign(path);
  try {
    return asideFrom(truePath(path), (sqlite) => report(path, sqlite, depth));
  } catch (error) {
    throw useFailure(path, error);
  }
}

/** @throws PaygateError not_found, unavailable */
export function refuseForeign(path: string): void {
  if (!existsSync(truePath(path)))
    throw new PaygateError('not_found', `${path}: there is no such file`);
  inspectFile(path, true);
}

/**
 * A connection that leaves the file unchanged. A file in use has its WAL and index beside it, and
 * is read in place. Any other is read as a private copy, because SQLite would create files beside
 * the original.
 */
export function asideFrom<T>(path: string, work: (sqlite: Sqlite) => T): T {
  const [hasLog, hasIndex, hasJournal] = ['-wal', '-shm', '-journal'].map((end) =>
    existsSync(`${path}${end}`),
  );
  // A file without a lock was never served, so no WAL can be missing. A journal beside a file is
  // replayed by the next process that opens it.
  if (!hasLog && !hasJournal && existsSync(`${path}.lock`)) refuseLostLog(path);
  if (hasLog && hasIndex) return withSqlite(path, { readonly: true }, work);
  const folder = privateFolder(path);
  try {
    const copy = join(folder, 'copy.db');
    copyWithLog(path, copy);
    return withSqlite(copy, {}, work);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** There is no place for the copy that is looked at: that says nothing of the file. */
export class NoSpace extends PaygateError {}

/** As mkdtemp names it. */
const leftFolder = /^\.?paygate-check-\w{6}$/;

/** A folder beside the file if there is space for a copy, else one among temporary files. */
function privateFolder(path: string): string {
  const bytes = endsOf(path).reduce((sum, end) => sum + statSync(`${path}${end}`).size, 0);
  const prefixes = [join(dirname(path), '.paygate-check-'), join(tmpdir(), 'paygate-check-')];
  for (const prefix of prefixes) {
    try {
      if (freeBytesAt(dirname(prefix)) < bytes) continue;
      const folder = mkdtempSync(prefix);
      removeLeftovers(dirname(prefix), leftFolder, folder);
      return folder;
    } catch {
      // A folder that takes no file, or none: a container may have no temporary one.
    }
  }
  const places = prefixes.map(dirname).join(' nor ');
  throw new NoSpace(
    'unavailable',
    `${path}: the check needs a temporary copy, and neither ${places} has room for it and can be written`,
  );
}

/**
 * The WAL belongs to the file: the last commits are in it. So does a journal, which a restored file
 * has until it is first opened. It undoes a commit that was cut off.
 */
const endsOf = (path: string) => ['', ...logEnds].filter((end) => existsSync(`${path}${end}`));

export function copyWithLog(from: string, to: string): void {
  for (const end of endsOf(from)) {
    copyFileSync(`${from}${end}`, `${to}${end}`);
    // A copy has the rights of its original: those that a stick or an archive gave it, or none to
    // write.
    chmodSync(`${to}${end}`, 0o600);
  }
}

function report(path: string, sqlite: Sqlite, depth: Depth): FileReport {
  sqlite.pragma('trusted_schema = OFF');
  // If an update was killed, only the WAL has the new version.
  if (userVersion(sqlite) > migrations.length) {
    throw new PaygateError(
      'unavailable',
      `${path}: was written by a newer paygate; start that version`,
    );
  }
  const damage = faultsIn(() => pageFaults(sqlite, depth));
  const faults = [...damage, ...faultsIn(() => contentFaults(sqlite))];
  const read = <T>(sql: string): T | null => {
    try {
      return (sqlite.prepare(sql).pluck().get() as T | undefined) ?? null;
    } catch (error) {
      faults.push(reasonOf(error));
      return null;
    }
  };
  const counts = Object.fromEntries(
    Object.entries(counted).map(([name, sql]) => [name, read<number>(sql) ?? 0]),
  ) as Record<Counted, number>;
  const issuedAt = read<number>('SELECT max(issued_at) FROM addresses');
  return {
    file: path,
    bytes: statSync(path).size,
    schema: {
      migrations: userVersion(sqlite),
      newest: migrations.length,
    },
    network: read<string>("SELECT value ->> '$' FROM settings WHERE name = 'network'"),
    instance: read<string>("SELECT value ->> '$' FROM settings WHERE name = 'instance'"),
    counts,
    last_issued_at: unixSeconds(issuedAt),
    wallets: walletsOf(sqlite, faults),
    ok: faults.length === 0,
    faults: faults.slice(0, maxFaults),
    damage: damage.slice(0, maxFaults),
  };
}

/**
 * The faults that a check finds, or the damage that stops it.
 * @throws errors that say nothing about the file, such as no memory
 */
function faultsIn(look: () => string[]): string[] {
  try {
    return look();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [reasonOf(error)];
  }
}

function pageFaults(sqlite: Sqlite, depth: Depth): string[] {
  const found = sqlite.prepare(`PRAGMA ${depth}(${maxFaults})`).pluck().all() as string[];
  return found.filter((text) => text !== 'ok');
}

function contentFaults(sqlite: Sqlite): string[] {
  const loose = sqlite.pragma('foreign_key_check') as { table: string; rowid: number }[];
  return [
    ...loose.map(({ table, rowid }) => `row ${rowid} of ${table} refers to a missing row`),
    ...schemaFaults(sqlite),
  ];
}

/** Litestream makes them in whatever it replicates; tables alone do nothing. */
const foreignTables = new Set(['table _litestream_seq', 'table _litestream_lock']);

/** What differs from a file that the same migrations have just made. */
function schemaFaults(sqlite: Sqlite): string[] {
  const expected = withSqlite(':memory:', {}, (fresh) => {
    migrate(fresh, migrations.slice(0, userVersion(sqlite)));
    return schemaOf(fresh);
  });
  const found = schemaOf(sqlite);
  return [
    ...[...expected.keys()].filter((name) => !found.has(name)).map((name) => `${name} is missing`),
    ...[...found]
      .filter(([name, sql]) => expected.get(name) !== sql && !foreignTables.has(name))
      .map(([name]) => `${name} is not as paygate makes it`),
  ];
}

/** Each table, index, trigger and view with its text. What SQLite keeps for itself is left out. */
function schemaOf(sqlite: Sqlite): Map<string, string> {
  const rows = sqlite
    .prepare("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema")
    .raw()
    .all() as [string, string][];
  return new Map(rows.filter(([name]) => !name.includes(' sqlite_')));
}

function walletsOf(sqlite: Sqlite, faults: string[]): WalletReport[] {
  try {
    return sqlite
      .prepare(
        `SELECT id, script_type AS script, next_index, (
          SELECT max(derivation_index) FROM addresses
          WHERE wallet_id = wallets.id AND origin = 'issued') AS last_index
        FROM wallets ORDER BY id`,
      )
      .all() as WalletReport[];
  } catch (error) {
    faults.push(reasonOf(error));
    return [];
  }
}
