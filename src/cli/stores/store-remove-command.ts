// `paygate store remove|restore`: archives a store, and uses it again. A store is never deleted.

import type { Command } from 'commander';
import type { Store } from '../../store/open-store.ts';
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

/** Makes the JSON answer for a store. */
type DescribeStore = (store: Store, row: StoreRow) => unknown;

export function removeCommand(detail: DescribeStore): Command {
  return fileCommand('remove', 'archive a store: no more addresses; issued ones stay watched')
    .argument('<id>', 'of the store', rowId)
    .option('--stop-callbacks', 'also stop its callbacks')
    .action((id: number, given: FileOptions & { stopCallbacks?: boolean }) =>
      withStore(given, async (store) => {
        const stop = given.stopCallbacks ?? false;
        const row = await store.database.write((tx) => {
          recordChange(store, tx, 'store.remove', { stop_callbacks: stop }, id);
          return store.catalog.archiveStore(tx, world.now(), id, stop);
        });
        const back = commandLine(`store restore ${row.id}`, { db: store.database.path });
        print(given, detail(store, row), () =>
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
      withStore(given, async (store) => {
        const { row, changed } = await store.database.write((tx) => {
          const restored = restoreShop(store, tx, id);
          if (restored.changed) recordChange(store, tx, 'store.restore', {}, id);
          return restored;
        });
        print(given, detail(store, row), () =>
          changed
            ? `Store ${row.id} "${row.name}" is in use again.`
            : `Store ${row.id} "${row.name}" is already in use.`,
        );
      }),
    );
}
