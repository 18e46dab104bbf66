// Which live server is watched: one whose tip is level with our best chain. A server in doubt stays
// connected, so that it can catch up, but serves nothing while another server is healthy.
// Assesses tips and budgets only. Whether a payment is true is for proofs.ts.

import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import { type NetworkName, networks } from '../bitcoin/network.ts';
import type { ChainHeader } from '../domain/payment/chain.ts';
import { type Doubt, doubtOf, formatDoubtOfServer } from '../domain/payment/server-standing.ts';
import type { Pool, ServerMemory } from '../electrum/pool.ts';
import type { Session } from '../electrum/session.ts';
import type { HeaderTip } from '../electrum/wire.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { reasonOf } from '../lib/errors.ts';
import { hourMs } from '../lib/time-units.ts';
import type { Servers } from '../store/chain/server-records.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Records } from '../store/open-records.ts';
import type { World } from '../world/world.ts';
import type { AssessedServer } from './finality-hold.ts';
import type { HeaderSync } from './header-sync.ts';
import { ServerLie } from './proof/proofs.ts';
import type { WatcherEvents } from './watcher-events.ts';

export interface ServerChoiceParts {
  readonly world: World;
  readonly records: Records;
  readonly network: NetworkName;
  readonly tasks: BackgroundTasks;
  readonly pool: Pool;
  readonly headerSync: HeaderSync;
  readonly events: WatcherEvents;
}

/**
 * A block takes a while to travel, and its header to arrive. For so long, a server that was level
 * before is not in doubt, and neither is a server whose headers are under way.
 */
const graceMs = 60_000;
/** At most once in this time, a server is left because it leaves requests unanswered. */
const leaveIntervalMs = hourMs;
/** When a write that the disk refused is attempted again. */
const unwrittenRetryMs = 2_000;

export class ServerChoice {
  readonly #parts: ServerChoiceParts;
  #current: Session | undefined;
  #isCaughtUp = false;
  #mayLeaveAt = 0;
  /** When a session was last level with our best chain, monotonic. */
  readonly #levelAt = new WeakMap<Session, number>();
  /** Since when a session's tip has been unknown, monotonic. */
  readonly #unknownSince = new WeakMap<Session, number>();
  /** The tip that last excused a session, and since when its tip was unknown then. */
  readonly #excuses = new WeakMap<Session, { readonly since: number; readonly hash: BlockHash }>();
  /** The doubt that was logged last, by server. */
  readonly #loggedDoubts = new Map<string, Doubt['kind']>();

  constructor(parts: ServerChoiceParts) {
    this.#parts = parts;
  }

  get current(): Session | undefined {
    return this.#current;
  }

  /** The current session, once every address was compared with it. */
  get caughtUp(): Session | undefined {
    return this.#isCaughtUp ? this.#current : undefined;
  }

  /** Whether addresses are being compared with a server of the operator, as fast as both can. */
  get isComparingWithOwn(): boolean {
    return this.#current?.server.own === true && !this.#isCaughtUp;
  }

  use(session: Session | undefined): void {
    this.#current = session;
    this.#isCaughtUp = false;
  }

  setCaughtUp(): void {
    this.#isCaughtUp = true;
  }

  /** Whether a session has ended, or is no longer the current one. */
  isOver(session: Session): boolean {
    return session.closed || session !== this.#current;
  }

  live(): readonly Session[] {
    return this.#parts.pool.live();
  }

