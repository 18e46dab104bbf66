// The addon of the single executable, loaded from a file without a name, or from one in the data
// folder that is deleted at once. A clear message if neither works.

import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, expect, it } from 'vitest';
import { openSqlite } from '../../../src/store/db/driver.ts';
import { loadAddon } from '../../../src/store/db/native-addon.ts';
import { modules } from '../../support/bundle.ts';
import { cleanUp, tempFolder, whenOver } from '../../support/files.ts';

afterEach(cleanUp);

const addon = readFileSync(join(modules, `better-sqlite3/prebuilds/linux-${process.arch}.node`));

function countOn(binding: object, path: string): unknown {
  const sqlite = new SqliteDatabase(path, { nativeBinding: binding as unknown as string });
  sqlite.exec('CREATE TABLE t (n INTEGER) STRICT');
  sqlite.prepare('INSERT INTO t VALUES (7)').run();
  const found = sqlite.prepare('SELECT n FROM t').pluck().get();
  sqlite.close();
  return found;
}

it('loads from a file without a name', () => {
  const folder = tempFolder();
  const binding = loadAddon(addon, { folders: ['/nowhere', folder], dataFolder: '/nowhere' });
  expect(readdirSync(folder)).toEqual([]);
  expect(countOn(binding, join(folder, 'a.db'))).toBe(7);
});

it('loads from a file in the data folder that is gone at once', () => {
  const folder = tempFolder();
  const binding = loadAddon(addon, { folders: [], dataFolder: folder });
  expect(readdirSync(folder)).toEqual([]);
  expect(countOn(binding, join(folder, 'a.db'))).toBe(7);
});

it('loads from a file in the working folder', () => {
  const [folder, before] = [tempFolder(), process.cwd()];
  whenOver(() => process.chdir(before));
  process.chdir(folder);
  const binding = loadAddon(addon, { folders: [], dataFolder: '.' });
  expect(readdirSync(folder)).toEqual([]);
  expect(countOn(binding, join(folder, 'a.db'))).toBe(7);
});

it('names each folder that cannot execute it', () => {
  const folder = join(tempFolder(), 'data');
  mkdirSync(folder);
  // The loader knows a library by its name: the descriptor must be another than that of the test
  // above.
  const taken = openSync(folder, 'r');
  whenOver(() => closeSync(taken));
  const noise = Buffer.from('this is no library');
  const load = () => loadAddon(noise, { folders: ['/nowhere', folder], dataFolder: folder });
  expect(load).toThrow(/^SQLite cannot be loaded.*\/nowhere: ENOENT.*data: .*data: .*noexec$/);
  expect(readdirSync(folder)).toEqual([]);
});

it('is not used by a checkout', () => {
  const sqlite = openSqlite(join(tempFolder(), 'a.db'));
  expect(sqlite.open).toBe(true);
  sqlite.close();
});
