// The servers of the list and the live sessions with some of them. The pool tries the servers in
// turn for ever, each with its own backoff, until enough are live. A server that lied is banned for
// an hour; while no other can be reached it is tried each minute. The pool judges nothing: the
// watcher reports.

import type { BlockHash } from '../bitcoin/ids.ts';
import { errorCodeOf, isDnsError } from '../domain/delivery/network-error.ts';
import type { Ban, TlsIdentity } from '../domain/payment/server-record.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Cancel, World } from '../world/world.ts';
import { openSession } from './handshake.ts';
import { PoolMember } from './pool-member.ts';
import { isSameDomain, type ServerAddress } from './server-address.ts';
import type { Session, SessionHandlers, SessionOptions } from './session.ts';
import { isAccepted, type RefusedCertificate } from './trust.ts';
import type { ProtocolVersion } from './wire.ts';

/** Two servers, so that each can be checked against the other. */
const defaultSessions = 2;
const banMs = 3_600_000;

export interface ServerMemory {
  trust(label: string): TlsIdentity | undefined;
  learn(label: string, trust: TlsIdentity): Promise<void>;
  ban(label: string): Ban | undefined;
  setBan(label: string, ban: Ban): Promise<void>;
}

export interface PoolHandlers extends Pick<SessionHandlers, 'onHeader' | 'onStatus'> {
  onSession(session: Session): void;
  /** A session that was given to `onSession` has ended. */
  onLost(session: Session, reason: string): void;
}

export interface PoolOptions {
  readonly world: Pick<World, 'now' | 'monotonic' | 'after' | 'random' | 'connect' | 'log'>;
  readonly servers: readonly ServerAddress[];
  readonly genesisHash: BlockHash;
  readonly memory: ServerMemory;
  readonly handlers: PoolHandlers;
  readonly session?: SessionOptions;
  /** How many sessions are wanted; 2 by default. */
  readonly sessions?: number;
}

export interface ServerStatus {
  readonly label: string;
  readonly state: PoolMember['state'];
  readonly lastError?: string | undefined;
  /** Its name was not resolved at the last attempt. */
  readonly isUnresolved?: boolean;
  readonly software?: string | undefined;
  readonly protocol?: ProtocolVersion | undefined;
  /** Epoch milliseconds. */
  readonly connectedSince?: number | undefined;
  readonly height?: number | undefined;
  readonly latencyMs?: number | undefined;
  readonly trust?: TlsIdentity | undefined;
  readonly ban?: Ban | undefined;
  /** Why the watcher does not count on it though it is live. */
  readonly doubt?: string | undefined;
  /** Its certificate is not the known one; only a person can accept it. */
  readonly refused?: RefusedCertificate | undefined;
}

/** For a session without subscriptions. */
const noHandlers: SessionHandlers = { onHeader: () => {}, onStatus: () => {}, onClose: () => {} };

