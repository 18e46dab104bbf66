// The bare SQLite commit that rows are held against: one table, the pragmas of paygate, nothing else.

import SqliteDatabase from 'better-sqlite3';

/**
 * @param {string} path
 * @returns {(rows: readonly string[]) => void} commits them; they are on the disk when it returns
 */
export function openBare(path) {
  const sqlite = new SqliteDatabase(path);
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = FULL');
  sqlite.exec('CREATE TABLE IF NOT EXISTS bare (id integer PRIMARY KEY, row text NOT NULL) STRICT');
  const insert = sqlite.prepare('INSERT INTO bare (row) VALUES (?)');
  return sqlite.transaction((rows) => {
    for (const row of rows) insert.run(row);
  });
}
