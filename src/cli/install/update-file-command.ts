// The database of `paygate update`: a snapshot before it, and a rollback if the new version
// migrated it. Both are hidden commands that only `update` runs, as processes that become the owner
// of the files: root must not touch another user's files.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { timeName } from '../../domain/text/format.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { refuseForeign } from '../../store/backup/integrity-check.ts';
import { restoreFile } from '../../store/backup/restore.ts';
import { refuseTwoNames, truePath } from '../../store/db/file-path.ts';
import { migrationsIn } from '../../store/db/migrate.ts';
import { backupAsItIs, copyBeforeUpdate, makeBackupFolder } from '../../store/file/backup.ts';
import { refuseLostLog } from '../../store/file/file-guards.ts';
import { databasePath, type FileOptions, fileCommand, print, world } from '../command.ts';
import { becomeOwner } from '../database/file-owner.ts';
import { ownArguments } from '../own-program.ts';
import { firstLine, run } from './update-binary.ts';

const name = 'update-file';

export function updateFileCommand(): Command {
  const keep = fileCommand('keep', '')
    .argument('<version>', 'version that is replaced')
    .action((version: string, given: FileOptions) => takeSnapshot(version, given));
  const back = fileCommand('back', '')
    .argument('<snapshot>')
    .action((snapshot: string, given: FileOptions) => {
      const rollback = restoreSnapshot(snapshot, fileOf(given));
      print({ json: true }, rollback, String);
    });
  return new Command(name).addCommand(keep).addCommand(back);
}

const fileOf = (given: FileOptions): string => truePath(becomeOwner(databasePath(given)));

/** Copies without migrating, because the version that still runs may use the database. */
async function takeSnapshot(version: string, given: FileOptions): Promise<void> {
  const db = fileOf(given);
  refuseForeign(db);
  // Neither version would start on it.
  refuseTwoNames(db);
  // If the WAL file was deleted, the snapshot would lack what the server wrote there.
  refuseLostLog(db);
  const target = join(makeBackupFolder(db), `before-${version}-${timeName(world.now())}.db`);
  await backupAsItIs(db, target);
  print({ json: true }, target, String);
}

/** The database after a failed update. */
export interface Rollback {
  /** The copy that took its place, or could not; undefined if the file was not migrated. */
  readonly copy?: string;
  /** The path of the newer database now. */
  readonly previous?: string | undefined;
  readonly fault?: string;
}

/**
 * Restores the copy from before if the new version migrated the database, which the old one cannot
 * read. A copy that the new version made before migrating is newer than the snapshot, and is
 * preferred. A database that was not migrated stays: a busy file or a full disk must not lose what
 * was written since.
 */
function restoreSnapshot(snapshot: string, db: string): Rollback {
  let copy = snapshot;
  try {
    const count = migrationsIn(snapshot);
    if (migrationsIn(db) <= count) return {};
    copy = newest(snapshot, copyBeforeUpdate(db, count));
    const { previous } = restoreFile(copy, db, `before-restore-${timeName(world.now())}`);
    return { copy, previous };
  } catch (error) {
    return { copy, fault: reasonOf(error) };
  }
}

/** The second file, unless it is missing or older. */
const newest = (first: string, second: string): string =>
  (statSync(second, { throwIfNoEntry: false })?.mtimeMs ?? 0) > statSync(first).mtimeMs
    ? second
    : first;

/** @returns the path of the snapshot @throws PaygateError */
export const snapshotBefore = (version: string, db: string): Promise<string> =>
  call<string>('keep', version, '--db', db);

/** Never throws, because the old version must be started afterwards. */
export const rollBackDatabase = (snapshot: string, db: string): Promise<Rollback> =>
  call<Rollback>('back', snapshot, '--db', db).catch((error) => ({
    copy: snapshot,
    fault: reasonOf(error),
  }));

/** Runs one of these commands as a process of its own. */
async function call<T>(...words: readonly string[]): Promise<T> {
  try {
    const { stdout } = await run(process.execPath, [...ownArguments(), name, ...words]);
    return JSON.parse(stdout) as T;
  } catch (error) {
    throw new PaygateError('unavailable', firstLine(error).replace(/^paygate: /, ''));
  }
}
