// How the watcher stands, as health and alarms tell it.

import type { ServerStatus } from '../electrum/pool.ts';
import type { FinalityHold } from './finality-hold.ts';

/** Scripts that could not be worked up, by the server and the request that failed. */
export interface ScriptFailures {
  readonly server: string;
  /** Its method, where it is one that failed. */
  readonly request: string | undefined;
  readonly scripts: number;
  /** Those among them whose history names a transaction that is not shown or not proven. */
  readonly unshown: number;
  /** The newest reason. */
  readonly reason: string;
}

/** Addresses that could not be subscribed: they are looked at by the minute. */
export interface RefusedSubscriptions {
  readonly server: string;
  readonly scripts: number;
  /** The newest. */
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
  readonly holdReasons: ReturnType<FinalityHold['reasons']>;
  /** What could not be worked up and is tried again. */
  readonly failures: readonly ScriptFailures[];
  /** Why the last try to follow a server failed; undefined once every address was compared with one. */
  readonly catchUpFault: string | undefined;
  /** Addresses that the server in use refuses to tell of, and why. */
  readonly refusedSubscriptions: RefusedSubscriptions | undefined;
  /** Why a wallet's scan, or what is watched ahead of it, failed at the last try; it is tried again in a minute. */
  readonly walletFault: string | undefined;
  /** The last server that named, alone, payments to addresses of a wallet that were not issued, by wallet. */
  readonly soleReporters: ReadonlyMap<number, string>;
}
