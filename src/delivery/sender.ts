// One HTTP attempt of a callback (wire §4): a GET on a connection of its own, from the look-up of
// the name to the last byte under one deadline. It follows no redirect, keeps no cookie, always
// verifies TLS, reads a bounded answer, and logs nothing: the URL and its query are secrets.
// No connection is kept: each attempt dials what its own look-up gave and the guard let through.

import type { Dispatcher } from 'undici';
import { type CallbackTarget, callbackTarget } from '../domain/callback.ts';
import { type CallbackFlags, type Listener, literalAddress } from '../domain/reach.ts';
import {
  classify,
  deadlineFault,
  isUnreachable,
  type Phase,
  parseRetryAfter,
} from '../domain/retry.ts';
import { PaygateError } from '../errors.ts';
import type { AttemptRecord } from '../store/outbox.ts';
import type { World } from '../world.ts';
import { doubtOf, excerpt, parserFault, reasonFor, secretsOf } from './reason.ts';
import { signatureHeaders } from './signature.ts';
import { guardTarget } from './target.ts';

export interface Order extends CallbackFlags {
  readonly callbackUrl: string;
  /** What is appended to the URL's own query. */
  readonly query: string;
  readonly eventId: string;
  /** The store's signing secrets, the current one first. */
  readonly webhookSecrets: readonly string[];
  /** PEM: the only authorities that may vouch for the host. */
  readonly ca?: string | undefined;
}

export interface Attempt extends AttemptRecord {
  readonly retryAfterSeconds?: number | undefined;
  /** The host could not be reached: no other callback to it has a chance either. */
  readonly unreachable: boolean;
  /** What went out, or would have; null where the URL was refused before. */
  readonly request: SentRequest | null;
}

export interface SentRequest {
  /** Raw path and query: a secret. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Sender {
  /**
   * Makes one attempt; whatever the shop's server does is an outcome, not an error.
   * Rejects with the signal's reason when that cut the attempt off.
   */
  send(order: Order, signal: AbortSignal): Promise<Attempt>;
  /**
   * Asks a host something that is no callback, on the way that one would take: unsigned, without the
   * query of a store. Rejects as `send` does.
   */
  probe(question: Question, signal: AbortSignal): Promise<Probe>;
}

export interface Question extends CallbackFlags {
  /** Scheme, host and port of it are used, and nothing else. */
  readonly url: string;
  readonly method: 'GET' | 'HEAD';
  readonly path: string;
  readonly ca?: string | undefined;
}

export interface Probe {
  /** Of an answer, whatever it says; null without one. */
  readonly httpStatus: number | null;
  /** Why there is none. */
  readonly reason: string | null;
  /** The IP address that was dialled. */
  readonly address: string | null;
  /** Its beginning, as it came. */
  readonly body: string;
}

export interface SenderOptions {
  /** Of paygate, for the User-Agent: `0.1`. */
  readonly version: string;
  /** Where paygate itself listens, asked at each attempt: no callback goes there. */
  readonly listeners: () => readonly Listener[];
  /** For the look-up, TCP and TLS. */
  readonly connectTimeoutMs?: number;
  /** Then nothing is signed: a signature says when it was made. Never without it. */
  readonly isClockWrong?: () => boolean;
}

/** For everything together, from the look-up to the last byte. */
export const deadlineMs = 20_000;
const defaultConnectTimeoutMs = 5_000;
const bodyLimitBytes = 16 * 1024;

/** How far an attempt came, and what came back. */
class Course {
  phase: Phase;
  /** How long each phase took, until the one that is under way. */
  readonly phases: Partial<Record<Phase, number>> = {};
  address: string | null = null;
  status?: number;
  location?: string | undefined;
  retryAfter?: string | undefined;
  readonly body: Buffer[] = [];
  fault?: string;
  readonly #monotonic: () => number;
  #enteredAt: number;

  constructor(phase: Phase, monotonic: () => number) {
    this.phase = phase;
    this.#monotonic = monotonic;
    this.#enteredAt = monotonic();
  }

