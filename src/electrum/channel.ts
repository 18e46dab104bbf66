// Requests and answers over one socket: ids, a bounded window of requests in flight (the others wait in
// queue.ts), a deadline for each, one write for each turn of the event loop. It ends once, with a reason,
// on: the socket's end, anything the protocol does not allow, a server that no longer answers
// (pulse.ts), or as many overdue requests as there are places. From then on nothing is delivered.

import type { Socket } from 'node:net';
import { PaygateError, reasonOf } from '../errors.ts';
import type { Cancel, World } from '../world.ts';
import type { Budget, Priced } from './budget.ts';
import { createFiller, type Filler } from './filler.ts';
import { encodeRequest, invalid, type Message, ServerError } from './framing.ts';
import { Inflow } from './inflow.ts';
import { MassWindow } from './mass-window.ts';
import { Pulse } from './pulse.ts';
import { SendQueue } from './queue.ts';
import { type Method, methods } from './wire.ts';

const longAnswers = new Set<Method>([methods.history, methods.transaction, methods.headers]);
/** Places that mass requests leave free, so that no urgent one waits for them. */
const urgentPlaces = 2;
/** One can come with a thousand answers in one piece: others have their turn between them. */
const messagesATurn = 25;

export interface ChannelOptions {
  readonly world: Pick<World, 'monotonic' | 'after'>;
  readonly socket: Socket;
  /** Requests in flight at once. */
  readonly window: number;
  /** From the sending of a request to its answer. */
  readonly requestTimeoutMs: number;
  /** Reads a notification and returns its delivery; what it throws as `invalid` ends the channel. */
  readonly onNotice: (method: string, params: readonly unknown[]) => () => void;
  readonly onEnd: (reason: string) => void;
}

export interface Call<T> {
  readonly method: Method;
  readonly params: readonly unknown[];
  /** Reads the answer; what it throws as `invalid` ends the channel. */
  readonly parse: (result: unknown) => T;
  /** The answer is surely too long to be held back (see filler.ts). */
  readonly large?: boolean;
  /** One of very many: it goes out after all others, and no faster than the server likes. */
  readonly bulk?: boolean;
  /** A mass request that costs the server next to nothing: a wide window of these may be in flight. */
  readonly light?: boolean;
  /** The answer is a transaction taken apart. */
  readonly described?: boolean;
  /** How many headers are asked for. */
  readonly headers?: number;
}

interface Request extends Priced {
  readonly id: number;
  readonly large: boolean;
  readonly described: boolean;
  /** Reads the answer and returns its delivery. */
  readonly read: (result: unknown) => () => void;
  readonly reject: (error: PaygateError) => void;
  /** Monotonic; of what has been sent. */
  sentAt: number;
  overdue: boolean;
}

export class Channel {
  readonly #options: ChannelOptions;
  readonly #inflow: Inflow;
  readonly #waiting = new SendQueue<Request>();
  readonly #inFlight = new Map<number, Request>();
  #outgoing: string[] = [];
  #cancelPace: Cancel = () => {};
  /** While one runs, for the oldest request of when it was set. */
  #cancelDeadline: Cancel | undefined;
  #flushing = false;
  #places: number;
  #lastId = 0;
  #overdue = 0;
  #bulkInFlight = 0;
  readonly #pulse: Pulse;
  readonly #mass: MassWindow;
  #filler: Filler | undefined;
  #fillerId = 0;
  #fillersSent = 0;
  #endReason: string | undefined;

