// Which addresses are subscribed at the watched server: hot ones first, then the others, each
// newest first, then the look-ahead, up to a limit. A new address is always added, and the
// coldest one is removed for it. The sweeps reach the rest. A refused address is checked by its
// history each minute.

import type { Scripthash } from '../bitcoin/ids.ts';
import { maxAhead, maxLookahead } from '../domain/store/allocation.ts';
import type { Priority } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import type { Status } from '../electrum/wire.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { dayMs, minuteMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { Watched } from '../store/wallets/watched-addresses.ts';
import type { World } from '../world/world.ts';
import type { Interruption } from './interruption.ts';
import { scriptBackoffMs, type WorkQueue } from './work-queue.ts';

/** Above every id. */
export const maxId = Number.MAX_SAFE_INTEGER;

/** How long an address is hot after it was issued. */
export const hotForMs = 7 * dayMs;

export interface AddressSubscriptionsParts {
  readonly world: World;
  readonly records: Records;
  readonly tasks: BackgroundTasks;
  /**
   * How many addresses are subscribed at once; without it 100,000 at an own server, 10,000 at
   * another.
   */
  readonly max?: number | undefined;
  readonly queue: Pick<WorkQueue, 'statusChanged' | 'isPending' | 'add'>;
  readonly interruption: Pick<Interruption, 'compared'>;
}

/** Addresses whose subscription the server refused: they are checked each minute. */
export interface RefusedSubscriptions {
  readonly server: string;
  readonly scripts: number;
  readonly reason: string;
}

/** The default limits. See docs/decisions/043. */
const maxSubscribed = { own: 100_000, other: 10_000 };
/** Addresses read from the file in one turn of the event loop. */
const pageSize = 250;
/** Requests that may wait to be sent, so that the window is always full. */
const maxWaiting = 2 * pageSize;
/** More new addresses at once are subscribed by mass requests. */
const maxUrgentAtOnce = 100;

const mass: Priority = { bulk: true };
/** A server that refuses more addresses than this, and more than it accepts, is of no use. */
const maxRefused = 100;
/** Refused scripts whose histories are checked each minute, in turns. */
const maxCheckedAMinute = 20;

/**
 * The subscriptions of one session.
 * All methods throw PaygateError unavailable when the session ends or refuses too many.
 */
export class AddressSubscriptions {
  readonly #parts: AddressSubscriptionsParts;
  readonly #session: Session;
  readonly #max: number;
  readonly #subscribed = new Set<Scripthash>();
  /** In the order in which `all` subscribed them, the hottest first. */
  readonly #ordered: Scripthash[] = [];
  /** Subscribed since then, the newest last. */
  readonly #added = new Set<Scripthash>();
  /** Refused scripts, and how often in a row. */
  readonly #refused = new Map<Scripthash, number>();
  #refusal = '';
  #isChecking = false;

  constructor(parts: AddressSubscriptionsParts, session: Session) {
    this.#parts = parts;
    this.#session = session;
    this.#max = parts.max ?? maxSubscribed[session.server.own ? 'own' : 'other'];
  }

  get size(): number {
    return this.#subscribed.size;
  }

  /** Subscribed in this session, or about to be. */
  has(scripthash: Scripthash): boolean {
    return this.#subscribed.has(scripthash);
  }

  /** The addresses that the server refused twice; undefined when there is none. */
  refusals(): RefusedSubscriptions | undefined {
    const scripts = [...this.#refused.values()].filter((failures) => failures > 1).length;
    if (scripts === 0) return undefined;
    return { server: this.#session.server.label, scripts, reason: this.#refusal };
  }

  /** Compares every address with the server, as far as the limit goes. */
  async all(): Promise<void> {
    const { world, records } = this.#parts;
    const since = world.now() - hotForMs;
    const { addresses } = records;
    await this.#pages((last) => addresses.recent(since, last, pageSize));
    await this.#pages((last) => addresses.unsettled(last?.id ?? maxId, pageSize));
    await this.#pages((last) => (last === undefined ? addresses.upcoming(maxAhead) : []));
    const older = { id: maxId, issuedAt: since };
    await this.#pages((last) => addresses.recent(0, last ?? older, pageSize));
    await this.#pages((last) => addresses.foreign(last?.id ?? maxId, pageSize));
  }

  /** Then the look-ahead, below the limit. */
  async allLookahead(): Promise<void> {
    const { addresses } = this.#parts.records;
    await this.#pages((last) => (last === undefined ? addresses.upcoming(maxLookahead) : []));
  }

  /** The look-ahead that was derived since. */
  async addLookahead(scripthashes: readonly Scripthash[]): Promise<void> {
    const fresh = scripthashes.filter((each) => this.#reserve(each));
    // They are removed first.
    this.#ordered.push(...fresh);
    await this.#compare(fresh, null, mass);
  }

  /** Addresses that are new since the session began, or newly in use. */
  async add(scripthashes: readonly Scripthash[]): Promise<void> {
    const fresh = scripthashes.filter((each) => !this.has(each));
    for (const each of scripthashes) {
      this.#added.delete(each);
      this.#added.add(each);
    }
    for (const each of fresh) this.#subscribed.add(each);
    const compared = this.#compare(fresh, null, fresh.length > maxUrgentAtOnce ? mass : {});
    for (let over = this.#subscribed.size - this.#max; over > 0; over -= 1) {
      this.#dropColdest();
    }
    await compared;
  }

  async #pages(read: (last: Watched | undefined) => Watched[]): Promise<void> {
    const asked: Promise<unknown>[] = [];
    let hasFailed = false;
    let page = read(undefined);
    for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
      const answered = this.#take(page.filter(({ scripthash }) => this.#reserve(scripthash)));
      answered.catch(() => {
        hasFailed = true;
      });
      asked.push(answered);
      if (this.#subscribed.size >= this.#max) break;
      while (asked.length > 0 && this.#session.bulkWaiting >= maxWaiting) await asked.shift();
      await nextTurn();
      // The failure is thrown below.
      page = hasFailed ? [] : read(last);
    }
    await Promise.all(asked);
  }

  #take(page: readonly Watched[]): Promise<unknown> {
    this.#ordered.push(...page.map(({ scripthash }) => scripthash));
    return Promise.all(
      page.map(({ scripthash, statusHash }) => this.#compare([scripthash], statusHash, mass)),
    );
  }

  #reserve(scripthash: Scripthash): boolean {
    const { size } = this.#subscribed;
    if (size >= this.#max || this.#refused.has(scripthash)) return false;
    return this.#subscribed.add(scripthash).size > size;
  }

  /** @param ours the recorded status, the same for all */
  async #compare(
    scripthashes: readonly Scripthash[],
    ours: Status,
    priority: Priority,
  ): Promise<void> {
    await this.#session.subscribeAll(scripthashes, priority, (scripthash, status) => {
      if (status instanceof PaygateError) return this.#refuse(scripthash, reasonOf(status));
      this.#refused.delete(scripthash);
      if (status === ours) this.#parts.interruption.compared(scripthash);
      else this.#parts.queue.statusChanged(scripthash, status);
    });
  }

