// Requests and answers over one socket: ids, a bounded window of requests in flight (first in, first
// out beyond it), a deadline for each, a ping into silence, one write for each turn of the event loop.
// It ends once, with a reason, on: the socket's end, anything the protocol does not allow, silence after
// a ping, or as many overdue requests as there are places. From then on nothing is delivered.

import type { Socket } from 'node:net';
import { PaygateError, reasonOf } from '../errors.ts';
import type { Cancel, World } from '../world.ts';
import { createFiller, type Filler } from './filler.ts';
import {
  encodeRequest,
  invalid,
  LineFramer,
  type Message,
  parseMessage,
  ServerError,
} from './framing.ts';
import { type Method, methods } from './wire.ts';

const pingAfterMs = 30_000;
const deadAfterMs = 15_000;
/** Two of the largest transactions, in hex. */
const maxUnsentCharacters = 16_000_000;

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
}

interface Request {
  readonly id: number;
  readonly text: string;
  readonly large: boolean;
  /** Reads the answer and returns its delivery. */
  readonly read: (result: unknown) => () => void;
  readonly reject: (error: PaygateError) => void;
  overdue: boolean;
  cancelDeadline: Cancel;
}

export class Channel {
  readonly #options: ChannelOptions;
  #framer = new LineFramer();
  readonly #waiting: Request[] = [];
  readonly #inFlight = new Map<number, Request>();
  #outgoing: string[] = [];
  #unsentCharacters = 0;
  #flushing = false;
  #places: number;
  #lastId = 0;
  #overdue = 0;
  #heardAt: number;
  #cancelSilence: Cancel = () => {};
  #filler: Filler | undefined;
  #fillerId = 0;
  #fillersSent = 0;
  #endReason: string | undefined;

  constructor(options: ChannelOptions) {
    const { socket, world, window } = options;
    this.#options = options;
    this.#places = window;
    this.#heardAt = world.monotonic();
    socket.on('data', (chunk: Uint8Array) => this.#receive(chunk));
    socket.on('error', (error) => this.end(`the connection failed: ${reasonOf(error)}`));
    socket.on('close', () => this.end('the server closed the connection'));
    // It may have been lost between its opening and now.
    if (socket.destroyed) this.end('the server closed the connection');
    else this.#listen();
  }

  /** Why it has ended; undefined while it lives. */
  get endReason(): string | undefined {
    return this.#endReason;
  }

  get fillersSent(): number {
    return this.#fillersSent;
  }

  /** Rejects with `unavailable` when overdue or when the channel ends, with ServerError when refused. */
  request<T>(call: Call<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#endReason !== undefined) return reject(unavailable(this.#endReason));
      const request = this.#build(call, resolve, reject);
      if (this.#unsentCharacters + request.text.length > maxUnsentCharacters) {
        return reject(unavailable('too many requests wait for this server'));
      }
      this.#unsentCharacters += request.text.length;
      this.#waiting.push(request);
      this.#wake();
    });
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
        this.#put(filler);
        this.#wake();
      },
      () => this.#asked() > 0,
    );
  }

  end(reason: string): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#cancelSilence();
    this.#filler?.stop();
    this.#options.socket.destroy();
    // The old one may hold megabytes of an unfinished line.
    this.#framer = new LineFramer();
    const error = unavailable(reason);
    for (const request of [...this.#inFlight.values(), ...this.#waiting]) {
      request.cancelDeadline();
      request.reject(error);
    }
    this.#inFlight.clear();
    this.#waiting.length = 0;
    this.#options.onEnd(reason);
  }

  #build<T>(
    { method, params, parse, large = false }: Call<T>,
    resolve: (value: T) => void,
    reject: (error: PaygateError) => void,
  ): Request {
    const id = ++this.#lastId;
    return {
      id,
      text: encodeRequest(id, method, params),
      large,
      read: (result) => {
        const value = parse(result);
        return () => resolve(value);
      },
      reject,
      overdue: false,
      cancelDeadline: () => {},
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
    const batch = this.#waiting.splice(0, Math.max(0, this.#places - this.#asked()));
    for (const request of batch) {
      this.#unsentCharacters -= request.text.length;
      this.#put(request);
    }
    if (batch.length > 0 && !batch.some(({ large }) => large)) this.#filler?.smallSent();
    if (this.#outgoing.length === 0) return;
    this.#options.socket.write(this.#outgoing.join(''));
    this.#outgoing = [];
  }

  /** Requests in flight, a filler aside. */
  #asked(): number {
    return this.#inFlight.size - (this.#inFlight.has(this.#fillerId) ? 1 : 0);
  }

  #put(request: Request): void {
    this.#inFlight.set(request.id, request);
    this.#outgoing.push(request.text);
    request.cancelDeadline = this.#options.world.after(this.#options.requestTimeoutMs, () =>
      this.#expire(request),
    );
  }

  /** It keeps its place until it is answered, so that the server is not asked ever more. */
  #expire(request: Request): void {
    request.overdue = true;
    request.reject(unavailable('the server did not answer in time'));
    this.#overdue++;
    if (this.#overdue >= this.#places) this.end('the server has stopped answering');
  }

  #receive(chunk: Uint8Array): void {
    this.#heardAt = this.#options.world.monotonic();
    const lines = this.#framer.push(chunk);
    while (this.#endReason === undefined) {
      const deliver = this.#next(lines);
      if (deliver === undefined) return;
      deliver();
    }
  }

  /** Reads one line and returns its delivery. Only reading may fail: a fault in a delivery is a bug. */
  #next(lines: Iterator<string, void>): (() => void) | undefined {
    try {
      const line = lines.next();
      return line.done ? undefined : this.#read(parseMessage(line.value));
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
    this.#inFlight.delete(message.id);
    request.cancelDeadline();
    if (request.overdue) this.#overdue--;
    if (this.#waiting.length > 0) this.#wake();
    return deliver;
  }

  #answer(request: Request, answer: Exclude<Message, { kind: 'notification' }>): () => void {
    // Its caller was told long ago.
    if (request.overdue) return () => {};
    if (answer.kind === 'result') return request.read(answer.result);
    return () => request.reject(new ServerError(answer.code, answer.text));
  }

  #listen(): void {
    const { world } = this.#options;
    const silentMs = world.monotonic() - this.#heardAt;
    if (silentMs < pingAfterMs) {
      this.#cancelSilence = world.after(pingAfterMs - silentMs, () => this.#listen());
      return;
    }
    const pingedAt = world.monotonic();
    // Whether anything is heard decides, not this answer.
    this.request({ method: methods.ping, params: [], parse: () => undefined }).catch(() => {});
    this.#cancelSilence = world.after(deadAfterMs, () => {
      if (this.#heardAt < pingedAt) this.end('the server is silent');
      else this.#listen();
    });
  }
}

const unavailable = (reason: string): PaygateError => new PaygateError('unavailable', reason);
