// A page of the database that the disk loses while paygate runs, and that no query reads. Every
// snapshot includes it. The daily check finds it.

import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { nextTurn } from '../../src/lib/next-turn.ts';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { backupFolder } from '../../src/store/file/backup.ts';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { look, pragma } from '../support/files.ts';

afterEach(closeApps);

test('a damaged snapshot raises a warning, and the sound ones stay', async () => {
  const app = await openApp({
    checkCopy: async (path) => checkFile(path, 'quick_check').faults,
  });
  await untilReady(app);
  const folder = backupFolder(app.path);
  const warnings = () => app.running.health().warnings.filter((text) => text.includes('DAMAGED'));
  const takeOne = async (name: string) => {
    await app.newAddress();
    app.world.jumpWallClock(86_400_000);
    await app.world.advance(15 * 60_000);
    await app.world.until(() => existsSync(join(folder, name)), 'a snapshot');
  };
  await takeOne('latest.db');
  const before = readFileSync(join(folder, 'latest.db'));
  expect(warnings()).toEqual([]);
  await nextTurn();
  const other = look(app.path);
  pragma(other, 'wal_checkpoint(TRUNCATE)');
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'audit'";
  const page = other.prepare(sql).pluck().get() as number;
  other.close();
  const file = openSync(app.path, 'r+');
  writeSync(file, new Uint8Array(4096).fill(0xa5), 0, 4096, 4096 * (page - 1));
  closeSync(file);
  await takeOne('latest-damaged.db');
  expect(warnings()).toEqual([expect.stringContaining('`paygate restore backups/latest.db`')]);
  expect(app.world.logs.filter(({ message }) => warnings().includes(message))).toHaveLength(1);
  expect(readFileSync(join(folder, 'latest.db')).equals(before)).toBe(true);
});
