// How the watcher stands, as health and alarms tell it.

import type { ServerStatus } from '../electrum/pool.ts';
import type { Hold } from './hold.ts';

/** Scripts that could not be worked up. */
export interface Trouble {
  readonly scripts: number;
  /** The newest reason. */
  readonly reason: string;
}

export interface WatcherStatus {
  readonly servers: readonly ServerStatus[];
  /** The server in use; undefined while there is none. */
  readonly server: string | undefined;
  /** Whether every address has been compared with that server since it was connected. */
  readonly caughtUp: boolean;
  readonly tipHeight: number | undefined;
  readonly dirty: number;
  /** Why nothing is promoted to 2; empty when all is well. */
  readonly held: ReturnType<Hold['reasons']>;
  /** What could not be worked up and is tried again. */
  readonly trouble: Trouble | undefined;
  /** Why a wallet's scan, or what is watched ahead of it, failed at the last try; it is tried again in a minute. */
  readonly careFault: string | undefined;
}
