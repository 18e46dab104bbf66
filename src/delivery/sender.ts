// One HTTP attempt of a callback (wire §4): a GET on a connection of its own, from the look-up of
// the name to the last byte under one deadline. It follows no redirect, keeps no cookie, always
// verifies TLS, reads a bounded answer, and logs nothing: the URL and its query are secrets.

import type { Dispatcher } from 'undici';
import { type CallbackTarget, callbackTarget } from '../domain/callback.ts';
import type { CallbackFlags, Listener } from '../domain/reach.ts';
import { classify, deadlineFault, type Phase, parseRetryAfter } from '../domain/retry.ts';
import { PaygateError } from '../errors.ts';
import type { AttemptRecord } from '../store/outbox.ts';
import type { World } from '../world.ts';
import { excerpt, parserFault, reasonFor } from './reason.ts';
import { signatureHeaders } from './signature.ts';
import { guardTarget } from './target.ts';

export interface Order extends CallbackFlags {
  readonly callbackUrl: string;
  /** What is appended to the URL's own query. */
  readonly query: string;
  readonly eventId: string;
  /** The store's signing secrets, the current one first. */
  readonly webhookSecrets: readonly string[];
}

export interface Attempt extends AttemptRecord {
  readonly retryAfterSeconds?: number | undefined;
}

export interface Sender {
  /**
   * Makes one attempt; whatever the shop's server does is an outcome, not an error.
   * Rejects with the signal's reason when that cut the attempt off.
   */
  send(order: Order, signal: AbortSignal): Promise<Attempt>;
}

export interface SenderOptions {
  /** Of paygate, for the User-Agent: `0.1`. */
  readonly version: string;
  /** Where paygate itself listens, asked at each attempt: no callback goes there. */
  readonly listeners: () => readonly Listener[];
  /** For the look-up, TCP and TLS. */
  readonly connectTimeoutMs?: number;
}

/** For everything together, from the look-up to the last byte. */
export const deadlineMs = 20_000;
const defaultConnectTimeoutMs = 5_000;
const bodyLimitBytes = 16 * 1024;

/** How far an attempt came, and what came back. */
interface Course {
  phase: Phase;
  status?: number;
  location?: string | undefined;
  retryAfter?: string | undefined;
  readonly body: Buffer[];
  fault?: string;
}

export function createSender(world: World, options: SenderOptions): Sender {
  return {
    async send(order, signal) {
      const startedAt = world.now();
      const began = world.monotonic();
      const result = await attempt(world, options, order, signal);
      return { startedAt, durationMs: Math.round(world.monotonic() - began), ...result };
    },
  };
}

type Result = Omit<Attempt, 'startedAt' | 'durationMs'>;

async function attempt(
  world: World,
  options: SenderOptions,
  order: Order,
  signal: AbortSignal,
): Promise<Result> {
  try {
    const target = callbackTarget(order.callbackUrl, order.query);
    const course = await travel(world, options, order, target, signal);
    return resultOf(course, target, world.now());
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { outcome: 'refused', httpStatus: null, reason: error.message, body: null };
  }
}

async function travel(
  world: World,
  options: SenderOptions,
  order: Order,
  target: CallbackTarget,
  signal: AbortSignal,
): Promise<Course> {
  const resolve = guardTarget(target.origin, order, options.listeners(), world.resolve);
  const course: Course = { phase: 'connect', body: [] };
  const client = world.http(async (name) => {
    course.phase = 'resolve';
    const addresses = await resolve(name);
    course.phase = 'connect';
    return addresses;
  }, options.connectTimeoutMs ?? defaultConnectTimeoutMs);
  client.once('connect', () => {
    course.phase = 'response';
  });
  const cut = (reason: Error): void => void client.destroy(reason);
  const abort = (): void => cut(signal.reason);
  const cancel = world.after(deadlineMs, () => cut(deadlineError()));
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    const headers = requestHeaders(options.version, order, target, world.now());
    await exchange(client, target, headers, course);
  } catch (error) {
    signal.throwIfAborted();
    course.fault = networkFault(error);
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
    // Nothing of an attempt outlives it.
    void client.destroy();
  }
  return course;
}

const deadlineError = (): Error => Object.assign(new Error('deadline'), { code: deadlineFault });

/** What the network stack calls the fault. Our guard's refusal goes on, and so does a bug. */
function networkFault(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (name === parserFault) return parserFault;
  if (typeof code !== 'string' || error instanceof PaygateError) throw error;
  return code;
}

const requestHeaders = (
  version: string,
  { eventId, webhookSecrets }: Order,
  { query }: CallbackTarget,
  now: number,
): Record<string, string> => ({
  'user-agent': `paygate/${version}`,
  accept: '*/*',
  ...signatureHeaders({ eventId, timestamp: Math.floor(now / 1000), query }, webhookSecrets),
});

/** `reset` asks for no keep-alive: a kept connection can die under the next callback. */
async function exchange(
  client: Dispatcher,
  { origin, path }: CallbackTarget,
  headers: Record<string, string>,
  course: Course,
): Promise<void> {
  const response = await client.request({
    method: 'GET',
    origin,
    path,
    headers,
    reset: true,
    // The one deadline is ours.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  course.phase = 'body';
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

function resultOf(course: Course, target: CallbackTarget, now: number): Result {
  const outcome = classify(course);
  const { host } = new URL(target.origin);
  return {
    outcome,
    httpStatus: course.status ?? null,
    reason: reasonFor({ ...course, outcome, host }),
    body: course.status === undefined ? null : excerpt(Buffer.concat(course.body)),
    retryAfterSeconds:
      outcome === 'delivered' ? undefined : parseRetryAfter(course.retryAfter, now),
  };
}
