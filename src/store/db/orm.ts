// How drizzle talks to the driver here. It writes the SQL and knows the types; what is done for each row and
// each parameter of a prepared statement is settled once, when it is first run.

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
import { lazy } from '../../lib/lazy.ts';
import type { Sqlite } from './driver.ts';
import type { Snapshot } from './snapshot.ts';

export type Orm = BetterSQLite3Database & { readonly $client: Sqlite };

/** Of relational queries, which nothing here asks. */
type NoSchema = Record<string, never>;
type NoTables = ExtractTablesWithRelations<NoSchema>;
type Session = BetterSQLiteSession<NoSchema, NoTables>;
type Prepare = Parameters<Session['prepareQuery']>;
type ToQuery = Parameters<SQLiteSyncDialect['sqlToQuery']>;
type Query = ReturnType<SQLiteSyncDialect['sqlToQuery']>;
type SomeStatement = Statement<unknown[], unknown>;
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

  override sqlToQuery(...asked: ToQuery): Query {
    return lateQuery(() => super.sqlToQuery(...asked));
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
    const [query] = asked;
    const statement = lateStatement(() => this.#sqlite.prepare<unknown[], unknown>(query.sql));
    return new SteadyQuery(statement, this.#snapshot, asked) as PreparedQuery<T>;
  }
}

/** What is settled when a statement is first run. */
interface Settled {
  readonly statement: Pick<SomeStatement, 'run' | 'get' | 'all'>;
  readonly isRead: boolean;
  readonly take: (values: Given) => unknown[];
  /** Undefined where drizzle does it itself: rows of several tables, and SQL without any. */
  readonly read: ((row: readonly unknown[]) => unknown) | undefined;
}

class SteadyQuery extends PreparedQuery {
  readonly #snapshot: Snapshot;
  readonly #settle: () => Settled;

  constructor(statement: SomeStatement, snapshot: Snapshot, asked: Prepare) {
    const [query, fields, method, inArrays, mapper, about, caching] = asked;
    super(
      ...[statement, query, new NoopLogger(), new NoopCache(), about, caching],
      ...[fields, method, inArrays, mapper],
    );
    this.#snapshot = snapshot;
    this.#settle = lazy(() => {
      const read = readerOf(fields);
      const take = givenTo(query.params);
      const isRead = statement.readonly;
      return { read, take, isRead, statement: read === undefined ? statement : statement.raw() };
    });
  }

  override run(values: Given = {}) {
    this.#snapshot.end();
    const { statement, take } = this.#settle();
    return statement.run(...take(values));
  }

  override get(values: Given = {}): unknown {
    const { statement, take, read, isRead } = this.#settle();
    this.#look(isRead);
    if (read === undefined) return super.get(values);
    const row = statement.get(...take(values));
    return row && read(row as unknown[]);
  }

  override all(values: Given = {}): unknown {
    const { statement, take, read, isRead } = this.#settle();
    this.#look(isRead);
    if (read === undefined) return super.all(values);
    return (statement.all(...take(values)) as unknown[][]).map(read);
  }

  #look(isRead: boolean) {
    if (isRead) this.#snapshot.open();
    else this.#snapshot.end();
  }
}

// A start makes some ninety statements and needs few: each is written and compiled when it is first run.

function lateQuery(write: () => Query): Query {
  const query = lazy(write);
  return {
    get sql() {
      return query().sql;
    },
    get params() {
      return query().params;
    },
  };
}

/** With what drizzle asks of one. */
function lateStatement(prepare: () => SomeStatement): SomeStatement {
  const statement = lazy(prepare);
  const late: Pick<SomeStatement, 'readonly' | 'run' | 'get' | 'all' | 'raw'> = {
    get readonly() {
      return statement().readonly;
    },
    run: (...values) => statement().run(...values),
    get: (...values) => statement().get(...values),
    all: (...values) => statement().all(...values),
    raw: () => statement().raw(),
  };
  return late as SomeStatement;
}

/** @returns what makes the driver's parameters of the values that a statement is given by name (placeholder.ts), as they are */
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
