// The bare SQLite commit that rows are held against: one table, the pragmas of paygate, nothing else.

import SqliteDatabase from 'better-sqlite3';

/** @returns commits rows; they are on the disk when it returns */
export function openBare(path: string): (rows: readonly string[]) => void {
  const sqlite = new SqliteDatabase(path);
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = FULL');
  sqlite.exec('CREATE TABLE IF NOT EXISTS bare (id integer PRIMARY KEY, row text NOT NULL) STRICT');
  const insert = sqlite.prepare('INSERT INTO bare (row) VALUES (?)');
  return sqlite.transaction((rows: readonly string[]) => {
    for (const row of rows) insert.run(row);
  });
}
