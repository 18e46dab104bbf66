// The Electrum line protocol without its connection: bytes in, messages out, requests to text. It
// never writes to a socket. Every limit on what a server may send stands here; a violation is an
// `invalid` error, which ends the session.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#message-stream

import { type Bucket, type Rate, takeToken } from '../domain/access/rate-limit.ts';
import { plainText } from '../domain/text/format.ts';
import { PaygateError } from '../lib/errors.ts';
import type { World } from '../world/world.ts';

/** A history of 90,000 transactions, or a transaction of 4 MB in hex, still fits. */
const maxLineBytes = 9_000_000;
/** The protocol needs 5 levels. */
const maxDepth = 16;
const maxErrorText = 200;
/** Bytes of a line that is too long: its beginning may name the request that it answers. */
const maxQuotedBytes = 100;
/** A buffer that a long line has grown beyond this is freed after it. */
const maxIdleBufferBytes = 64 * 1024;
/** The longest notification or ordinary response needs 2 kB. */
const maxShortLine = 65_536;
/** A history has a comma for each 33 characters at most. More parts than this only cost memory. */
const minCharactersPerComma = 25;
/**
 * A verbose transaction may have these in any case: nodes relay up to 230,000 witness items in one.
 */
const maxTransactionParts = 300_000;
/**
 * Bytes of notifications: all of 40,000 subscribed addresses change at once, then some 80 a second,
 * ten times what fits in blocks.
 */
const notificationRate: Rate = { perMinute: 960_000, burst: 10_000_000 };

const newline = 0x0a;

export type RpcResponse =
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly code: number; readonly text: string };

export interface RpcNotification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: readonly unknown[];
}

export type RpcMessage = RpcResponse | RpcNotification;

export class LineTooLong extends PaygateError {
  readonly start: string;

  constructor(start: Uint8Array) {
    super('invalid', 'the server sent a line of more than 9 MB');
    this.start = Buffer.from(start.subarray(0, maxQuotedBytes)).toString('latin1');
  }
}

export interface Expectations {
  readonly expectsLongResponse: boolean;
  readonly expectsVerboseTransaction: boolean;
}

/**
 * Cuts what a server sends into messages, and limits what it sends unrequested: a hostile server
 * must cost neither memory nor time. A line that grows long is refused before it is complete,
 * unless a long response is awaited.
 */
export class MessageReader {
  readonly #world: Pick<World, 'monotonic'>;
  readonly #expectations: Expectations;
  #framer = new LineFramer();
  #unfinishedBytes = 0;
  #notificationBucket: Bucket | undefined;

  /** @param expectations read anew for each line */
  constructor(world: Pick<World, 'monotonic'>, expectations: Expectations) {
    this.#world = world;
    this.#expectations = expectations;
  }

  /**
   * Yields each message that these bytes complete; messages before a violation come out first.
   * @throws PaygateError invalid
   */
  *push(chunk: Uint8Array): Generator<RpcMessage, void> {
    for (const line of this.#framer.push(chunk)) {
      if (line.length > maxShortLine) this.#checkLongLine(line);
      const message = parseMessage(line);
      if (message.kind === 'notification') this.#checkNotification(line.length);
      yield message;
    }
    const end = chunk.lastIndexOf(newline);
    this.#unfinishedBytes = chunk.length - end - 1 + (end === -1 ? this.#unfinishedBytes : 0);
    if (this.#unfinishedBytes > maxShortLine) this.#checkLongIsExpected();
  }

  clear(): void {
    this.#framer = new LineFramer();
  }

  #checkLongLine(line: string): void {
    this.#checkLongIsExpected();
    checkDensity(line, this.#expectations.expectsVerboseTransaction ? maxTransactionParts : 0);
  }

  #checkLongIsExpected(): void {
    if (!this.#expectations.expectsLongResponse) {
      throw invalid('a long line that was not asked for');
    }
  }

  #checkNotification(length: number): void {
    if (length > maxShortLine) throw invalid('a notification of more than 64 kB');
    const now = this.#world.monotonic();
    const { bucket, waitMs } = takeToken(notificationRate, this.#notificationBucket, now, length);
    if (waitMs > 0) throw invalid('more notifications than can be true');
    this.#notificationBucket = bucket;
  }
}

/** Cuts a stream of bytes into lines of text. It buffers at most one unfinished line. */
export class LineFramer {
  #unfinished = new Uint8Array(0);
  #used = 0;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /**
   * Yields each line that these bytes complete, without its end. Lines before a violation come
   * first.
   * @throws PaygateError invalid: the line is too long, has a NUL, or is not UTF-8
   */
  *push(chunk: Uint8Array): Generator<string, void> {
    // indexOf and subarray are faster on a Uint8Array than on a Buffer.
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      yield this.#complete(bytes.subarray(start, end));
      start = end + 1;
    }
    if (start < bytes.length) this.#append(bytes.subarray(start));
  }

  #complete(end: Uint8Array): string {
    // Nearly every line arrives in one chunk and needs no copy.
    if (this.#used === 0) {
      this.#check(end);
      return this.#decode(end);
    }
    this.#append(end);
    const line = this.#decode(this.#unfinished.subarray(0, this.#used));
    this.#used = 0;
    if (this.#unfinished.length > maxIdleBufferBytes) this.#unfinished = new Uint8Array(0);
    return line;
  }

  #append(bytes: Uint8Array): void {
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
      throw new LineTooLong(this.#used > 0 ? this.#unfinished : bytes);
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

/** @throws PaygateError invalid when the line is neither a JSON-RPC response nor a notification */
export function parseMessage(line: string): RpcMessage {
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
  // JSON-RPC 1.0 sends both `result` and `error`; one of them is null.
  if (error !== null) return { kind: 'error', id, ...parseError(error) };
  if (result === undefined) throw invalid('a response with neither result nor error');
  return { kind: 'result', id, result };
}

/** One request as a line, its end included. */
export function encodeRequest(id: number, method: string, params: readonly unknown[]): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

export const invalid = (what: string): PaygateError =>
  new PaygateError('invalid', `the server sent ${what}`);

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Some servers send the message as the error itself. */
function parseError(error: unknown): { code: number; text: string } {
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

/** Runs before JSON.parse, because deep nesting costs it stack and memory. */
function checkDepth(line: string): void {
  const firstEscape = line.indexOf('\\');
  const plainUntil = firstEscape === -1 ? line.length : firstEscape;
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    const character = line[at];
    if (character === '"') at = endOfString(line, at, plainUntil);
    else if (character === '[' || character === '{') {
      if (++depth > maxDepth) throw invalid('a message nested too deep');
    } else if (character === ']' || character === '}') depth--;
  }
}

/** Matches up to the first quote or backslash. */
const untilQuote = /[^"\\]*/y;

/** The index of the closing quote of the string that opens at `start`, or the end of the line. */
function endOfString(line: string, start: number, plainUntil: number): number {
  const end = line.indexOf('"', start + 1);
  if (end !== -1 && end < plainUntil) return end;
  untilQuote.lastIndex = start + 1;
  untilQuote.test(line);
  let at = untilQuote.lastIndex;
  for (; at < line.length && line[at] !== '"'; at++) if (line[at] === '\\') at++;
  return at;
}

/** Runs before JSON.parse, which makes a hundred bytes of two such as `1,` or `[]`. */
function checkDensity(line: string, minAllowed: number): void {
  let left = Math.max(minAllowed, line.length / minCharactersPerComma);
  for (let at = line.indexOf(','); at !== -1; at = line.indexOf(',', at + 1)) {
    if (--left < 0) throw invalid('a long answer of too many parts');
  }
}
