// The sender of callbacks: one HTTP attempt (wire §4). It builds the signed request and interprets
// the response; callback-request.ts makes the connection. It follows no redirect, stores no cookie
// and always verifies TLS. It logs nothing, because the URL and its query are secrets.

import { type CallbackTarget, callbackTarget } from '../domain/callback.ts';
import { type AnswerVerdict, judgeAnswer } from '../domain/callback-answer.ts';
import { isUnreachable, outcomeOf, parseRetryAfter } from '../domain/retry.ts';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { AttemptRecord } from '../store/records/attempts.ts';
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
  /** Appended to the URL's own query. */
  readonly query: string;
  readonly eventId: string;
  /** The store's signing secrets, the current one first. */
  readonly webhookSecrets: readonly string[];
}

export interface Attempt extends AttemptRecord {
  readonly verdict: AnswerVerdict | null;
  readonly retryAfterSeconds?: number | undefined;
  /** The host could not be reached, so other callbacks to it would fail as well. */
  readonly unreachable: boolean;
  /** The request that was sent, or would have been; null if the URL was refused before. */
  readonly request: SentRequest | null;
}

export interface SentRequest {
  readonly headers: Readonly<Record<string, string>>;
}

export interface Sender {
  /**
   * Makes one attempt. Whatever the shop's server does is an outcome, not an error.
   * Rejects with the signal's reason if the signal aborted.
   */
  send(callback: OutgoingCallback, signal: AbortSignal): Promise<Attempt>;
  /**
   * Sends a request that is not a callback to a host, under the same rules. It is unsigned and has
   * no query of a store. Rejects as `send` does.
   */
  probe(request: ProbeRequest, signal: AbortSignal): Promise<ProbeResult>;
}

export interface ProbeRequest extends TargetPolicy {
  /** Only its scheme, host and port are used. */
  readonly url: string;
  readonly method: 'GET' | 'HEAD';
  readonly path: string;
}

export interface ProbeResult {
  /** Null without a response. */
  readonly httpStatus: number | null;
  /** Why there is no response. */
  readonly reason: string | null;
  /** The IP address that was dialled. */
  readonly address: string | null;
  /** The beginning of the body, not redacted. */
  readonly body: string;
}

export interface SenderOptions extends RequestOptions {
  /** The version of paygate in the User-Agent: `0.1`. */
  readonly version: string;
  /** While true, callbacks are unsigned, because a signature contains the time. */
  readonly isClockWrong?: () => boolean;
}

interface SenderParts extends RequestParts {
  readonly world: World;
  readonly options: SenderOptions;
  readonly secretKey: SecretKeyOf;
}

export function createSender(world: World, options: SenderOptions): Sender {
  const parts: SenderParts = {
    world,
    options,
    connections: createCallbackConnections(world),
    secretKey: createKeyCache(),
  };
  return {
    async send(callback, signal) {
      const startedAt = world.now();
      const began = world.monotonic();
      const result = await attempt(parts, callback, signal);
      return { startedAt, durationMs: Math.round(world.monotonic() - began), ...result };
    },
    probe: (request, signal) => probe(parts, request, signal),
  };
}

async function probe(
  parts: SenderParts,
  { url, method, path, ...rest }: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeResult> {
  try {
    const { origin } = callbackTarget(url, '');
    const headers = { 'user-agent': `paygate/${parts.options.version}`, accept: '*/*' };
    const progress = await sendRequest(parts, rest, { origin, path, method, headers }, signal);
    const { status, address } = progress;
    const { host } = new URL(origin);
    const reason = reasonFor({ ...progress, outcome: outcomeOf(progress), host });
    const body = Buffer.concat(progress.body).toString();
    return { httpStatus: status ?? null, reason: status ? null : reason, address, body };
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { httpStatus: null, reason: error.message, address: null, body: '' };
  }
}

type AttemptResult = Omit<Attempt, 'startedAt' | 'durationMs'>;

/** The fields of an attempt that never reached the network. */
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
  parts: SenderParts,
  callback: OutgoingCallback,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { world } = parts;
  try {
    const target = callbackTarget(callback.callbackUrl, callback.query);
    const headers = requestHeaders(parts, callback, target);
    const request = { ...target, method: 'GET', headers } as const;
    const progress = await sendRequest(parts, callback, request, signal);
    return { ...resultOf(progress, callback, target, world.now()), request: { headers } };
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { ...unsentAttempt, outcome: 'refused', reason: error.message };
  }
}

function requestHeaders(
  { world, options, secretKey }: SenderParts,
  { eventId, webhookSecrets }: OutgoingCallback,
  { query }: CallbackTarget,
): Record<string, string> {
  const { version, isClockWrong } = options;
  const content = { eventId, timestamp: Math.floor(world.now() / 1000), query };
  return {
    'user-agent': `paygate/${version}`,
    accept: '*/*',
    ...(isClockWrong?.()
      ? { 'webhook-id': eventId }
      : signatureHeaders(content, webhookSecrets, secretKey)),
  };
}

function resultOf(
  progress: AttemptProgress,
  callback: OutgoingCallback,
  target: CallbackTarget,
  now: number,
): Omit<AttemptResult, 'request'> {
  const { status, address, phases, phase } = progress;
  const outcome = outcomeOf(progress);
  const received = Buffer.concat(progress.body);
  const secrets = lazy(() => secretsOf(callback.callbackUrl));
  const answer = outcome === 'delivered' ? judgeAnswer(received, secrets) : undefined;
  return {
    outcome,
    httpStatus: status ?? null,
    reason:
      outcome === 'delivered'
        ? null
        : reasonFor({ ...progress, outcome, host: new URL(target.origin).host }),
    body: status === undefined ? null : excerpt(received, secrets),
    address,
    phases,
    doubt: answer?.says ?? null,
    verdict: answer?.verdict ?? null,
    unreachable: isUnreachable(outcome, phase),
    retryAfterSeconds:
      outcome === 'delivered' ? undefined : parseRetryAfter(progress.retryAfter, now),
  };
}