  constructor(options: ChannelOptions) {
    const { socket, world, window } = options;
    this.#options = options;
    this.#places = window;
    this.#mass = new MassWindow(Math.max(1, window - urgentPlaces));
    this.#inflow = new Inflow(
      world,
      () => this.#isOut(({ method }) => longAnswers.has(method)),
      () => this.#isOut(({ described }) => described),
    );
    this.#pulse = new Pulse({
      world,
      ping: () => this.#ping(),
      dead: () => this.end('the server is silent'),
    });
    socket.on('data', (chunk: Uint8Array) => this.#receive(chunk));
    socket.on('error', (error) => this.end(`the connection failed: ${reasonOf(error)}`));
    socket.on('close', () => this.end('the server closed the connection'));
    // It may have been lost between its opening and now.
    if (socket.destroyed) this.end('the server closed the connection');
  }

  /** Why it has ended; undefined while it lives. */
  get endReason(): string | undefined {
    return this.#endReason;
  }

  get window(): number {
    return this.#options.window;
  }

  get fillersSent(): number {
    return this.#fillersSent;
  }

  /** How long the server takes for a small request, smoothed; undefined before the first answer. */
  get latencyMs(): number | undefined {
    return this.#pulse.latencyMs;
  }

  /** Mass requests that are not yet sent. */
  get bulkWaiting(): number {
    return this.#waiting.bulkLength;
  }

  /** Whether the server would hold back a small answer to the next request, which nothing is beside. */
  get holdsBack(): boolean {
    return this.#filler !== undefined && this.#asked() + this.#waiting.length === 0;
  }

  /** Rejects with `unavailable` when overdue or when the channel ends, with ServerError when refused. */
  request<T>(call: Call<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#endReason !== undefined) return reject(unavailable(this.#endReason));
      const request = this.#build(call, resolve, reject);
      if (!this.#waiting.add(request)) {
        return reject(unavailable('too many requests wait for this server'));
      }
      this.#wake();
    });
  }

  /** From now on requests are paced; without one a server is asked as fast as it answers. */
  useBudget(budget: Budget): void {
    this.#waiting.budget = budget;
  }

  /** From now on fillers follow small requests; one place of the window is theirs. */
  useFiller(makeCall: () => Call<unknown>): void {
    this.#places = Math.max(1, this.#options.window - 1);
    this.#filler = createFiller(
      this.#options.world,
      () => {
        const answered = (): void => this.#filler?.answered();
        const filler = this.#build(makeCall(), answered, () => {});
        this.#fillerId = filler.id;
        this.#fillersSent++;
        this.#waiting.budget?.sent(filler);
        this.#put(filler);
        this.#wake();
      },
      () => this.#asked() > 0,
    );
  }

  end(reason: string): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#pulse.stop();
    this.#cancelPace();
    this.#cancelDeadline?.();
    this.#filler?.stop();
    this.#options.socket.destroy();
    this.#inflow.clear();
    const error = unavailable(reason);
    for (const request of [...this.#inFlight.values(), ...this.#waiting.drain()]) {
      request.reject(error);
    }
    this.#inFlight.clear();
    this.#options.onEnd(reason);
  }

  #build<T>(
    { method, params, parse, ...call }: Call<T>,
    resolve: (value: T) => void,
    reject: (error: PaygateError) => void,
  ): Request {
    const id = ++this.#lastId;
    const { large = false, bulk = false, light = false, described = false, headers = 0 } = call;
    return {
      id,
      method,
      text: encodeRequest(id, method, params),
      large,
      bulk,
      light,
      described,
      headers,
      read: (result) => {
        const value = parse(result);
        return () => resolve(value);
      },
      reject,
      sentAt: 0,
      overdue: false,
    };
  }

  #wake(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#endReason !== undefined) return;
    // Who paces requests by a budget has no use for more at once.
    const extra = this.#waiting.budget === undefined ? this.#mass.extra : 0;
    const bulkPlaces = Math.max(1, this.#places - urgentPlaces);
    const bulkFree = bulkPlaces - this.#bulkInFlight;
    const free = this.#places + extra - this.#asked();
    const batch = this.#waiting.take(free, {
      heavy: Math.min(bulkFree, messagesATurn),
      light: Math.min(bulkFree + extra, messagesATurn),
      batch: bulkPlaces,
    });
    for (const request of batch) this.#put(request);
    this.#pace(bulkPlaces);
    if (batch.length > 0 && this.#waiting.length > 0) this.#wake();
    if (batch.some(({ large }) => large)) this.#filler?.largeSent();
    else if (batch.length > 0) this.#filler?.smallSent();
    if (this.#outgoing.length > 0) this.#options.socket.write(this.#outgoing.join(''));
    this.#outgoing = [];
  }

  /** Comes back when the budget allows more. */
  #pace(batch: number): void {
    this.#cancelPace();
    const waitMs = this.#waiting.waitMs(batch);
    if (waitMs > 0) this.#cancelPace = this.#options.world.after(waitMs, () => this.#wake());
  }

  /** Requests in flight, a filler aside. */
  #asked(): number {
    return this.#inFlight.size - (this.#inFlight.has(this.#fillerId) ? 1 : 0);
  }

  #put(request: Request): void {
    this.#inFlight.set(request.id, request);
    if (request.bulk) this.#bulkInFlight++;
    request.sentAt = this.#options.world.monotonic();
    this.#outgoing.push(request.text);
    if (this.#cancelDeadline === undefined) this.#awaitDeadline();
  }

  /** All have the same time: the first in flight is the first that is due, and one timer does for thousands. */
  #awaitDeadline(): void {
    const { world, requestTimeoutMs } = this.#options;
    const [first] = this.#awaited();
    if (first === undefined) {
      this.#cancelDeadline = undefined;
      return;
    }
    const leftMs = first.sentAt + requestTimeoutMs - world.monotonic();
    this.#cancelDeadline = world.after(leftMs, () => {
      const since = world.monotonic() - requestTimeoutMs;
      for (const request of this.#awaited()) {
        if (request.sentAt > since) break;
        this.#expire(request);
      }
      this.#awaitDeadline();
    });
  }

  *#awaited(): Generator<Request, void> {
    for (const request of this.#inFlight.values()) if (!request.overdue) yield request;
  }

  /** It keeps its place until it is answered, so that the server is not asked ever more. */
  #expire(request: Request): void {
    request.overdue = true;
    request.reject(unavailable('the server did not answer in time'));
    this.#overdue++;
    if (this.#overdue >= this.#places) this.end('the server has stopped answering');
  }

  #receive(chunk: Uint8Array): void {
    this.#waiting.budget?.received(chunk.length);
    this.#deliver(this.#inflow.push(chunk));
  }

  /** So many in a turn of the event loop; nothing more is read before all are delivered. */
  #deliver(messages: Iterator<Message, void>): void {
    const { socket } = this.#options;
    for (let left = messagesATurn; left > 0 && this.#endReason === undefined; left -= 1) {
      const deliver = this.#next(messages);
      if (deliver === undefined) return void socket.resume();
      deliver();
    }
    if (this.#endReason !== undefined) return;
    socket.pause();
    setImmediate(() => this.#deliver(messages));
  }

  /** Reads one message and returns its delivery. Only reading may fail: a fault in a delivery is a bug. */
  #next(messages: Iterator<Message, void>): (() => void) | undefined {
    try {
      const message = messages.next();
      return message.done ? undefined : this.#read(message.value);
    } catch (error) {
      if (!(error instanceof PaygateError)) throw error;
      this.end(error.message);
      return undefined;
    }
  }

  #read(message: Message): () => void {
    if (message.kind === 'notification') {
      return this.#options.onNotice(message.method, message.params);
    }
    const request = this.#inFlight.get(message.id);
    if (request === undefined) throw invalid('an answer to a request that was not made');
    const deliver = this.#answer(request, message);
    this.#settle(request);
    if (this.#waiting.length > 0) this.#wake();
    return deliver;
  }

  #isOut(isSuch: (request: Request) => boolean): boolean {
    return [...this.#inFlight.values()].some(isSuch);
  }

  #settle(request: Request): void {
    this.#inFlight.delete(request.id);
    if (request.bulk) this.#bulkInFlight--;
    if (request.overdue) this.#overdue--;
    else this.#pulse.answered(request.sentAt, !request.large);
  }

  #answer(request: Request, answer: Exclude<Message, { kind: 'notification' }>): () => void {
    if (answer.kind === 'error') this.#waiting.budget?.refused();
    else if (request.light) this.#mass.answered(this.#options.world.monotonic() - request.sentAt);
    // Its caller was told long ago; but a filler's server is one that answers again.
    if (request.overdue && request.id !== this.#fillerId) return () => {};
    if (answer.kind === 'result') return request.read(answer.result);
    return () => request.reject(new ServerError(answer.code, answer.text));
  }

  /** Past the queue and its budget: it must not wait for what it asks about. */
  #ping(): void {
    const nobody = (): void => {};
    this.#put(this.#build({ method: methods.ping, params: [], parse: nobody }, nobody, nobody));
    this.#filler?.smallSent();
    this.#wake();
  }
}

const unavailable = (reason: string): PaygateError => new PaygateError('unavailable', reason);
