// A future paygate: two invented migrations after the existing ones.

import { openSqlite, type Sqlite } from '../../src/store/db/driver.ts';
import { migrate } from '../../src/store/db/migrate.ts';
import { keepBeforeUpdate } from '../../src/store/file/backup.ts';
import { type Migration, migrations } from '../../src/store/schema/migrations.ts';

export const future: readonly Migration[] = [
  ...migrations,
  {
    name: '9998_labels',
    sql: `CREATE TABLE labels (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
      INSERT INTO labels (text) SELECT name || value FROM settings;
      CREATE INDEX labels_text ON labels (text);`,
  },
  {
    name: '9999_colours',
    sql: `ALTER TABLE labels ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';
      UPDATE labels SET colour = 'blue' WHERE id % 2 = 0;`,
  },
];

/** Opens a file as database.ts does, with the future migrations. */
export function openUpdated(path: string): Sqlite {
  const sqlite = openSqlite(path, { timeout: 5_000 });
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'wal_autocheckpoint = 0']) {
    sqlite.pragma(pragma);
  }
  migrate(sqlite, future, () => keepBeforeUpdate(sqlite, path));
  return sqlite;
}
