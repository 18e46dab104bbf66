// What is asked, and how its answer is read.

import { type ErrorCode, PaygateError } from '../lib/errors.ts';
import type { Budget, Priced } from './budget.ts';
import { type Answer, encodeRequest } from './framing.ts';
import type { Method } from './wire.ts';

/** How a request is queued. */
export interface Priority {
  /** One of very many: after all others, and no faster than a public server likes. */
  readonly bulk?: boolean;
}

export interface Call<T> extends Priority {
  readonly method: Method;
  readonly params: readonly unknown[];
  /** Reads the answer; what it throws as `invalid` ends the channel. */
  readonly parse: (result: unknown) => T;
  /** The answer is surely too long to be held back (see fillers.ts). */
  readonly large?: boolean;
  /** The answer is a transaction taken apart. */
  readonly described?: boolean;
  /** How many headers are asked for. */
  readonly headers?: number;
  /** Called when an answer was longer than any line that is read, which ends the channel: surely this one's, or not. */
  readonly onTooLong?: (certain: boolean) => void;
}

export interface Request extends Priced {
  /** ASCII: methods, numbers, and what is written in hex. Empty once it is sent: thousands may wait for their answers. */
  text: string;
  readonly id: number;
  readonly large: boolean;
  readonly described: boolean;
  /** The first parameter, where it is a text. */
  readonly subject: string | undefined;
  /** Reads the answer and returns its delivery. @throws PaygateError invalid */
  readonly read: (answer: Answer) => () => void;
  readonly reject: (error: PaygateError) => void;
  readonly onTooLong?: Call<unknown>['onTooLong'] | undefined;
  /** Monotonic; of what has been sent. */
  sentAt: number;
  overdue: boolean;
}

type Reject = (error: PaygateError) => void;

export function requestOf<T>(
  id: number,
  { method, params, parse, ...call }: Call<T>,
  resolve: (value: T) => void,
  reject: Reject,
): Request {
  const { large = false, bulk = false, described = false, headers = 0 } = call;
  return {
    id,
    method,
    large,
    bulk,
    described,
    subject: subjectOf(params),
    headers,
    reject,
    onTooLong: call.onTooLong,
    text: encodeRequest(id, method, params),
    read(answer) {
      const told = readAnswer(answer, method, parse);
      return () => (told instanceof ServerError ? reject(told) : resolve(told));
    },
    sentAt: 0,
    overdue: false,
  };
}

function readAnswer<T>(
  answer: Answer,
  method: Method,
  parse: (result: unknown) => T,
): T | ServerError {
  if (answer.kind === 'result') return parse(answer.result);
  return new ServerError(answer.code, answer.text, method);
}

/** A scripthash or a transaction's id: what is longer is a transaction. */
function subjectOf([first]: readonly unknown[]): string | undefined {
  return typeof first === 'string' && first.length <= 64 ? first : undefined;
}

/** One request that came to nothing. */
export class RequestError extends PaygateError {
  /** Its method; undefined where the server does not say to what its error belongs. */
  readonly request: string | undefined;

  constructor(code: ErrorCode, message: string, request: string | undefined) {
    super(code, message);
    this.request = request;
  }
}

/** A request that the server answered with an error; the connection goes on. */
export class ServerError extends RequestError {
  /** The server's own number: https://www.jsonrpc.org/specification#error_object */
  readonly serverCode: number;

  /** The text is the server's, already made plain. */
  constructor(serverCode: number, text: string, request?: string) {
    const what = request === undefined ? '' : ` ${request}`;
    const number = serverCode === 0 ? '' : ` (${serverCode})`;
    super('invalid', `the server refused${what}: ${text}${number}`, request);
    this.name = 'ServerError';
    this.serverCode = serverCode;
  }
}

/** What nodes and servers say of a transaction that they do not have; they may refuse for other reasons. */
const unknownTransaction = /no such|not found|missing/i;

export const isUnknown = ({ message }: ServerError): boolean => unknownTransaction.test(message);

