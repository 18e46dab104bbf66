// `paygate store remove|restore`: a store is never deleted, and a removed one can be used again.

import type { Command } from 'commander';
import type { Store } from '../store/open-store.ts';
import type { StoreRow } from '../store/records/catalog.ts';
import { restoreShop } from '../store/records/store-setup.ts';
import {
  anyId,
  type FileOptions,
  fileCommand,
  noteChange,
  print,
  withStore,
  world,
} from './command.ts';
import { again } from './own-program.ts';

/** A store as these commands answer it in JSON. */
type Detail = (store: Store, row: StoreRow) => unknown;

export function removeCommand(detail: Detail): Command {
  return fileCommand('remove', 'archive a store: no more addresses, what was issued stays watched')
    .argument('<id>', 'of the store', anyId)
    .option('--stop-callbacks', 'send no more callbacks for it either')
    .action((id: number, given: FileOptions & { stopCallbacks?: boolean }) =>
      withStore(given, async (store) => {
        const stop = given.stopCallbacks ?? false;
        const row = await store.database.write((tx) => {
          noteChange(store, tx, 'store.remove', { stop_callbacks: stop }, id);
          return store.catalog.archiveStore(tx, world.now(), id, stop);
        });
        const back = again(`store restore ${row.id}`, { db: store.database.path });
        print(given, detail(store, row), () =>
          [
            stop
              ? `Store ${row.id} "${row.name}" is removed; its callbacks have ended.`
              : `Store ${row.id} "${row.name}" is removed; payments to its addresses still call back.`,
            `To use it again: ${back}`,
          ].join('\n'),
        );
      }),
    );
}

export function restoreCommand(detail: Detail): Command {
  return fileCommand('restore', 'use a removed store again; its own API keys stay ended')
    .argument('<id>', 'of the store', anyId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async (store) => {
        const { row, changed } = await store.database.write((tx) => {
          const restored = restoreShop(store, tx, id);
          if (restored.changed) noteChange(store, tx, 'store.restore', {}, id);
          return restored;
        });
        print(given, detail(store, row), () =>
          changed
            ? `Store ${row.id} "${row.name}" is in use again.`
            : `Store ${row.id} "${row.name}" is in use; nothing is changed.`,
        );
      }),
    );
}
