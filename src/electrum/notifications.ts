// What a session is subscribed to and the newest word on each of it. A notification that overtakes the
// answer to its own subscribe wins; one for what is not subscribed is dropped, so that a server cannot
// fill our memory with scripthashes of its own making.

import type { Scripthash } from '../bitcoin/ids.ts';
import {
  type HeaderTip,
  methods,
  parseHeaderTip,
  parseStatus,
  parseStatusNotice,
  type Status,
} from './wire.ts';

/** The notifications on one thing: how many there were, and the last. */
interface Heard<T> {
  readonly count: number;
  readonly last: T | undefined;
}

/** A script that a server is asked to tell of. */
interface Asked {
  /** Reads the answer. @throws PaygateError invalid */
  readonly parse: (answer: unknown) => Status;
  /** The newest status known, when it is heard: a notification may be delivered before the answer is. */
  readonly newest: (told: Status) => Status;
}

export class Subscriptions {
  readonly #onHeader: (tip: HeaderTip) => void;
  readonly #onStatus: (scripthash: Scripthash, status: Status) => void;
  readonly #subscribed = new Set<Scripthash>();
  /** Of these, who has had a notification: a few of very many. */
  readonly #statuses = new Map<Scripthash, Heard<Status>>();
  #tips: Heard<HeaderTip> | undefined;
  #tip: HeaderTip | undefined;

  constructor(
    onHeader: (tip: HeaderTip) => void,
    onStatus: (scripthash: Scripthash, status: Status) => void,
  ) {
    this.#onHeader = onHeader;
    this.#onStatus = onStatus;
  }

  /** The newest tip known. */
  get tip(): HeaderTip | undefined {
    return this.#tip;
  }

  /** Call before the request goes out; the result reads its answer as the newest tip known. */
  addHeaders(): (answer: unknown) => HeaderTip {
    this.#tips ??= { count: 0, last: undefined };
    const { count } = this.#tips;
    return (answer) => {
      this.#tip = orNewer(this.#tips, count, parseHeaderTip(answer));
      return this.#tip;
    };
  }

  /** Call before the request goes out. */
  add(scripthash: Scripthash): Asked {
    this.#subscribed.add(scripthash);
    const before = this.#statuses.get(scripthash)?.count;
    return {
      parse: parseStatus,
      newest: (told) => orNewer(this.#statuses.get(scripthash), before, told),
    };
  }

  remove(scripthash: Scripthash): void {
    this.#subscribed.delete(scripthash);
    this.#statuses.delete(scripthash);
  }

  /**
   * Reads a notification and returns its delivery.
   * @throws PaygateError invalid
   */
  notice(method: string, params: readonly unknown[]): () => void {
    if (method === methods.subscribeHeaders) {
      const tip = parseHeaderTip(params[0]);
      return () => {
        if (this.#tips === undefined) return;
        this.#tips = oneMore(this.#tips, tip);
        this.#tip = tip;
        this.#onHeader(tip);
      };
    }
    if (method === methods.subscribe) {
      const { scripthash, status } = parseStatusNotice(params);
      return () => {
        if (!this.#subscribed.has(scripthash)) return;
        this.#statuses.set(scripthash, oneMore(this.#statuses.get(scripthash), status));
        this.#onStatus(scripthash, status);
      };
    }
    return () => {};
  }
}

const oneMore = <T>(heard: Heard<T> | undefined, last: T): Heard<T> => ({
  count: (heard?.count ?? 0) + 1,
  last,
});

/** What was told, unless a notification has come since there were so many: then that is the newer word. */
const orNewer = <T>(heard: Heard<T> | undefined, before = 0, told: T): T =>
  heard !== undefined && heard.count > before ? (heard.last as T) : told;
