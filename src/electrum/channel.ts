// Requests and answers over one socket: ids, a bounded window of requests in flight (the others wait in
// requests.ts), a deadline for each, one write for each turn of the event loop. It ends once, with a reason,
// on: the socket's end, anything the protocol does not allow, a server that no longer answers
// or leaves too much unanswered (liveness.ts). From then on nothing is delivered.

import type { Socket } from 'node:net';
import { PaygateError } from '../lib/errors.ts';
import type { Cancel, World } from '../world/world.ts';
import type { Budget } from './budget.ts';
import { createFiller, type Filler } from './fillers.ts';
import { type Answer, Inflow, invalid, LongLine, type Message } from './framing.ts';
import { Deadlines, Pulse, Unanswered } from './liveness.ts';
import { at, blame, type Closings, closed, failureOf, silent } from './refusals.ts';
import { type Call, Overdue, type Request, requestOf, SendQueue } from './requests.ts';
import { type Method, methods } from './wire.ts';

const { history, transaction, headers, broadcast } = methods;
/** Of a broadcast as well: an ElectrumX that refuses a transaction repeats the whole of it. */
const longAnswers = new Set<Method>([history, transaction, headers, broadcast]);
/** Places that mass requests leave free, so that no urgent one waits for them. */
const urgentPlaces = 2;
/** A chunk can hold a thousand: others have their turn between them. */
const messagesATurn = 25;

export interface ChannelOptions {
  readonly world: Pick<World, 'monotonic' | 'after'>;
  readonly socket: Socket;
  /** Requests in flight at once. */
  readonly window: number;
  /** From the sending of a request to its answer. */
  readonly requestTimeoutMs: number;
  readonly closings: Closings;
  /** What asks for an answer where nothing else does. */
  readonly ping: () => Call<unknown>;
  /** Reads a notification and returns its delivery; what it throws as `invalid` ends the channel. */
  readonly onNotice: (method: string, params: readonly unknown[]) => () => void;
  readonly onEnd: (reason: string) => void;
}

export class Channel {
  readonly #options: ChannelOptions;
  readonly #inflow: Inflow;
  readonly #waiting = new SendQueue<Request>();
  readonly #inFlight = new Map<number, Request>();
  #outgoing = '';
  #cancelPace: Cancel = () => {};
  #flushing = false;
  #places: number;
  #lastId = 0;
  #bulkInFlight = 0;
  readonly #deadlines: Deadlines;
  readonly #pulse: Pulse;
  readonly #unanswered: Unanswered;
  #filler: Filler | undefined;
  #fillerId = 0;
  #fillersSent = 0;
  #endReason: string | undefined;

