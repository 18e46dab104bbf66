// What SQLite makes of the store's statements, which are compiled with their first run otherwise.

import SqliteDatabase from 'better-sqlite3';
import { vi } from 'vitest';
import type { Orm } from '../../src/store/db/orm.ts';

/** What drizzle keeps to itself. */
interface WithSession {
  readonly session: { prepareQuery(query: { readonly sql: string }, ...more: never[]): unknown };
}

/** @returns the SQL of all statements that are made meanwhile, on any connection */
export async function statementsOf(orm: Orm, make: () => unknown): Promise<string[]> {
  const { session } = orm as unknown as WithSession;
  const prepare = vi.spyOn(Object.getPrototypeOf(session) as typeof session, 'prepareQuery');
  try {
    await make();
    return prepare.mock.calls.map(([query]) => query.sql);
  } finally {
    prepare.mockRestore();
  }
}

/** @returns the steps of each statement's plan, in words of SQLite (https://www.sqlite.org/eqp.html) */
export function plansOf(path: string, statements: readonly string[]): string[][] {
  const reader = new SqliteDatabase(path, { readonly: true });
  try {
    return statements.map((text) => {
      const values = Array.from({ length: text.split('?').length - 1 }, () => 0);
      const plan = reader.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
      return (plan as { detail: string }[]).map(({ detail }) => detail);
    });
  } finally {
    reader.close();
  }
}
