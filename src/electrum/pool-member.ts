// One server of the pool's list: what is known of it from one connection to the next, and when it
// may be tried again. It opens no connection: the pool does.

import type { PaygateError } from '../lib/errors.ts';
import { hourMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';
import { Budget } from './budget.ts';
import { Refusals } from './refusals.ts';
import type { ServerAddress } from './server-address.ts';
import type { Session } from './session.ts';
import type { RefusedCertificate } from './trust.ts';

const minBackoffMs = 1_000;
const maxBackoffMs = 60_000;
/** A session that lasted this long ends the count of failures before it. */
const stableAfterMs = 60_000;
/** As long as a ban: after it, nothing waits for a server that does not come back. */
const awayAfterMs = hourMs;
/** A banned server is tried again this soon when there is no other. */
const lastResortMs = 60_000;

interface LiveSession {
  readonly session: Session;
  /** Epoch milliseconds, for people. */
  readonly since: number;
  /** Monotonic. */
  readonly startedAt: number;
  /** Why the watcher does not count on it; undefined when it does. */
  doubt: string | undefined;
}

export class PoolMember {
  readonly #world: Pick<World, 'now' | 'monotonic' | 'random'>;
  readonly server: ServerAddress;
  readonly budget: Budget;
  readonly refusals: Refusals;
  /** The member with the lowest turn is tried next. */
  turn: number;
  isConnecting = false;
  live: LiveSession | undefined;
  /** Since when it has not been live, monotonic. */
  absentSince: number;
  failures = 0;
  /** Monotonic. */
  notBefore = 0;
  /** Monotonic. */
  bannedUntil: number;
  /** The server memory has the ban, so a person has lifted it when it is missing there. */
  isBanStored = true;
  lastError: string | undefined;
  /** Its name was not resolved at the last attempt. */
  isUnresolved = false;
  refused: RefusedCertificate | undefined;

  /** @param bannedUntil monotonic */
  constructor(
    world: Pick<World, 'now' | 'monotonic' | 'random'>,
    server: ServerAddress,
    bannedUntil: number,
  ) {
    this.#world = world;
    this.server = server;
    this.budget = new Budget(world, { isOwn: server.own });
    this.refusals = new Refusals(world);
    // At random, because many installations have the same list.
    this.turn = world.random();
    this.bannedUntil = bannedUntil;
    this.absentSince = world.monotonic();
  }

  get isIdle(): boolean {
    return !this.isConnecting && this.live === undefined;
  }

  get isBanned(): boolean {
    return this.bannedUntil > this.#world.monotonic();
  }

  /** Connecting, or live and counted on. */
  get isCounted(): boolean {
    return this.isConnecting || (this.live !== undefined && this.live.doubt === undefined);
  }

  get state(): 'idle' | 'connecting' | 'live' | 'waiting' | 'banned' {
    if (this.live !== undefined) return 'live';
    if (this.isConnecting) return 'connecting';
    if (this.isBanned) return 'banned';
    return this.failures > 0 ? 'waiting' : 'idle';
  }

  opened(session: Session): void {
    this.live = {
      session,
      since: this.#world.now(),
      startedAt: this.#world.monotonic(),
      doubt: undefined,
    };
    this.refused = undefined;
    this.lastError = undefined;
    this.isUnresolved = false;
  }

  lost(): void {
    const livedMs = this.#world.monotonic() - (this.live?.startedAt ?? Number.POSITIVE_INFINITY);
    if (livedMs >= stableAfterMs) this.failures = 0;
    this.live = undefined;
    this.absentSince = this.#world.monotonic();
  }

  /** It is not live, and not expected soon. */
  get isAway(): boolean {
    if (this.live !== undefined) return false;
    return this.isBanned || this.#world.monotonic() - this.absentSince >= awayAfterMs;
  }

  /** Waits before the next attempt, longer after each failure in a row. */
  backOff(reason: string): void {
    this.failures++;
    this.lastError = reason;
    const maxWaitMs = Math.min(maxBackoffMs, minBackoffMs * 2 ** this.failures);
    const waitMs = maxWaitMs * (0.5 + this.#world.random() / 2);
    this.notBefore = this.#world.monotonic() + (this.isBanned ? lastResortMs : waitMs);
  }

  /** We ended its session: it may be tried at once. */
  resume(): void {
    this.failures = 0;
    this.notBefore = 0;
  }

  /** A person has lifted the ban or accepted the certificate: it may be tried at once. */
  forgive(): void {
    this.bannedUntil = 0;
    this.refused = undefined;
    this.lastError = undefined;
    this.failures = 0;
    this.notBefore = 0;
  }

  /** An attempt to connect has failed. @param isUnresolved its name was not resolved */
  failed({ code }: PaygateError, isUnresolved: boolean): void {
    if (code !== 'forbidden') this.refused = undefined;
    this.isUnresolved = isUnresolved;
  }
}
