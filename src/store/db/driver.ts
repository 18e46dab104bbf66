// Opens SQLite files, with the driver's own addon or with the one that the single executable
// carries. It sets no pragma.

import { dirname } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { embeddedAddon } from './native-addon.ts';

export type Sqlite = SqliteDatabase.Database;

export function openSqlite(path: string, options: SqliteDatabase.Options = {}): Sqlite {
  const addon = embeddedAddon(dirname(path));
  // The types know only the path of an addon.
  const nativeBinding = addon as unknown as string;
  return new SqliteDatabase(path, addon === undefined ? options : { ...options, nativeBinding });
}

export function withSqlite<T>(
  path: string,
  options: SqliteDatabase.Options,
  work: (sqlite: Sqlite) => T,
): T {
  const sqlite = openSqlite(path, options);
  try {
    return work(sqlite);
  } finally {
    sqlite.close();
  }
}

/** SQLite's name for what went wrong; '' for an error that is not its own. */
export const sqliteCode = (error: unknown): string =>
  error instanceof SqliteDatabase.SqliteError ? error.code : '';

/** That pages of a file are not what they were. */
export const isDamage = (error: unknown): boolean =>
  /^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error));
