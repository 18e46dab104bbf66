// What /readyz says: whether paygate can do what it is there for, to give out addresses and to tell shops.
// What an operator should look at, but what hinders neither, is for /healthz (health.ts).

import type { CallbackDispatcher } from '../delivery/dispatcher.ts';
import type { Catalog } from '../store/records/catalog.ts';
import type { WatcherStatus } from '../watcher/watcher.ts';
import { unshownIn } from './findings.ts';

export interface Readiness {
  readonly ready: boolean;
  /** Empty when it is. */
  readonly reasons: readonly string[];
}

export interface ReadinessParts {
  readonly store: { readonly catalog: Pick<Catalog, 'wallets'> };
  readonly dispatcher: Pick<CallbackDispatcher, 'stallReason'>;
  /** What a server does not show or prove, though a history names it. */
  readonly watcher: { readonly status: () => Pick<WatcherStatus, 'failures'> };
  readonly hasRoom: () => boolean;
  /** That the disk refuses what is written. */
  readonly refused: () => string | undefined;
  /** That the database file is not in its place. */
  readonly displaced: () => string | undefined;
  /** That an older copy was put over it. */
  readonly overwritten: () => string | undefined;
}

export function createReadiness({
  store,
  dispatcher,
  watcher,
  ...room
}: ReadinessParts): () => Readiness {
  return () => {
    const wallets = store.catalog.wallets();
    const trouble = dispatcher.stallReason();
    const unshown = unshownIn(watcher.status());
    const lost = room.displaced() ?? room.overwritten();
    const refused = room.refused();
    const reasons = [
      ...(room.hasRoom() ? [] : ['no address is issued: the disk is almost full']),
      ...(lost === undefined ? [] : [`no address is issued: ${lost}`]),
      ...(refused === undefined ? [] : [`no address is issued: ${refused}`]),
      // One that was just added must not take the others' shops along.
      ...(wallets.length > 0 && wallets.every(({ scannedAt }) => scannedAt === null)
        ? ['no address is issued: every wallet waits for a scan of the chain']
        : []),
      ...(trouble === undefined ? [] : [`callbacks do not leave: ${trouble}`]),
      ...(unshown === undefined ? [] : [`payments are not told: ${unshown}`]),
    ];
    return { ready: reasons.length === 0, reasons };
  };
}
