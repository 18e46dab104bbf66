// The Electrum line protocol without its connection: bytes in, messages out, requests to text. Pure.
// JSON-RPC, one message a line. Every bound on the form of what a server sends stands here; what breaks
// one is an `invalid` error, which ends the connection.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#message-stream

import { plainText } from '../domain/format.ts';
import { type Bucket, type Rate, takeToken } from '../domain/rate-limit.ts';
import { PaygateError } from '../lib/errors.ts';
import type { World } from '../world/world.ts';

/** A history of 90,000 transactions, or a transaction of 4 MB in hex, still fits. */
const maxLineBytes = 9_000_000;
/** What the protocol needs is 5 deep. */
const maxDepth = 16;
const maxErrorText = 200;
/** Bytes of a line that is too long: it may say there what it answers. */
const shownOfLong = 100;
/** A buffer that a long line has grown is let go after it. */
const keptBufferBytes = 64 * 1024;

const newline = 0x0a;

export type Answer =
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly code: number; readonly text: string };

export type Message =
  | Answer
  | {
      readonly kind: 'notification';
      readonly method: string;
      readonly params: readonly unknown[];
    };

/** A line that is longer than any that is read. */
export class LongLine extends PaygateError {
  /** How it begins. */
  readonly start: string;

  constructor(start: Uint8Array) {
    super('invalid', 'the server sent a line of more than 9 MB');
    this.start = Buffer.from(start.subarray(0, shownOfLong)).toString('latin1');
  }
}

/** Cuts a stream of bytes into lines of text; holds at most one unfinished line. */
export class LineFramer {
  #unfinished = new Uint8Array(0);
  #used = 0;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /**
   * Yields each line that these bytes complete, without its end; lines before a fault come out first.
   * @throws PaygateError invalid on an over-long line, a NUL or invalid UTF-8
   */
  *push(chunk: Uint8Array): Generator<string, void> {
    // Not as a Buffer, whose search and cut are slower.
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      yield this.#complete(bytes.subarray(start, end));
      start = end + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  #complete(end: Uint8Array): string {
    // Nearly every line arrives whole: it is read where it lies.
    if (this.#used === 0) {
      this.#check(end);
      return this.#decode(end);
    }
    this.#keep(end);
    const line = this.#decode(this.#unfinished.subarray(0, this.#used));
    this.#used = 0;
    if (this.#unfinished.length > keptBufferBytes) this.#unfinished = new Uint8Array(0);
    return line;
  }

  #keep(bytes: Uint8Array): void {
    this.#check(bytes);
    const needed = this.#used + bytes.length;
    if (needed > this.#unfinished.length) {
      const grown = new Uint8Array(Math.min(2 * needed, maxLineBytes));
      grown.set(this.#unfinished.subarray(0, this.#used));
      this.#unfinished = grown;
    }
    this.#unfinished.set(bytes, this.#used);
    this.#used = needed;
  }

  #check(bytes: Uint8Array): void {
    if (this.#used + bytes.length > maxLineBytes) {
      throw new LongLine(this.#used > 0 ? this.#unfinished : bytes);
    }
    if (bytes.includes(0)) throw invalid('a NUL byte');
  }

  #decode(line: Uint8Array): string {
    try {
      return this.#decoder.decode(line);
    } catch (cause) {
      throw new PaygateError('invalid', 'the server sent text that is not UTF-8', { cause });
    }
  }
}

/**
 * Reads one line as a message.
 * @throws PaygateError invalid when it is not a response or a notification of JSON-RPC
 */
export function parseMessage(line: string): Message {
  checkDepth(line);
  const message = parseJson(line);
  if (!isRecord(message)) throw invalid('a message that is not an object');
  const { id = null, method, params, error = null, result } = message;
  if (method !== undefined) {
    if (typeof method !== 'string' || !Array.isArray(params) || id !== null) {
      throw invalid('a message that is neither a response nor a notification');
    }
    return { kind: 'notification', method, params };
  }
  if (typeof id !== 'number') throw invalid('a response without a number as its id');
  // JSON-RPC 1.0 sends both members, the other one null.
  if (error !== null) return { kind: 'error', id, ...parseFault(error) };
  if (result === undefined) throw invalid('a response with neither result nor error');
  return { kind: 'result', id, result };
}

/** The text of one request, its line end included. */
export function encodeRequest(id: number, method: string, params: readonly unknown[]): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

