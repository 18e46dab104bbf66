// The servers of the list and the live session among them. It tries them in turn for ever, each with
// its own backoff, until as many are live as are wanted. A server that lied is left
// alone for an hour; while no other can be reached it is tried each minute. It judges nothing by itself:
// the watcher reports.

import type { BlockHash } from '../bitcoin/ids.ts';
import { codeOf, isUnresolved } from '../domain/network-error.ts';
import type { Ban, Trust } from '../domain/server-record.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Cancel, World } from '../world/world.ts';
import { Budget } from './budget.ts';
import { openSession } from './handshake.ts';
import type { Member } from './member.ts';
import { Closings, Overlong } from './refusals.ts';
import { isKin, type ServerAddress } from './server-address.ts';
import type { Session, SessionHandlers, SessionOptions } from './session.ts';
import { isAccepted, type Refused } from './trust.ts';
import type { ProtocolVersion } from './wire.ts';

/** Two servers keep an eye on each other. */
const defaultSessions = 2;
const shortestBackoffMs = 1_000;
const longestBackoffMs = 60_000;
/** A session that lasted this long ends the count of failures before it. */
const steadyMs = 60_000;
const banMs = 3_600_000;
/** How soon a banned server is tried again when there is no other. */
const lastResortMs = 60_000;

/** What is kept of servers between runs. */
export interface ServerMemory {
  trust(label: string): Trust | undefined;
  learn(label: string, trust: Trust): Promise<void>;
  ban(label: string): Ban | undefined;
  setBan(label: string, ban: Ban): Promise<void>;
}

export interface PoolHandlers extends Pick<SessionHandlers, 'onHeader' | 'onStatus'> {
  /** A fresh session is live: nothing is subscribed yet. */
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
  /** How many servers are kept connected, where there are as many; 2 without it. */
  readonly sessions?: number;
}

export interface ServerStatus {
  readonly label: string;
  readonly state: 'idle' | 'connecting' | 'live' | 'waiting' | 'banned';
  readonly lastError?: string | undefined;
  /** Its name was not resolved at the last try. */
  readonly isUnresolved?: boolean;
  readonly software?: string | undefined;
  readonly protocol?: ProtocolVersion | undefined;
  /** Epoch milliseconds. */
  readonly connectedSince?: number | undefined;
  /** The newest block it told of. */
  readonly height?: number | undefined;
  /** How long an answer takes, smoothed. */
  readonly latencyMs?: number | undefined;
  readonly trust?: Trust | undefined;
  readonly ban?: Ban | undefined;
  /** Why it is not counted on though it is live. */
  readonly doubt?: string | undefined;
  /** Its certificate is not the one that is known: only a person can accept what it has shown. */
  readonly refused?: Refused | undefined;
}

/** For a connection that is only asked. */
const ignoring: SessionHandlers = { onHeader: () => {}, onStatus: () => {}, onClose: () => {} };