export class Pool {
  readonly #options: PoolOptions;
  readonly #members: readonly PoolMember[];
  readonly #stopping = new AbortController();
  #generation = 0;
  #cancelWake: Cancel = () => {};

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#members = options.servers.map(
      (server) => new PoolMember(options.world, server, this.#storedBan(server)),
    );
  }

  /** The end of a ban of an earlier run, monotonic; no further off than that of a new ban. */
  #storedBan({ label }: ServerAddress): number {
    const { world, memory } = this.#options;
    const ban = memory.ban(label);
    const leftMs = ban === undefined ? 0 : Math.min(ban.until - world.now(), banMs);
    return leftMs > 0 ? world.monotonic() + leftMs : 0;
  }

  start(): void {
    this.#connectMissing();
  }

  stop(): void {
    this.#cancelWake();
    this.#stopping.abort();
  }

  live(): readonly Session[] {
    const sessions = this.#members.flatMap(({ live }) =>
      live === undefined ? [] : [live.session],
    );
    return sessions.sort((one, other) => one.generation - other.generation);
  }

  /** Whether no other server of the list is live, nor expected soon. */
  isAlone(session: Session): boolean {
    return this.#members.every((each) => each.server === session.server || each.isAway);
  }

  /** Another session with the same server, which the caller closes; undefined when it fails. */
  async reopen({ server }: Session): Promise<Session | undefined> {
    const member = this.#members.find((each) => each.server === server);
    this.#generation += 1;
    const outcome = member && (await this.#open(member, this.#generation, noHandlers));
    if (!(outcome instanceof PaygateError)) return outcome;
    // The refused certificate is shown with its reason, also while the first session lives on.
    if (member && outcome.code === 'forbidden') member.lastError = outcome.message;
    return undefined;
  }

  /**
   * A session with a server that is not connected, which the caller closes; undefined without any.
   */
  async borrow(): Promise<Session | undefined> {
    const now = this.#options.world.monotonic();
    const [member] = this.#members
      .filter((each) => each.isIdle && !each.isBanned && each.notBefore <= now)
      .sort((one, other) => one.turn - other.turn);
    if (member === undefined || this.#stopping.signal.aborted) return undefined;
    const outcome = await this.#tryNext(member, noHandlers);
    if (!(outcome instanceof PaygateError)) return outcome;
    this.#failed(member, outcome);
    return undefined;
  }

  status(): readonly ServerStatus[] {
    const { memory } = this.#options;
    return this.#members.map((member) => {
      const { server, live, lastError, refused } = member;
      const session = live?.session;
      return {
        label: server.label,
        state: member.state,
        trust: memory.trust(server.label),
        ban: member.isBanned ? memory.ban(server.label) : undefined,
        lastError,
        ...(member.isUnresolved && { isUnresolved: true }),
        refused,
        doubt: live?.doubt,
        software: session?.software,
        protocol: session?.version,
        connectedSince: live?.since,
        height: session?.tip?.height,
        latencyMs: session?.latencyMs && Math.round(session.latencyMs),
      };
    });
  }

  /** Ends all sessions, and connects again without the backoff of a failure. */
  restart(reason: string): void {
    const members = this.#members.filter(({ live }) => live !== undefined);
    for (const { live } of members) live?.session.close(reason);
    for (const member of members) member.resume();
    this.#connectMissing();
  }

  /** The watcher does not count on a session, for this reason; undefined when it does again. */
  setDoubt(session: Session, reason: string | undefined): void {
    const live = this.#memberOf(session)?.live;
    if (live === undefined || live.doubt === reason) return;
    live.doubt = reason;
    this.#connectMissing();
  }

  /** The watcher has found a lie: the session ends, and its server is banned for an hour. */
  ban(session: Session, reason: string): void {
    const member = this.#memberOf(session);
    if (member === undefined) return;
    const { world, memory } = this.#options;
    const { label } = member.server;
    member.bannedUntil = world.monotonic() + banMs;
    member.isBanStored = false;
    world.log.error('electrum server banned', { server: label, reason });
    memory.setBan(label, { until: world.now() + banMs, reason }).then(
      () => {
        member.isBanStored = true;
      },
      (error: unknown) => {
        world.log.warn('a ban could not be stored', { server: label, reason: reasonOf(error) });
      },
    );
    session.close(reason);
  }

  /** A person has changed the server memory, by lifting a ban or accepting a certificate. */
  reconsider(): void {
    const { memory, world } = this.#options;
    for (const member of this.#members) {
      const { label } = member.server;
      const isLifted = member.isBanned && member.isBanStored && memory.ban(label) === undefined;
      const isTaken = member.refused && isAccepted(member.refused, memory.trust(label));
      if (!isLifted && !isTaken) continue;
      world.log.info('electrum server reconsidered', { server: label, isLifted });
      member.forgive();
    }
    this.#connectMissing();
  }

  /** Opens the sessions that are missing, or sleeps until a server may be tried. */
  #connectMissing(): void {
    this.#cancelWake();
    const idle = this.#members.filter(({ isIdle }) => isIdle);
    const counted = this.#members.filter(({ isCounted }) => isCounted);
    const missing = (this.#options.sessions ?? defaultSessions) - counted.length;
    if (this.#stopping.signal.aborted || idle.length === 0 || missing <= 0) return;
    const now = this.#options.world.monotonic();
    // Two servers of one operator are no check on each other.
    const isKnownDomain = ({ server }: PoolMember) =>
      counted.some((each) => isSameDomain(each.server, server));
    const [next] = idle
      .filter((member) => this.#mayTryAt(member) <= now)
      .sort(
        (one, other) =>
          Number(isKnownDomain(one)) - Number(isKnownDomain(other)) || one.turn - other.turn,
      );
    if (next === undefined) {
      const at = Math.min(...idle.map((member) => this.#mayTryAt(member)));
      this.#cancelWake = this.#options.world.after(at - now, () => this.#connectMissing());
    } else {
      void this.#connect(next);
      if (missing > 1) this.#connectMissing();
    }
  }

  /** Monotonic. */
  #mayTryAt(member: PoolMember): number {
    if (!member.isBanned) return member.notBefore;
    const isLastResort = this.#members.every(
      (other) => other.live === undefined && (other.isBanned || other.failures > 0),
    );
    return isLastResort ? member.notBefore : member.bannedUntil;
  }

  async #connect(member: PoolMember): Promise<void> {
    const { handlers } = this.#options;
    const outcome = await this.#tryNext(member, {
      onHeader: (from, tip) => handlers.onHeader(from, tip),
      onStatus: (from, scripthash, status) => handlers.onStatus(from, scripthash, status),
      onClose: (ended, reason) => this.#lost(ended, reason),
    });
    if (this.#stopping.signal.aborted) return;
    if (outcome instanceof PaygateError) this.#failed(member, outcome);
    else this.#opened(member, outcome);
    this.#connectMissing();
  }

  async #tryNext(member: PoolMember, handlers: SessionHandlers): Promise<Session | PaygateError> {
    member.isConnecting = true;
    member.turn = ++this.#generation;
    const outcome = await this.#open(member, this.#generation, handlers);
    member.isConnecting = false;
    return outcome;
  }

  /** Returns a session, or why there is none. */
  async #open(
    member: PoolMember,
    generation: number,
    handlers: SessionHandlers,
  ): Promise<Session | PaygateError> {
    const { world, genesisHash, memory, session: options = {} } = this.#options;
    const { server, budget, refusals } = member;
    try {
      const session = await openSession({
        world,
        server,
        budget,
        refusals,
        genesisHash,
        generation,
        options,
        handlers,
        known: memory.trust(server.label),
        onLearn: (trust) => memory.learn(server.label, trust),
        onRefuse(shown) {
          member.refused = { shown };
        },
        signal: this.#stopping.signal,
      });
      return session.closed ? new PaygateError('unavailable', 'the connection has ended') : session;
    } catch (error) {
      // Any other error is a bug.
      if (!(error instanceof PaygateError)) throw error;
      return error;
    }
  }

  #opened(member: PoolMember, session: Session): void {
    const { world, handlers } = this.#options;
    member.opened(session);
    world.log.info('electrum server connected', {
      server: member.server.label,
      software: session.software,
      protocol: session.version,
    });
    handlers.onSession(session);
  }

  #lost(session: Session, reason: string): void {
    const member = this.#memberOf(session);
    if (member === undefined) return;
    const { world, handlers } = this.#options;
    member.lost();
    if (this.#stopping.signal.aborted) return;
    member.backOff(reason);
    world.log.warn('electrum server lost', { server: member.server.label, reason });
    handlers.onLost(session, reason);
    this.#connectMissing();
  }

  /** Logs a new reason once, not at every attempt. */
  #failed(member: PoolMember, error: PaygateError): void {
    const { log } = this.#options.world;
    const { message: reason, cause } = error;
    // A machine that is offline logs that once, not for each of many names.
    const isOffline = this.#members.some((each) => each !== member && each.isUnresolved);
    member.failed(error, isDnsError(errorCodeOf(cause)));
    if (member.lastError !== reason) {
      const level = isOffline && member.isUnresolved ? 'debug' : 'warn';
      log[level]('electrum server unreachable', { server: member.server.label, reason });
    }
    member.backOff(reason);
  }

  #memberOf(session: Session): PoolMember | undefined {
    return this.#members.find(({ live }) => live?.session === session);
  }
}
