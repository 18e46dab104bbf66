// The statements that the store prepares, the plans that SQLite makes for them, and what they read.

import SqliteDatabase from 'better-sqlite3';
import { vi } from 'vitest';
import { setPrepareAtOnce } from '../../src/store/db/orm.ts';

/** @returns the SQL of all statements that `make` prepares, on any connection */
export async function statementsOf(make: () => unknown): Promise<string[]> {
  return (await preparedBy(make)).map(({ text }) => text);
}

/** A statement that was prepared, and where. */
export interface Prepared {
  readonly text: string;
  readonly stack: string;
}

/** @returns the statements that `make` prepares for the first time, on any connection */
export async function preparedBy(make: () => unknown): Promise<Prepared[]> {
  const { prototype } = SqliteDatabase;
  const { prepare } = prototype;
  const found = new Map<string, Prepared>();
  const spy = vi.spyOn(prototype, 'prepare').mockImplementation(function (
    this: SqliteDatabase.Database,
    text,
  ) {
    const { stack = '' } = new Error();
    found.set(text, { text, stack: `${found.get(text)?.stack ?? ''}${stack}` });
    return prepare.call(this, text);
  });
  setPrepareAtOnce(true);
  try {
    await make();
    return [...found.values()];
  } finally {
    setPrepareAtOnce(false);
    spy.mockRestore();
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

/**
 * Plans that read one row, the rows of one payment, order, address or delivery, open rows only, or
 * those of a page.
 */
const cheap =
  /PRIMARY KEY|^SEARCH h USING INDEX sqlite_autoindex_headers_1|sqlite_autoindex_deliveries_1 \(channel=\? AND id=\?\)|deliveries_(version|callback|event|order|owed|sendable|of_address|exhausted|given_up|leased)\b|deliveries_(store|type) \(channel=\? AND store_id=\? AND (type=\? AND )?id[<=>]\?\)|deliveries_age \(channel=\? AND created_at<\?\)|attempts_(delivery|doubted)|payments_(txid|identity|address) /;

/** @returns the steps that walk more deliveries or attempts, with their statement */
export function walksOfDeliveries(path: string, statements: readonly string[]): string[] {
  // The newest or the oldest one is at an end of the index. Maintenance deletes the oldest ones.
  const bounded = /select coalesce\((max|min)\(d\.id\)|^delete from "deliveries"/;
  const known = statements.filter((text) => !bounded.test(text));
  return plansOf(path, known).flatMap((steps, at) =>
    steps
      .filter((step) => /^(SCAN|SEARCH) (deliveries|attempts|[a-fhnpq])\b/.test(step))
      .filter((step) => !cheap.test(step))
      .map((step) => `${step}: ${known[at]}`),
  );
}

/** What some work costs, in units that no load of the machine changes. */
export interface Cost {
  /** Runs of statements. */
  readonly runs: number;
  /** Rows that they returned. */
  readonly rows: number;
}

/** @returns what `work` costs on all connections of this process */
export async function costOf(work: () => unknown): Promise<Cost> {
  const reader = new SqliteDatabase(':memory:');
  const prototype = Object.getPrototypeOf(reader.prepare('select 1')) as SqliteDatabase.Statement;
  reader.close();
  const all = vi.spyOn(prototype, 'all');
  const get = vi.spyOn(prototype, 'get');
  const run = vi.spyOn(prototype, 'run');
  try {
    await work();
    const lists = all.mock.results.map(({ value }) => (value as readonly unknown[]).length);
    const found = get.mock.results.filter(({ value }) => value !== undefined);
    return {
      runs: lists.length + get.mock.results.length + run.mock.results.length,
      rows: lists.reduce((sum, length) => sum + length, found.length),
    };
  } finally {
    for (const spy of [all, get, run]) spy.mockRestore();
  }
}
