// drizzle on the connection of the database. A statement that runs often is prepared once
// (prepared.ts), and takes its values as placeholders (placeholder.ts). Reads share the snapshot of
// their turn (read-snapshot.ts).

import type { Statement } from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
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
