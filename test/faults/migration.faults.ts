// A kill and a power loss at every step of every migration. A new file is created, and a file with
// rows gets two invented migrations. Each resulting file opens with every migration applied once.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openSqlite } from '../../src/store/db/driver.ts';
import { backupFolder } from '../../src/store/file/backup.ts';
import { openDatabase } from '../../src/store/file/database.ts';
import { migrations } from '../../src/store/schema/migrations.ts';
import { settings } from '../../src/store/schema/schema.ts';
import { createRandom } from '../simulation/random.ts';
import { cleanUp, pragma, tempFolder } from '../support/files.ts';
import { Disk, survivals } from './shim/disk.ts';
import { fingerprintOf, layOut } from './shim/lay-out.ts';
import { noShim } from './shim/shim.ts';
import { type Watched, watch } from './shim/watch.ts';
import { cannotRun } from './thorough.ts';
import { future, openUpdated } from './updates.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, 'migrate.ts');
const rows = 200;

/** Checks the files as they would be after each step; `everything` survives a kill. */
function atEachStep(
  { folder, before, steps }: Watched,
  expectSound: (path: string) => void,
): number {
  const disk = new Disk(before);
  const random = createRandom(1).fraction;
  const here = tempFolder();
  const seen = new Set<string>();
  for (const [number, step] of steps.entries()) {
    disk.take(step);
    for (const survival of survivals) {
      const remains = disk.remains(survival, random);
      const fingerprint = fingerprintOf(remains);
      if (seen.has(fingerprint)) continue;
      seen.add(fingerprint);
      layOut(here, folder, remains);
      try {
        expectSound(join(here, 'paygate.db'));
      } catch (error) {
        throw new Error(`step ${number} of ${steps.length}, ${step.kind}, ${survival}: ${error}`, {
          cause: error,
        });
      }
    }
  }
  return seen.size;
}

it.skipIf(cannotRun(noShim))(
  'a new file is complete or absent, and an absent one is created at the next start',
  async () => {
    const watched = await watch(program, join(tempFolder(), 'paygate.db'), 'new');
    let absent = 0;
    const count = atEachStep(watched, (path) => {
      if (!existsSync(path)) absent += 1;
      openDatabase({ path, create: true }).close();
      const sqlite = openSqlite(path);
      expect(pragma(sqlite, 'integrity_check')).toBe('ok');
      expect(pragma(sqlite, 'user_version')).toBe(migrations.length);
      sqlite.close();
    });
    process.stdout.write(
      `a new file: ${count} different disks, ${absent} without it, the others whole\n`,
    );
    expect(absent).toBeLessThan(count);
  },
);

it.skipIf(cannotRun(noShim))(
  'an update is applied once, and a copy of the previous file exists',
  async () => {
    const path = join(tempFolder(), 'paygate.db');
    const database = openDatabase({ path, create: true });
    await database.write(() => {
      for (let row = 0; row < rows; row += 1) {
        database.orm
          .insert(settings)
          .values({ name: `${row}`, value: 'x'.repeat(100) })
          .run();
      }
    });
    await database.close();
    const watched = await watch(program, path, 'update');
    const versions = new Set<unknown>();
    const count = atEachStep(watched, (at) => {
      const found = openSqlite(at);
      const version = pragma(found, 'user_version');
      versions.add(version);
      found.close();
      if (version !== migrations.length) expectBackup(at);
      const sqlite = openUpdated(at);
      expect(pragma(sqlite, 'integrity_check')).toBe('ok');
      expect(pragma(sqlite, 'user_version')).toBe(future.length);
      const labels = sqlite.prepare("SELECT count(*), count(nullif(colour, 'red')) FROM labels");
      expect(labels.raw().get()).toEqual([rows, rows / 2]);
      sqlite.close();
      expectBackup(at);
    });
    process.stdout.write(`an update: ${count} different disks, each applied once with a copy\n`);
    // Killed before, between and after the two migrations.
    expect(versions.size).toBe(3);
  },
);

/** The file as it was before the update. */
function expectBackup(path: string): void {
  const backup = openSqlite(join(backupFolder(path), `before-update-${migrations.length}.db`), {
    readonly: true,
  });
  expect(pragma(backup, 'integrity_check')).toBe('ok');
  expect(pragma(backup, 'user_version')).toBe(migrations.length);
  expect(backup.prepare('SELECT count(*) FROM settings').pluck().get()).toBe(rows);
  backup.close();
}
