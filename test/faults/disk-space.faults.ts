// A full disk, and a read-only one: tmpfs mounts of a few megabytes. Needs root.

import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/file/database.ts';
import { applicationId } from '../../src/store/file/file-guards.ts';
import { migrations } from '../../src/store/schema/migrations.ts';
import { settings } from '../../src/store/schema/schema.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, contentOf, look, pragma, tempFolder, whenOver } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';
import { eventually, prepareServe, serve } from './serving.ts';
import { cannotRun } from './thorough.ts';

afterEach(cleanUp);

/** Why nothing can be mounted here; undefined if it can. */
function noMount(): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root can mount a small disk';
  const tried = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  return tried.status === 0 ? undefined : 'this machine allows no mount of a small disk';
}

const isSkipped = cannotRun(noMount());

/** Mounts a disk of this size. @returns its folder */
function smallDisk(megabytes: number): string {
  const folder = tempFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'none', folder]);
  whenOver(() => void execFileSync('umount', [folder]));
  return folder;
}

const pageBytes = 4_096;

/** Fills a disk with this many bytes, or until it is full. @returns a function that frees them */
function fill(folder: string, bytes = Number.POSITIVE_INFINITY): () => void {
  const ballast = join(folder, 'ballast');
  const file = openSync(ballast, 'a');
  try {
    for (let done = 0; done < bytes; done += pageBytes) writeSync(file, Buffer.alloc(pageBytes));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
  } finally {
    closeSync(file);
  }
  return () => rmSync(ballast);
}

it.skipIf(isSkipped)(
  'each command reports a disk that filled up while paygate was stopped',
  async () => {
    const path = join(smallDisk(4), 'paygate.db');
    const records = await openTestStore({ path });
    await records.addWallet();
    await records.addStore();
    await records.database.close();
    fill(dirname(path));
    const full = `paygate: ${path}: the disk is full (SQLITE_IOERR_SHMSIZE): free some room\n`;
    for (const args of [
      ['store', 'list'],
      ['key', 'rotate'],
      ['backup'],
      ['admin', 'link'],
      ['check'],
    ]) {
      expect([args, await runProcess([...args, '--db', path])]).toEqual([
        args,
        { code: 1, stdout: '', stderr: full },
      ]);
    }
    const { stdout } = await runProcess(['doctor', '--db', path]);
    expect(stdout).toMatch(/^fail +database .*: the disk is full/m);
    expect(stdout).toMatch(/^fail +disk +0 MiB free beside the database/m);
    expect(stdout).toMatch(/^skip +electrum /m);
  },
);

it.skipIf(isSkipped)(
  'a disk that fills up stops new addresses first, and all work resumes with free space',
  async () => {
    const disk = smallDisk(90);
    const setup = await prepareServe(join(disk, 'paygate.db'));
    const { chain, receiver } = setup;
    const paygate = await serve(setup);
    const issued: string[] = [];
    await eventually('three addresses', async () => {
      const { address } = (await paygate.newAddress()) ?? {};
      if (address !== undefined) issued.push(address);
      return issued.length === 3;
    });
    const [first = '', second = ''] = issued;
    await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);

    // Below the floor of 64 MiB.
    const makeRoom = fill(disk, 40 * 1024 * 1024);
    expect(await paygate.newAddress()).toMatchObject({ status: 503 });
    expect((await paygate.health()).warnings.join()).toContain('the disk is almost full');
    chain.pay([{ address: first, valueSat: 5_000 }]);
    await receiver.waitFor(1);
    expect(receiver.requests[0]?.url).toContain(`addr=${first}`);
    // A delivery that is not recorded would be repeated.
    await eventually(
      'the delivery to be recorded',
      async () => (await paygate.health()).callbacks.owed === 0,
    );

    // Now the disk is full.
    fill(disk);
    chain.pay([{ address: second, valueSat: 6_000 }]);
    await eventually('a warning', async () =>
      /could not be processed|cannot be written/.test((await paygate.health()).warnings.join()),
    );
    expect(await paygate.newAddress()).toMatchObject({ status: 503 });
    expect(receiver.requests).toHaveLength(1);

    makeRoom();
    await receiver.waitFor(2);
    expect(receiver.requests[1]?.url).toContain(`addr=${second}`);
    const fourth = await paygate.newAddress();
    expect(fourth).toMatchObject({ status: 200 });
    expect(issued).not.toContain(fourth?.address);
    paygate.kill('SIGTERM');
    expect((await paygate.ended).by).toBe(0);
    expect(pragma(look(setup.path), 'integrity_check')).toBe('ok');
  },
);

