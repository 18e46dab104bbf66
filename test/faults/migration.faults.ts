// A kill, and a loss of power, at every step of every migration: of those that make a new file, and of two made-up
// ones on a file in use. Whatever lies there afterwards is opened, and all is applied, once.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { backupFolder } from '../../src/store/backup/backup.ts';
import { openDatabase } from '../../src/store/db/database.ts';
import { openSqlite } from '../../src/store/db/driver.ts';
import { migrations } from '../../src/store/db/migrations.ts';
import { settings } from '../../src/store/db/schema.ts';
import { createRandom } from '../simulation/random.ts';
import { cleanUp, pragma, tempFolder } from '../support/files.ts';
import { Disk, lucks } from './shim/disk.ts';
import { layOut, printOf } from './shim/lay-out.ts';
import { noShim } from './shim/shim.ts';
import { type Watched, watch } from './shim/watch.ts';
import { unless } from './thorough.ts';
import { future, openUpdated } from './updates.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, 'migrate.ts');
const rows = 200;

/** Opens what would lie there after each step: `everything` is what a kill leaves. */
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
    for (const luck of lucks) {
      const remains = disk.remains(luck, random);
      const print = printOf(remains);
      if (seen.has(print)) continue;
      seen.add(print);
      layOut(here, folder, remains);
      try {
        expectSound(join(here, 'paygate.db'));
      } catch (error) {
        throw new Error(`step ${number} of ${steps.length}, ${step.kind}, ${luck}: ${error}`, {
          cause: error,
        });
      }
    }
  }
  return seen.size;
}

it.skipIf(unless(noShim))(
  'a new file is there whole or not at all, and made at the next start',
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

it.skipIf(unless(noShim))(
  'an update is applied once, and the file from before is kept',
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
      if (version !== migrations.length) expectKept(at);
      const sqlite = openUpdated(at);
      expect(pragma(sqlite, 'integrity_check')).toBe('ok');
      expect(pragma(sqlite, 'user_version')).toBe(future.length);
      const labels = sqlite.prepare("SELECT count(*), count(nullif(colour, 'red')) FROM labels");
      expect(labels.raw().get()).toEqual([rows, rows / 2]);
      sqlite.close();
      expectKept(at);
    });
    process.stdout.write(`an update: ${count} different disks, each applied once and kept\n`);
    // Killed before, between and after.
    expect(versions.size).toBe(3);
  },
);

/** The file as it was before the update. */
function expectKept(path: string): void {
  const kept = openSqlite(join(backupFolder(path), `before-update-${migrations.length}.db`), {
    readonly: true,
  });
  expect(pragma(kept, 'integrity_check')).toBe('ok');
  expect(pragma(kept, 'user_version')).toBe(migrations.length);
  expect(kept.prepare('SELECT count(*) FROM settings').pluck().get()).toBe(rows);
  kept.close();
}
