// Snapshots and backups: whole or absent, stored for seven days, never at the cost of the disk. And
// what the check finds in files, which it leaves unchanged.

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createSnapshots,
  type SnapshotOptions,
} from '../../../src/store/backup/backup-schedule.ts';
import { checkFile } from '../../../src/store/backup/integrity-check.ts';
import {
  allPages,
  backupFolder,
  makeBackupFolder,
  writeBackup,
} from '../../../src/store/file/backup.ts';
import { freeBytesAt } from '../../../src/world/disk.ts';
import {
  asOrdinaryUser,
  cleanUp,
  connectionOf,
  contentOf,
  look,
  tempFolder,
  tempRoot,
  whenOver,
} from '../../support/files.ts';
import { openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

const dayMs = 86_400_000;
const noon = Date.UTC(2026, 10, 21, 12);

/** A shop that has issued. */
async function openShop(issued = 3, path?: string): Promise<TestRecords> {
  const records = await openTestStore(path === undefined ? {} : { path });
  await records.addWallet();
  await records.addStore();
  for (let count = 0; count < issued; count += 1) await records.issue();
  return records;
}

const snapshotsOf = (records: TestRecords): string[] =>
  readdirSync(backupFolder(records.path)).sort();

describe('a backup', () => {
  it('contains every commit, also those that are only in the WAL', async () => {
    const { database, path } = await openShop();
    const target = join(dirname(path), 'copy.db');
    await database.backup(target, allPages);
    expect(checkFile(target)).toMatchObject({
      file: target,
      ok: true,
      faults: [],
      network: 'regtest',
      instance: 'test',
      counts: { stores: 1, addresses: 3, payments: 0, callbacks_owed: 0 },
      wallets: [{ id: 1, script: 'p2wpkh', last_index: 2, next_index: 3 }],
    });
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith('copy'))).toEqual([
      'copy.db',
    ]);
  });

  it('in steps contains concurrent writes, and is complete', async () => {
    const records = await openShop();
    const target = join(dirname(records.path), 'copy.db');
    const writes: Promise<unknown>[] = [];
    await records.database.backup(target, () => {
      if (writes.length < 20) writes.push(records.issue());
      return 2;
    });
    await Promise.all(writes);
    const { ok, counts } = checkFile(target);
    expect(ok).toBe(true);
    expect(counts.addresses).toBeGreaterThan(3);
  });

  it('that fails leaves the existing file, and nothing beside it', async () => {
    const { database, path } = await openShop();
    const folder = tempFolder();
    const target = join(folder, 'copy.db');
    writeFileSync(target, 'the one before');
    const failing = writeBackup(connectionOf(database), target, () => {
      throw new Error('the disk is gone');
    });
    await expect(failing).rejects.toMatchObject({
      code: 'unavailable',
      message: `${target}: cannot be written (the disk is gone)`,
    });
    expect(readdirSync(folder)).toEqual(['copy.db']);
    expect(readFileSync(target, 'utf8')).toBe('the one before');
    expect(checkFile(path).ok).toBe(true);
  });
});

describe('the folder of backups', () => {
  it('is cleaned of the leftovers of an interrupted backup after a day', async () => {
    const { database, path } = await openShop();
    const folder = makeBackupFolder(path);
    const id = '0b0e7a2c-3d5f-4c55-9d30-2f4a4a6f3c11';
    const lefts = [
      ...[`.2026-11-20T120000Z.db-${id}`, `.2026-11-20T120000Z.db-${id}-journal`],
      ...[`.2026-11-21T120000Z.db-${id}`, `.of-mine.db-${id}`],
    ];
    const at = new Date(Date.now() - 2 * dayMs);
    for (const left of lefts) {
      writeFileSync(join(folder, left), '');
      if (!left.includes('11-21')) utimesSync(join(folder, left), at, at);
    }
    await database.backup(join(folder, 'copy.db'), allPages);
    expect(readdirSync(folder).sort()).toEqual([...lefts.slice(2), 'copy.db'].sort());
  });
});