it.skipIf(isSkipped)('a checkpoint without disk space fails and succeeds later', async () => {
  const disk = smallDisk(4);
  const path = join(disk, 'paygate.db');
  const database = openDatabase({ path, create: true });
  whenOver(() => database.close());
  const value = 'x'.repeat(1_000_000);
  await database.write(() => database.orm.insert(settings).values({ name: 'big', value }).run());
  const makeRoom = fill(disk);
  expect(database.checkpoint()).toBe(false);
  const small = database.write(() =>
    database.orm.insert(settings).values({ name: 'small', value }).run(),
  );
  await expect(small).rejects.toMatchObject({ code: 'unavailable' });
  makeRoom();
  expect(database.checkpoint()).toBe(true);
  expect(pragma(look(path), 'integrity_check')).toBe('ok');
});

it.skipIf(isSkipped)('an updated file opens without the disk space to checkpoint its WAL', () => {
  /** A file from before the first migration. */
  function olderFile(folder: string): string {
    const path = join(folder, 'paygate.db');
    look(path).pragma(`application_id = ${applicationId}`);
    return path;
  }
  const updated = olderFile(tempFolder());
  openDatabase({ path: updated, create: false }).close();
  const { size } = statSync(updated);
  const disk = smallDisk(4);
  const path = olderFile(disk);
  const { bsize, bavail } = statfsSync(disk);
  const makeRoom = fill(disk, bsize * bavail - 1.5 * size);
  const database = openDatabase({ path, create: false });
  expect(database.walBytes()).toBeGreaterThan(size);
  makeRoom();
  expect(database.checkpoint()).toBe(true);
  database.close();
  expect(pragma(look(path), 'user_version')).toBe(migrations.length);
});

it.skipIf(isSkipped)('each command reports a read-only folder in one line', async () => {
  const disk = smallDisk(20);
  const setup = await prepareServe(join(disk, 'paygate.db'));
  const before = contentOf(disk);
  execFileSync('mount', ['-o', 'remount,ro', disk]);
  const at = ['--db', setup.path];
  const commands = [
    setup.args,
    ['store', 'list', ...at],
    ['key', 'list', ...at],
    ['callbacks', 'list', ...at],
    ['backup', ...at],
    ['restore', '--moved', ...at],
    ['admin', 'link', ...at],
  ];
  for (const command of commands) {
    const { code, stdout, stderr } = await runProcess(command);
    expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^paygate: [^\n]*(cannot be opened for writing|cannot be written|read-?only)[^\n]*\n$/i,
    );
  }
  // A command that only reads succeeds.
  const checked = await runProcess(['check', ...at]);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(contentOf(disk)).toEqual(before);
});

it.skipIf(isSkipped)(
  'check uses the temporary folder if the disk of the copy has no space for another',
  async () => {
    const { path } = await prepareServe();
    const disk = smallDisk(8);
    const { database } = await openTestStore({ path });
    const value = 'x'.repeat(5_000_000);
    await database.write(() => database.orm.insert(settings).values({ name: 'big', value }).run());
    await database.close();
    const file = join(disk, 'shop.db');
    const written = await runProcess(['backup', file, '--db', path]);
    expect(written).toMatchObject({ code: 0, stderr: '' });
    expect(await runProcess(['check', file])).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(disk)).toEqual(['shop.db']);
    // Neither folder has space.
    for (const TMPDIR of [disk, join(disk, 'nowhere')]) {
      const refused = await runProcess(['check', file], { TMPDIR });
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/^paygate: [^\n]*has room for it[^\n]*\n$/);
    }
    expect(readdirSync(disk)).toEqual(['shop.db']);
  },
);

it.skipIf(isSkipped)(
  'a restore without disk space is refused in one line and changes nothing',
  async () => {
    const { path } = await prepareServe();
    const { database } = await openTestStore({ path });
    const value = 'x'.repeat(2_500_000);
    await database.write(() => database.orm.insert(settings).values({ name: 'big', value }).run());
    await database.close();
    const disk = smallDisk(4);
    const there = join(disk, 'paygate.db');
    expect(await runProcess(['restore', path, '--db', there])).toMatchObject({
      code: 0,
      stderr: '',
    });
    const before = contentOf(disk);
    const { code, stdout, stderr } = await runProcess(['restore', path, '--db', there]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^paygate: [^\n]*ENOSPC[^\n]*\n$/);
    expect(contentOf(disk)).toEqual(before);
  },
);
