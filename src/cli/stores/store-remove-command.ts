// `paygate store remove|restore`: archives a store, and uses it again. A store is never deleted.

import type { Command } from 'commander';
import type { Records } from '../../store/open-records.ts';
import type { StoreRow } from '../../store/wallets/catalog.ts';
import { restoreShop } from '../../store/wallets/store-setup.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  rowId,
  withStore,
  world,
} from '../command.ts';
import { commandLine } from '../own-program.ts';

type DescribeStore = (records: Records, row: StoreRow) => unknown;

export function removeCommand(detail: DescribeStore): Command {
  return fileCommand('remove', 'archive a store: no more addresses; issued ones stay watched')
    .argument('<id>', 'of the store', rowId)
    .option('--stop-callbacks', 'also stop its callbacks')
    .action((id: number, given: FileOptions & { stopCallbacks?: boolean }) =>
      withStore(given, async (records) => {
        const stop = given.stopCallbacks ?? false;
        const row = await records.database.write((tx) => {
          recordChange(records, tx, 'store.remove', { stop_callbacks: stop }, id);
          return records.catalog.archiveStore(tx, world.now(), id, stop);
        });
        const back = commandLine(`store restore ${row.id}`, { db: records.database.path });
        print(given, detail(records, row), () =>
          [
            stop
              ? `Store ${row.id} "${row.name}" is removed; its callbacks are stopped.`
              : `Store ${row.id} "${row.name}" is removed; payments to its addresses are still called back.`,
            `To use it again: ${back}`,
          ].join('\n'),
        );
      }),
    );
}

export function restoreCommand(detail: DescribeStore): Command {
  return fileCommand('restore', 'use a removed store again; its API keys stay revoked')
    .argument('<id>', 'of the store', rowId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async (records) => {
        const { row, changed } = await records.database.write((tx) => {
          const restored = restoreShop(records, tx, id);
          if (restored.changed) recordChange(records, tx, 'store.restore', {}, id);
          return restored;
        });
        print(given, detail(records, row), () =>
          changed
            ? `Store ${row.id} "${row.name}" is in use again.`
            : `Store ${row.id} "${row.name}" is already in use.`,
        );
      }),
    );
}
