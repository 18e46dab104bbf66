// Which of the live servers are used: those whose tip is abreast of our best chain. A server in doubt
// stays connected, so that it is seen to catch up, but is neither watched nor asked for a second voice
// while another one is sound. It judges tips, and what we may ask; what a server says of payments is for proofs.ts.

import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import { type NetworkName, networks } from '../bitcoin/network.ts';
import type { ChainHeader } from '../domain/chain.ts';
import { type Doubt, doubtOf, formatDoubtOfServer } from '../domain/server-standing.ts';
import type { Pool, ServerMemory } from '../electrum/pool.ts';
import type { Session } from '../electrum/session.ts';
import type { Store } from '../store/open-store.ts';
import type { Servers } from '../store/records/server-records.ts';
import type { World } from '../world/world.ts';
import type { AssessedServer } from './finality-hold.ts';
import type { HeaderSync } from './header-sync.ts';

export interface ServerChoiceParts {
  readonly world: World;
  readonly store: Store;
  readonly network: NetworkName;
  readonly pool: () => Pool;
  readonly chainSync: Pick<HeaderSync, 'syncingSince'>;
}

/**
 * A block takes a while to travel, and its header to be shown: for so long, a server that was abreast before
 * is not in doubt, nor one whose headers are under way.
 */
const graceMs = 60_000;

export class ServerChoice {
  readonly #parts: ServerChoiceParts;
  /** When a session was last seen abreast, monotonic. */
  readonly #abreastAt = new WeakMap<Session, number>();
  /** Since when a session's tip has been unknown, monotonic. */
  readonly #unknownSince = new WeakMap<Session, number>();
  /** The tip that was on its way when a session was last excused for it, and since when its tip was unknown then. */
  readonly #excuses = new WeakMap<Session, { readonly since: number; readonly hash: BlockHash }>();
  /** The doubts that the log has told of, by server. */
  readonly #told = new Map<string, Doubt['kind']>();

  constructor(parts: ServerChoiceParts) {
    this.#parts = parts;
  }

  /** The live ones that may be used without reserve, the oldest first. */
  healthy(): Session[] {
    return this.#live().filter((session) => this.#isSound(session));
  }

  /** The one to watch addresses on; the current one as long as there is no better. */
  choose(current: Session | undefined): Session | undefined {
    const live = this.#live();
    const isLive = current !== undefined && live.includes(current);
    const doubt = isLive ? this.#doubt(current) : undefined;
    if (isLive && doubt === undefined) return current;
    const usable = live.filter((session) => this.#doubt(session)?.kind !== 'deep');
    const isUsable = current !== undefined && usable.includes(current);
    // Else it would be left again before it has subscribed the addresses.
    const bears = (session: Session) =>
      doubt?.kind !== 'spent' || session.budget.overdrawnMs(true) < graceMs;
    const [healthy] = usable.filter((session) => this.#isSound(session) && bears(session));
    if (healthy !== undefined || isUsable) return healthy ?? current;
    const height = ({ tip }: Session): number => tip?.height ?? 0;
    return usable.sort((one, other) => height(other) - height(one))[0];
  }

  /** What its tip says now, whatever it said a moment ago; `unknown` until its header is verified. */
  #standing(session: Session): AssessedServer['standing'] {
    const { store, network, world } = this.#parts;
    const { headers } = store;
    const best = headers.tip();
    const hash = hashOf(session);
    if (best === undefined || hash === undefined) return 'unknown';
    const view = headers.view(networks[network], best);
    const tip = view.byHash(hash);
    if (tip === undefined) return 'unknown';
    return doubtOf({ view, network, tip, now: world.now() }) ?? 'sound';
  }

  /** Whether its tip is a verified header that is not on our best chain. */
  isOnOtherBranch(session: Session): boolean {
    const tip = this.#headerOf(session);
    if (tip === undefined) return false;
    return !this.#parts.store.headers.isOnBest({ height: tip.height, hash: tip.header.hash });
  }

  /** Whether what it said may be no lie: it is, or may be, for the header of its tip is on its way. */
  mayDiffer(session: Session): boolean {
    if (this.isOnOtherBranch(session)) return true;
    const since = this.#unknownSince.get(session);
    const hash = hashOf(session);
    if (this.#standing(session) !== 'unknown' || since === undefined || hash === undefined)
      return false;
    const before = this.#excuses.get(session) ?? { since, hash };
    // Else it could announce what there is not before each lie.
    const isTrue = this.#parts.store.headers.byHash(before.hash) !== undefined;
    if (before.since !== since && !isTrue) return false;
    this.#excuses.set(session, { since, hash });
    return true;
  }

  /** Judges every live server anew: the pool and the log are told. */
  assess(): AssessedServer[] {
    const judged = this.#live().map((session) => {
      return { session, standing: this.#standing(session) };
    });
    for (const each of judged) this.#tell(each);
    return judged;
  }

  #tell({ session, standing }: AssessedServer): void {
    const { pool, world } = this.#parts;
    const { label } = session.server;
    const doubt = this.#doubt(session, standing);
    pool().setDoubt(session, doubt && formatDoubtOfServer(doubt));
    if (doubt?.kind === this.#told.get(label)) return;
    if (doubt !== undefined) {
      this.#told.set(label, doubt.kind);
      const level = doubt.kind === 'deep' ? 'error' : 'warn';
      world.log[level]('electrum server in doubt', {
        server: label,
        reason: formatDoubtOfServer(doubt),
      });
    } else if (this.#isSound(session, standing)) {
      this.#told.delete(label);
      world.log.info('electrum server no longer in doubt', { server: label });
    }
  }

  #live(): Session[] {
    return [...this.#parts.pool().live()];
  }

  #headerOf(session: Session): ChainHeader | undefined {
    const hash = hashOf(session);
    return hash && this.#parts.store.headers.byHash(hash);
  }