  constructor(options: ChannelOptions) {
    const { socket, world, window, requestTimeoutMs: timeoutMs } = options;
    this.#options = options;
    this.#places = window;
    const { bulkPlaces } = this;
    const end = (reason: string) => this.end(at(reason, [...this.#inFlight.values()]));
    this.#unanswered = new Unanswered({ world, places: window, bulkPlaces, end });
    this.#inflow = new Inflow(
      world,
      () => this.#isOut(({ method }) => longAnswers.has(method)),
      () => this.#isOut(({ described }) => described),
    );
    const expire = (request: Request) => this.#expire(request);
    this.#deadlines = new Deadlines({ world, timeoutMs, inFlight: this.#inFlight, expire });
    this.#pulse = new Pulse({
      world,
      ping: () => this.#ping(),
      dead: () => this.#left(silent),
    });
    socket.on('data', (chunk: Uint8Array) => this.#receive(chunk));
    socket.on('error', (error) => this.#left(failureOf(error)));
    socket.on('close', () => this.#left(closed));
    // It may have been lost between its opening and now.
    if (socket.destroyed) this.end(closed);
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
    return this.#waiting.bulkCount;
  }

  /** How long it must be left alone before anything more may be asked, or mass requests; see budget.ts. */
  spentMs(bulk: boolean): number {
    return this.#waiting.budget?.spentMs(bulk) ?? 0;
  }

  /** Places for mass requests. */
  get bulkPlaces(): number {
    return Math.max(1, this.#places - urgentPlaces);
  }

  /** Whether the server would hold back a small answer to the next request, which nothing is beside. */
  get holdsBack(): boolean {
    return this.#filler !== undefined && this.#asked() + this.#waiting.length === 0;
  }

  /** Rejects with `unavailable` when overdue or when the channel ends, with ServerError when refused. */
  request<T>(call: Call<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(requestOf(this.#newId(), call, resolve, reject));
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
        const filler = requestOf(this.#newId(), makeCall(), answered, () => {});
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
    this.#deadlines.stop();
    this.#filler?.stop();
    this.#options.socket.destroy();
    this.#inflow.clear();
    this.#unanswered.stop();
    const error = unavailable(reason);
    const left = [...this.#inFlight.values(), ...this.#waiting.drain()];
    for (const request of left) request.reject(error);
    this.#inFlight.clear();
    this.#options.onEnd(reason);
  }

  /** By the server, which names no reason: what it was asked may be one. */
  #left(reason: string): void {
    if (this.#endReason !== undefined) return;
    // What is overdue is not what it worked on last.
    const asked = [...this.#inFlight.values()].sort(
      (a, b) => Number(a.overdue) - Number(b.overdue),
    );
    this.#options.closings.closed(asked);
    this.end(at(reason, asked));
  }

  #newId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #add(request: Request): void {
    const refusal = this.#options.closings.refusalOf(request);
    if (this.#endReason !== undefined) request.reject(unavailable(this.#endReason));
    else if (refusal !== undefined) request.reject(refusal);
    else if (this.#waiting.add(request)) this.#wake();
    else request.reject(unavailable('too many requests wait for this server'));
  }

  #wake(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#endReason !== undefined) return;
    const bulk = this.bulkPlaces - this.#bulkInFlight;
    const places = { all: this.#places - this.#asked(), bulk, atOnce: this.bulkPlaces };
    const taken = this.#waiting.take(places);
    for (const request of taken) this.#put(request);
    this.#pace();
    if (taken.some(({ large }) => large)) this.#filler?.largeSent();
    else if (taken.length > 0) this.#filler?.smallSent();
    if (this.#outgoing !== '') this.#options.socket.write(this.#outgoing, 'latin1');
    this.#outgoing = '';
  }

  /** Comes back when the budget allows more. */
  #pace(): void {
    this.#cancelPace();
    const waitMs = this.#waiting.waitMs(this.bulkPlaces);
    if (waitMs > 0) this.#cancelPace = this.#options.world.after(waitMs, () => this.#wake());
  }

  /** Places that are taken, a filler's aside. */
  #asked(): number {
    return this.#inFlight.size - (this.#inFlight.has(this.#fillerId) ? 1 : 0);
  }

  #put(request: Request): void {
    this.#inFlight.set(request.id, request);
    if (request.bulk) this.#bulkInFlight += 1;
    request.sentAt = this.#options.world.monotonic();
    this.#outgoing += request.text;
    request.text = '';
    this.#deadlines.sent();
  }

  /** It keeps its place until it is answered, so that the server is not asked ever more. */
  #expire(request: Request): void {
    request.overdue = true;
    request.reject(new Overdue(request.method));
    this.#unanswered.overdue(request.bulk);
    if (this.#waiting.length > 0) this.#wake();
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
      if (error instanceof LongLine) blame(error, this.#inFlight.values());
      this.end(error.message);
      return undefined;
    }
  }

  #read(message: Message): () => void {
    return message.kind === 'notification'
      ? this.#options.onNotice(message.method, message.params)
      : this.#answer(message);
  }

  #answer(answer: Answer): () => void {
    const request = this.#inFlight.get(answer.id);
    if (request === undefined) throw invalid('an answer to a request that was not made');
    if (answer.kind === 'error') this.#waiting.budget?.refused();
    // Its caller was told long ago; but a filler's server is one that answers again.
    const isMissed = request.overdue && request.id !== this.#fillerId;
    // In flight until it is read: what breaks the protocol ends all that is.
    const deliver = isMissed ? () => {} : request.read(answer);
    this.#settle(request);
    return deliver;
  }

  #settle(request: Request): void {
    const { id, bulk, overdue, sentAt, large } = request;
    this.#options.closings.answered(request);
    this.#inFlight.delete(id);
    if (bulk) this.#bulkInFlight -= 1;
    if (overdue) this.#unanswered.answeredLate(bulk);
    else this.#pulse.answered(sentAt, !large);
    if (this.#waiting.length > 0) this.#wake();
  }

  #isOut(isSuch: (request: Request) => boolean): boolean {
    return [...this.#inFlight.values()].some(isSuch);
  }

  /** Past the queue and its budget: it must not wait for what it asks about. */
  #ping(): void {
    const nobody = (): void => {};
    this.#put(requestOf(this.#newId(), this.#options.ping(), nobody, nobody));
    this.#filler?.smallSent();
    this.#wake();
  }
}

const unavailable = (reason: string): PaygateError => new PaygateError('unavailable', reason);
