// Puts a backup in the place of the database, or declares what no program can detect. The mark file
// stays, because it shows the next start that this is a copy.

// The order makes a crash harmless. First the backup is copied, checked and synced under another
// name. Then the database is moved away, and its WAL and index after it. Last the copy gets its
// name. Meanwhile the name is free or a WAL is alone, which every start refuses.
// Nothing is deleted. The previous database goes to the folder of backups, or stays beside the new
// one if that folder is on another disk.

import { existsSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { NetworkName } from '../../bitcoin/network.ts';
import { marksOf, olderThan, unknownTo } from '../../domain/store/allocation.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { makePrivateFolder, replaceFile, syncPath } from '../../world/disk.ts';
import { type Sqlite, withSqlite } from '../db/driver.ts';
import { besideEnds, truePath } from '../db/file-path.ts';
import { backupFolder } from '../file/backup.ts';
import { lockForServer, refuseOtherNetwork, refuseServed } from '../file/file-guards.ts';
import { restoredName } from '../file/file-state.ts';
import { type HighWaterMark, openHighWaterMark } from '../mark/high-water-mark.ts';
import { countersOf } from '../resume/resume.ts';
import type { Addresses } from '../wallets/addresses.ts';
import type { Catalog } from '../wallets/catalog.ts';
import {
  asideFrom,
  checkFile,
  copyWithLog,
  type FileReport,
  NoSpace,
  refuseForeign,
} from './integrity-check.ts';

export interface Restored {
  readonly report: FileReport;
  readonly previous: string | undefined;
}

/**
 * @param name of the folder for the previous database.
 * @param network that the backup must be of, if given.
 * @throws PaygateError if the backup is damaged, a server runs, or another database is at the path
 */
export function restoreFile(
  backup: string,
  given: string,
  name: string,
  network?: NetworkName,
): Restored {
  const path = truePath(given);
  refuseForeign(backup);
  // Its log and its lock lie beside the file itself.
  const source = truePath(backup);
  refuseServed(source);
  const lock = lockForServer(path);
  const fresh = join(dirname(path), `.${basename(path)}-restored`);
  try {
    removeAll(fresh);
    copyWithLog(source, fresh);
    fold(fresh);
    const report = checkFile(fresh);
    if (!report.ok) {
      throw new PaygateError('unavailable', `${backup}: is damaged (${report.faults.join('; ')})`);
    }
    refuseOtherNetwork(backup, report.network, network);
    refuseOther(path, backup, report);
    raiseVersions(fresh, highestVersion(path));
    const previous = moveAside(path, name);
    replaceFile(fresh, path);
    return { report: { ...report, file: path }, previous };
  } catch (error) {
    if (error instanceof PaygateError) throw error;
    const reason = `${path}: the backup cannot be put there (${reasonOf(error)})`;
    throw new PaygateError('unavailable', reason, { cause: error });
  } finally {
    removeAll(fresh);
    lock.release();
  }
}

/** The files of a database that SQLite reads or replays. */
const ends = ['', ...besideEnds] as const;

function removeAll(path: string): void {
  for (const end of ends) rmSync(`${path}${end}`, { force: true });
}

/** Moves the log of a copy into its file: what is restored is one complete file. */
function fold(path: string): void {
  withSqlite(path, {}, (sqlite) => sqlite.pragma('journal_mode = DELETE'));
  syncPath(path);
}

/**
 * Raises the versions of all orders above those of the file that is replaced, and records that this
 * one is restored.
 */
function raiseVersions(fresh: string, replaced: number): void {
  withSqlite(fresh, {}, (sqlite) => {
    const own = highestIn(sqlite);
    sqlite.transaction(() => {
      sqlite.prepare('UPDATE orders SET version = ?').run(Math.max(own, replaced) + 1);
      sqlite
        .prepare("INSERT OR REPLACE INTO settings (name, value) VALUES (?, 'true')")
        .run(restoredName);
    })();
  });
  syncPath(fresh);
}

const highestIn = (sqlite: Sqlite): number =>
  (sqlite.prepare('SELECT max(version) FROM orders').pluck().get() as number | null) ?? 0;

/** The highest version of any order of a file; 0 where there is none, or it is damaged. */
function highestVersion(path: string): number {
  if (!existsSync(path)) return 0;
  try {
    return asideFrom(path, highestIn);
  } catch (error) {
    if (error instanceof NoSpace) throw error;
    return 0;
  }
}

/** Another shop's backup by mistake: its addresses would be watched, and this one's no longer. */
function refuseOther(path: string, backup: string, { instance }: FileReport): void {
  if (!existsSync(path)) return;
  const present = instanceOf(path);
  if (present === undefined || present === instance) return;
  throw new PaygateError(
    'conflict',
    `${path}: is another database than ${backup} was copied from; move it away if that is meant`,
  );
}

/** Undefined where it is damaged: that is what one restores for. */
function instanceOf(path: string): string | undefined {
  try {
    return checkFile(path).instance ?? undefined;
  } catch (error) {
    if (error instanceof NoSpace) throw error;
    return undefined;
  }
}

function moveAside(path: string, name: string): string | undefined {
  const present = ends.filter((end) => existsSync(`${path}${end}`));
  if (present.length === 0) return undefined;
  try {
    return moveInto(join(backupFolder(path), name), path, present);
  } catch (error) {
    // Nothing is renamed to another disk.
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    return moveInto(join(dirname(path), name), path, present);
  }
}

/** All of it or nothing: what cannot be moved whole goes back to its place. */
function moveInto(folder: string, path: string, present: readonly string[]): string {
  const fresh = unusedName(folder);
  makePrivateFolder(fresh);
  const there = join(fresh, basename(path));
  const moved: string[] = [];
  try {
    for (const end of present) {
      renameSync(`${path}${end}`, `${there}${end}`);
      moved.unshift(end);
    }
  } catch (error) {
    for (const end of moved) renameSync(`${there}${end}`, `${path}${end}`);
    rmdirSync(fresh);
    throw error;
  }
  syncPath(fresh);
  syncPath(dirname(path));
  return there;
}

function unusedName(path: string): string {
  for (let count = 1, name = path; ; count += 1, name = `${path}-${count}`) {
    if (!existsSync(name)) return name;
  }
}

export interface Declared {
  readonly path: string;
  readonly instance: string;
  readonly catalog: Catalog;
  readonly addresses: Addresses;
}

export interface Moved extends Declared {
  readonly withoutMark?: boolean | undefined;
}

/**
 * The operator says that the file was moved while it was stopped, and that nothing was issued
 * since. The mark file becomes that of this file. @throws PaygateError conflict where the mark file
 * is further, or cannot confirm it
 */
export function declareMoved(moved: Moved): void {
  withMark(moved, (mark) => {
    const known = mark.reading?.raises ?? [];
    const counters = countersOf(moved);
    const unknown = unknownTo({ raises: known }, counters);
    if (unknown !== undefined && !moved.withoutMark) {
      throw new PaygateError(
        'conflict',
        `${moved.path}: no mark file shows that wallet ${unknown.walletId} issued nothing since: ` +
          'copy .paygate-mark too, or leave --moved out, and serve skips what may have been issued; ' +
          'only for a stopped original, add --without-mark',
      );
    }
    const older = olderThan(counters, known);
    if (older !== undefined || mark.reading?.missing !== undefined) {
      const fact =
        older === undefined
          ? 'addresses were issued since'
          : `wallet ${older.walletId} stands at index ${older.nextIndex}, its mark file is further`;
      throw new PaygateError(
        'conflict',
        `${moved.path}: ${fact}: this is an older copy; leave --moved out, and serve skips what was issued since`,
      );
    }
    mark.begin(marksOf(counters, known));
  });
}

/**
 * The operator says that the whole machine, and the mark file with it, was set back to a snapshot.
 */
export const declareSetBack = (setBack: Declared): void =>
  withMark(setBack, (mark) => mark.distrust());

function withMark({ path, instance }: Declared, work: (mark: HighWaterMark) => void): void {
  const lock = lockForServer(path);
  const mark = openHighWaterMark(path, instance);
  try {
    work(mark);
  } finally {
    mark.close();
    lock.release();
  }
}
