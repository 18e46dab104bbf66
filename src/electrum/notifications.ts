// What a session is subscribed to, and the newest value of each subscription. A notification that
// overtakes the response to its own subscribe request wins. A notification of what is not
// subscribed is dropped, so that a server cannot fill our memory.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#notifications

import type { Scripthash } from '../bitcoin/ids.ts';
import {
  type HeaderTip,
  methods,
  parseHeaderTip,
  parseStatus,
  parseStatusNotification,
  type Status,
} from './wire.ts';

interface Notified<T> {
  readonly count: number;
  readonly last: T | undefined;
}

interface StatusSubscription {
  /** @throws PaygateError invalid */
  readonly parse: (result: unknown) => Status;
  /** The newest status. Call it late: a notification may be delivered before the response is. */
  readonly newest: (response: Status) => Status;
}

export interface NotificationListener {
  onHeader(tip: HeaderTip): void;
  onStatus(scripthash: Scripthash, status: Status): void;
}

export class Notifications {
  /** Receives what is subscribed. Nothing is subscribed before it is set. */
  listener: NotificationListener | undefined;
  readonly #subscribed = new Set<Scripthash>();
  /** Only scripts that had a notification: a few of very many. */
  readonly #statuses = new Map<Scripthash, Notified<Status>>();
  #tips: Notified<HeaderTip> | undefined;
  #tip: HeaderTip | undefined;

  get tip(): HeaderTip | undefined {
    return this.#tip;
  }

  /** Call it before the request is sent. @returns reads the result as the newest tip */
  subscribeHeaders(): (result: unknown) => HeaderTip {
    this.#tips ??= { count: 0, last: undefined };
    const { count } = this.#tips;
    return (result) => {
      this.#tip = newer(this.#tips, count, parseHeaderTip(result));
      return this.#tip;
    };
  }

  /** Call it before the request is sent. */
  subscribe(scripthash: Scripthash): StatusSubscription {
    this.#subscribed.add(scripthash);
    const before = this.#statuses.get(scripthash)?.count;
    return {
      parse: parseStatus,
      newest: (response) => newer(this.#statuses.get(scripthash), before, response),
    };
  }

  unsubscribe(scripthash: Scripthash): void {
    this.#subscribed.delete(scripthash);
    this.#statuses.delete(scripthash);
  }

  /** Reads a notification and returns its delivery. @throws PaygateError invalid */
  read(method: string, params: readonly unknown[]): () => void {
    if (method === methods.subscribeHeaders) {
      const tip = parseHeaderTip(params[0]);
      return () => this.#deliverTip(tip);
    }
    if (method === methods.subscribe) {
      const { scripthash, status } = parseStatusNotification(params);
      return () => this.#deliverStatus(scripthash, status);
    }
    return () => {};
  }

  #deliverTip(tip: HeaderTip): void {
    if (this.#tips === undefined) return;
    this.#tips = oneMore(this.#tips, tip);
    this.#tip = tip;
    this.listener?.onHeader(tip);
  }

  #deliverStatus(scripthash: Scripthash, status: Status): void {
    if (!this.#subscribed.has(scripthash)) return;
    this.#statuses.set(scripthash, oneMore(this.#statuses.get(scripthash), status));
    this.listener?.onStatus(scripthash, status);
  }
}

const oneMore = <T>(notified: Notified<T> | undefined, last: T): Notified<T> => ({
  count: (notified?.count ?? 0) + 1,
  last,
});

/** The last notification if one has come since there were `before`, otherwise the response. */
const newer = <T>(notified: Notified<T> | undefined, before = 0, response: T): T =>
  notified !== undefined && notified.count > before ? (notified.last as T) : response;
