// One HTTP attempt of a callback (wire §4): what is asked of the shop's server, and what its answer
// means; how it goes there stands in callback-request.ts. It follows no redirect, keeps no cookie, always verifies
// TLS, and logs nothing: the URL and its query are secrets.

import { type CallbackTarget, callbackTarget } from '../domain/callback.ts';
import { type AnswerVerdict, judgeAnswer } from '../domain/callback-answer.ts';
import { isUnreachable, outcomeOf, parseRetryAfter } from '../domain/retry.ts';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { AttemptRecord } from '../store/records/outbox.ts';
import type { World } from '../world/world.ts';
import {
  type AttemptProgress,
  type RequestOptions,
  type RequestParts,
  sendRequest,
  type TargetPolicy,
} from './callback-request.ts';
import { createCallbackConnections } from './connection-reuse.ts';
import { excerpt, reasonFor, secretsOf } from './failure-reason.ts';
import { createKeyCache, type SecretKeyOf, signatureHeaders } from './signature.ts';

export interface OutgoingCallback extends TargetPolicy {
  readonly callbackUrl: string;
  /** What is appended to the URL's own query. */
  readonly query: string;
  readonly eventId: string;
  /** The store's signing secrets, the current one first. */
  readonly webhookSecrets: readonly string[];
}

export interface Attempt extends AttemptRecord {
  readonly verdict: AnswerVerdict | null;
  readonly retryAfterSeconds?: number | undefined;
  /** The host could not be reached: no other callback to it has a chance either. */
  readonly unreachable: boolean;
  /** What went out, or would have; null where the URL was refused before. */
  readonly request: SentRequest | null;
}

export interface SentRequest {
  readonly headers: Readonly<Record<string, string>>;
}

export interface Sender {
  /**
   * Makes one attempt; whatever the shop's server does is an outcome, not an error.
   * Rejects with the signal's reason when that cut the attempt off.
   */
  send(order: OutgoingCallback, signal: AbortSignal): Promise<Attempt>;
  /**
   * Asks a host something that is no callback, on the way that one would take: unsigned, without the
   * query of a store. Rejects as `send` does.
   */
  probe(question: ProbeRequest, signal: AbortSignal): Promise<ProbeResult>;
}

export interface ProbeRequest extends TargetPolicy {
  /** Scheme, host and port of it are used, and nothing else. */
  readonly url: string;
  readonly method: 'GET' | 'HEAD';
  readonly path: string;
}

export interface ProbeResult {
  /** Of an answer, whatever it says; null without one. */
  readonly httpStatus: number | null;
  /** Why there is none. */
  readonly reason: string | null;
  /** The IP address that was dialled. */
  readonly address: string | null;
  /** Its beginning, as it came. */
  readonly body: string;
}

export interface SenderOptions extends RequestOptions {
  /** Of paygate, for the User-Agent: `0.1`. */
  readonly version: string;
  /** Then nothing is signed: a signature says when it was made. Never without it. */
  readonly isClockWrong?: () => boolean;
}

interface SenderParts extends RequestParts {
  readonly world: World;
  readonly options: SenderOptions;
  readonly secretKey: SecretKeyOf;
}

export function createSender(world: World, options: SenderOptions): Sender {
  const way: SenderParts = {
    world,
    options,
    connections: createCallbackConnections(world),
    secretKey: createKeyCache(),
  };
  return {
    async send(order, signal) {
      const startedAt = world.now();
      const began = world.monotonic();
      const result = await attempt(way, order, signal);
      return { startedAt, durationMs: Math.round(world.monotonic() - began), ...result };
    },
    probe: (question, signal) => probe(way, question, signal),
  };
}

async function probe(
  way: SenderParts,
  { url, method, path, ...rest }: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeResult> {
  try {
    const { origin } = callbackTarget(url, '');
    const headers = { 'user-agent': `paygate/${way.options.version}`, accept: '*/*' };
    const course = await sendRequest(way, rest, { origin, path, method, headers }, signal);
    const { status, address } = course;
    const { host } = new URL(origin);
    const reason = reasonFor({ ...course, outcome: outcomeOf(course), host });
    const body = Buffer.concat(course.body).toString();
    return { httpStatus: status ?? null, reason: status ? null : reason, address, body };
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { httpStatus: null, reason: error.message, address: null, body: '' };
  }
}

type AttemptResult = Omit<Attempt, 'startedAt' | 'durationMs'>;

/** What is known of an attempt that never came to the network. */
export const unsentAttempt = {
  httpStatus: null,
  body: null,
  address: null,
  phases: {},
  doubt: null,
  verdict: null,
  unreachable: false,
  request: null,
} as const;

async function attempt(
  way: SenderParts,
  order: OutgoingCallback,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { world } = way;
  try {
    const target = callbackTarget(order.callbackUrl, order.query);
    const headers = requestHeaders(way, order, target);
    const asked = { ...target, method: 'GET', headers } as const;
    const course = await sendRequest(way, order, asked, signal);
    return { ...resultOf(course, order, target, world.now()), request: { headers } };
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { ...unsentAttempt, outcome: 'refused', reason: error.message };
  }
}

function requestHeaders(
  { world, options, secretKey: keyOf }: SenderParts,
  { eventId, webhookSecrets }: OutgoingCallback,
  { query }: CallbackTarget,
): Record<string, string> {
  const { version, isClockWrong } = options;
  const signable = { eventId, timestamp: Math.floor(world.now() / 1000), query };
  return {
    'user-agent': `paygate/${version}`,
    accept: '*/*',
    ...(isClockWrong?.()
      ? { 'webhook-id': eventId }
      : signatureHeaders(signable, webhookSecrets, keyOf)),
  };
}

function resultOf(
  course: AttemptProgress,
  order: OutgoingCallback,
  target: CallbackTarget,
  now: number,
): Omit<AttemptResult, 'request'> {
  const { status, address, phases, phase } = course;
  const outcome = outcomeOf(course);
  const received = Buffer.concat(course.body);
  const secrets = lazy(() => secretsOf(order.callbackUrl));
  const answer = outcome === 'delivered' ? judgeAnswer(received, secrets) : undefined;
  return {
    outcome,
    httpStatus: status ?? null,
    reason:
      outcome === 'delivered'
        ? null
        : reasonFor({ ...course, outcome, host: new URL(target.origin).host }),
    body: status === undefined ? null : excerpt(received, secrets),
    address,
    phases,
    doubt: answer?.says ?? null,
    verdict: answer?.verdict ?? null,
    unreachable: isUnreachable(outcome, phase),
    retryAfterSeconds:
      outcome === 'delivered' ? undefined : parseRetryAfter(course.retryAfter, now),
  };
}
