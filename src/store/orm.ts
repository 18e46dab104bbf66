// How drizzle talks to the driver here: the same SQL that it writes anyway, but for its parameters.

import type { ExtractTablesWithRelations } from 'drizzle-orm';
import { BetterSQLite3Database, BetterSQLiteSession } from 'drizzle-orm/better-sqlite3';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';
import type { Sqlite } from './driver.ts';

export type Orm = BetterSQLite3Database;

/** Of relational queries, which nothing here asks. */
type NoSchema = Record<string, never>;

/** Reads at any time; statements prepared on it run inside a transaction as well. */
export function ormOf(sqlite: Sqlite): Orm {
  const dialect = new SteadyDialect();
  const session = new BetterSQLiteSession<NoSchema, ExtractTablesWithRelations<NoSchema>>(
    ...[sqlite, dialect, undefined],
  );
  return new BetterSQLite3Database('sync', dialect, session, undefined);
}

/**
 * SQLite compiles a prepared statement anew whenever another value is bound to a parameter that the choice of
 * a plan might have depended on: one beside an ORDER BY, in a LIMIT, compared with an indexed column
 * (https://www.sqlite.org/c3ref/prepare.html, on SQLITE_ENABLE_STAT4). That is ten times the cost of
 * running it. The unary plus changes no value, and keeps the parameter out of that choice.
 */
class SteadyDialect extends SQLiteSyncDialect {
  override escapeParam(): string {
    return '+?';
  }
}
