// A backup has a snapshot that paygate makes, not the files of the running database. A restore puts
// it in place by `paygate restore`, beside a mark file that is still there. So paygate continues
// behind the last issued address, or skips and scans where the mark file is gone.

import { access, mkdir, rm } from 'node:fs/promises';
import { database, run } from './container';
import { sdk } from './sdk';

const folder = '/media/startos/volumes/main/snapshot/' as const;
const snapshot = '/data/snapshot/paygate.db';
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

export const { createBackup, restoreInit } = sdk.setupBackups(async () =>
  sdk.Backups.ofSyncs({ dataPath: folder, backupPath: '/media/startos/backup/snapshot/' })
    .addVolume('startos')
    .setPreBackup(async (effects) => {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      // Before the first start there is nothing to save.
      if (!(await exists(sdk.volumes.main.subpath('paygate.db')))) return;
      await run(effects, 'backup', '--db', database, snapshot);
    })
    .setPostBackup(() => rm(folder, { recursive: true, force: true }))
    .setPostRestore(async (effects) => {
      if (await exists(`${folder}paygate.db`)) {
        await run(effects, 'restore', '--db', database, snapshot);
      }
      await rm(folder, { recursive: true, force: true });
    }),
);
