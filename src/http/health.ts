// What /healthz says: whether all is well, and if not, each reason in words an operator can act on.

import type { ServerStatus } from '../electrum/pool.ts';
import type { Store } from '../store/open.ts';
import { version } from '../version.ts';
import type { Watcher } from '../watcher/watcher.ts';

export interface HealthReport {
  readonly status: 'ok' | 'degraded';
  readonly warnings: readonly string[];
  readonly version: string;
  readonly network: string;
  readonly electrum: {
    readonly server: string | null;
    readonly caught_up: boolean;
    readonly height: number | null;
    readonly servers: readonly {
      readonly server: string;
      readonly state: string;
      readonly error?: string;
    }[];
  };
  readonly wallets: { readonly total: number; readonly scanning: number };
  readonly callbacks: { readonly owed: number; readonly exhausted: number };
}

export interface HealthParts {
  readonly store: Store;
  readonly watcher: Watcher;
  /** Said at every look when the file was found to be a copy at this start. */
  readonly copied: string | undefined;
  readonly hasRoom: () => boolean;
}

export function createHealth({ store, watcher, copied, hasRoom }: HealthParts): () => HealthReport {
  return () => {
    const { servers, server, caughtUp, tipHeight } = watcher.status();
    const wallets = store.catalog.wallets();
    const scanning = wallets.filter(({ scannedAt }) => scannedAt === null).length;
    const callbacks = store.outbox.counts();
    const warnings = [
      ...(copied === undefined ? [] : [copied]),
      ...(hasRoom() ? [] : ['the disk is almost full: no address is issued until there is room']),
      ...(server === undefined ? [`no Electrum server is connected: ${faults(servers)}`] : []),
      ...(server !== undefined && !caughtUp ? ['catching up with the Electrum server'] : []),
      ...(scanning > 0 ? [`${scanning} wallet(s) wait for their first scan: no address yet`] : []),
      ...(callbacks.exhausted > 0 ? [`${callbacks.exhausted} callback(s) were given up`] : []),
    ];
    return {
      status: warnings.length === 0 ? 'ok' : 'degraded',
      warnings,
      version,
      network: store.network,
      electrum: {
        server: server ?? null,
        caught_up: caughtUp,
        height: tipHeight ?? null,
        servers: servers.map(({ label, state, lastError }) => ({
          server: label,
          state,
          ...(lastError === undefined ? {} : { error: lastError }),
        })),
      },
      wallets: { total: wallets.length, scanning },
      callbacks,
    };
  };
}

function faults(servers: readonly ServerStatus[]): string {
  const told = servers.flatMap(({ label, lastError }) =>
    lastError ? [`${label}: ${lastError}`] : [],
  );
  return told.slice(0, 3).join('; ') || 'none has answered yet';
}