  #isSound(session: Session, standing = this.#standing(session)): boolean {
    if (this.#doubt(session, standing) !== undefined) return false;
    return standing !== 'unknown' || this.#abreastAt.has(session);
  }

  #doubt(session: Session, standing = this.#standing(session)): Doubt | undefined {
    return this.#tipDoubt(session, standing) ?? this.#spent(session);
  }

  /** Payments would wait in its queue while another one has nothing to do. */
  #spent(session: Session): Doubt | undefined {
    const waitMs = session.budget.overdrawnMs(false);
    return waitMs >= graceMs ? { kind: 'spent', waitMs } : undefined;
  }

  #tipDoubt(session: Session, found: AssessedServer['standing']): Doubt | undefined {
    if (this.#isUnshown(session, found === 'unknown')) return { kind: 'unshown' };
    if (found === 'unknown') return undefined;
    const now = this.#parts.world.monotonic();
    if (found === 'sound') {
      this.#abreastAt.set(session, now);
      return undefined;
    }
    const abreastAt = this.#abreastAt.get(session);
    const isLate = abreastAt === undefined || now - abreastAt >= graceMs;
    return found.kind === 'deep' || isLate ? found : undefined;
  }

  /** What a server says waits until its headers are here: whoever lets them wait is not the one to ask. */
  #isUnshown(session: Session, isUnknownTransaction: boolean): boolean {
    const now = this.#parts.world.monotonic();
    // Nor does a server that shows what our own disk refuses to keep.
    const isRefused = this.#parts.store.database.refused() !== undefined;
    if (!isUnknownTransaction || isRefused) this.#unknownSince.delete(session);
    else if (!this.#unknownSince.has(session)) this.#unknownSince.set(session, now);
    const unknownSince = this.#unknownSince.get(session) ?? now;
    const syncingSince = this.#parts.chainSync.syncingSince(session) ?? now;
    return now - Math.min(unknownSince, syncingSince) >= graceMs;
  }
}

/** Of its tip; undefined where there is none, or none that can be read. */
function hashOf({ tip }: Session): BlockHash | undefined {
  if (tip === undefined) return undefined;
  try {
    return parseHeader(tip.raw).hash;
  } catch {
    return undefined;
  }
}

export interface ServerMemoryParts {
  readonly servers: Servers;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly isClockWrong: () => boolean;
}

export const createServerMemory = ({
  servers,
  now,
  isClockWrong,
}: ServerMemoryParts): ServerMemory => ({
  trust: (label) => servers.trust(label),
  async learn(label, trust) {
    if (!isClockWrong()) await servers.learn(label, trust, now());
  },
  ban: (label) => servers.ban(label),
  setBan: (label, ban) => servers.setBan(label, ban, now()),
});