export class Pool {
  readonly #options: PoolOptions;
  readonly #members: readonly Member[];
  readonly #stopping = new AbortController();
  #generation = 0;
  #cancelWake: Cancel = () => {};

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#members = options.servers.map((server) => ({
      server,
      budget: new Budget(options.world),
      overlong: new Overlong(options.world),
      closings: new Closings(options.world),
      // Not always the first of the list: many installations have the same list.
      turn: options.world.random(),
      connecting: false,
      live: undefined,
      failures: 0,
      notBefore: 0,
      bannedUntil: this.#rememberedBan(server),
      banKept: true,
      lastError: undefined,
      isUnresolved: false,
      refused: undefined,
    }));
  }

  /** The end of a ban from before, on the monotonic clock; never further off than a fresh one. */
  #rememberedBan({ label }: ServerAddress): number {
    const { world, memory } = this.#options;
    const ban = memory.ban(label);
    const leftMs = ban === undefined ? 0 : Math.min(ban.until - world.now(), banMs);
    return leftMs > 0 ? world.monotonic() + leftMs : 0;
  }

  start(): void {
    this.#seek();
  }

  stop(): void {
    this.#cancelWake();
    this.#stopping.abort();
  }

  /** The live sessions, the oldest first; `generation` tells each from earlier ones. */
  live(): readonly Session[] {
    const sessions = this.#members.flatMap(({ live }) =>
      live === undefined ? [] : [live.session],
    );
    return sessions.sort((one, other) => one.generation - other.generation);
  }

  /** Another connection to the same server, which the caller closes; undefined when there is none. */
  async reopen({ server }: Session): Promise<Session | undefined> {
    const member = this.#members.find((each) => each.server === server);
    this.#generation += 1;
    const outcome = member && (await this.#dial(member, this.#generation, ignoring));
    if (!(outcome instanceof PaygateError)) return outcome;
    // A certificate that is refused is told of together with why, also while the session from before lives on.
    if (member && outcome.code === 'forbidden') member.lastError = outcome.message;
    return undefined;
  }

  /** A connection to a server that is not connected, which the caller closes; undefined when none may be tried. */
  async borrow(): Promise<Session | undefined> {
    const now = this.#options.world.monotonic();
    const [member] = this.#members
      .filter(({ connecting, live }) => !connecting && live === undefined)
      .filter((each) => !this.#isBanned(each) && each.notBefore <= now)
      .sort((one, other) => one.turn - other.turn);
    if (member === undefined || this.#stopping.signal.aborted) return undefined;
    member.connecting = true;
    member.turn = ++this.#generation;
    const outcome = await this.#dial(member, this.#generation, ignoring);
    member.connecting = false;
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
        state: this.#stateOf(member),
        trust: memory.trust(server.label),
        ban: this.#isBanned(member) ? memory.ban(server.label) : undefined,
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

  /** The watcher's word that a server is not to be counted on, and why; undefined when it is again. */
  setAside(session: Session, reason: string | undefined): void {
    const live = this.#memberOf(session)?.live;
    if (live === undefined || live.doubt === reason) return;
    live.doubt = reason;
    this.#seek();
  }

  /** The watcher's word that a server lied: its session ends and it is left alone for an hour. */
  report(session: Session, reason: string): void {
    const member = this.#memberOf(session);
    if (member === undefined) return;
    const { world, memory } = this.#options;
    const { label } = member.server;
    member.bannedUntil = world.monotonic() + banMs;
    member.banKept = false;
    world.log.error('electrum server banned', { server: label, reason });
    memory.setBan(label, { until: world.now() + banMs, reason }).then(
      () => {
        member.banKept = true;
      },
      (error: unknown) => {
        world.log.warn('a ban could not be remembered', { server: label, reason: reasonOf(error) });
      },
    );
    session.close(reason);
  }

  /** A person has changed the memory: a ban that it no longer has ends, an accepted or forgotten certificate is tried. */
  reconsider(): void {
    const { memory, world } = this.#options;
    for (const member of this.#members) {
      const { label } = member.server;
      const isLifted = this.#isBanned(member) && member.banKept && memory.ban(label) === undefined;
      const isTaken = member.refused && isAccepted(member.refused, memory.trust(label));
      if (!isLifted && !isTaken) continue;
      world.log.info('electrum server reconsidered', { server: label, isLifted });
      member.bannedUntil = 0;
      member.refused = undefined;
      member.lastError = undefined;
      member.failures = 0;
      member.notBefore = 0;
    }
    this.#seek();
  }

  /** Opens the next session that is wanted, or sleeps until a server may be tried. */
  #seek(): void {
    this.#cancelWake();
    const idle = this.#members.filter(({ connecting, live }) => !connecting && live === undefined);
    const wanted = this.#options.sessions ?? defaultSessions;
    const counted = this.#members.filter(
      ({ connecting, live }) => connecting || (live !== undefined && live.doubt === undefined),
    );
    const missing = wanted - counted.length;
    if (this.#stopping.signal.aborted || idle.length === 0 || missing <= 0) return;
    const now = this.#options.world.monotonic();
    // Two servers of one operator are no eye on each other.
    const isHeard = ({ server }: Member) => counted.some((each) => isKin(each.server, server));
    const [next] = idle
      .filter((member) => this.#mayTryAt(member) <= now)
      .sort((one, other) => Number(isHeard(one)) - Number(isHeard(other)) || one.turn - other.turn);
    if (next === undefined) {
      const at = Math.min(...idle.map((member) => this.#mayTryAt(member)));
      this.#cancelWake = this.#options.world.after(at - now, () => this.#seek());
    } else {
      void this.#open(next);
      if (missing > 1) this.#seek();
    }
  }

  #mayTryAt(member: Member): number {
    if (!this.#isBanned(member)) return member.notBefore;
    const noOther = this.#members.every(
      (other) => other.live === undefined && (this.#isBanned(other) || other.failures > 0),
    );
    return noOther ? member.notBefore : member.bannedUntil;
  }

  #isBanned({ bannedUntil }: Member): boolean {
    return bannedUntil > this.#options.world.monotonic();
  }

  async #open(member: Member): Promise<void> {
    member.connecting = true;
    member.turn = ++this.#generation;
    const { handlers } = this.#options;
    const outcome = await this.#dial(member, this.#generation, {
      onHeader: (from, tip) => handlers.onHeader(from, tip),
      onStatus: (from, scripthash, status) => handlers.onStatus(from, scripthash, status),
      onClose: (ended, reason) => this.#lost(ended, reason),
    });
    member.connecting = false;
    if (this.#stopping.signal.aborted) return;
    if (outcome instanceof PaygateError) this.#failed(member, outcome);
    else this.#opened(member, outcome);
    this.#seek();
  }

  /** A session, or why there is none. */
  async #dial(
    member: Member,
    generation: number,
    handlers: SessionHandlers,
  ): Promise<Session | PaygateError> {
    const { world, genesisHash, memory, session: options = {} } = this.#options;
    const { server, budget, overlong, closings } = member;
    try {
      const session = await openSession({
        world,
        server,
        budget,
        overlong,
        closings,
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
      // Anything else is a bug.
      if (!(error instanceof PaygateError)) throw error;
      return error;
    }
  }

  #opened(member: Member, session: Session): void {
    const { world, handlers } = this.#options;
    member.live = {
      session,
      since: world.now(),
      startedAt: world.monotonic(),
      doubt: undefined,
    };
    member.refused = undefined;
    // What kept it away before is over.
    member.lastError = undefined;
    member.isUnresolved = false;
    world.log.info('electrum server connected', {
      server: member.server.label,
      software: session.software,
      protocol: session.version,
    });
    handlers.onSession(session);
  }

  #lost(session: Session, reason: string): void {
    const member = this.#memberOf(session);
    if (member?.live === undefined) return;
    const { world, handlers } = this.#options;
    if (world.monotonic() - member.live.startedAt >= steadyMs) member.failures = 0;
    member.live = undefined;
    if (this.#stopping.signal.aborted) return;
    this.#delay(member, reason);
    world.log.warn('electrum server lost', { server: member.server.label, reason });
    handlers.onLost(session, reason);
    this.#seek();
  }

  /** Logged once, not at every try. */
  #failed(member: Member, { code, message: reason, cause }: PaygateError): void {
    if (code !== 'forbidden') member.refused = undefined;
    const { log } = this.#options.world;
    // A machine that is offline says so once, and not of each of many names.
    const isOffline = this.#members.some((each) => each !== member && each.isUnresolved);
    member.isUnresolved = isUnresolved(codeOf(cause));
    if (member.lastError !== reason) {
      const level = isOffline && member.isUnresolved ? 'debug' : 'warn';
      log[level]('electrum server unreachable', { server: member.server.label, reason });
    }
    this.#delay(member, reason);
  }

  #delay(member: Member, reason: string): void {
    const { world } = this.#options;
    member.failures++;
    member.lastError = reason;
    const longestMs = Math.min(longestBackoffMs, shortestBackoffMs * 2 ** member.failures);
    const waitMs = longestMs * (0.5 + world.random() / 2);
    member.notBefore = world.monotonic() + (this.#isBanned(member) ? lastResortMs : waitMs);
  }

  #memberOf(session: Session): Member | undefined {
    return this.#members.find(({ live }) => live?.session === session);
  }

  #stateOf(member: Member): ServerStatus['state'] {
    if (member.live !== undefined) return 'live';
    if (member.connecting) return 'connecting';
    if (this.#isBanned(member)) return 'banned';
    return member.failures > 0 ? 'waiting' : 'idle';
  }
}
