// Which addresses are subscribed at the server in use: the hot ones first, then the others, each newest
// first, and what lies in reserve last, up to a limit; the sweeps reach the rest. What is new since is
// always added, and what is coldest makes room for it. An address that the server refuses to tell of costs
// only itself: it is worked up by its history, each minute, and asked about again in a while.

import type { Scripthash } from '../bitcoin/ids.ts';
import { furthestAhead, mostInReserve } from '../domain/allocation.ts';
import type { Priority } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import type { Status } from '../electrum/wire.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { dayMs, minuteMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import type { Watched } from '../store/views/watched-addresses.ts';
import type { World } from '../world/world.ts';
import { scriptBackoffMs } from './address-sync.ts';
import type { RefusedSubscriptions } from './status.ts';

/** Above every id. */
export const maxId = Number.MAX_SAFE_INTEGER;

/** How long after it was issued an address is hot. */
export const hotForMs = 7 * dayMs;

export interface AddressSubscriptionsParts {
  readonly world: World;
  readonly store: Store;
  readonly tasks: BackgroundTasks;
  /** How many addresses are subscribed at once; without it 100,000 at an own server, 10,000 at another. */
  readonly max?: number | undefined;
  /** The server's status of a script is another than ours. */
  readonly differs: (scripthash: Scripthash, status: Status) => void;
  /** The server does not tell it. */
  readonly refusals: (scripthash: Scripthash) => void;
}

/** Unless told otherwise. */
const maxSubscribed = { own: 100_000, other: 10_000 };
/** Addresses read from the file in a turn of the event loop. */
const pageSize = 250;
/** Of what is read, so much may wait to be sent: the window is always full. */
const maxWaiting = 2 * pageSize;
/** More that are new at once are mass requests. */
const maxUrgentAtOnce = 100;

const mass: Priority = { bulk: true };

/** A server that refuses more than this, and more than it tells of, is of no use. */
const maxRefused = 100;
/** Refused scripts whose histories are looked at each minute, in turns. */
const maxCheckedAMinute = 20;

/**
 * The subscriptions of one session.
 * All methods throw PaygateError unavailable when the session ends or refuses too many.
 */
export class AddressSubscriptions {
  readonly #parts: AddressSubscriptionsParts;
  readonly #session: Session;
  readonly #most: number;
  readonly #subscribed = new Set<Scripthash>();
  /** As `all` took them, the warmest first. */
  readonly #taken: Scripthash[] = [];
  /** Since then, the newest last. */
  readonly #added = new Set<Scripthash>();
  /** How often in a row. */
  readonly #refused = new Map<Scripthash, number>();
  /** Text of the newest refusal. */
  #refusal = '';
  #isLooking = false;

  constructor(parts: AddressSubscriptionsParts, session: Session) {
    this.#parts = parts;
    this.#session = session;
    this.#most = parts.max ?? maxSubscribed[session.server.own ? 'own' : 'other'];
  }

  /** How many it has. */
  get size(): number {
    return this.#subscribed.size;
  }

  /** Subscribed in this session, or about to be. */
  has(scripthash: Scripthash): boolean {
    return this.#subscribed.has(scripthash);
  }

