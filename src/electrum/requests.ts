// One request to a server, the queue of those that are not yet sent, and the set of those in
// flight. It never touches a socket: the channel sends and reads.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#requests

import { type ErrorCode, PaygateError } from '../lib/errors.ts';
import type { Billable, Budget } from './budget.ts';
import { type Expectations, encodeRequest, type RpcResponse } from './framing.ts';
import { type Method, methods } from './wire.ts';

/** Two of the largest transactions, in hex. */
const maxUnsentCharacters = 16_000_000;
/** Items that were taken from the front of a queue and still hold memory. */
const maxTakenItems = 1_024;
const maxScripthashLength = 64;

const { history, transaction, headers, broadcast } = methods;
/** Includes `broadcast`: ElectrumX echoes the whole transaction in its error. */
const methodsWithLongResponse = new Set<Method>([history, transaction, headers, broadcast]);

export class RequestError extends PaygateError {
  readonly request: string;

  constructor(code: ErrorCode, message: string, request: string) {
    super(code, message);
    this.request = request;
  }
}

/** The server answered a request with an error; the session goes on. */
export class ServerError extends RequestError {
  /** The server's number: https://www.jsonrpc.org/specification#error_object */
  readonly serverCode: number;

  /** @param text the server's message, made plain */
  constructor(serverCode: number, text: string, request: string) {
    const number = serverCode === 0 ? '' : ` (${serverCode})`;
    super('invalid', `the server refused ${request}: ${text}${number}`, request);
    this.name = 'ServerError';
    this.serverCode = serverCode;
  }
}

/** The server did not answer a request before its deadline; the session goes on. */
export class RequestTimeout extends RequestError {
  constructor(request: string) {
    super('unavailable', `the server did not answer ${request} in time`, request);
  }
}

/** Whether one request was refused or timed out while the session goes on. */
export const isNoAnswer = (error: unknown): error is RequestError =>
  error instanceof ServerError || error instanceof RequestTimeout;

/** What nodes and servers say of a transaction that they do not have; other refusals differ. */
const unknownTransaction = /no such|not found|missing/i;

export const isUnknownTransaction = ({ message }: ServerError): boolean =>
  unknownTransaction.test(message);

export interface Priority {
  /** One of very many: it is sent after all urgent requests, and paced at a public server. */
  readonly bulk?: boolean;
}

export interface Call<T> extends Priority {
  readonly method: Method;
  readonly params: readonly unknown[];
  /** Reads the result. An error with the code `invalid` ends the session. */
  readonly parse: (result: unknown) => T;
  /** The response is certainly longer than what ElectrumX delays (see fillers.ts). */
  readonly large?: boolean;
  /** The result has all parts of a transaction. */
  readonly verbose?: boolean;
  readonly headers?: number;
}

/** A request as the channel sends it. */
export interface Request extends Billable {
  /** ASCII. Empty once it is sent, because thousands of requests may be in flight. */
  text: string;
  readonly id: number;
  readonly large: boolean;
  readonly verbose: boolean;
  /** The scripthash or txid that the request is about. */
  readonly subject: string | undefined;
  /** Reads the response and returns what settles the promise. @throws PaygateError invalid */
  readonly read: (response: RpcResponse) => () => void;
  readonly reject: (error: PaygateError) => void;
  /** Monotonic; 0 until it is sent. */
  sentAt: number;
  isOverdue: boolean;
}

export function requestOf<T>(
  id: number,
  { method, params, parse, ...call }: Call<T>,
  resolve: (value: T) => void,
  reject: (error: PaygateError) => void,
): Request {
  const { large = false, bulk = false, verbose = false, headers = 0 } = call;
  return {
    id,
    method,
    large,
    bulk,
    verbose,
    headers,
    reject,
    subject: subjectOf(params),
    text: encodeRequest(id, method, params),
    read(response) {
      if (response.kind === 'error') {
        const error = new ServerError(response.code, response.text, method);
        return () => reject(error);
      }
      const value = parse(response.result);
      return () => resolve(value);
    },
    sentAt: 0,
    isOverdue: false,
  };
}

/** A longer text is a raw transaction. */
function subjectOf([first]: readonly unknown[]): string | undefined {
  return typeof first === 'string' && first.length <= maxScripthashLength ? first : undefined;
}

