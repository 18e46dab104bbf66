// The report of /readyz: whether paygate can do its work, which is to issue addresses and to send
// callbacks and webhooks. A finding that hinders neither is for /healthz only (health.ts).

import type { ChannelStatus } from '../delivery/dispatchers.ts';
import type { Catalog } from '../store/wallets/catalog.ts';
import type { WatcherStatus } from '../watcher/watcher.ts';
import { unshownIn } from './findings.ts';

export interface Readiness {
  readonly ready: boolean;
  /** Empty when ready. */
  readonly reasons: readonly string[];
}

export interface ReadinessParts {
  readonly records: { readonly catalog: Pick<Catalog, 'wallets'> };
  /** Whether any store has a shop that receives callbacks or events; by default so. */
  readonly hasReceivers?: () => boolean;
  readonly channels: readonly {
    readonly noun: ChannelStatus['noun'];
    readonly dispatcher: Pick<ChannelStatus['dispatcher'], 'stallReason'>;
  }[];
  /** Reports transactions that a history names, but no server shows or proves. */
  readonly watcher: { readonly status: () => Pick<WatcherStatus, 'failures'> };
  readonly hasRoom: () => boolean;
  /** Why the disk refuses writes; undefined while it takes them. */
  readonly refused: () => string | undefined;
  /** Why the database file is not in its place; undefined while it is. */
  readonly displaced: () => string | undefined;
  /** Whether an older copy replaced the database, as a text. */
  readonly overwritten: () => string | undefined;
}

export function createReadiness({
  records,
  channels,
  watcher,
  hasReceivers = () => true,
  ...disk
}: ReadinessParts): () => Readiness {
  return () => {
    const wallets = records.catalog.wallets();
    const unshown = unshownIn(watcher.status());
    const lost = disk.displaced() ?? disk.overwritten();
    const refused = disk.refused();
    const reasons = [
      ...(disk.hasRoom() ? [] : ['no address is issued: the disk is almost full']),
      ...(lost === undefined ? [] : [`no address is issued: ${lost}`]),
      ...(refused === undefined ? [] : [`no address is issued: ${refused}`]),
      // One new wallet must not make the other shops unready.
      ...(wallets.length > 0 && wallets.every(({ scannedAt }) => scannedAt === null)
        ? ['no address is issued: every wallet waits for a scan of the chain']
        : []),
      ...channels.flatMap(({ noun, dispatcher }) => {
        const trouble = dispatcher.stallReason();
        return trouble === undefined ? [] : [`${noun}s are not sent: ${trouble}`];
      }),
      ...(unshown === undefined
        ? []
        : [`payments are not ${hasReceivers() ? 'reported to shops' : 'recorded'}: ${unshown}`]),
    ];
    return { ready: reasons.length === 0, reasons };
  };
}
