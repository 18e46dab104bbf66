// Folders that are deleted with the test. It inspects a database file from outside: its rows, the
// commits in its write-ahead log, the view of another connection.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import type { Database } from '../../src/store/file/database.ts';

export type Sqlite = SqliteDatabase.Database;

const cleanups: (() => Promise<void> | void)[] = [];

/** Runs when the test is over, the last one first. */
export const whenOver = (cleanup: () => Promise<void> | void): void => void cleanups.push(cleanup);

/** Ends all that the test opened; for `afterEach`. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

/** In memory if the machine has /dev/shm, because most tests do not depend on a real disk. */
export const tempRoot = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A folder that is removed when the test is over. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tempRoot, 'paygate-store-'));
  whenOver(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

/** Another connection to the file, which knows nothing of paygate. */
export function look(path: string, options: SqliteDatabase.Options = {}): Sqlite {
  const sqlite = new SqliteDatabase(path, options);
  whenOver(() => void sqlite.close());
  return sqlite;
}

/** Names of the settings in a copy of this one file, without its write-ahead log. */
export function namesIn(path: string): unknown[] {
  const copy = `${tempFolder()}/copy.db`;
  copyFileSync(path, copy);
  return look(copy).prepare('SELECT name FROM settings').pluck().all();
}

/** The connection under a database of paygate's. */
export const connectionOf = ({ orm }: Pick<Database, 'orm'>): Sqlite =>
  (orm as unknown as { $client: Sqlite }).$client;

export const pageBytes = 4096;

export const noise = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => (at * 131 + 7) % 256);

/** Overwrites bytes of a file. */
export function scribble(path: string, position: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, position);
  closeSync(file);
}

/** Overwrites the page on which a table of a database begins. */
export function damageTable(path: string, table: string): void {
  const sqlite = look(path);
  const page = sqlite
    .prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .pluck()
    .get(table) as number;
  sqlite.close();
  scribble(path, (page - 1) * pageBytes, noise(pageBytes));
}

/** How many addresses were given out. */
export const countIssued = (database: Pick<Database, 'orm'>): unknown =>
  connectionOf(database)
    .prepare("select count(*) from addresses where origin = 'issued'")
    .pluck()
    .get();

export const pragma = (sqlite: Sqlite, name: string): unknown =>
  sqlite.pragma(name, { simple: true });

/** Every file of a folder with the hash of its bytes; folders as such. */
export function contentOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true }) as string[];
  return Object.fromEntries(
    names.sort().map((name) => {
      const path = join(folder, name);
      if (statSync(path).isDirectory()) return [name, 'a folder'];
      return [name, createHash('sha256').update(readFileSync(path)).digest('hex')];
    }),
  );
}

const walHeaderBytes = 32;
const frameHeaderBytes = 24;

/** How many transactions the write-ahead log holds. https://www.sqlite.org/fileformat.html#walformat */
export function commitsIn(path: string): number {
  const wal = existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`) : Buffer.alloc(0);
  if (wal.length < walHeaderBytes) return 0;
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8);
  const salts = wal.subarray(16, 24);
  let commits = 0;
  for (let at = walHeaderBytes; at + frameBytes <= wal.length; at += frameBytes) {
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break;
    if (wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}

/** The user id of `nobody`, for tests of files of another user. */
export const nobody = 65_534;

/**
 * Runs as a user to whom permissions apply, which they don't to root. Other tests of the same
 * process wait, for it is all synchronous.
 */
export function asOrdinaryUser<T>(work: () => T): T {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(nobody);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}