export const invalid = (what: string): PaygateError =>
  new PaygateError('invalid', `the server sent ${what}`);

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Some servers send the message alone. */
function parseFault(error: unknown): { code: number; text: string } {
  const { code, message } = isRecord(error) ? error : { code: 0, message: error };
  return {
    code: typeof code === 'number' ? code : 0,
    text: plainText(typeof message === 'string' ? message : 'no message', maxErrorText),
  };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new PaygateError('invalid', 'the server sent a line that is not JSON', { cause });
  }
}

/** Before JSON.parse, whose stack and memory deep nesting would cost. */
function checkDepth(line: string): void {
  const firstEscape = line.indexOf('\\');
  const plainUntil = firstEscape === -1 ? line.length : firstEscape;
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    const character = line[at];
    if (character === '"') at = endOfText(line, at, plainUntil);
    else if (character === '[' || character === '{') {
      if (++depth > maxDepth) throw invalid('a message nested too deep');
    } else if (character === ']' || character === '}') depth--;
  }
}

/** Up to the first quote or backslash. */
const plainRun = /[^"\\]*/y;

/** Where the text ends whose opening quote is at a place: at its closing quote, or with the line. */
function endOfText(line: string, start: number, plainUntil: number): number {
  const end = line.indexOf('"', start + 1);
  if (end !== -1 && end < plainUntil) return end;
  plainRun.lastIndex = start + 1;
  plainRun.test(line);
  let at = plainRun.lastIndex;
  for (; at < line.length && line[at] !== '"'; at++) if (line[at] === '\\') at++;
  return at;
}

// What a server sends, cut into messages, and the bounds on what it sends unasked: a hostile one must
// cost neither memory nor time. Only an answer that may be long by nature may be; a line that grows long
// while none is awaited is a fault before it is read, and so is a stream of notifications without end.

/** The longest that any notification or ordinary answer needs is 2 kB. */
const longestUnasked = 65_536;
/** A history has at most a comma for each 33 characters; more parts than this cost memory to no end. */
const charactersPerComma = 25;
/** What describes a transaction may have these in any case: a node relays up to 230,000 items of witness in one. */
const partsOfTransaction = 300_000;
/**
 * Bytes of notifications: every one of 40,000 subscribed addresses changes at once, then some 80 a second, ten
 * times what fits in blocks.
 */
const notices: Rate = { perMinute: 960_000, burst: 10_000_000 };

export class Inflow {
  readonly #world: Pick<World, 'monotonic'>;
  readonly #expectsLong: () => boolean;
  readonly #expectsDescription: () => boolean;
  #framer = new LineFramer();
  #unfinished = 0;
  #noticed: Bucket | undefined;

  /**
   * @param expectsLong whether an answer is out that may be long
   * @param expectsDescription whether one is out that says all of a transaction
   */
  constructor(
    world: Pick<World, 'monotonic'>,
    expectsLong: () => boolean,
    expectsDescription = () => false,
  ) {
    this.#world = world;
    this.#expectsLong = expectsLong;
    this.#expectsDescription = expectsDescription;
  }

  /**
   * Yields each message that these bytes complete; those before a fault come out first.
   * @throws PaygateError invalid
   */
  *push(chunk: Uint8Array): Generator<Message, void> {
    for (const line of this.#framer.push(chunk)) {
      if (line.length > longestUnasked) {
        this.#checkLong();
        checkDensity(line, this.#expectsDescription() ? partsOfTransaction : 0);
      }
      const message = parseMessage(line);
      if (message.kind === 'notification') this.#checkNotice(line.length);
      yield message;
    }
    const end = chunk.lastIndexOf(newline);
    this.#unfinished = chunk.length - end - 1 + (end === -1 ? this.#unfinished : 0);
    if (this.#unfinished > longestUnasked) this.#checkLong();
  }

  /** Lets go of an unfinished line, which may hold megabytes. */
  clear(): void {
    this.#framer = new LineFramer();
  }

  #checkLong(): void {
    if (!this.#expectsLong()) throw invalid('a long line that was not asked for');
  }

  #checkNotice(length: number): void {
    if (length > longestUnasked) throw invalid('a notification of more than 64 kB');
    const { bucket, waitMs } = takeToken(notices, this.#noticed, this.#world.monotonic(), length);
    if (waitMs > 0) throw invalid('more notifications than can be true');
    this.#noticed = bucket;
  }
}

/** Before JSON.parse, which makes a hundred bytes of each two that are `1,` or `[]`. */
function checkDensity(line: string, allowed: number): void {
  let left = Math.max(allowed, line.length / charactersPerComma);
  for (let at = line.indexOf(','); at !== -1; at = line.indexOf(',', at + 1)) {
    if (--left < 0) throw invalid('a long answer of too many parts');
  }
}