describe('snapshots', () => {
  it('replace the latest, and keep the first of each day under its date', async () => {
    const records = await openShop();
    const snapshots = createSnapshots(records.database, { floorBytes: 0 });
    await snapshots.take(noon);
    await records.issue();
    await snapshots.take(noon + 900_000);
    expect(snapshotsOf(records)).toEqual(['2026-11-21.db', 'latest.db']);
    const count = (name: string) =>
      checkFile(join(backupFolder(records.path), name)).counts.addresses;
    expect([count('2026-11-21.db'), count('latest.db')]).toEqual([3, 4]);
    expect(statSync(backupFolder(records.path)).mode & 0o777).toBe(0o700);
  });

  it('report one that has not ended after an hour', async () => {
    const records = await openShop();
    const snapshots = createSnapshots(records.database, { floorBytes: 0 });
    const first = snapshots.take(noon);
    await snapshots.take(noon + 900_000);
    expect(snapshots.warnings()).toEqual([]);
    await snapshots.take(noon + 90 * 60_000);
    expect(snapshots.warnings()).toEqual([
      'the last snapshot has not ended for 90 minutes: another program may be writing to the database all the time',
    ]);
    await first;
    expect(snapshots.warnings()).toEqual([]);
  });

  it('are complete, also if a tool has written to the previous one and still has it open', async () => {
    const records = await openShop();
    const snapshots = createSnapshots(records.database, { floorBytes: 0 });
    const latest = join(backupFolder(records.path), 'latest.db');
    await snapshots.take(noon);
    const tool = look(latest);
    tool.exec('CREATE TABLE reports (day)');
    await records.issue();
    await snapshots.take(noon + 900_000);
    expect(checkFile(latest)).toMatchObject({ ok: true, faults: [], counts: { addresses: 4 } });
    tool.exec('INSERT INTO reports VALUES (1)');
    expect(checkFile(latest)).toMatchObject({ ok: true, faults: [], counts: { addresses: 4 } });
  });

  it('are taken after a change, also of another process, but not without one', async () => {
    const records = await openShop();
    const snapshots = createSnapshots(records.database, { floorBytes: 0 });
    const latest = join(backupFolder(records.path), 'latest.db');
    const take = async () => {
      await snapshots.take(noon);
      return statSync(latest).ino;
    };
    const first = await take();
    expect(await take()).toBe(first);
    const other = look(records.path);
    other.exec("INSERT INTO settings VALUES ('seen', 'yes')");
    expect(await take()).not.toBe(first);
    const copied = look(latest, { readonly: true });
    expect(copied.prepare("SELECT value FROM settings WHERE name = 'seen'").pluck().get()).toBe(
      'yes',
    );
  });

  it('of seven days are preserved, and no other file is touched', async () => {
    const records = await openShop();
    const snapshots = createSnapshots(records.database, { floorBytes: 0 });
    mkdirSync(backupFolder(records.path), { recursive: true });
    for (const name of ['2020-01-01.db', 'mine.db', '.latest.db-1234']) {
      writeFileSync(join(backupFolder(records.path), name), '');
    }
    for (let day = 0; day < 9; day += 1) {
      await records.issue();
      await snapshots.take(noon + day * dayMs);
    }
    const days = [23, 24, 25, 26, 27, 28, 29].map((day) => `2026-11-${day}.db`);
    expect(snapshotsOf(records)).toEqual([...days, 'latest.db', 'mine.db']);
  });

  it.each<[string, number, readonly string[]]>([
    ['56 years ahead', Date.UTC(2082, 0, 1), ['2082-01-06.db', '2082-01-07.db']],
    ['in 1970', 0, ['1970-01-06.db', '1970-01-07.db']],
  ])(
    'keep the days that were taken last, also after a week of a clock %s',
    async (_, wrong, last) => {
      const records = await openShop();
      const snapshots = createSnapshots(records.database, { floorBytes: 0 });
      async function takeDays(count: number, from: number): Promise<void> {
        for (let day = 0; day < count; day += 1) {
          await records.issue();
          await snapshots.take(from + day * dayMs);
        }
      }
      await takeDays(7, wrong);
      expect(snapshotsOf(records)).toEqual(expect.arrayContaining([...last]));
      await takeDays(2, noon);
      const right = ['2026-11-21.db', '2026-11-22.db'];
      expect(snapshotsOf(records)).toEqual(expect.arrayContaining([...last, ...right]));
      await takeDays(6, noon + 2 * dayMs);
      const days = [22, 23, 24, 25, 26, 27, 28].map((day) => `2026-11-${day}.db`);
      expect(snapshotsOf(records)).toEqual([...days, 'latest.db']);
      await takeDays(7, wrong);
      expect(snapshotsOf(records)).toEqual(expect.arrayContaining([...last]));
    },
  );

  it('leave the disk space that addresses need', async () => {
    const records = await openShop();
    const snapshots = createSnapshots(records.database, { floorBytes: Number.MAX_SAFE_INTEGER });
    await expect(snapshots.take(noon)).rejects.toMatchObject({ code: 'unavailable' });
    expect(snapshots.warnings()).toEqual([
      'the last snapshot failed: there is no room for one on the disk',
    ]);
  });

  const [here, there] = [tempRoot, tmpdir()].map(freeBytesAt);
  const isRoomier = (there ?? 0) - (here ?? 0) > 1_000_000_000;
  it.skipIf(!isRoomier)('need that space on the disk of their folder', async () => {
    const records = await openShop();
    const elsewhere = mkdtempSync(join(tmpdir(), 'paygate-backups-'));
    whenOver(() => rmSync(elsewhere, { recursive: true }));
    symlinkSync(elsewhere, backupFolder(records.path));
    const snapshots = createSnapshots(records.database, { floorBytes: (here ?? 0) + 500_000_000 });
    await snapshots.take(noon);
    expect(snapshotsOf(records)).toEqual(['2026-11-21.db', 'latest.db']);
  });

  it('are aborted when paygate stops', async () => {
    const records = await openShop();
    const snapshots = createSnapshots(records.database, { floorBytes: 0 });
    const taken = snapshots.take(noon);
    await snapshots.stop();
    await taken;
    expect(snapshotsOf(records)).toEqual([]);
    expect(snapshots.warnings()).toEqual([]);
  });

  it('of another database in the same folder have a folder of their own', () => {
    expect(backupFolder('/data/paygate.db')).toBe('/data/backups');
    expect(backupFolder('/data/second.db')).toBe('/data/backups/second.db');
  });
});

