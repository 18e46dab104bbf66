// Requests that a server answers by ending the session. Electrs before 0.9 and bwt close the
// connection at an unknown method. A history may be longer than any line that is read. After that
// the request counts as refused for a while, so that the session serves the others.

import {
  errorCodeOf,
  isConnectionClosed,
  networkErrorText,
} from '../domain/delivery/network-error.ts';
import { reasonOf } from '../lib/errors.ts';
import { dayMs, minuteMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';
import type { LineTooLong } from './framing.ts';
import { type Request, ServerError } from './requests.ts';
import { type Method, methods } from './wire.ts';

/**
 * Most servers answer in order, so the oldest request in flight is twice as suspect as the others.
 * Three closings in a row are enough for one request, and four for its method whatever the subject.
 * Fewer are not, because a server that restarts closes its connections too. See docs/decisions/036.
 */
const oldestWeight = 2;
const maxWeight = 3 * oldestWeight;
/** One closing is enough, and counts for longer, because something else can be asked instead. */
const replaceable: ReadonlySet<string> = new Set([
  methods.features,
  methods.ping,
  methods.unsubscribe,
]);
const refusedForMs = 10 * minuteMs;
const replacedForMs = dayMs;
/** Methods and subjects with strikes. */
const maxStruckKeys = 1_000;
/** Histories that are asked for one by one after any of several may have been too long. */
const maxOneByOne = 1_000;

type Subject = Pick<Request, 'method' | 'subject'>;

interface Strikes {
  readonly weight: number;
  /** Monotonic. */
  readonly at: number;
}

/** Keep one for each server, not for each connection. */
export class Refusals {
  readonly #world: Pick<World, 'monotonic'>;
  /** By method, and by method and subject: a server may fail at a single history. */
  readonly #strikes = new Map<string, Strikes>();
  /** By scripthash, monotonic. */
  readonly #tooLongUntil = new Map<string, number>();
  #oneByOne = 0;
  #lastHistory: Promise<unknown> = Promise.resolve();

  constructor(world: Pick<World, 'monotonic'>) {
    this.#world = world;
  }

  /** Why a request is not sent; undefined when it may be sent. */
  refusalOf(request: Subject): ServerError | undefined {
    const { method, subject } = request;
    if (method === methods.history && subject !== undefined && this.#isTooLong(subject)) {
      return new ServerError(0, 'a history of more than 9 MB', method);
    }
    if (this.#strikes.size === 0 || !keysOf(request).some((key) => this.#isRefused(key))) {
      return undefined;
    }
    return new ServerError(0, 'it closes the connection instead of an answer', method);
  }

  refuses(method: Method): boolean {
    return this.#isRefused(method);
  }

  answered(request: Subject): void {
    if (this.#strikes.size === 0) return;
    for (const key of keysOf(request)) this.#strikes.delete(key);
  }

  /** The server closed the connection, or is silent. @param unanswered the oldest first */
  closed(unanswered: readonly Subject[]): void {
    const [oldest] = unanswered;
    if (oldest === undefined) return;
    if (this.#strikes.size > maxStruckKeys) this.#strikes.clear();
    const { method } = oldest;
    const [, subject] = keysOf(oldest);
    // The second closing at one subject says less of the method.
    this.#strike(method, subject !== undefined && this.#strikes.has(subject) ? 1 : oldestWeight);
    if (subject !== undefined) this.#strike(subject, oldestWeight);
    const others = new Set(unanswered.map(({ method }) => method));
    for (const other of others) if (other !== method) this.#strike(other, 1);
    // A closing that has a reason now raises no suspicion of the others.
    if (this.refusalOf(oldest) === undefined) return;
    for (const key of this.#strikes.keys()) {
      if (key !== method && !this.#isRefused(key)) this.#strikes.delete(key);
    }
  }

  /**
   * A line was longer than any that is read, which ends the session. The history in it is refused
   * for a day if it is certain which one that is. The line may begin with the id of its request, as
   * those of electrs and Fulcrum do. Otherwise only one history may be in flight.
   */
  lineTooLong({ start }: LineTooLong, unanswered: readonly Request[]): void {
    const [, id] = responseId.exec(start) ?? [];
    const histories = unanswered.filter(({ method }) => method === methods.history);
    const suspects = histories.filter((each) => id === undefined || each.id === Number(id));
    const [suspect] = suspects;
    if (suspect?.subject === undefined) return;
    const isCertain = suspects.length === 1;
    this.#oneByOne = isCertain ? 0 : maxOneByOne;
    if (isCertain) this.#tooLongUntil.set(suspect.subject, this.#world.monotonic() + dayMs);
  }

  /** Asks for a history, after the one before it while it is unknown which one was too long. */
  historyInTurn<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#oneByOne === 0) return ask();
    this.#oneByOne -= 1;
    const asked = this.#lastHistory.then(ask);
    this.#lastHistory = asked.catch(() => {});
    return asked;
  }

  #isTooLong(scripthash: string): boolean {
    const until = this.#tooLongUntil.get(scripthash);
    if (until === undefined) return false;
    if (until > this.#world.monotonic()) return true;
    this.#tooLongUntil.delete(scripthash);
    return false;
  }

  #isRefused(key: string): boolean {
    const strikes = this.#strikes.get(key);
    if (strikes === undefined) return false;
    const [max, forMs] = replaceable.has(key) ? [1, replacedForMs] : [maxWeight, refusedForMs];
    return strikes.weight >= max && this.#world.monotonic() - strikes.at < forMs;
  }

  #strike(key: string, weight: number): void {
    const before = this.#strikes.get(key)?.weight ?? 0;
    this.#strikes.set(key, { weight: before + weight, at: this.#world.monotonic() });
  }
}

/** `{"id":1,` or `{"jsonrpc":"2.0","id":1,` */
const responseId = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+)\s*,/;

const keysOf = ({ method, subject }: Subject): string[] =>
  subject === undefined ? [method] : [method, `${method} ${subject}`];

export const closedReason = 'the server closed the connection';
export const silentReason = 'the server does not answer';

export function socketFailure(error: Error): string {
  const code = errorCodeOf(error);
  if (isConnectionClosed(code)) return closedReason;
  return `the connection failed: ${networkErrorText(code) ?? reasonOf(error)}`;
}

/** Adds the methods that were unanswered, because one of them may be the cause. */
export function withMethods(reason: string, unanswered: readonly Subject[]): string {
  const names = new Set(unanswered.map(({ method }) => method));
  // The ping only finds out that the server is silent.
  if (reason === silentReason) names.delete(methods.ping);
  return names.size === 0 ? reason : `${reason} at ${[...names].join(', ')}`;
}