  /** @param phase what is waited for from now on; itself at the end */
  enter(phase: Phase): void {
    const at = this.#monotonic();
    this.phases[this.phase] = Math.round(10 * (at - this.#enteredAt)) / 10;
    this.#enteredAt = at;
    this.phase = phase;
  }
}

export function createSender(world: World, options: SenderOptions): Sender {
  return {
    async send(order, signal) {
      const startedAt = world.now();
      const began = world.monotonic();
      const result = await attempt(world, options, order, signal);
      return { startedAt, durationMs: Math.round(world.monotonic() - began), ...result };
    },
    probe: (question, signal) => probe(world, options, question, signal),
  };
}

async function probe(
  world: World,
  options: SenderOptions,
  { url, method, path, ...rest }: Question,
  signal: AbortSignal,
): Promise<Probe> {
  try {
    const { origin } = callbackTarget(url, '');
    const headers = { 'user-agent': `paygate/${options.version}`, accept: '*/*' };
    const course = await travel(world, options, rest, { origin, path, method, headers }, signal);
    const { status, address } = course;
    const { host } = new URL(origin);
    const reason = reasonFor({ ...course, outcome: classify(course), host });
    const body = Buffer.concat(course.body).toString();
    return { httpStatus: status ?? null, reason: status ? null : reason, address, body };
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { httpStatus: null, reason: error.message, address: null, body: '' };
  }
}

type Result = Omit<Attempt, 'startedAt' | 'durationMs'>;

/** What is known of an attempt that never came to the network. */
export const unsent = {
  httpStatus: null,
  body: null,
  address: null,
  phases: {},
  doubt: null,
  unreachable: false,
  request: null,
} as const;

async function attempt(
  world: World,
  options: SenderOptions,
  order: Order,
  signal: AbortSignal,
): Promise<Result> {
  try {
    const target = callbackTarget(order.callbackUrl, order.query);
    const headers = requestHeaders(options, order, target, world.now());
    const asked = { ...target, method: 'GET', headers } as const;
    const course = await travel(world, options, order, asked, signal);
    const request = { path: target.path, headers };
    return { ...resultOf(course, order, target, world.now()), request };
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { ...unsent, outcome: 'refused', reason: error.message };
  }
}

/** A request as it goes out. */
interface Asked extends Pick<CallbackTarget, 'origin' | 'path'> {
  readonly method: Question['method'];
  readonly headers: Record<string, string>;
}

async function travel(
  world: World,
  options: SenderOptions,
  order: Pick<Order, 'allowPrivate' | 'allowHttp' | 'ca'>,
  asked: Asked,
  signal: AbortSignal,
): Promise<Course> {
  const { origin } = asked;
  const resolve = guardTarget(origin, order, options.listeners(), world.resolve);
  const isLiteral = literalAddress(new URL(origin).hostname) !== undefined;
  const course = new Course(isLiteral ? 'connect' : 'resolve', () => world.monotonic());
  const client = world.http({
    origin,
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    ca: order.ca,
    async resolver(name) {
      const addresses = await resolve(name);
      course.enter('connect');
      return addresses;
    },
    onConnected(address) {
      course.address = address;
      if (/^https:/i.test(origin)) course.enter('tls');
    },
    onReady: () => course.enter('response'),
  });
  const cut = (reason: Error): void => void client.destroy(reason);
  const abort = (): void => cut(signal.reason);
  const cancel = world.after(deadlineMs, () => cut(deadlineError()));
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    await exchange(client, asked, course);
  } catch (error) {
    signal.throwIfAborted();
    course.fault = networkFault(error);
    course.address ??= dialledAddress(error);
  } finally {
    course.enter(course.phase);
    cancel();
    signal.removeEventListener('abort', abort);
    // Nothing of an attempt outlives it.
    void client.destroy(over);
  }
  return course;
}

/** Made once: undici would make one for each client, with a stack. */
const over = new Error('the attempt is over');

const deadlineError = (): Error => Object.assign(new Error('deadline'), { code: deadlineFault });

/** What the network stack calls the fault. Our guard's refusal goes on, and so does a bug. */
function networkFault(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (name === parserFault) return parserFault;
  if (typeof code !== 'string' || error instanceof PaygateError) throw error;
  return code;
}

/** The last address that a connection was tried to in vain; several failures come gathered in one. */
function dialledAddress(error: unknown): string | null {
  const { errors, address } = error as { errors?: readonly unknown[]; address?: unknown };
  if (typeof address === 'string') return address;
  const last = errors?.at(-1);
  return last === undefined ? null : dialledAddress(last);
}

function requestHeaders(
  { version, isClockWrong }: SenderOptions,
  { eventId, webhookSecrets }: Order,
  { query }: CallbackTarget,
  now: number,
): Record<string, string> {
  const signable = { eventId, timestamp: Math.floor(now / 1000), query };
  return {
    'user-agent': `paygate/${version}`,
    accept: '*/*',
    ...(isClockWrong?.() ? { 'webhook-id': eventId } : signatureHeaders(signable, webhookSecrets)),
  };
}

/** `reset` asks for no keep-alive: a kept connection can die under the next callback. */
async function exchange(
  client: Dispatcher,
  { origin, path, method, headers }: Asked,
  course: Course,
): Promise<void> {
  const response = await client.request({
    ...{ method, origin, path, headers },
    reset: true,
    // The one deadline is ours.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  course.enter('body');
  course.status = response.statusCode;
  course.location = single(response.headers.location);
  course.retryAfter = single(response.headers['retry-after']);
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    course.body.push(chunk);
    length += chunk.length;
    if (length >= bodyLimitBytes) break;
  }
}

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

function resultOf(
  course: Course,
  order: Order,
  target: CallbackTarget,
  now: number,
): Omit<Result, 'request'> {
  const { status, address, phases, phase } = course;
  const outcome = classify(course);
  const { host } = new URL(target.origin);
  const body =
    status === undefined ? null : excerpt(Buffer.concat(course.body), secretsOf(order.callbackUrl));
  return {
    outcome,
    httpStatus: status ?? null,
    reason: reasonFor({ ...course, outcome, host }),
    body,
    address,
    phases,
    doubt: outcome === 'delivered' && body !== null ? doubtOf(body) : null,
    unreachable: isUnreachable(outcome, phase),
    retryAfterSeconds:
      outcome === 'delivered' ? undefined : parseRetryAfter(course.retryAfter, now),
  };
}
