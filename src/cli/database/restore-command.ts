// `paygate restore`: puts a backup in the database's place. With --moved or --in-place the operator
// declares what no program can see: a moved folder, or a machine set back to a snapshot.

import type { Command } from 'commander';
import { timeName } from '../../domain/text/format.ts';
import { PaygateError, throwInvalid } from '../../lib/errors.ts';
import { declareMoved, declareSetBack, restoreFile } from '../../store/backup/restore.ts';
import {
  databasePath,
  type FileOptions,
  fileCommand,
  fileName,
  networkNamed,
  print,
  withStore,
  world,
} from '../command.ts';
import { describe } from './check-command.ts';
import { becomeOwner } from './file-owner.ts';

interface RestoreOptions extends FileOptions {
  readonly moved?: true;
  readonly withoutMark?: true;
  readonly inPlace?: true;
}

const nextStart =
  'The next `paygate serve` detects that it is a copy: it skips the addresses that were issued since, and\n' +
  'reports how many. If that number is unknown, it scans the chain before it issues an address.';

/** A warning if there was no database: the original may still run on another machine. */
const neverBoth =
  'Never serve both this database and its original, if that still exists: two customers would get the\n' +
  'same address.';

export function restoreCommand(): Command {
  return fileCommand('restore', "put a backup in the database's place, while serve is stopped")
    .argument('[file]', 'backup to restore', fileName)
    .option('--moved', 'no backup: the stopped database was moved, and issued nothing since')
    .option('--without-mark', 'with --moved: the mark file was lost, the original stays stopped')
    .option('--in-place', 'no backup: this whole machine was set back to a snapshot of itself')
    .action((file: string | undefined, given: RestoreOptions) => {
      const sources = [file, given.moved, given.inPlace].filter((each) => each !== undefined);
      if (sources.length !== 1) {
        throw new PaygateError('invalid', 'name either a backup, --moved or --in-place');
      }
      if (given.withoutMark && !given.moved) throwInvalid('--without-mark belongs to --moved');
      return file === undefined ? declare(given) : restore(file, given);
    });
}

function restore(file: string, given: RestoreOptions): void {
  const name = `before-restore-${timeName(world.now())}`;
  const network = networkNamed(given);
  const db = becomeOwner(databasePath(given));
  const { report, previous } = restoreFile(file, db, name, network);
  print(given, { ...report, previous: previous ?? null }, () => {
    const former = previous === undefined ? neverBoth : `The former database is now ${previous}`;
    return `${describe(report)}\n\n${former}\n\n${nextStart}`;
  });
}

const declare = (given: RestoreOptions): Promise<void> =>
  withStore(given, async ({ database, instance, catalog, addresses }) => {
    const declared = { path: database.path, instance, catalog, addresses };
    if (given.moved) declareMoved({ ...declared, withoutMark: given.withoutMark });
    else declareSetBack(declared);
    const noted = given.moved ? 'moved' : 'set back';
    print(given, { file: database.path, noted: noted.replace(' ', '_') }, () =>
      given.moved
        ? 'Recorded: the database continues where it stopped.'
        : `Recorded: this machine was set back.\n\n${nextStart}`,
    );
  });
