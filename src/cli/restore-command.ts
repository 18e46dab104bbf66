// `paygate restore`: puts a backup in the database's place, or is told what no program can see: that the
// folder was moved (--moved), or that the whole machine was set back (--in-place).

import type { Command } from 'commander';
import { PaygateError } from '../lib/errors.ts';
import { declareMoved, declareSetBack, restoreFile } from '../store/backup/restore.ts';
import { describe } from './check-command.ts';
import {
  databasePath,
  type FileOptions,
  fileCommand,
  fileName,
  networkNamed,
  print,
  timeName,
  withStore,
  world,
} from './command.ts';
import { becomeOwner } from './file-owner.ts';

interface RestoreOptions extends FileOptions {
  readonly moved?: true;
  readonly inPlace?: true;
}

const nextStart =
  'The next `paygate serve` sees that it is a copy: it skips the addresses that were issued since, and\n' +
  'says how far. Its first addresses wait for a look at the chain where that cannot be known.';

/** Where nothing stood, the original may be alive elsewhere, as where somebody practises. */
const neverBoth =
  'Never serve both this and the database that it is a copy of, if that is still there: two customers\n' +
  'would be given the same address.';

export function restoreCommand(): Command {
  return fileCommand('restore', "put a backup in the database's place, while serve is stopped")
    .argument('[file]', 'the backup', fileName)
    .option('--moved', 'no backup: the database was moved while stopped, and issued nothing since')
    .option('--in-place', 'no backup: this whole machine was set back to a snapshot of itself')
    .action((file: string | undefined, given: RestoreOptions) => {
      const asked = [file, given.moved, given.inPlace].filter((each) => each !== undefined);
      if (asked.length !== 1) {
        throw new PaygateError('invalid', 'name a backup, or one of --moved and --in-place');
      }
      return file === undefined ? declare(given) : restore(file, given);
    });
}

function restore(file: string, given: RestoreOptions): void {
  const name = `before-restore-${timeName(world.now())}`;
  const network = networkNamed(given);
  const db = becomeOwner(databasePath(given));
  const { report, previous } = restoreFile(file, db, name, network);
  print(given, { ...report, previous: previous ?? null }, () => {
    const kept = previous === undefined ? neverBoth : `What stood there before is now ${previous}`;
    return `${describe(report)}\n\n${kept}\n\n${nextStart}`;
  });
}

const declare = (given: RestoreOptions): Promise<void> =>
  withStore(given, async ({ database, instance, catalog, addresses }) => {
    const declared = { path: database.path, instance, catalog, addresses };
    if (given.moved) declareMoved(declared);
    else declareSetBack(declared);
    const noted = given.moved ? 'moved' : 'set back';
    print(given, { file: database.path, noted: noted.replace(' ', '_') }, () =>
      given.moved
        ? 'Noted: the database goes on where it stopped.'
        : `Noted: this machine was set back.\n\n${nextStart}`,
    );
  });
