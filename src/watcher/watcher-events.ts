// What the parts of the watcher announce to each other.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { Session } from '../electrum/session.ts';
import type { HeaderTip, Status } from '../electrum/wire.ts';
import type { Events } from '../lib/events.ts';
import type { AssessedServer } from './finality-hold.ts';

export interface WatcherEventMap {
  connected: [session: Session];
  disconnected: [session: Session];
  header: [session: Session, tip: HeaderTip];
  status: [session: Session, scripthash: Scripthash, status: Status];
  /** Our best chain grew or changed; so many callbacks were enqueued by it. */
  tipChanged: [isReorganised: boolean, callbacks: number];
  /** The live servers were compared with our best chain. */
  assessed: [servers: readonly AssessedServer[]];
  /** A server lied, and no other server is connected. */
  lastServerLied: [label: string];
  /** A script must be checked although no server sent a status. */
  recheck: [scripthash: Scripthash];
}

export type WatcherEvents = Events<WatcherEventMap>;
