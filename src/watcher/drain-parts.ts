// What the drain works with, and whom it informs.

import type { Session } from '../electrum/session.ts';
import type { Store } from '../store/open-store.ts';
import type { World } from '../world/world.ts';
import type { Backlog } from './backlog.ts';
import type { ChainSync } from './chain-sync.ts';
import type { Others } from './elsewhere.ts';
import type { Tasks } from './tasks.ts';
import type { Proofs } from './verifier.ts';
import type { CallWitness } from './witness.ts';

export interface DrainParts {
  readonly world: World;
  readonly store: Store;
  readonly chainSync: ChainSync;
  readonly proofs: Proofs;
  readonly tasks: Tasks;
  readonly backlog: Backlog;
  readonly callWitness: CallWitness;
  /** Another server than this one whose word counts. */
  readonly elsewhere: (session: Session) => Session | undefined;
  /** The same, and those that are connected for this alone. */
  readonly others: Others;
  /** Callbacks are enqueued, or about to be. */
  readonly onCallbacks: () => void;
  /** A server's proof failed twice. False when that was no lie: it speaks of another branch. */
  readonly onLie: (session: Session, reason: string) => boolean;
  /** A server did not answer what a script needs, twice in a row: another one may. */
  readonly onMute: (session: Session, reason: string) => void;
  /** Fetches the session's tip anew, before a failed proof is believed to be a lie. */
  readonly refreshTip: (session: Session) => Promise<void>;
}