  /** The live sessions that may be used without restriction, the oldest first. */
  healthy(): Session[] {
    return this.live().filter((session) => this.#isHealthy(session));
  }

  other(session: Session | undefined): Session | undefined {
    return this.healthy().find((each) => each !== session);
  }

  /** The session to watch addresses on; the current one as long as none is better. */
  choose(): Session | undefined {
    const current = this.#current;
    const live = [...this.live()];
    const isLive = current !== undefined && live.includes(current);
    const doubt = isLive ? this.#doubt(current) : undefined;
    if (isLive && doubt === undefined) return current;
    const usable = live.filter((session) => this.#doubt(session)?.kind !== 'deep');
    const isUsable = current !== undefined && usable.includes(current);
    // A server without budget would be left again before it has subscribed the addresses.
    const hasBudget = (session: Session) =>
      doubt?.kind !== 'spent' || session.budget.overdrawnMs(true) < graceMs;
    const [healthy] = usable.filter((each) => this.#isHealthy(each) && hasBudget(each));
    if (healthy !== undefined || isUsable) return healthy ?? current;
    const height = ({ tip }: Session): number => tip?.height ?? 0;
    return usable.sort((one, other) => height(other) - height(one))[0];
  }

  /** Whether its tip is a verified header outside our best chain. */
  isOnOtherBranch(session: Session): boolean {
    const tip = this.#headerOf(session);
    if (tip === undefined) return false;
    return !this.#parts.records.headers.isOnBest({ height: tip.height, hash: tip.header.hash });
  }

  /**
   * Compares every live server with our best chain; the pool, the log and listeners learn of it.
   */
  assess(): void {
    const assessed = this.live().map((session) => ({
      session,
      standing: this.#standing(session),
    }));
    for (const each of assessed) this.#publish(each);
    this.#parts.events.emit('assessed', assessed);
  }

  /**
   * A proof of this server failed twice.
   * @returns false when it may be on another branch, where other things are true
   */
  reportLie(session: Session, reason: string): boolean {
    this.assess();
    if (this.#mayDiffer(session)) return false;
    this.#ban(session, reason);
    return true;
  }

  /** Leaves a live server whose node may be dead, but not for another one that is no better. */
  leaveUnanswering(session: Session, reason: string): void {
    const now = this.#parts.world.monotonic();
    if (now < this.#mayLeaveAt || session !== this.#current) return;
    if (this.other(session) === undefined) return;
    this.#mayLeaveAt = now + leaveIntervalMs;
    session.close(`it leaves requests unanswered: ${reason}`);
  }

  /**
   * Connects the headers that a server announced. It lied only if its newest tip is false as well.
   */
  async follow(session: Session, tip: HeaderTip): Promise<void> {
    try {
      await this.#parts.headerSync.sync(session, tip);
      this.assess();
    } catch (error) {
      if (session.closed) return;
      if (error instanceof ServerLie) await this.refreshTip(session);
      else this.closeOrRetry(session, 'headers', error, () => this.follow(session, tip));
    }
  }

  async refreshTip(session: Session): Promise<void> {
    try {
      await this.#parts.headerSync.sync(session, await session.subscribeHeaders());
      this.assess();
    } catch (error) {
      if (session.closed) return;
      if (error instanceof ServerLie) this.#ban(session, error.message);
      else this.closeOrRetry(session, 'headers', error, () => this.refreshTip(session));
    }
  }

  /** A write that our own disk refused is no fault of the server: the work is done again. */
  closeOrRetry(session: Session, what: string, error: unknown, retry: () => Promise<void>): void {
    const { world, tasks } = this.#parts;
    if (!(error instanceof Unwritten)) session.close(`${what} failed: ${reasonOf(error)}`);
    else world.after(unwrittenRetryMs, () => session.closed || tasks.run(retry));
  }

  #ban(session: Session, reason: string): void {
    const { pool, events } = this.#parts;
    pool.ban(session, reason);
    if (pool.live().length === 0) events.emit('lastServerLied', session.server.label);
  }

  /** What its tip shows now; `unknown` until the tip's header is verified. */
  #standing(session: Session): AssessedServer['standing'] {
    const { records, network, world } = this.#parts;
    const { headers } = records;
    const best = headers.tip();
    const hash = hashOf(session);
    if (best === undefined || hash === undefined) return 'unknown';
    const view = headers.view(networks[network], best);
    const tip = view.byHash(hash);
    if (tip === undefined) return 'unknown';
    return doubtOf({ view, network, tip, now: world.now() }) ?? 'level';
  }

  /**
   * Whether a failed proof may be no lie: the server is on another branch, or its header is under
   * way.
   */
  #mayDiffer(session: Session): boolean {
    if (this.isOnOtherBranch(session)) return true;
    const since = this.#unknownSince.get(session);
    const hash = hashOf(session);
    if (this.#standing(session) !== 'unknown' || since === undefined || hash === undefined)
      return false;
    const before = this.#excuses.get(session) ?? { since, hash };
    // Otherwise it could announce a block that does not exist before each lie.
    const isTrue = this.#parts.records.headers.byHash(before.hash) !== undefined;
    if (before.since !== since && !isTrue) return false;
    this.#excuses.set(session, { since, hash });
    return true;
  }

  #publish({ session, standing }: AssessedServer): void {
    const { pool, world } = this.#parts;
    const { label } = session.server;
    const doubt = this.#doubt(session, standing);
    pool.setDoubt(session, doubt && formatDoubtOfServer(doubt));
    if (doubt?.kind === this.#loggedDoubts.get(label)) return;
    if (doubt !== undefined) {
      this.#loggedDoubts.set(label, doubt.kind);
      const level = doubt.kind === 'deep' ? 'error' : 'warn';
      world.log[level]('electrum server in doubt', {
        server: label,
        reason: formatDoubtOfServer(doubt),
      });
    } else if (this.#isHealthy(session, standing)) {
      this.#loggedDoubts.delete(label);
      world.log.info('electrum server no longer in doubt', { server: label });
    }
  }

  #headerOf(session: Session): ChainHeader | undefined {
    const hash = hashOf(session);
    return hash && this.#parts.records.headers.byHash(hash);
  }

  #isHealthy(session: Session, standing = this.#standing(session)): boolean {
    if (this.#doubt(session, standing) !== undefined) return false;
    return standing !== 'unknown' || this.#levelAt.has(session);
  }

  #doubt(session: Session, standing = this.#standing(session)): Doubt | undefined {
    return this.#tipDoubt(session, standing) ?? this.#budgetDoubt(session);
  }

  /** Payments would wait in its queue while another server is idle. */
  #budgetDoubt(session: Session): Doubt | undefined {
    const waitMs = session.budget.overdrawnMs(false);
    return waitMs >= graceMs ? { kind: 'spent', waitMs } : undefined;
  }

