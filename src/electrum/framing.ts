// The Electrum line protocol without its connection: bytes in, messages out, requests to text. Pure.
// JSON-RPC, one message a line. Every bound on the form of what a server sends stands here; what breaks
// one is an `invalid` error, which ends the connection.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#message-stream

import { plainText } from '../domain/format.ts';
import { type ErrorCode, PaygateError } from '../lib/errors.ts';

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

/** A line that is longer than any that is read. */
export class LongLine extends PaygateError {
  /** How it begins. */
  readonly start: string;

  constructor(start: Uint8Array) {
    super('invalid', 'the server sent a line of more than 9 MB');
    this.start = Buffer.from(start.subarray(0, shownOfLong)).toString('latin1');
  }
}

/** What nodes and servers say of a transaction that they do not have; they may refuse for other reasons. */
const unknownTransaction = /no such|not found|missing/i;

export const isUnknown = ({ message }: ServerError): boolean => unknownTransaction.test(message);

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
