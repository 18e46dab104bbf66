// Requests and responses over one socket: ids, the in-flight limit, deadlines, one write for each
// turn of the event loop. It ends once, with a reason: when the socket ends, when the server breaks
// the protocol, or when it no longer answers (liveness.ts). After its end nothing is delivered.

import type { Socket } from 'node:net';
import { PaygateError } from '../lib/errors.ts';
import type { Cancel, World } from '../world/world.ts';
import type { Budget } from './budget.ts';
import { Fillers } from './fillers.ts';
import {
  invalid,
  LineTooLong,
  MessageReader,
  type RpcMessage,
  type RpcResponse,
} from './framing.ts';
import { Liveness } from './liveness.ts';
import {
  closedReason,
  type Refusals,
  silentReason,
  socketFailure,
  withMethods,
} from './refusals.ts';
import {
  type Call,
  InFlight,
  type Request,
  RequestTimeout,
  requestOf,
  SendQueue,
} from './requests.ts';
import { methods } from './wire.ts';

/** Part of the in-flight limit that bulk requests leave free, so that no urgent request waits. */
const reservedForUrgent = 2;
/** Messages delivered in one turn of the event loop: a chunk can hold a thousand. */
const maxMessagesPerTurn = 25;

export const pingCall: Call<void> = { method: methods.ping, params: [], parse: () => {} };
/** Asked instead of a ping, where a server closes the connection at that. */
const headerCall: Call<void> = { method: methods.headers, params: [0, 1], parse: () => {} };

export interface ChannelOptions {
  readonly world: Pick<World, 'monotonic' | 'after'>;
  readonly socket: Socket;
  readonly maxInFlight: number;
  /** From the sending of a request to its deadline. */
  readonly requestTimeoutMs: number;
  readonly refusals: Refusals;
  readonly notifications: NotificationReader;
}

export interface NotificationReader {
  /**
   * Reads a notification and returns its delivery. An error with the code `invalid` ends the
   * channel.
   */
  read(method: string, params: readonly unknown[]): () => void;
}

export class Channel {
  readonly #options: ChannelOptions;
  readonly #inFlight = new InFlight();
  readonly #queue = new SendQueue<Request>();
  readonly #reader: MessageReader;
  readonly #liveness: Liveness;
  readonly #endListeners: ((reason: string) => void)[] = [];
  #fillers: Fillers | undefined;
  #maxInFlight: number;
  #lastId = 0;
  #outgoing = '';
  #isFlushing = false;
  #cancelPacing: Cancel = () => {};
  #endReason: string | undefined;

