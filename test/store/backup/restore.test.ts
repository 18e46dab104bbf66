// A backup in the place of the database: only what was issued since is lost, no index is issued
// twice, and the previous database stays. And the operator's declarations of what no program can
// detect.

import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { deriveAddress } from '../../../src/bitcoin/keychain.ts';
import { minSkip } from '../../../src/domain/store/allocation.ts';
import { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { checkFile } from '../../../src/store/backup/integrity-check.ts';
import { declareMoved, declareSetBack, restoreFile } from '../../../src/store/backup/restore.ts';
import { allPages, backupFolder } from '../../../src/store/file/backup.ts';
import {
  type HighWaterMark,
  markPath,
  openHighWaterMark,
} from '../../../src/store/mark/high-water-mark.ts';
import { resumeCounters } from '../../../src/store/resume/resume.ts';
import {
  asOrdinaryUser,
  cleanUp,
  contentOf,
  look,
  nobody,
  tempFolder,
  tempRoot,
  whenOver,
} from '../../support/files.ts';
import { goOn, run, startCopy, stoppedAfter } from '../../support/running.ts';
import { accountKey, markOf, now, openTestStore } from '../../support/store.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(cleanUp);

const skip = (from: number, to: number, walletId = 1) => ({ walletId, from, to });

/** A backup of a shop that has issued three addresses, and the shop after it has issued more. */
async function backedUp(more: number, before = 3): Promise<{ path: string; backup: string }> {
  const path = await stoppedAfter(before);
  const backup = await backupOf(path);
  if (more > 0) await goOn(path, more);
  return { path, backup };
}

/** In a folder without a mark file. */
function restoredElsewhere(backup: string): string {
  const path = join(tempFolder(), 'paygate.db');
  restoreFile(backup, path, 'before');
  return path;
}

async function declare(path: string, word: typeof declareMoved): Promise<string> {
  const { database, instance, catalog, addresses } = await openTestStore({ path });
  try {
    word({ path, instance, catalog, addresses });
    return path;
  } finally {
    await database.close();
  }
}

async function backupOf(path: string): Promise<string> {
  const backup = join(tempFolder(), 'backup.db');
  const { database } = await openTestStore({ path });
  await database.backup(backup, allPages);
  await database.close();
  return backup;
}

/** Starts on a copy whose mark can't say how far its original went, and stops before the scan. */
async function startUnscanned(path: string): Promise<unknown> {
  const paygate = await run(path);
  await paygate.stop();
  return paygate.warnings;
}

describe('restoring', () => {
  it('skips exactly the addresses issued since, if the mark file exists', async () => {
    const { path, backup } = await backedUp(7);
    const { report, previous } = restoreFile(backup, path, 'before');
    expect(report).toMatchObject({ file: path, ok: true, wallets: [{ next_index: 3 }] });
    expect(checkFile(previous ?? '').wallets).toMatchObject([{ next_index: 10 }]);
    expect(await startCopy(path)).toMatchObject({ skips: [skip(3, 10)], next: 10 });
    expect(await goOn(path, 1)).toEqual([11]);
  });

  it('on another machine skips, because there is no mark file', async () => {
    const { backup } = await backedUp(7);
    const path = join(tempFolder(), 'paygate.db');
    expect(restoreFile(backup, path, 'before').previous).toBeUndefined();
    expect(await startCopy(path)).toMatchObject({ next: 3 + minSkip });
  });

  it('on another machine, of an older and then of a newer backup, skips both times', async () => {
    const { path, backup: older } = await backedUp(75);
    await goOn(path, 75);
    const newer = await backupOf(path);
    const there = join(tempFolder(), 'paygate.db');
    restoreFile(older, there, 'before');
    expect(await startCopy(there)).toMatchObject({ skips: [skip(3, 103)] });
    restoreFile(newer, there, 'before');
    expect(await startCopy(there)).toMatchObject({
      reason: 'its mark file has no current counter of wallet 1',
      skips: [skip(153, 253)],
    });
  });

  it('of a newer backup that is copied over an older one in place, on another machine', async () => {
    const { path, backup: older } = await backedUp(75);
    await goOn(path, 75);
    const newer = await backupOf(path);
    const there = restoredElsewhere(older);
    await startCopy(there);
    writeFileSync(there, readFileSync(newer));
    expect(await startCopy(there)).toMatchObject({
      reason: 'its mark file has no current counter of wallet 1',
      skips: [skip(153, 153 + minSkip)],
    });
  });

  it('again, before the scan for the original’s last index, scans afterwards', async () => {
    const { backup } = await backedUp(0);
    const there = join(tempFolder(), 'paygate.db');
    restoreFile(backup, there, 'before');
    expect(await startUnscanned(there)).toMatchObject([{ skips: [skip(3, 103)] }]);
    restoreFile(backup, there, 'before');
    const chain = new SimulatedChain({ seed: 'again', now: () => now / 1000 });
    chain.mine(101);
    chain.pay([{ address: deriveAddress(accountKey(), 0, 150)?.address ?? '', valueSat: 5_000 }]);
    const paygate = await run(there, chain);
    expect(await paygate.issue(1)).toEqual([151 + minSkip]);
    await paygate.stop();
  });

  it('of a backup that had issued nothing yet also skips without a mark file', async () => {
    const { backup } = await backedUp(0, 0);
    const there = join(tempFolder(), 'paygate.db');
    restoreFile(backup, there, 'before');
    expect(await startCopy(there)).toMatchObject({
      reason: 'there is no mark file beside it',
      skips: [skip(0, minSkip)],
      next: minSkip,
    });
  });

  it('of such a backup beside the mark file of another database also skips', async () => {
    const { backup } = await backedUp(0, 0);
    const there = join(tempFolder(), 'paygate.db');
    writeFileSync(there, '');
    const other = openHighWaterMark(there, 'another');
    other.begin([]);
    other.close();
    rmSync(there);
    restoreFile(backup, there, 'before');
    expect(await startCopy(there)).toMatchObject({ next: minSkip });
  });

  it.each<[string, (backup: string, original: string) => Promise<string> | string]>([
    ['where no mark stands', (backup) => restoredElsewhere(backup)],
    ['where the machine was set back', (_backup, original) => declare(original, declareSetBack)],
  ])(
    'of a backup that had issued nothing yet, a second time before the scan, %s',
    async (_what, prepare) => {
      const { path: original, backup } = await backedUp(5, 0);
      const path = await prepare(backup, original);
      expect(await startUnscanned(path)).toHaveLength(1);
      restoreFile(backup, path, 'before');
      expect((await startCopy(path)).next).toBeGreaterThanOrEqual(minSkip);
    },
  );

  it('of a backup whose wallet had issued nothing yet, after an older one without a mark file', async () => {
    const { path, backup: older } = await backedUp(0);
    const records = await openTestStore({ path });
    const { id: walletId } = await records.addWallet({ key: accountKey(2), startIndex: 0 });
    await records.addStore({ walletId, callbackUrl: 'https://second.example/' });
    const younger = join(tempFolder(), 'younger.db');
    await records.database.backup(younger, allPages);
    const there = restoredElsewhere(older);
    await startCopy(there);
    await goOn(there, 1);
    restoreFile(younger, there, 'before');
    expect(await startUnscanned(there)).toMatchObject([
      { skips: [expect.anything(), skip(0, minSkip, 2)] },
    ]);
  });

  it('reports the copy also if its first start was interrupted', async () => {
    const { path, backup } = await backedUp(7);
    restoreFile(backup, path, 'before');
    let mark: HighWaterMark | undefined;
    const records = await openTestStore({
      path,
      beforeCommit(raises) {
        mark?.raise(raises);
        throw new Error('killed between the mark and its commit');
      },
    });
    mark = openHighWaterMark(path, records.instance);
    await expect(resumeCounters(records, mark, createTestWorld())).rejects.toThrow('killed');
    mark.close();
    await records.database.close();
    const paygate = await run(path);
    const told = paygate.app.health().warnings.filter((each) => each.includes('is a copy'));
    expect([told.length, await paygate.issue(1)]).toEqual([1, [10]]);
    await paygate.stop();
  });

  it('skips also if a start was killed between the record of the restore and the skip', async () => {
    const { path } = await backedUp(0);
    const aged = look(path);
    aged.exec(`UPDATE addresses SET issued_at = issued_at - 200 * ${86_400_000}`);
    // A newer block would show that the shop was quiet meanwhile.
    aged.exec('DELETE FROM headers');
    aged.close();
    const records = await openTestStore({ path });
    const mark = openHighWaterMark(path, 'test');
    mark.begin([]);
    mark.close();
    const { log, ...world } = createTestWorld();
    const info = () => {
      throw new Error('killed while it derives');
    };
    const opened = openHighWaterMark(path, 'test');
    const start = resumeCounters(records, opened, { ...world, log: { ...log, info } });
    await expect(start).rejects.toThrow('killed');
    opened.close();
    await records.database.close();
    expect((await startCopy(path)).next).toBeGreaterThanOrEqual(3 + 1_200);
  });

  it.each([0o644, 0o444])(
    'of a backup with mode %o creates a database for its own user alone',
    async (mode) => {
      const { path, backup } = await backedUp(0);
      chmodSync(backup, mode);
      restoreFile(backup, path, 'before');
      expect(statSync(path).mode & 0o777).toBe(0o600);
    },
  );

  it('of a read-only copy of a whole folder ignores the lock file in it', async () => {
    const { path } = await backedUp(2);
    const folder = tempFolder();
    const copy = join(folder, 'paygate.db');
    for (const end of ['', '.lock']) {
      copyFileSync(path + end, copy + end);
      chmodSync(copy + end, 0o444);
      // As folders of backups that share what has not changed have it.
      linkSync(copy + end, `${copy}.yesterday${end}`);
    }
    chmodSync(folder, 0o555);
    const elsewhere = tempFolder();
    chmodSync(elsewhere, 0o777);
    const there = join(elsewhere, 'paygate.db');
    const { report } = asOrdinaryUser(() => restoreFile(copy, there, 'before'));
    expect(report).toMatchObject({ ok: true, counts: { addresses: 5 } });
  });

  it('twice in one second preserves both previous files', async () => {
    const { path, backup } = await backedUp(0);
    const kept = [1, 2].map(() => restoreFile(backup, path, 'before').previous ?? '');
    expect(new Set(kept.map((each) => statSync(each).ino)).size).toBe(2);
  });

  it.skipIf(statSync(tempRoot).dev === statSync(tmpdir()).dev)(
    'keeps what stood there also where the folder of backups is on another disk',
    async () => {
      const { path, backup } = await backedUp(2);
      const elsewhere = mkdtempSync(join(tmpdir(), 'paygate-backups-'));
      whenOver(() => rmSync(elsewhere, { recursive: true }));
      symlinkSync(elsewhere, backupFolder(path));
      const { previous } = restoreFile(backup, path, 'before');
      expect(previous).toBe(join(dirname(path), 'before', 'paygate.db'));
      expect(checkFile(previous ?? '').wallets).toMatchObject([{ next_index: 5 }]);
      expect(readdirSync(elsewhere)).toEqual([]);
      expect(await startCopy(path)).toMatchObject({ skips: [skip(3, 5)], next: 5 });
    },
  );

  it.runIf(process.geteuid?.() === 0)(
    'leaves the database in its place if a part of it cannot be moved',
    async () => {
      const { path: from, backup: original } = await backedUp(2);
      const folder = tempFolder();
      const [path, backup] = [join(folder, 'paygate.db'), join(folder, 'backup.db')];
      copyFileSync(from, path);
      copyFileSync(original, backup);
      for (const each of [path, backup]) chownSync(each, nobody, nobody);
      // Others may make files there, and move none but their own.
      chmodSync(folder, 0o1777);
      writeFileSync(`${path}-wal`, 'of root', { mode: 0o600 });
      const before = readFileSync(path);
      expect(() => asOrdinaryUser(() => restoreFile(backup, path, 'before'))).toThrow('EPERM');
      expect(readFileSync(path)).toEqual(before);
      expect(existsSync(join(backupFolder(path), 'before'))).toBe(false);
    },
  );

  it('through a link replaces its target, and preserves the previous file', async () => {
    const { path, backup } = await backedUp(2);
    const link = join(tempFolder(), 'shop.db');
    symlinkSync(path, link);
    const { previous } = restoreFile(backup, link, 'before');
    expect(previous).toBe(join(backupFolder(path), 'before', 'paygate.db'));
    expect(checkFile(previous ?? '').wallets).toMatchObject([{ next_index: 5 }]);
    expect(await startCopy(link)).toMatchObject({ skips: [skip(3, 5)], next: 5 });
    expect(readdirSync(dirname(link))).toEqual(['shop.db']);
  });

  it('of a snapshot that the server took', async () => {
    const path = await stoppedAfter(3);
    const paygate = await run(path);
    await paygate.issue(2);
    const latest = join(backupFolder(path), 'latest.db');
    await paygate.world.advance(15 * 60_000);
    await paygate.world.until(() => existsSync(latest), 'the snapshot');
    await paygate.issue(4);
    await paygate.stop();
    restoreFile(latest, path, 'before');
    expect(await startCopy(path)).toMatchObject({ skips: [skip(5, 9)], next: 9 });
  });

  it('includes the WAL of a copy, and removes that of the old database', async () => {
    const { path } = await backedUp(0);
    const records = await openTestStore({ path });
    for (let count = 0; count < 4; count += 1) await records.issue();
    const folder = tempFolder();
    for (const end of ['', '-wal']) copyFileSync(path + end, `${folder}/copy.db${end}`);
    const before = contentOf(folder);
    await records.database.close();
    // As a crash leaves it.
    copyFileSync(`${folder}/copy.db-wal`, `${path}-wal`);
    const link = join(tempFolder(), 'link.db');
    symlinkSync(`${folder}/copy.db`, link);
    const elsewhere = join(tempFolder(), 'paygate.db');
    expect(restoreFile(link, elsewhere, 'before').report.counts.addresses).toBe(7);
    expect(restoreFile(`${folder}/copy.db`, path, 'before').report.counts.addresses).toBe(7);
    expect(contentOf(folder)).toEqual(before);
    const left = readdirSync(dirname(path)).sort();
    expect(left).toEqual(['.paygate-mark', 'backups', 'paygate.db', 'paygate.db.lock']);
    expect(readdirSync(join(backupFolder(path), 'before')).sort()).toEqual([
      'paygate.db',
      'paygate.db-wal',
    ]);
  });

  /**
   * What a loss of power leaves where the log was not in use yet: a transaction that is to be taken
   * back.
   */
  function cutOff(path: string): void {
    const sqlite = look(path);
    sqlite.pragma('journal_mode = DELETE');
    sqlite.pragma('cache_size = 1');
    sqlite.exec('BEGIN; DELETE FROM addresses');
    const put = sqlite.prepare('INSERT INTO settings VALUES (?, ?)');
    for (let count = 0; count < 50; count += 1) put.run(`noise ${count}`, 'x'.repeat(4_000));
    const kept = ['', '-journal'].map((end) => [end, readFileSync(path + end)] as const);
    sqlite.exec('ROLLBACK');
    sqlite.close();
    for (const [end, bytes] of kept) writeFileSync(path + end, bytes);
  }

  it('includes the journal of a copy, and removes a leftover one', async () => {
    const { path, backup } = await backedUp(2);
    cutOff(path);
    const elsewhere = join(tempFolder(), 'paygate.db');
    expect(restoreFile(path, elsewhere, 'before').report.counts.addresses).toBe(5);
    // A restore that was cut off leaves it too.
    copyFileSync(`${path}-journal`, join(dirname(path), '.paygate.db-restored-journal'));
    expect(restoreFile(backup, path, 'before').report.counts.addresses).toBe(3);
    expect(readdirSync(dirname(path)).filter((name) => name.includes('-journal'))).toEqual([]);
    expect(await startCopy(path)).toMatchObject({ skips: [skip(3, 5)], next: 5 });
    expect(checkFile(path).ok).toBe(true);
  });

  it('leaves the checked file unchanged, also a journal beside it', async () => {
    const { path } = await backedUp(2);
    cutOff(path);
    const before = contentOf(dirname(path));
    expect(checkFile(path)).toMatchObject({ ok: true, counts: { addresses: 5 } });
    expect(contentOf(dirname(path))).toEqual(before);
  });

  it('refuses a backup of another shop also if the WAL was deleted after a kill', async () => {
    const { path, backup } = await backedUp(2);
    look(backup).exec("UPDATE settings SET value = '\"tset\"' WHERE name = 'instance'");
    writeFileSync(`${path}-shm`, '');
    expect(() => restoreFile(backup, path, 'before')).toThrow('is another database');
  });

  it.each<[string, (backup: string) => void, string]>([
    ['is damaged', scribble, 'is damaged'],
    ['is empty', (backup) => writeFileSync(backup, ''), 'is empty'],
    ['is missing', (backup) => rmSync(backup), 'there is no such file'],
    [
      'is of another shop',
      (backup) =>
        look(backup).exec("UPDATE settings SET value = '\"tset\"' WHERE name = 'instance'"),
      'is another database',
    ],
  ])('refuses a backup that %s, and changes nothing', async (_what, change, reason) => {
    const { path, backup } = await backedUp(2);
    change(backup);
    const before = readFileSync(path);
    expect(() => restoreFile(backup, path, 'before')).toThrow(reason);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(dirname(path)).filter((name) => /restored|backups/.test(name))).toEqual([]);
    expect(await goOn(path, 1)).toEqual([5]);
  });

  it('names the missing folder of the database', async () => {
    const { backup } = await backedUp(0);
    const folder = join(tempFolder(), 'nowhere');
    const path = join(folder, 'paygate.db');
    expect(() => restoreFile(backup, path, 'before')).toThrow(
      `${path}: the folder ${folder} does not exist; make it, or name another file`,
    );
  });

  it('replaces a database that is damaged', async () => {
    const { path, backup } = await backedUp(2);
    scribble(path);
    const { previous } = restoreFile(backup, path, 'before');
    expect(existsSync(previous ?? '')).toBe(true);
    expect(await startCopy(path)).toMatchObject({ next: 5 });
  });

  it('is refused while a server runs, and so is the file of a running one', async () => {
    const { path, backup } = await backedUp(0);
    const elsewhere = join(tempFolder(), 'paygate.db');
    const paygate = await run(path);
    const inUse = 'another `paygate serve` uses this database';
    expect(() => restoreFile(backup, path, 'before')).toThrow(inUse);
    const link = join(dirname(elsewhere), 'link.db');
    symlinkSync(path, link);
    for (const name of [path, link]) {
      expect(() => restoreFile(name, elsewhere, 'before')).toThrow(inUse);
    }
    expect(await paygate.issue(1)).toEqual([3]);
    await paygate.stop();
  });
});

