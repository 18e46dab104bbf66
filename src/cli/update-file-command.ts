// What `paygate update` does with the database: a snapshot before, and the way back where the new version has migrated it. Two
// commands that it calls, and nobody else: root has no hand in the files of another user, and they become that user.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { backupAsItIs, keptBeforeUpdate, makeBackupFolder } from '../store/backup/backup.ts';
import { refuseForeign } from '../store/backup/integrity-check.ts';
import { restoreFile } from '../store/backup/restore.ts';
import { refuseLostLog } from '../store/db/file-guards.ts';
import { refuseTwoNames, truePath } from '../store/db/file-path.ts';
import { migrationsIn } from '../store/db/migrate.ts';
import { ourselves } from './check-process.ts';
import { databasePath, type FileOptions, fileCommand, print, timeName, world } from './command.ts';
import { becomeOwner } from './file-owner.ts';
import { firstLine, run } from './update-binary.ts';

const name = 'update-file';

export function updateFileCommand(): Command {
  const keep = fileCommand('keep', '')
    .argument('<version>', 'that is replaced')
    .action((version: string, given: FileOptions) => takeSnapshot(version, given));
  const back = fileCommand('back', '')
    .argument('<snapshot>')
    .action((snapshot: string, given: FileOptions) => {
      const went = goBack(snapshot, fileOf(given));
      print({ json: true }, went, String);
    });
  return new Command(name).addCommand(keep).addCommand(back);
}

const fileOf = (given: FileOptions): string => truePath(becomeOwner(databasePath(given)));

/** As it is: it may be of the version that still serves it. */
async function takeSnapshot(version: string, given: FileOptions): Promise<void> {
  const db = fileOf(given);
  refuseForeign(db);
  // Neither version would start again.
  refuseTwoNames(db);
  // What a server writes in a log that is gone would be missing in the snapshot.
  refuseLostLog(db);
  const target = join(makeBackupFolder(db), `before-${version}-${timeName(world.now())}.db`);
  await backupAsItIs(db, target);
  print({ json: true }, target, String);
}

/** What stands in the database's place after a failed update. */
export interface WayBack {
  /** What was put there, or was to be; undefined where the file is as it was. */
  readonly copy?: string;
  /** Where the newer one lies now. */
  readonly previous?: string | undefined;
  readonly fault?: string;
}

/**
 * What the new one has migrated, the old one can't read: then the copy from before takes its place, that of the new one where it has
 * made one, for the old one wrote on after the snapshot. Of a file that is only busy, or
 * on a full disk, nobody takes away what was written since.
 */
function goBack(snapshot: string, db: string): WayBack {
  let copy = snapshot;
  try {
    const known = migrationsIn(snapshot);
    if (migrationsIn(db) <= known) return {};
    copy = newest(snapshot, keptBeforeUpdate(db, known));
    const { previous } = restoreFile(copy, db, `before-restore-${timeName(world.now())}`);
    return { copy, previous };
  } catch (error) {
    return { copy, fault: reasonOf(error) };
  }
}

/** The second, unless it is missing or from before. */
const newest = (first: string, second: string): string =>
  (statSync(second, { throwIfNoEntry: false })?.mtimeMs ?? 0) > statSync(first).mtimeMs
    ? second
    : first;

/** @returns where the snapshot lies @throws PaygateError */
export const snapshotBefore = (version: string, db: string): Promise<string> =>
  call<string>('keep', version, '--db', db);

/** Never throws, for the old one is to be started after it. */
export const wayBack = (snapshot: string, db: string): Promise<WayBack> =>
  call<WayBack>('back', snapshot, '--db', db).catch((error) => ({
    copy: snapshot,
    fault: reasonOf(error),
  }));

/** One of these commands, as a process of its own. */
async function call<T>(...words: readonly string[]): Promise<T> {
  try {
    const { stdout } = await run(process.execPath, [...ourselves(), name, ...words]);
    return JSON.parse(stdout) as T;
  } catch (error) {
    throw new PaygateError('unavailable', firstLine(error).replace(/^paygate: /, ''));
  }
}
