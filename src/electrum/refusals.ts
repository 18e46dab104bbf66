// Requests over which a server closes the connection, as electrs before 0.9 and bwt do at a method that they do not
// know. Such a server is lost again at every attempt, and with it what it would answer. After a few closings
// without an answer in between the request counts as refused for a while: others go on, and it is named.

import type { Scripthash } from '../bitcoin/ids.ts';
import { codeOf, faultText, isHangUp } from '../domain/network-error.ts';
import { reasonOf } from '../lib/errors.ts';
import { dayMs, minuteMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';
import type { LongLine } from './framing.ts';
import type { Request } from './requests.ts';
import { ServerError } from './requests.ts';
import { type Method, methods } from './wire.ts';

/**
 * Most servers answer in turn, so the oldest request in flight is twice as suspect as those behind it. Three closings
 * in a row are enough for it, and four for its method, whatever the subject: a server that restarts closes its connections as well, and answers at the next one.
 */
const oldestWeight = 2;
const maxWeight = 3 * oldestWeight;
/** One is enough, and for longer, where something else is asked instead or nothing needs to be. */
const replaced: ReadonlySet<string> = new Set([
  methods.features,
  methods.ping,
  methods.unsubscribe,
]);
const refusedForMs = 10 * minuteMs;
const replacedForMs = dayMs;
/** Methods and subjects that are remembered. */
const maxRemembered = 1_000;

type Asked = Pick<Request, 'method' | 'subject'>;

interface Strikes {
  readonly weight: number;
  /** Monotonic. */
  readonly at: number;
}

/** Keep one for a server, not for a connection. */
export class Closings {
  readonly #world: Pick<World, 'monotonic'>;
  /** By method, and by method and subject of the oldest: a server may fail at a single history. */
  readonly #strikes = new Map<string, Strikes>();

  constructor(world: Pick<World, 'monotonic'>) {
    this.#world = world;
  }

  /** Why a request is not sent; undefined where it is. */
  refusalOf(asked: Asked): ServerError | undefined {
    if (this.#strikes.size === 0 || !keysOf(asked).some((key) => this.#isRefused(key))) {
      return undefined;
    }
    return new ServerError(0, 'it closes the connection instead of an answer', asked.method);
  }

  refuses(method: Method): boolean {
    return this.#isRefused(method);
  }

  #isRefused(key: string): boolean {
    const strikes = this.#strikes.get(key);
    if (strikes === undefined) return false;
    const [max, forMs] = replaced.has(key) ? [1, replacedForMs] : [maxWeight, refusedForMs];
    return strikes.weight >= max && this.#world.monotonic() - strikes.at < forMs;
  }

  answered(asked: Asked): void {
    if (this.#strikes.size === 0) return;
    for (const key of keysOf(asked)) this.#strikes.delete(key);
  }

  /** The server has closed the connection, or is silent, with these requests unanswered, the oldest first. */
  closed(unanswered: readonly Asked[]): void {
    const [oldest] = unanswered;
    if (oldest === undefined) return;
    if (this.#strikes.size > maxRemembered) this.#strikes.clear();
    const { method } = oldest;
    const [, subject] = keysOf(oldest);
    // Again at the same subject: it may be that one alone.
    this.#strike(method, subject !== undefined && this.#strikes.has(subject) ? 1 : oldestWeight);
    if (subject !== undefined) this.#strike(subject, oldestWeight);
    const others = new Set(unanswered.map(({ method }) => method));
    for (const other of others) if (other !== method) this.#strike(other, 1);
    // What has a reason now is no suspicion of the others.
    if (this.refusalOf(oldest) === undefined) return;
    for (const key of this.#strikes.keys()) {
      if (key !== method && !this.#isRefused(key)) this.#strikes.delete(key);
    }
  }

  #strike(key: string, weight: number): void {
    const before = this.#strikes.get(key)?.weight ?? 0;
    this.#strikes.set(key, { weight: before + weight, at: this.#world.monotonic() });
  }
}

const keysOf = ({ method, subject }: Asked): string[] =>
  subject === undefined ? [method] : [method, `${method} ${subject}`];

export const closed = 'the server closed the connection';
export const silent = 'the server is silent';

export function failureOf(error: Error): string {
  const code = codeOf(error);
  if (isHangUp(code)) return closed;
  return `the connection failed: ${faultText(code) ?? reasonOf(error)}`;
}

/** Names what was asked, which may be why. */
export function at(reason: string, asked: readonly Asked[]): string {
  const names = new Set(asked.map(({ method }) => method));
  // That is what finds out that it is silent.
  if (reason === silent) names.delete(methods.ping);
  return names.size === 0 ? reason : `${reason} at ${[...names].join(', ')}`;
}

// Histories that are longer than any line that is read. Each of them has ended a session, and would end the next
// one: for a day it is not asked for again, and taken for refused by that server, as others refuse what is too long.

const leftAloneMs = 86_400_000;
/** Histories that are asked for one by one after a line that any of several may have been. */
const singly = 1_000;

/** Keep one for a server, not for a connection. */
export class Overlong {
  readonly #world: Pick<World, 'monotonic'>;
  readonly #until = new Map<Scripthash, number>();
  #last: Promise<unknown> = Promise.resolve();
  #singly = 0;

  constructor(world: Pick<World, 'monotonic'>) {
    this.#world = world;
  }

  /** @throws ServerError while it is left alone */
  async ask<T>(scripthash: Scripthash, history: () => Promise<T>): Promise<T> {
    if ((this.#until.get(scripthash) ?? 0) > this.#world.monotonic()) {
      throw new ServerError(0, 'a history of more than 9 MB', methods.history);
    }
    this.#until.delete(scripthash);
    if (this.#singly === 0) return history();
    this.#singly -= 1;
    const told = this.#last.then(history);
    this.#last = told.catch(() => {});
    return told;
  }

  /** @param certain false where it may have been another one */
  ended(scripthash: Scripthash, certain: boolean): void {
    this.#singly = certain ? 0 : singly;
    if (certain) this.#until.set(scripthash, this.#world.monotonic() + leftAloneMs);
  }
}

/** `{"id":1,` or `{"jsonrpc":"2.0","id":1,` */
const firstId = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+)\s*,/;

/**
 * Tells the history that a long line answers: the one that it names at its beginning, as electrs and Fulcrum do, or
 * any that is out.
 */
export function blame({ start }: LongLine, inFlight: Iterable<Request>): void {
  const [, id] = firstId.exec(start) ?? [];
  const histories = [...inFlight].filter(({ onTooLong }) => onTooLong !== undefined);
  const suspects = histories.filter((each) => id === undefined || each.id === Number(id));
  for (const { onTooLong } of suspects) onTooLong?.(suspects.length === 1);
}
