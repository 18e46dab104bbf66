// A copy of an open database: complete, consistent, one file that is there whole or not at all.
// Written by SQLite's backup API under another name, synced, and renamed.
// https://www.sqlite.org/backup.html

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { quoteForShell } from '../../domain/text/format.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { makePrivateFolder, removeLeftovers, replaceFile } from '../../world/disk.ts';
import { openSqlite, type Sqlite } from '../db/driver.ts';
import { logAsFound } from '../db/empty-log.ts';
import { besideEnds, found, isLog, logEnds, truePath } from '../db/file-path.ts';
import { userVersion } from '../db/migrate.ts';

/** How many pages are copied until the next turn of the event loop; throws to give up. */
export type Pace = () => number;

/** A millisecond's work or two: then others get their turn. What is written meanwhile is in it. */
export const pagesAtOnce = 250;

/** In one step, so that no other process's commit begins it anew; it holds the event loop. */
export const allPages: Pace = () => 0x7fffffff;

export const latestName = 'latest.db';
/** What takes its place as long as the daily check finds the copies damaged. */
export const damagedName = 'latest-damaged.db';
/** Name of the database that commands use by default. */
const usualName = 'paygate.db';
/**
 * A copy under way in the folder of backups, under the names that paygate gives there; and its
 * journal.
 */
const unfinished =
  /^\.(\d{4}-\d\d-\d\dT\d{6}Z|before-[\w.+-]+)\.db-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-journal)?$/;

export function backupFolder(databasePath: string): string {
  const folder = join(dirname(databasePath), 'backups');
  const name = basename(databasePath);
  return name === usualName ? folder : join(folder, name);
}

/**
 * What a person types to put the newest snapshot in the place of a database. Not the snapshot's
 * name alone: a copy by `cp` would have the old log played into it.
 */
export function restoreHint(databasePath: string): string {
  const latest = join(backupFolder(databasePath), latestName);
  return `\`${restoreLine(existsSync(latest) ? quoteForShell(latest) : 'BACKUP', databasePath)}\``;
}

/** @param backup quoted for a shell */
export const restoreLine = (backup: string, databasePath: string): string =>
  `paygate restore ${backup}${databasePath === usualName ? '' : ` --db ${quoteForShell(databasePath)}`}`;

export function makeBackupFolder(databasePath: string): string {
  const folder = backupFolder(databasePath);
  makePrivateFolder(folder);
  return folder;
}

export interface BackupFile {
  readonly name: string;
  readonly bytes: number;
  readonly at: number;
}

/** The copies that lie in a database's folder of them, newest first; none that is being written. */
export function listBackups(databasePath: string): BackupFile[] {
  const folder = backupFolder(databasePath);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[^.].*\.db$/.test(entry.name))
    .map(({ name }) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return { name, bytes: size, at: Math.floor(mtimeMs) };
    })
    .sort((first, second) => second.at - first.at || (first.name < second.name ? -1 : 1));
}

/** Reads a copy by its name. @throws PaygateError not_found for a name that is not in the list */
export function readBackup(databasePath: string, name: string) {
  const found = listBackups(databasePath).find((file) => file.name === name);
  if (found === undefined) throw new PaygateError('not_found', 'There is no such backup any more.');
  // Opened at once: what is replaced meanwhile is read to its end all the same.
  const fd = openSync(join(backupFolder(databasePath), name), 'r');
  return { ...found, stream: createReadStream('', { fd }) };
}

/**
 * Replaces what stands under the name. @throws PaygateError unavailable; nothing is left behind
 * then
 */
export async function writeBackup(sqlite: Sqlite, target: string, pace: Pace): Promise<void> {
  const fresh = join(dirname(target), `.${basename(target)}-${randomUUID()}`);
  try {
    // The driver would make it readable for more than its user, for a moment.
    closeSync(openSync(fresh, 'wx', 0o600));
    removeLeftovers(dirname(target), unfinished, fresh);
    await sqlite.backup(fresh, { progress: pace });
    replaceCopy(fresh, target);
  } catch (error) {
    for (const each of [fresh, `${fresh}-journal`]) rmSync(each, { force: true });
    const reason = writeFault(error, fresh, target);
    throw new PaygateError('unavailable', `${target}: cannot be written (${reason})`, {
      cause: error,
    });
  }
}

/** Why a copy cannot be written: names its folder and file, never the temporary name. */
function writeFault(error: unknown, fresh: string, target: string): string {
  const folder = dirname(target);
  return existsSync(folder)
    ? reasonOf(error).replaceAll(fresh, target)
    : `there is no folder ${folder}`;
}

/** Replaces what stands under the name. @param fresh in the same folder, whole */
export function replaceCopy(fresh: string, target: string): void {
  // A tool that still has the previous file open leaves these. SQLite would replay them into this
  // one.
  for (const end of besideEnds) rmSync(`${target}${end}`, { force: true });
  replaceFile(fresh, target);
}

/**
 * The same as `writeBackup` of a file that is not open, whatever version it is of: it is not
 * updated by that.
 */
export async function backupAsItIs(path: string, target: string): Promise<void> {
  const leaveLog = logAsFound(path);
  const sqlite = openSqlite(path);
  try {
    await writeBackup(sqlite, target, allPages);
  } finally {
    sqlite.close();
    leaveLog();
  }
}

/**
 * @throws PaygateError conflict where something stands already, unavailable where this user may not
 * look
 */
export function refuseExisting(target: string): void {
  const there = found(target, statSync);
  // Also refuses a dangling link, which a new file would replace.
  if (there === undefined) truePath(target);
  const log = logEnds.map((end) => `${target}${end}`).find(isLog);
  const taken = there === undefined ? log : target;
  if (taken === undefined) return;
  const what =
    taken !== target
      ? `${taken} exists, and SQLite would apply it to the new file`
      : there?.isDirectory()
        ? 'is a folder'
        : 'exists already';
  throw new PaygateError('conflict', `${target}: ${what}; name a new file`);
}

/** Path of the copy from before an update: of a file with `count` migrations. */
export const copyBeforeUpdate = (path: string, count: number): string =>
  join(backupFolder(path), `before-update-${count}.db`);

/**
 * Keeps a file as it is before its schema is changed, as `before-update-N.db` with the number of
 * its migrations. In one go, for nothing may come between. @throws PaygateError unavailable: then
 * it stays as it is
 */
export function keepBeforeUpdate(sqlite: Sqlite, path: string): void {
  const before = userVersion(sqlite);
  makeBackupFolder(path);
  const target = copyBeforeUpdate(path, before);
  const fresh = join(dirname(target), `.${basename(target)}-${randomUUID()}`);
  try {
    closeSync(openSync(fresh, 'wx', 0o600));
    sqlite.prepare('VACUUM INTO ?').run(fresh);
    if (userVersion(sqlite) !== before) {
      // Another process was first, and its copy serves as well.
      rmSync(fresh);
      return;
    }
    replaceFile(fresh, target);
  } catch (error) {
    rmSync(fresh, { force: true });
    const fault = writeFault(error, fresh, target);
    const reason = `${target}: cannot be written before the update (${fault})`;
    throw new PaygateError('unavailable', reason, { cause: error });
  }
}
