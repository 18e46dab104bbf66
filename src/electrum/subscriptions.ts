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
  count: number;
  last: T | undefined;
}

export class Subscriptions {
  readonly #onHeader: (tip: HeaderTip) => void;
  readonly #onStatus: (scripthash: Scripthash, status: Status) => void;
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
    const newest = orOvertaker(this.#tips, parseHeaderTip);
    return (answer) => {
      this.#tip = newest(answer);
      return this.#tip;
    };
  }

  /** Call before the request goes out; the result reads its answer as the newest status known. */
  add(scripthash: Scripthash): (answer: unknown) => Status {
    return orOvertaker(this.#heardOf(scripthash), parseStatus);
  }

  /** The same for the requests of a batch; the result reads the answer to each by its place. */
  addAll(scripthashes: readonly Scripthash[]): (answer: unknown, place: number) => Status {
    const heard = scripthashes.map((each) => this.#heardOf(each));
    const before = heard.map(({ count }) => count);
    return (answer, place) => orNewer(heard[place], before[place], parseStatus(answer));
  }

  #heardOf(scripthash: Scripthash): Heard<Status> {
    const heard = this.#statuses.get(scripthash) ?? { count: 0, last: undefined };
    this.#statuses.set(scripthash, heard);
    return heard;
  }

  remove(scripthash: Scripthash): void {
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
        if (!hear(this.#tips, tip)) return;
        this.#tip = tip;
        this.#onHeader(tip);
      };
    }
    if (method === methods.subscribe) {
      const { scripthash, status } = parseStatusNotice(params);
      return () => {
        if (hear(this.#statuses.get(scripthash), status)) this.#onStatus(scripthash, status);
      };
    }
    return () => {};
  }
}

function hear<T>(heard: Heard<T> | undefined, value: T): boolean {
  if (heard === undefined) return false;
  heard.count++;
  heard.last = value;
  return true;
}

/** Reads an answer, unless a notification has come since now: then that is the newer word. */
function orOvertaker<T>(heard: Heard<T>, parse: (answer: unknown) => T): (answer: unknown) => T {
  const before = heard.count;
  return (answer) => orNewer(heard, before, parse(answer));
}

const orNewer = <T>(heard: Heard<T> | undefined, before = 0, told: T): T =>
  heard !== undefined && heard.count > before ? (heard.last as T) : told;
