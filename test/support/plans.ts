// The statements that the store prepares, and the plans that SQLite makes for them.

import SqliteDatabase from 'better-sqlite3';
import { vi } from 'vitest';

/** @returns the SQL of all statements that `make` prepares, on any connection */
export async function statementsOf(make: () => unknown): Promise<string[]> {
  const prepare = vi.spyOn(SqliteDatabase.prototype, 'prepare');
  try {
    await make();
    return prepare.mock.calls.map(([text]) => text);
  } finally {
    prepare.mockRestore();
  }
}

/** @returns the steps of each statement's plan, as SQLite prints them (https://www.sqlite.org/eqp.html) */
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