  constructor(options: ChannelOptions) {
    const { socket, world, maxInFlight, requestTimeoutMs: timeoutMs } = options;
    this.#options = options;
    this.#maxInFlight = maxInFlight;
    this.#reader = new MessageReader(world, this.#inFlight);
    this.#liveness = new Liveness({
      world,
      timeoutMs,
      maxInFlight,
      inFlight: this.#inFlight,
      maxBulkInFlight: this.#maxBulkInFlight,
      events: {
        onTimeout: (request) => this.#timedOut(request),
        onPing: () => this.#ping(),
        onSilent: () => this.#lost(silentReason),
        onStalled: (reason) => this.end(withMethods(reason, this.#inFlight.all())),
      },
    });
    socket.on('data', (chunk: Uint8Array) => this.#receive(chunk));
    socket.on('error', (error) => this.#lost(socketFailure(error)));
    socket.on('close', () => this.#lost(closedReason));
    // The connection may have been lost between its opening and now.
    if (socket.destroyed) this.end(closedReason);
  }

  get endReason(): string | undefined {
    return this.#endReason;
  }

  get maxInFlight(): number {
    return this.#options.maxInFlight;
  }

  get fillersSent(): number {
    return this.#fillers?.sentCount ?? 0;
  }

  get latencyMs(): number | undefined {
    return this.#liveness.latencyMs;
  }

  get bulkWaiting(): number {
    return this.#queue.bulkCount;
  }

  /**
   * Whether the server would delay a small response, because the next request is the only one.
   */
  get holdsBack(): boolean {
    return this.#fillers !== undefined && this.#requestsInFlight() + this.#queue.length === 0;
  }

  /**
   * @throws PaygateError unavailable when the channel ends
   * @throws RequestTimeout after its deadline
   * @throws ServerError when the server refuses the request
   */
  request<T>(call: Call<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(requestOf(this.#newId(), call, resolve, reject));
    });
  }

  whenEnded(listener: (reason: string) => void): void {
    if (this.#endReason === undefined) this.#endListeners.push(listener);
    else listener(this.#endReason);
  }

  useBudget(budget: Budget): void {
    this.#queue.budget = budget;
  }

  /** Sends fillers behind small requests from now on. One of the requests in flight is a filler. */
  useFillers(makeCall: () => Call<unknown>): void {
    this.#maxInFlight = Math.max(1, this.#options.maxInFlight - 1);
    const fillers = new Fillers(this.#options.world, this.#inFlight, () => {
      const answered = (): void => fillers.answered();
      const filler = requestOf(this.#newId(), makeCall(), answered, () => {});
      this.#queue.budget?.sent(filler);
      this.#put(filler);
      this.#wake();
      return filler;
    });
    this.#fillers = fillers;
  }

  /** Rejects every request with the reason. */
  end(reason: string): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#cancelPacing();
    this.#liveness.stop();
    this.#fillers?.stop();
    this.#options.socket.destroy();
    this.#reader.clear();
    const error = unavailable(reason);
    for (const request of [...this.#inFlight.all(), ...this.#queue.drain()]) request.reject(error);
    this.#inFlight.clear();
    for (const listener of this.#endListeners) listener(reason);
  }

  /** The server ended the connection without a reason, which may be one of the requests. */
  #lost(reason: string): void {
    if (this.#endReason !== undefined) return;
    // The server did not work on an overdue request last.
    const unanswered = this.#inFlight
      .all()
      .sort((a, b) => Number(a.isOverdue) - Number(b.isOverdue));
    this.#options.refusals.closed(unanswered);
    this.end(withMethods(reason, unanswered));
  }

  get #maxBulkInFlight(): number {
    return Math.max(1, this.#maxInFlight - reservedForUrgent);
  }

  #newId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #add(request: Request): void {
    const refusal = this.#options.refusals.refusalOf(request);
    if (this.#endReason !== undefined) request.reject(unavailable(this.#endReason));
    else if (refusal !== undefined) request.reject(refusal);
    else if (this.#queue.add(request)) this.#wake();
    else request.reject(unavailable('too many requests wait for this server'));
  }

  #wake(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#endReason !== undefined) return;
    const maxBulk = this.#maxBulkInFlight;
    const taken = this.#queue.take({
      total: this.#maxInFlight - this.#requestsInFlight(),
      bulk: maxBulk - this.#inFlight.bulkCount,
      bulkTogether: maxBulk,
    });
    for (const request of taken) this.#put(request);
    this.#pace();
    this.#fillers?.sent(taken);
    if (this.#outgoing !== '') this.#options.socket.write(this.#outgoing, 'latin1');
    this.#outgoing = '';
  }

  #pace(): void {
    this.#cancelPacing();
    const waitMs = this.#queue.waitMs(this.#maxBulkInFlight);
    if (waitMs > 0) this.#cancelPacing = this.#options.world.after(waitMs, () => this.#wake());
  }

  #requestsInFlight(): number {
    return this.#inFlight.size - (this.#fillers?.inFlightCount ?? 0);
  }

  #put(request: Request): void {
    this.#inFlight.add(request);
    request.sentAt = this.#options.world.monotonic();
    this.#outgoing += request.text;
    request.text = '';
    this.#liveness.sent();
  }

  #timedOut(request: Request): void {
    request.reject(new RequestTimeout(request.method));
    if (this.#queue.length > 0) this.#wake();
  }

  #receive(chunk: Uint8Array): void {
    this.#queue.budget?.received(chunk.length);
    this.#deliver(this.#reader.push(chunk));
  }

  /** Delivers a few messages a turn. Nothing more is read before all of them are delivered. */
  #deliver(messages: Iterator<RpcMessage, void>): void {
    const { socket } = this.#options;
    for (let left = maxMessagesPerTurn; left > 0 && this.#endReason === undefined; left -= 1) {
      const deliver = this.#next(messages);
      if (deliver === undefined) return void socket.resume();
      deliver();
    }
    if (this.#endReason !== undefined) return;
    socket.pause();
    setImmediate(() => this.#deliver(messages));
  }

  /**
   * Reads one message and returns its delivery. Only reading may fail: a failed delivery is a bug.
   */
  #next(messages: Iterator<RpcMessage, void>): (() => void) | undefined {
    try {
      const message = messages.next();
      return message.done ? undefined : this.#read(message.value);
    } catch (error) {
      if (!(error instanceof PaygateError)) throw error;
      if (error instanceof LineTooLong) {
        this.#options.refusals.lineTooLong(error, this.#inFlight.all());
      }
      this.end(error.message);
      return undefined;
    }
  }

  #read(message: RpcMessage): () => void {
    return message.kind === 'notification'
      ? this.#options.notifications.read(message.method, message.params)
      : this.#readResponse(message);
  }

  #readResponse(response: RpcResponse): () => void {
    const request = this.#inFlight.get(response.id);
    if (request === undefined) throw invalid('an answer to a request that was not made');
    if (response.kind === 'error') this.#queue.budget?.refused();
    // A late response has no caller any more, but a late filler shows that the server answers
    // again.
    const isDropped = request.isOverdue && !this.#fillers?.isFiller(request);
    // It is still in flight here, because a violation rejects every request in flight.
    const deliver = isDropped ? () => {} : request.read(response);
    this.#options.refusals.answered(request);
    this.#inFlight.delete(request);
    this.#liveness.answered(request);
    if (this.#queue.length > 0) this.#wake();
    return deliver;
  }

  /** Bypasses the queue and its budget, because a ping must not wait for what it asks about. */
  #ping(): void {
    const call = this.#options.refusals.refuses(methods.ping) ? headerCall : pingCall;
    const request = requestOf(
      this.#newId(),
      call,
      () => {},
      () => {},
    );
    this.#put(request);
    this.#fillers?.sent([request]);
    this.#wake();
  }
}

const unavailable = (reason: string): PaygateError => new PaygateError('unavailable', reason);