  #refuse(scripthash: Scripthash, reason: string): void {
    const { world, tasks } = this.#parts;
    const failures = (this.#refused.get(scripthash) ?? 0) + 1;
    this.#subscribed.delete(scripthash);
    this.#refused.set(scripthash, failures);
    this.#refusal = reason;
    const count = this.#refused.size;
    if (count > maxRefused && count > this.#subscribed.size) {
      throw new PaygateError(
        'unavailable',
        `it refuses subscriptions to ${count} addresses: ${reason}`,
      );
    }
    if (failures === 1) {
      const server = this.#session.server.label;
      world.log.warn('an address could not be subscribed', { scripthash, server, reason });
    }
    this.#check(scripthash);
    this.#checkEachMinute();
    world.after(scriptBackoffMs(failures), () => tasks.run(() => this.#retry(scripthash)));
  }

  #check(scripthash: Scripthash): void {
    const { queue } = this.#parts;
    if (!queue.isPending(scripthash)) queue.add(scripthash);
  }

  /** The server sends no notifications for refused addresses. */
  #checkEachMinute(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#parts.world.after(minuteMs, () => {
      this.#isChecking = false;
      if (this.#session.closed || this.#refused.size === 0) return;
      for (const [scripthash, failures] of [...this.#refused].slice(0, maxCheckedAMinute)) {
        this.#refused.delete(scripthash);
        this.#refused.set(scripthash, failures);
        this.#check(scripthash);
      }
      this.#checkEachMinute();
    });
  }

  async #retry(scripthash: Scripthash): Promise<void> {
    if (this.#session.closed || this.has(scripthash)) return;
    const statusHash = this.#parts.records.addresses.byScripthash(scripthash)?.statusHash ?? null;
    this.#subscribed.add(scripthash);
    try {
      await this.#compare([scripthash], statusHash, { bulk: true });
    } catch (error) {
      this.#session.close(`subscribing failed: ${reasonOf(error)}`);
    }
  }

  /** From then on, only the sweeps compare it. */
  #dropColdest(): void {
    const coldest = this.#coldest();
    if (coldest === undefined) return;
    this.#subscribed.delete(coldest);
    this.#added.delete(coldest);
    // Its notifications are ignored, whatever the answer is. This is no mass request, because a new
    // subscription of the address must not go before it.
    this.#session.unsubscribe(coldest).catch(() => {});
  }

  #coldest(): Scripthash | undefined {
    for (let last = this.#ordered.pop(); last !== undefined; last = this.#ordered.pop()) {
      if (this.#subscribed.has(last) && !this.#added.has(last)) return last;
    }
    for (const each of this.#added) if (this.#subscribed.has(each)) return each;
    return undefined;
  }
}

/** The subscriptions at the watched server; they end with its session. */
export class CurrentSubscriptions {
  readonly #parts: AddressSubscriptionsParts;
  #session: Session | undefined;
  #subscriptions: AddressSubscriptions | undefined;

  constructor(parts: AddressSubscriptionsParts) {
    this.#parts = parts;
  }

  begin(session: Session): AddressSubscriptions {
    this.#session = session;
    this.#subscriptions = new AddressSubscriptions(this.#parts, session);
    return this.#subscriptions;
  }

  end(): void {
    this.#session = undefined;
    this.#subscriptions = undefined;
  }

  has(scripthash: Scripthash): boolean {
    return this.#subscriptions?.has(scripthash) === true;
  }

  refusals(): RefusedSubscriptions | undefined {
    return this.#subscriptions?.refusals();
  }

  add(scripthashes: readonly Scripthash[]): Promise<void> {
    return this.#orClose(this.#session, this.#subscriptions?.add(scripthashes));
  }

  /** The same for addresses of the look-ahead: behind all others, and below the limit. */
  addLookahead(scripthashes: readonly Scripthash[]): Promise<void> {
    return this.#orClose(this.#session, this.#subscriptions?.addLookahead(scripthashes));
  }

  /** No address stays unwatched after a failure: the next session subscribes it. */
  async #orClose(session: Session | undefined, subscribing?: Promise<void>): Promise<void> {
    try {
      await subscribing;
    } catch (error) {
      session?.close(`subscribing failed: ${reasonOf(error)}`);
    }
  }
}