  #tipDoubt(session: Session, standing: AssessedServer['standing']): Doubt | undefined {
    if (this.#isUnshown(session, standing === 'unknown')) return { kind: 'unshown' };
    if (standing === 'unknown') return undefined;
    const now = this.#parts.world.monotonic();
    if (standing === 'level') {
      this.#levelAt.set(session, now);
      return undefined;
    }
    const levelAt = this.#levelAt.get(session);
    const isLate = levelAt === undefined || now - levelAt >= graceMs;
    return standing.kind === 'deep' || isLate ? standing : undefined;
  }

  /** Evidence waits until a server's headers are here: a server that delays them is in doubt. */
  #isUnshown(session: Session, isUnknown: boolean): boolean {
    const now = this.#parts.world.monotonic();
    // A server is not in doubt for headers that our own disk refuses to store.
    const isRefused = this.#parts.records.database.refused() !== undefined;
    if (!isUnknown || isRefused) this.#unknownSince.delete(session);
    else if (!this.#unknownSince.has(session)) this.#unknownSince.set(session, now);
    const unknownSince = this.#unknownSince.get(session) ?? now;
    const syncingSince = this.#parts.headerSync.syncingSince(session) ?? now;
    return now - Math.min(unknownSince, syncingSince) >= graceMs;
  }
}

/** The block hash of the tip; undefined without a tip that can be parsed. */
function hashOf({ tip }: Session): BlockHash | undefined {
  if (tip === undefined) return undefined;
  try {
    return parseHeader(tip.raw).hash;
  } catch {
    return undefined;
  }
}

/**
 * What the pool stores about servers. While the machine's clock is wrong, no certificate is stored:
 * whether it is valid depends on the time (rules §5).
 */
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