/** That a request was not answered in its time; the answer may come yet. */
export class Overdue extends RequestError {
  constructor(request: string) {
    super('unavailable', `the server did not answer ${request} in time`, request);
  }
}

/** That one request was refused or is overdue; the connection lives on. */
export const isNoAnswer = (error: unknown): error is RequestError =>
  error instanceof ServerError || error instanceof Overdue;

// Requests that wait to be sent, in order within two classes: urgent ones go first, mass requests in the
// places that are left to them, neither faster than the server's budget allows. Nothing is ever dropped:
// what does not fit is refused when it comes, or as soon as it can never go out.

/** Two of the largest transactions, in hex. */
const maxUnsentCharacters = 16_000_000;
/** The longest prefix that was sent and is still kept in front of a list. */
const maxSentKept = 1_024;

/** How many requests may go out now. */
export interface Places {
  readonly all: number;
  /** Mass requests. */
  readonly bulk: number;
  /** They go out by so many where a budget is kept. */
  readonly atOnce: number;
}

/** An array whose front is taken off without moving the rest each time. */
class Line<T> {
  #items: T[] = [];
  #taken = 0;

  get length(): number {
    return this.#items.length - this.#taken;
  }

  get first(): T | undefined {
    return this.#items[this.#taken];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.first;
    if (item !== undefined) this.#taken++;
    if (this.#taken > maxSentKept || this.length === 0) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}

export class SendQueue<T extends Priced> {
  readonly #urgent = new Line<T>();
  readonly #bulk = new Line<T>();
  /** Nothing goes out faster than this allows. */
  budget: Budget | undefined;
  #unsentCharacters = 0;

  get length(): number {
    return this.#urgent.length + this.#bulk.length;
  }

  get bulkCount(): number {
    return this.#bulk.length;
  }

  /** False, and not taken, when too much waits already. */
  add(request: T): boolean {
    if (this.#unsentCharacters + request.text.length > maxUnsentCharacters) return false;
    this.#unsentCharacters += request.text.length;
    (request.bulk ? this.#bulk : this.#urgent).push(request);
    return true;
  }

  /** Takes what may go out now, the budget told. */
  take({ all, bulk, atOnce }: Places): T[] {
    const taken: T[] = [];
    for (let next = this.#urgent.first; next && taken.length < all; next = this.#urgent.first) {
      if (this.#waitMs(next, atOnce) > 0) return taken;
      taken.push(this.#send(this.#urgent));
    }
    const left = Math.min(all - taken.length, bulk, this.#bulk.length);
    const { first } = this.#bulk;
    if (first === undefined || left <= 0 || this.#waitMs(first, atOnce) > 0) return taken;
    for (let count = 0; count < left; count += 1) taken.push(this.#send(this.#bulk));
    return taken;
  }

  /** Milliseconds until the budget allows the next one; 0 when it does now or nothing waits. */
  waitMs(atOnce: number): number {
    const request = this.#urgent.first ?? this.#bulk.first;
    return request === undefined ? 0 : this.#waitMs(request, atOnce);
  }

  /** Empties it. */
  *drain(): Generator<T, void> {
    for (;;) {
      const request = this.#shift(this.#urgent) ?? this.#shift(this.#bulk);
      if (request === undefined) return;
      yield request;
    }
  }

  #send(line: Line<T>): T {
    const request = this.#shift(line) as T;
    this.budget?.sent(request);
    return request;
  }

  #shift(line: Line<T>): T | undefined {
    const request = line.shift();
    this.#unsentCharacters -= request?.text.length ?? 0;
    return request;
  }

  /** Mass requests go out by the window: each write to an ElectrumX takes a filler (see fillers.ts). */
  #waitMs(request: T, atOnce: number): number {
    if (this.budget === undefined) return 0;
    if (!request.bulk) return this.budget.urgentWaitMs(request);
    return this.budget.bulkWaitMs(request, Math.min(atOnce, this.#bulk.length));
  }
}
