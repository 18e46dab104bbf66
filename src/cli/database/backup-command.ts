// `paygate backup [FILE]`: writes a complete copy of the database, also while `serve` runs.

import { join } from 'node:path';
import type { Command } from 'commander';
import { timeName } from '../../domain/text/format.ts';
import { checkFile } from '../../store/backup/integrity-check.ts';
import { allPages, makeBackupFolder, refuseExisting } from '../../store/file/backup.ts';
import { type FileOptions, fileCommand, fileName, print, withStore, world } from '../command.ts';
import { describe } from './check-command.ts';

export function backupCommand(): Command {
  return fileCommand('backup', 'write a complete copy of the database, also while serve runs')
    .argument(
      '[file]',
      'new file (default: one named by the time, in the folder backups)',
      fileName,
    )
    .action((file: string | undefined, given: FileOptions) =>
      withStore(given, async ({ database }) => {
        const target = file ?? join(makeBackupFolder(database.path), `${timeName(world.now())}.db`);
        refuseExisting(target);
        await database.backup(target, allPages);
        const report = checkFile(target);
        print(given, report, () => describe(report));
        if (!report.ok) process.exitCode = 1;
      }),
    );
}
