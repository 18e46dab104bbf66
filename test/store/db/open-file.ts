// Opens a database file for one test, and writes rows to it.

import {
  type Database,
  type DatabaseOptions,
  openDatabase,
} from '../../../src/store/file/database.ts';
import { settings } from '../../../src/store/schema/schema.ts';
import { tempFolder, whenOver } from '../../support/files.ts';

/** A new file unless a path is given. It is closed when the test is over. */
export function openFile(options: Partial<DatabaseOptions> = {}): Database {
  const path = `${tempFolder()}/paygate.db`;
  const database = openDatabase({ path, create: true, ...options });
  whenOver(() => database.close());
  return database;
}

/** Commits a setting with a value of this size. */
export const put = (database: Database, name: string, bytes = 0): Promise<void> =>
  database.write(() => {
    const value = 'x'.repeat(bytes);
    database.orm.insert(settings).values({ name, value }).run();
  });