/** The requests that were sent and not answered, in the order in which they were sent. */
export class InFlight implements Expectations {
  readonly #requests = new Map<number, Request>();
  #bulkCount = 0;

  get size(): number {
    return this.#requests.size;
  }

  get bulkCount(): number {
    return this.#bulkCount;
  }

  get expectsLongResponse(): boolean {
    return this.all().some(({ method }) => methodsWithLongResponse.has(method));
  }

  get expectsVerboseTransaction(): boolean {
    return this.all().some(({ verbose }) => verbose);
  }

  all(): Request[] {
    return [...this.#requests.values()];
  }

  has(id: number): boolean {
    return this.#requests.has(id);
  }

  get(id: number): Request | undefined {
    return this.#requests.get(id);
  }

  add(request: Request): void {
    this.#requests.set(request.id, request);
    if (request.bulk) this.#bulkCount += 1;
  }

  delete(request: Request): void {
    this.#requests.delete(request.id);
    if (request.bulk) this.#bulkCount -= 1;
  }

  /** The requests whose deadline has not passed. */
  *awaited(): Generator<Request, void> {
    for (const request of this.#requests.values()) if (!request.isOverdue) yield request;
  }

  clear(): void {
    this.#requests.clear();
    this.#bulkCount = 0;
  }
}

/** How many requests the in-flight limit allows now. */
export interface Room {
  readonly total: number;
  readonly bulk: number;
  /** Bulk requests that are sent together, when the budget paces them. */
  readonly bulkTogether: number;
}

/** A first-in, first-out queue whose front is taken without moving the other items each time. */
class Fifo<T> {
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
    if (this.#taken > maxTakenItems || this.length === 0) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}

/**
 * Requests that are not yet sent, in order within two classes. Urgent requests go first; bulk
 * requests use what is left of the in-flight limit. Neither goes faster than the budget allows. The
 * queue refuses what is too much; it never drops what it has accepted.
 */
export class SendQueue<T extends Billable> {
  readonly #urgent = new Fifo<T>();
  readonly #bulk = new Fifo<T>();
  #unsentCharacters = 0;
  /** Undefined until the server is known. */
  budget: Budget | undefined;

  get length(): number {
    return this.#urgent.length + this.#bulk.length;
  }

  get bulkCount(): number {
    return this.#bulk.length;
  }

  /** Returns false, and does not accept the request, when too much waits already. */
  add(request: T): boolean {
    if (this.#unsentCharacters + request.text.length > maxUnsentCharacters) return false;
    this.#unsentCharacters += request.text.length;
    (request.bulk ? this.#bulk : this.#urgent).push(request);
    return true;
  }

  take({ total, bulk, bulkTogether }: Room): T[] {
    const taken: T[] = [];
    for (let next = this.#urgent.first; next && taken.length < total; next = this.#urgent.first) {
      if (this.#waitMs(next, bulkTogether) > 0) return taken;
      taken.push(this.#send(this.#urgent));
    }
    const left = Math.min(total - taken.length, bulk, this.#bulk.length);
    const { first } = this.#bulk;
    if (first === undefined || left <= 0 || this.#waitMs(first, bulkTogether) > 0) return taken;
    for (let count = 0; count < left; count += 1) taken.push(this.#send(this.#bulk));
    return taken;
  }

  /** Milliseconds until the budget allows the next request; 0 when it does now or nothing waits. */
  waitMs(bulkTogether: number): number {
    const request = this.#urgent.first ?? this.#bulk.first;
    return request === undefined ? 0 : this.#waitMs(request, bulkTogether);
  }

  *drain(): Generator<T, void> {
    for (;;) {
      const request = this.#shift(this.#urgent) ?? this.#shift(this.#bulk);
      if (request === undefined) return;
      yield request;
    }
  }

  #send(queue: Fifo<T>): T {
    const request = this.#shift(queue) as T;
    this.budget?.sent(request);
    return request;
  }

  #shift(queue: Fifo<T>): T | undefined {
    const request = queue.shift();
    this.#unsentCharacters -= request?.text.length ?? 0;
    return request;
  }

  /** Bulk requests are sent together, because each write to an ElectrumX costs a filler. */
  #waitMs(request: T, bulkTogether: number): number {
    const count = request.bulk ? Math.min(bulkTogether, this.#bulk.length) : 1;
    return this.budget?.waitMs(request, count) ?? 0;
  }
}
