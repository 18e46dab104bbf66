// Backups at the wish of a person: on a full disk, and while the server stops.

import { readdirSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { createRequestedBackups } from '../../../src/store/backup/requested-backup.ts';
import { backupFolder } from '../../../src/store/file/backup.ts';
import { cleanUp } from '../../support/files.ts';
import { openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

const noon = Date.UTC(2026, 10, 21, 12);

test('no backup is made that would fill the disk', async () => {
  const records = await openTestStore();
  const backups = createRequestedBackups(records.database, 2 ** 60);
  await expect(backups.make(noon)).rejects.toThrow(
    'no backup was made: there is no room for one on the disk',
  );
  expect(readdirSync(backupFolder(records.path))).toEqual([]);
});

test('a stop gives up the backup that is under way and leaves nothing behind', async () => {
  const records = await openTestStore();
  const backups = createRequestedBackups(records.database, 0);
  const made = backups.make(noon);
  const refused = expect(made).rejects.toThrow('no backup was made: paygate is stopping');
  await backups.stop();
  await refused;
  expect(readdirSync(backupFolder(records.path))).toEqual([]);
});

test('two at once, and another in the same second, are one file', async () => {
  const records = await openTestStore();
  const backups = createRequestedBackups(records.database, 0);
  const names = [...(await Promise.all([backups.make(noon), backups.make(noon + 5_000)]))];
  names.push(await backups.make(noon));
  expect(new Set(names)).toEqual(new Set(['2026-11-21T120000Z.db']));
  expect(readdirSync(backupFolder(records.path))).toEqual(['2026-11-21T120000Z.db']);
});
