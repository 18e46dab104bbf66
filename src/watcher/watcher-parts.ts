// What the watcher works with, and whom it informs.

import type { Network } from '../bitcoin/network.ts';
import type { ServerAddress } from '../electrum/server-address.ts';
import type { Store } from '../store/open-store.ts';
import type { SocksProxy, World } from '../world/world.ts';
import type { Backlog } from './backlog.ts';

export interface WatcherParts {
  readonly world: World;
  readonly store: Store;
  readonly network: Network;
  readonly servers: readonly ServerAddress[];
  /** All servers are reached through it. */
  readonly proxy: SocksProxy | undefined;
  /** Requests in flight at an own server, where the operator has set it. */
  readonly ownMaxInFlight?: number | undefined;
  /** Payments above it are believed only with the depth of their block's tree. */
  readonly proveDepthAboveSat: number;
  /** How many addresses are subscribed at a server: see subscriber.ts. */
  readonly maxSubscribed?: number;
  /** Then no certificate is learnt; never without it. */
  readonly isClockWrong?: () => boolean;
  readonly backlog: Backlog;
  /** Callbacks were enqueued by something that the chain told us. */
  readonly onCallbacks: () => void;
}
