// Brings a file's schema up to date: the embedded migrations, each once, each in a transaction of
// its own, known by name and hash. `user_version` counts them. A file that holds a migration we do
// not know, or another text under a known name, is refused.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { PaygateError } from '../../lib/errors.ts';
import { type Migration, migrations } from '../schema/migrations.ts';
import { type Sqlite, withSqlite } from './driver.ts';
import { logAsFound } from './empty-log.ts';

const ledgerTable = `CREATE TABLE IF NOT EXISTS migrations (
  name TEXT PRIMARY KEY, hash TEXT NOT NULL
) STRICT`;

/** The text of the first migration changed until the first release. */
export const madeBeforeRelease =
  'was made by a development version before paygate 0.1.0, which opens no such file; move it away and set its stores up anew';

/** @param keep makes a copy of a file that has been in use, before its first change */
export function migrate(
  sqlite: Sqlite,
  list: readonly Migration[] = migrations,
  keep: () => void = () => {},
): void {
  if (list.length < userVersion(sqlite)) {
    throw refusal(sqlite, 'was written by a newer paygate; start that version');
  }
  if (list.length === userVersion(sqlite) && isRecorded(sqlite, list)) return;
  sqlite.exec(ledgerTable);
  refuseUnknown(sqlite, list);
  const version = userVersion(sqlite);
  if (version > 0 && version < list.length) keep();
  for (const [index, migration] of list.entries()) applyOnce(sqlite, migration, index + 1);
}

export const isBehind = (sqlite: Sqlite): boolean => userVersion(sqlite) < migrations.length;

export const userVersion = (sqlite: Sqlite): number =>
  sqlite.pragma('user_version', { simple: true }) as number;

/**
 * The same of a file that is not open, also of a newer paygate, and also where only the log says
 * so.
 */
export function migrationsIn(path: string): number {
  const leaveLog = logAsFound(path);
  try {
    // A connection that only reads would leave the files of its log beside it.
    return withSqlite(path, {}, userVersion);
  } finally {
    leaveLog();
  }
}

const isRecorded = (sqlite: Sqlite, list: readonly Migration[]): boolean =>
  list.every((migration) => recordedHash(sqlite, migration.name) === hashOf(migration));

function refuseUnknown(sqlite: Sqlite, list: readonly Migration[]): void {
  const known = new Set(list.map(({ name }) => name));
  const names = sqlite.prepare('SELECT name FROM migrations').pluck().all() as string[];
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw refusal(sqlite, `holds the migration ${unknown}, which this paygate does not know`);
  }
}

function recordedHash(sqlite: Sqlite, name: string): string | undefined {
  const row = sqlite.prepare('SELECT hash FROM migrations WHERE name = ?').get(name);
  return (row as { hash: string } | undefined)?.hash;
}

function applyOnce(sqlite: Sqlite, migration: Migration, version: number): void {
  const hash = hashOf(migration);
  const run = sqlite.transaction(() => {
    const recorded = recordedHash(sqlite, migration.name);
    if (recorded === hash) return;
    if (recorded !== undefined) {
      const other = `holds another migration ${migration.name} than this paygate`;
      throw refusal(sqlite, version === 1 ? madeBeforeRelease : other);
    }
    sqlite.exec(migration.sql);
    sqlite.prepare('INSERT INTO migrations (name, hash) VALUES (?, ?)').run(migration.name, hash);
    sqlite.pragma(`user_version = ${version}`);
  });
  run.immediate();
}

/** At each start, so not by node:crypto, whose first hash has OpenSSL load its own. */
const hashOf = (migration: Migration): string => bytesToHex(sha256(utf8ToBytes(migration.sql)));

const refusal = (sqlite: Sqlite, text: string): PaygateError =>
  new PaygateError('unavailable', `${sqlite.name}: ${text}`);
