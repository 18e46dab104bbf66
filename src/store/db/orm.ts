// drizzle on the connection of the database. A statement that runs often is prepared once, and
// takes its values as placeholders. Reads share the snapshot of their turn (read-snapshot.ts).

// SQLite compiles a statement again if a parameter is bound that its plan might depend on. That is
// one which is compared with an indexed column, or a LIMIT (https://sqlite.org/c3ref/prepare.html,
// SQLITE_ENABLE_STAT4). A statement that runs for each payment or address therefore has constants
// as SQL (`inlineParams`). It reads one row by `get()`, without a LIMIT.

import type { Statement } from 'better-sqlite3';
import {
  type Column,
  eq,
  getTableColumns,
  type SQL,
  type SQLWrapper,
  sql,
  type Table,
} from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { lazy } from '../../lib/lazy.ts';
import type { Sqlite } from './driver.ts';
import type { ReadSnapshot } from './read-snapshot.ts';

export type Orm = ReturnType<typeof ormOf>;

export function ormOf(sqlite: Sqlite, snapshot: ReadSnapshot) {
  const client: Sqlite = Object.create(sqlite, {
    prepare: { value: (text: string) => inSnapshot(sqlite.prepare(text), snapshot) },
  });
  return Object.assign(drizzle(client), { $client: sqlite });
}

/** What drizzle uses of a statement: a read runs inside the snapshot, a write outside of it. */
function inSnapshot(statement: Statement<unknown[]>, snapshot: ReadSnapshot) {
  const begin = statement.readonly ? () => snapshot.open() : () => snapshot.end();
  const guarded = {
    run(...values: unknown[]) {
      begin();
      return statement.run(...values);
    },
    get(...values: unknown[]) {
      begin();
      return statement.get(...values);
    },
    all(...values: unknown[]) {
      begin();
      return statement.all(...values);
    },
    raw() {
      statement.raw();
      return guarded;
    },
  };
  return guarded;
}

/** What drizzle makes of a query: the ways to run it, each with the values of its placeholders. */
type Ways = 'run' | 'get' | 'all' | 'values';
interface Prepared {
  run(values?: Values): unknown;
  get(values?: Values): unknown;
  all(values?: Values): unknown;
  values(values?: Values): unknown;
}
type Values = Record<string, unknown>;

let isEager = false;

/** Has statements prepared as soon as they are made, for the test that explains all of them. */
export function setPrepareAtOnce(isAtOnce: boolean): void {
  isEager = isAtOnce;
}

/**
 * A statement of a query that is built at its first use. A command uses few of the 180, and to
 * build one costs more than to run it.
 */
export function prepared<P extends Prepared>(query: () => { prepare(): P }): Pick<P, Ways> {
  const made = lazy(() => query().prepare());
  if (isEager) made();
  const statement: Prepared = {
    run: (values) => made().run(values),
    get: (values) => made().get(values),
    all: (values) => made().all(values),
    values: (values) => made().values(values),
  };
  return statement as Pick<P, Ways>;
}

/**
 * A value that is given by name each time the statement runs. It is SQL, because drizzle would
 * encode the value of a bare placeholder as its column does. The unary plus changes no value, and
 * keeps SQLite from compiling the statement again. drizzle's types take only `sql.placeholder`
 * itself as a LIMIT.
 */
export const placeholder = (name: string): SQL => sql`+${sql.placeholder(name)}`;

/** The values of these names, as the columns of a row. */
export const placeholders = <Name extends string>(...names: Name[]): Record<Name, SQL> =>
  Object.fromEntries(names.map((name) => [name, placeholder(name)])) as Record<Name, SQL>;

/** Whether a column has the value of this name. */
export const equals = (column: Column, name: string): SQL => eq(column, placeholder(name));

/** Some columns of a table, for a select. */
export function columnsOf<T extends Table, Name extends keyof T['_']['columns'] & string>(
  table: T,
  ...names: Name[]
): Pick<T['_']['columns'], Name> {
  const columns = getTableColumns(table);
  return Object.fromEntries(names.map((name) => [name, columns[name]])) as Pick<
    T['_']['columns'],
    Name
  >;
}

/**
 * The sum of a column in satoshis, at most all bitcoins; 0 without rows. A server can invent
 * payments for which `sum` fails. `total` adds floats, exact up to far above that limit.
 */
export const satSum = (column: SQLWrapper, which?: SQL): SQL<number> =>
  sql<number>`min(total(${column})${which && sql` filter (where ${which})`},
    ${sql.raw(String(maxMoneySat))})`;
