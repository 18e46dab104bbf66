// How drizzle talks to the driver here. It writes the SQL and knows the types; what is done for each row and
// each parameter of a prepared statement is settled once, when it is prepared.

import type { Statement } from 'better-sqlite3';
import {
  Column,
  type ExtractTablesWithRelations,
  is,
  NoopLogger,
  noopDecoder,
  Placeholder,
  SQL,
} from 'drizzle-orm';
import {
  BetterSQLite3Database,
  BetterSQLiteSession,
  PreparedQuery,
} from 'drizzle-orm/better-sqlite3';
import { NoopCache } from 'drizzle-orm/cache/core/cache';
import { type PreparedQueryConfig, SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';
import type { Sqlite } from './driver.ts';
import type { Snapshot } from './snapshot.ts';

export type Orm = BetterSQLite3Database & { readonly $client: Sqlite };

/** Of relational queries, which nothing here asks. */
type NoSchema = Record<string, never>;
type NoTables = ExtractTablesWithRelations<NoSchema>;
type Session = BetterSQLiteSession<NoSchema, NoTables>;
type Prepare = Parameters<Session['prepareQuery']>;
type Given = Readonly<Record<string, unknown>>;

/** Reads at any time; statements prepared on it run inside a transaction as well. */
export function ormOf(sqlite: Sqlite, snapshot: Snapshot): Orm {
  const dialect = new SteadyDialect();
  const session = new SteadySession(sqlite, dialect, snapshot);
  const orm = new BetterSQLite3Database('sync', dialect, session, undefined);
  return Object.assign(orm, { $client: sqlite });
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

class SteadySession extends BetterSQLiteSession<NoSchema, NoTables> {
  readonly #sqlite: Sqlite;
  readonly #snapshot: Snapshot;

  constructor(sqlite: Sqlite, dialect: SQLiteSyncDialect, snapshot: Snapshot) {
    super(sqlite, dialect, undefined);
    this.#sqlite = sqlite;
    this.#snapshot = snapshot;
  }

  override prepareQuery<T extends Omit<PreparedQueryConfig, 'run'>>(
    ...asked: Prepare
  ): PreparedQuery<T> {
    const statement = this.#sqlite.prepare<unknown[], unknown>(asked[0].sql);
    return new SteadyQuery(statement, this.#snapshot, asked) as PreparedQuery<T>;
  }
}

class SteadyQuery extends PreparedQuery {
  readonly #statement: Statement<unknown[], unknown>;
  readonly #snapshot: Snapshot;
  readonly #isRead: boolean;
  readonly #given: (values: Given) => unknown[];
  /** Undefined where drizzle does it itself: rows of several tables, and SQL without any. */
  readonly #read: ((row: readonly unknown[]) => unknown) | undefined;

  constructor(statement: Statement<unknown[], unknown>, snapshot: Snapshot, asked: Prepare) {
    const [query, fields, method, inArrays, mapper, about, caching] = asked;
    super(
      ...[statement, query, new NoopLogger(), new NoopCache(), about, caching],
      ...[fields, method, inArrays, mapper],
    );
    this.#snapshot = snapshot;
    this.#isRead = statement.readonly;
    this.#given = givenTo(query.params);
    this.#read = readerOf(fields);
    this.#statement = this.#read === undefined ? statement : statement.raw();
  }

  override run(values: Given = {}) {
    this.#snapshot.end();
    return this.#statement.run(...this.#given(values));
  }

  override get(values: Given = {}): unknown {
    this.#look();
    if (this.#read === undefined) return super.get(values);
    const row = this.#statement.get(...this.#given(values));
    return row && this.#read(row as unknown[]);
  }

  override all(values: Given = {}): unknown {
    this.#look();
    if (this.#read === undefined) return super.all(values);
    return (this.#statement.all(...this.#given(values)) as unknown[][]).map(this.#read);
  }

  #look() {
    if (this.#isRead) this.#snapshot.open();
    else this.#snapshot.end();
  }
}

/** @returns what makes the driver's parameters of the values that a statement is given by name (given.ts), as they are */
function givenTo(params: readonly unknown[]): (values: Given) => unknown[] {
  const take = params.map((param) => {
    if (!is(param, Placeholder)) return () => param;
    const { name } = param;
    return (values: Given) => {
      if (!(name in values)) throw new Error(`nothing is given for ${name}`);
      return values[name];
    };
  });
  return (values) => take.map((each) => each(values));
}

type Fields = NonNullable<Prepare[1]>;
type Decode = (value: unknown) => unknown;

/** @returns what makes an object of a row, whose columns are all its own */
function readerOf(fields: Fields | undefined) {
  if (fields === undefined || fields.some(({ path }) => path.length > 1)) return undefined;
  const names = fields.map(({ path }) => path[0] ?? '');
  const decodes = fields.map(({ field }) => decoderOf(field));
  return (row: readonly unknown[]) => {
    const read: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) {
      const value = row[index] ?? null;
      const decode = decodes[index];
      read[names[index] ?? ''] = value === null || decode === undefined ? value : decode(value);
    }
    return read;
  };
}

/** Undefined where a value is what the driver gives. */
function decoderOf(field: Fields[number]['field']): Decode | undefined {
  const decoder = is(field, Column) ? field : ofSql(is(field, SQL.Aliased) ? field.sql : field);
  return plain.has(decoder.mapFromDriverValue)
    ? undefined
    : (value) => decoder.mapFromDriverValue(value);
}

const plain: ReadonlySet<unknown> = new Set([
  Column.prototype.mapFromDriverValue,
  noopDecoder.mapFromDriverValue,
]);

/** What `mapWith` sets, which the types keep to themselves. */
const ofSql = (field: unknown): typeof noopDecoder =>
  (field as { readonly decoder: typeof noopDecoder }).decoder;