describe('the statement of the operator', () => {
  /** The database and its mark file in another folder, with other inodes. */
  async function moved(): Promise<string> {
    const { path } = await backedUp(2);
    const there = join(tempFolder(), 'paygate.db');
    restoreFile(path, there, 'before');
    const [mark, markThere] = [path, there].map((each) => dirname(markPath(each)));
    cpSync(mark ?? '', markThere ?? '', { recursive: true });
    return there;
  }

  it('that the file was moved: nothing is skipped', async () => {
    const path = await moved();
    await declare(path, declareMoved);
    expect(await goOn(path, 1)).toEqual([5]);
  });

  it('that the file was moved: a missing mark file is created anew, with every wallet, only if that is said', async () => {
    const { path } = await backedUp(0);
    const records = await openTestStore({ path });
    const { id: walletId } = await records.addWallet({ key: accountKey(2), startIndex: 0 });
    await records.addStore({ walletId, callbackUrl: 'https://second.example/' });
    for (let count = 0; count < 4; count += 1) await records.issue(walletId);
    await records.database.close();
    const there = join(tempFolder(), 'paygate.db');
    copyFileSync(path, there);
    await expect(declare(there, declareMoved)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('no mark file shows that wallet 1 issued nothing since'),
    });
    expect(existsSync(markPath(there))).toBe(false);
    await declare(there, (moved) => declareMoved({ ...moved, withoutMark: true }));
    const known = openHighWaterMark(there, 'test').reading?.raises;
    expect(known).toEqual([
      { wallet: markOf(), from: 3, to: 3 },
      { wallet: markOf(2), from: 4, to: 4 },
    ]);
  });

  it('that the file was moved: the mark file retains a wallet that the database lacks', async () => {
    const { path } = await backedUp(0);
    const lost = { wallet: markOf(2), from: 3, to: 4 };
    const mark = openHighWaterMark(path, 'test');
    await mark.raise([lost]);
    mark.close();
    await declare(path, declareMoved);
    expect(openHighWaterMark(path, 'test').reading?.raises).toContainEqual(lost);
  });

  it('that the file was moved is ignored for a database older than its mark file', async () => {
    const { path, backup } = await backedUp(7);
    restoreFile(backup, path, 'before');
    await expect(declare(path, declareMoved)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('wallet 1 stands at index 3, its mark file is further'),
    });
    expect(await startCopy(path)).toMatchObject({ next: 10 });
  });

  it('that the machine was set back: a matching mark file is ignored, once', async () => {
    const { path } = await backedUp(2);
    await declare(path, declareSetBack);
    expect(await startCopy(path)).toMatchObject({
      reason: 'this machine was set back to a snapshot',
      next: 5 + minSkip,
    });
    expect(await goOn(path, 1)).toEqual([6 + minSkip]);
  });

  it('is refused while a server runs', async () => {
    const { path } = await backedUp(0);
    const paygate = await run(path);
    await expect(declare(path, declareSetBack)).rejects.toMatchObject({ code: 'conflict' });
    await paygate.stop();
  });
});

/** Noise in the middle of the file. */
function scribble(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, 4096 * 3, 4096 * 12);
  writeFileSync(path, bytes);
}