describe('the daily check', () => {
  const check = async (path: string) => checkFile(path, 'quick_check').faults;
  const filesOf = (records: TestRecords) => contentOf(backupFolder(records.path));

  /** A page that no query reads, as a disk loses it; or its contents from before. */
  async function rot(records: TestRecords, fill?: Uint8Array): Promise<Uint8Array> {
    // All is in the file itself then.
    await records.database.close();
    const page = look(records.path)
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'audit'")
      .pluck()
      .get() as number;
    const bytes = readFileSync(records.path);
    const [from, to] = [4096 * (page - 1), 4096 * page];
    const before = Uint8Array.prototype.slice.call(bytes, from, to);
    bytes.set(fill ?? new Uint8Array(4096).fill(0xa5), from);
    writeFileSync(records.path, bytes);
    return before;
  }

  /** A shop with a snapshot of each of two days, whose file was damaged then. */
  async function damagedShop(options: Partial<SnapshotOptions> = {}) {
    const before = await openShop();
    const whole = createSnapshots(before.database, { floorBytes: 0, check });
    await whole.take(noon - 2 * dayMs);
    await before.issue();
    await whole.take(noon - dayMs);
    const good = filesOf(before);
    const page = await rot(before);
    const records = await openTestStore({ path: before.path });
    const told: string[] = [];
    const onDamaged = (warning: string) => void told.push(warning);
    const snapshots = createSnapshots(records.database, {
      ...{ floorBytes: 0, check, onDamaged },
      ...options,
    });
    return { records, snapshots, good, told, page };
  }

  it('deletes no sound copy because of a damaged one, and reports it once', async () => {
    const { records, snapshots, good, told } = await damagedShop();
    expect(Object.keys(good)).toEqual(['2026-11-19.db', '2026-11-20.db', 'latest.db']);
    for (let day = 0; day < 9; day += 1) {
      await records.issue();
      await snapshots.take(noon + day * dayMs);
      await records.issue();
      await snapshots.take(noon + day * dayMs + 900_000);
    }
    const { 'latest-damaged.db': damaged, ...others } = filesOf(records);
    expect(others).toEqual(good);
    expect(damaged).toBeDefined();
    expect(look(join(backupFolder(records.path), 'latest-damaged.db'))).toSatisfy(
      (copy) => copy.prepare('SELECT count(*) FROM addresses').pluck().get() >= 22,
    );
    expect(told).toEqual([
      expect.stringMatching(
        /^the last snapshot that was checked is DAMAGED \(.+\), and so may the database be: backups\/latest\.db .* `paygate restore backups\/latest\.db`/,
      ),
    ]);
    expect(snapshots.damage()).toEqual([expect.stringContaining('is DAMAGED')]);
    expect(snapshots.warnings()).toEqual([]);
  });

  it('has the same result after a restart, until it finds a sound copy', async () => {
    const { records, snapshots, good, page } = await damagedShop();
    await snapshots.take(noon);
    await rot(records, page);
    const mended = await openTestStore({ path: records.path });
    const after = createSnapshots(mended.database, { floorBytes: 0, check });
    expect(after.damage()).toEqual([expect.stringContaining('found before the start')]);
    await mended.issue();
    await after.take(noon + 900_000);
    expect(after.damage()).toEqual([]);
    const { 'latest.db': latest, '2026-11-21.db': today, ...others } = filesOf(mended);
    expect({ ...others, 'latest.db': good['latest.db'] }).toEqual(good);
    expect(today).toBe(latest);
    expect(latest).not.toBe(good['latest.db']);
  });

  it('has no result for a copy that it cannot read, and neither keeps nor deletes a day until it can', async () => {
    let isKilled = true;
    const records = await openShop();
    const snapshots = createSnapshots(records.database, {
      floorBytes: 0,
      check: async (path) => {
        if (isKilled) throw new Error('the check ended by SIGKILL');
        return check(path);
      },
    });
    const reason =
      'the last snapshot was taken, but could not be checked: the check ended by SIGKILL';
    await expect(snapshots.take(noon)).rejects.toThrow(reason);
    expect(snapshotsOf(records)).toEqual(['latest.db']);
    expect([snapshots.warnings(), snapshots.damage()]).toEqual([[reason], []]);
    isKilled = false;
    await snapshots.take(noon + 900_000);
    expect(snapshotsOf(records)).toEqual(['2026-11-21.db', 'latest.db']);
    expect(snapshots.warnings()).toEqual([]);
    // A folder that was removed is created again.
    rmSync(backupFolder(records.path), { recursive: true });
    await snapshots.take(noon + 2 * 900_000);
    expect(snapshotsOf(records)).toEqual(['2026-11-21.db', 'latest.db']);
  });

  it('reads the copy in place, and ends when paygate stops', async () => {
    const records = await openShop();
    const begun = Promise.withResolvers<readonly string[]>();
    const snapshots = createSnapshots(records.database, {
      floorBytes: 0,
      check(path, signal) {
        const beside = () => readdirSync(dirname(path)).sort();
        const before = beside();
        expect(checkFile(path, 'quick_check')).toMatchObject({
          ok: true,
          counts: { addresses: 3 },
        });
        expect(beside()).toEqual(before);
        begun.resolve(before);
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    const taken = snapshots.take(noon);
    const name = '.latest.db-unchecked';
    expect(await begun.promise).toEqual([name, `${name}-shm`, `${name}-wal`]);
    await snapshots.take(noon + 61 * 60_000);
    expect(snapshots.warnings().join()).toMatch(/^the check of the last snapshot has not ended/);
    await snapshots.stop();
    await taken;
    expect(snapshotsOf(records)).toEqual([]);
  });
});

describe('a check', () => {
  /** A closed file, and the contents of its folder before the check. */
  async function closedShop(change: (path: string) => void = () => {}) {
    const records = await openShop();
    await records.database.close();
    change(records.path);
    return { path: records.path, before: contentOf(dirname(records.path)) };
  }

  it('changes nothing, neither in a closed file nor in one in use', async () => {
    const { path, before } = await closedShop();
    expect(checkFile(path).ok).toBe(true);
    expect(contentOf(dirname(path))).toEqual(before);
    const inUse = await openTestStore({ path });
    await inUse.issue();
    const during = contentOf(dirname(path));
    expect(checkFile(path)).toMatchObject({ ok: true, counts: { addresses: 4 } });
    expect(Object.keys(contentOf(dirname(path)))).toEqual(Object.keys(during));
    expect(contentOf(dirname(path))['paygate.db']).toBe(during['paygate.db']);
  });

  it('removes the leftover copy of an interrupted check after a day', async () => {
    const { path, before } = await closedShop();
    const folder = dirname(path);
    const lefts = ['.paygate-check-aB3dE6', '.paygate-check-fresh1', '.paygate-check-of-mine'];
    for (const left of lefts) {
      mkdirSync(join(folder, left));
      writeFileSync(join(folder, left, 'copy.db'), '');
    }
    const at = new Date(Date.now() - 2 * dayMs);
    for (const left of [lefts[0], lefts[2]]) utimesSync(join(folder, left ?? ''), at, at);
    expect(checkFile(path).ok).toBe(true);
    const names = readdirSync(folder).filter((name) => !(name in before));
    expect(names.sort()).toEqual(lefts.slice(1));
  });

  it('changes nothing in a copy with the WAL index but without the WAL', async () => {
    const { path, database } = await openShop();
    await database.close();
    rmSync(`${path}-wal`);
    writeFileSync(`${path}-shm`, '');
    const before = contentOf(dirname(path));
    expect(checkFile(path)).toMatchObject({ ok: true });
    expect(contentOf(dirname(path))).toEqual(before);
  });

  it('reads the WAL that was copied along', async () => {
    const records = await openShop();
    const folder = tempFolder();
    for (const end of ['', '-wal']) copyFileSync(records.path + end, `${folder}/copy.db${end}`);
    expect(checkFile(`${folder}/copy.db`).counts.addresses).toBe(3);
    expect(readdirSync(folder).sort()).toEqual(['copy.db', 'copy.db-wal']);
  });

  it('works in a read-only folder', async () => {
    const { path } = await closedShop();
    const folder = tempFolder();
    const copy = join(folder, 'copy.db');
    copyFileSync(path, copy);
    chmodSync(copy, 0o444);
    chmodSync(folder, 0o555);
    expect(asOrdinaryUser(() => checkFile(copy)).ok).toBe(true);
  });

  it('accepts the tables that Litestream creates', async () => {
    const { path } = await closedShop();
    const litestream = look(path);
    litestream.exec('CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)');
    litestream.exec('CREATE TABLE _litestream_lock (id INTEGER)');
    expect(checkFile(path)).toMatchObject({ ok: true, faults: [] });
    litestream.exec(
      'CREATE TRIGGER evil AFTER INSERT ON _litestream_seq BEGIN DELETE FROM payments; END',
    );
    expect(checkFile(path).faults).toEqual(['trigger evil is not as paygate makes it']);
  });

  it.each<[string, (path: string) => void, RegExp]>([
    ['a page that was overwritten', (path) => scribble(path), /./],
    [
      'a trigger that is not ours',
      (path) => look(path).exec('CREATE TRIGGER evil AFTER INSERT ON payments BEGIN SELECT 1; END'),
      /^trigger evil is not as paygate makes it$/,
    ],
    ['an index that is gone', (path) => look(path).exec('DROP INDEX payments_txid'), /is missing$/],
    [
      'a row that refers to a missing one',
      (path) =>
        look(path).exec('PRAGMA foreign_keys = OFF; UPDATE stores SET wallet_id = 99 WHERE id = 1'),
      /^row 1 of stores refers to a missing row$/,
    ],
  ])('finds %s', async (_what, change, fault) => {
    const { path } = await closedShop(change);
    const { ok, faults } = checkFile(path);
    expect(ok).toBe(false);
    expect(faults[0]).toMatch(fault);
  });

  it.each([
    ['nothing', undefined, 'there is no such file'],
    ['a zero-byte file', '', 'is empty'],
    ['another file', 'x'.repeat(5000), 'is not a paygate database'],
  ])('refuses %s in one line', (_what, content, reason) => {
    const path = join(tempFolder(), 'copy.db');
    if (content !== undefined) writeFileSync(path, content);
    expect(() => checkFile(path)).toThrow(reason);
  });
});

/** Noise in the middle of the file. */
function scribble(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, 4096 * 3, 4096 * 12);
  writeFileSync(path, bytes);
}