  /** What the server has refused to tell of twice; undefined when there is nothing. */
  refusals(): RefusedSubscriptions | undefined {
    const scripts = [...this.#refused.values()].filter((failures) => failures > 1).length;
    if (scripts === 0) return undefined;
    return { server: this.#session.server.label, scripts, reason: this.#refusal };
  }

  /** Compares every address with the server, as far as the limit goes. */
  async all(): Promise<void> {
    const { world, store } = this.#parts;
    const since = world.now() - hotForMs;
    const { addresses } = store;
    await this.#pages((last) => addresses.recent(since, last, pageSize));
    await this.#pages((last) => addresses.unsettled(last?.id ?? maxId, pageSize));
    await this.#pages((last) => (last === undefined ? addresses.upcoming(furthestAhead) : []));
    const older = { id: maxId, issuedAt: since };
    await this.#pages((last) => addresses.recent(0, last ?? older, pageSize));
    await this.#pages((last) => addresses.foreign(last?.id ?? maxId, pageSize));
  }

  /** Then what lies in reserve, where there is room. */
  async allLookahead(): Promise<void> {
    const { addresses } = this.#parts.store;
    await this.#pages((last) => (last === undefined ? addresses.upcoming(mostInReserve) : []));
  }

  /** What is derived for it since. */
  async addLookahead(scripthashes: readonly Scripthash[]): Promise<void> {
    const fresh = scripthashes.filter((each) => this.#isTaken(each));
    // The first to make room.
    this.#taken.push(...fresh);
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
    for (let over = this.#subscribed.size - this.#most; over > 0; over -= 1) {
      this.#dropColdest();
    }
    await compared;
  }

  async #pages(read: (last: Watched | undefined) => Watched[]): Promise<void> {
    const asked: Promise<unknown>[] = [];
    let hasFailed = false;
    let page = read(undefined);
    for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
      const answered = this.#take(page.filter(({ scripthash }) => this.#isTaken(scripthash)));
      answered.catch(() => {
        hasFailed = true;
      });
      asked.push(answered);
      if (this.#subscribed.size >= this.#most) break;
      while (asked.length > 0 && this.#session.bulkWaiting >= maxWaiting) await asked.shift();
      await nextTurn();
      // Why it has, is thrown below.
      page = hasFailed ? [] : read(last);
    }
    await Promise.all(asked);
  }

  #take(page: readonly Watched[]): Promise<unknown> {
    this.#taken.push(...page.map(({ scripthash }) => scripthash));
    return Promise.all(
      page.map(({ scripthash, statusHash }) => this.#compare([scripthash], statusHash, mass)),
    );
  }

  /** Where there is room, one that is known neither as subscribed nor as refused. One look for both: there are very many. */
  #isTaken(scripthash: Scripthash): boolean {
    const { size } = this.#subscribed;
    if (size >= this.#most || this.#refused.has(scripthash)) return false;
    return this.#subscribed.add(scripthash).size > size;
  }

  /** @param ours what we worked up last, the same of all */
  async #compare(
    scripthashes: readonly Scripthash[],
    ours: Status,
    priority: Priority,
  ): Promise<void> {
    await this.#session.subscribeAll(scripthashes, priority, (scripthash, told) => {
      if (told instanceof PaygateError) return this.#refuse(scripthash, reasonOf(told));
      this.#refused.delete(scripthash);
      if (told !== ours) this.#parts.differs(scripthash, told);
    });
  }

  #refuse(scripthash: Scripthash, reason: string): void {
    const { world, tasks, refusals } = this.#parts;
    const failures = (this.#refused.get(scripthash) ?? 0) + 1;
    this.#subscribed.delete(scripthash);
    this.#refused.set(scripthash, failures);
    this.#refusal = reason;
    const count = this.#refused.size;
    if (count > maxRefused && count > this.#subscribed.size) {
      throw new PaygateError('unavailable', `it tells nothing of ${count} addresses: ${reason}`);
    }
    if (failures === 1) {
      const server = this.#session.server.label;
      world.log.warn('an address could not be subscribed', { scripthash, server, reason });
    }
    refusals(scripthash);
    this.#lookByMinute();
    world.after(scriptBackoffMs(failures), () => tasks.run(() => this.#tryAgain(scripthash)));
  }

  /** No notification comes of what is refused. */
  #lookByMinute(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#parts.world.after(minuteMs, () => {
      this.#isLooking = false;
      if (this.#session.closed || this.#refused.size === 0) return;
      for (const [scripthash, failures] of [...this.#refused].slice(0, maxCheckedAMinute)) {
        this.#refused.delete(scripthash);
        this.#refused.set(scripthash, failures);
        this.#parts.refusals(scripthash);
      }
      this.#lookByMinute();
    });
  }

  async #tryAgain(scripthash: Scripthash): Promise<void> {
    if (this.#session.closed || this.has(scripthash)) return;
    const statusHash = this.#parts.store.addresses.byScripthash(scripthash)?.statusHash ?? null;
    this.#subscribed.add(scripthash);
    try {
      await this.#compare([scripthash], statusHash, { bulk: true });
    } catch (error) {
      this.#session.close(`subscribing failed: ${reasonOf(error)}`);
    }
  }

  /** From then on it is looked at by the sweeps alone. */
  #dropColdest(): void {
    const coldest = this.#coldest();
    if (coldest === undefined) return;
    this.#subscribed.delete(coldest);
    this.#added.delete(coldest);
    // Nothing more of it is delivered, whatever becomes of this; not behind the mass requests, where a new
    // subscription of it would overtake it.
    this.#session.unsubscribe(coldest).catch(() => {});
  }

  #coldest(): Scripthash | undefined {
    for (let last = this.#taken.pop(); last !== undefined; last = this.#taken.pop()) {
      if (this.#subscribed.has(last) && !this.#added.has(last)) return last;
    }
    for (const each of this.#added) if (this.#subscribed.has(each)) return each;
    return undefined;
  }
}
