// The sender of callbacks and events: one HTTP attempt (wire §4). It builds the signed request and
// interprets the response; callback-request.ts makes the connection. It follows no redirect, stores
// no cookie and always verifies TLS. It logs nothing, because a URL and its query are secrets.

import { type CallbackTarget, callbackTarget, webhookTarget } from '../domain/delivery/callback.ts';
import {
  type AnswerVerdict,
  answersWithPage,
  type JudgedAnswer,
  judgeAnswer,
} from '../domain/delivery/callback-answer.ts';
import {
  type IsReceived,
  isCallbackReceived,
  isEventReceived,
  isUnreachable,
  outcomeOf,
  parseRetryAfter,
} from '../domain/delivery/retry.ts';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import { unixSeconds } from '../lib/time-units.ts';
import type { AttemptRecord } from '../store/delivery/attempts.ts';
import type { WebhookFormat } from '../store/schema/schema.ts';
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
import {
  btcpayHeader,
  btcpayHeaders,
  createKeyCache,
  type SecretKeyOf,
  type SignedContent,
  signatureHeaders,
} from './signature.ts';

export interface OutgoingCallback extends TargetPolicy {
  readonly callbackUrl: string;
  /** Appended to the URL's own query. */
  readonly query: string;
  readonly eventId: string;
  /** The store's signing secrets, the current one first. */
  readonly webhookSecrets: readonly string[];
}

export interface OutgoingEvent extends TargetPolicy {
  readonly webhookUrl: string;
  /** JSON, sent and signed as it is. */
  readonly body: string;
  readonly eventId: string;
  /** The secrets that sign, the current one first. */
  readonly webhookSecrets: readonly string[];
  /** How it is signed; Standard Webhooks by default. */
  readonly format?: WebhookFormat;
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

export type Sender = ReturnType<typeof createSender>;

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
  /** While true, callbacks are unsigned: docs/decisions/017. */
  readonly isClockWrong?: () => boolean;
  /** The time in signatures, epoch milliseconds; the clock of the world without it. */
  readonly signingTime?: (() => number) | undefined;
}

interface SenderParts extends RequestParts {
  readonly world: World;
  readonly options: SenderOptions;
  readonly secretKey: SecretKeyOf;
}

export function createSender(world: World, options: SenderOptions) {
  const parts: SenderParts = {
    world,
    options,
    connections: createCallbackConnections(world),
    secretKey: createKeyCache(),
  };
  async function timed(exchange: () => Promise<AttemptResult>): Promise<Attempt> {
    const startedAt = world.now();
    const began = world.monotonic();
    const result = await exchange();
    return { startedAt, durationMs: Math.round(world.monotonic() - began), ...result };
  }
  return {
    /**
     * Makes one attempt. Whatever the shop's server does is an outcome, not an error.
     * Rejects with the signal's reason if the signal aborted.
     */
    send: (callback: OutgoingCallback, signal: AbortSignal): Promise<Attempt> =>
      timed(() => attempt(parts, callbackExchange(callback), signal)),
    /** Makes one attempt to send an event to a webhook, as `send` does. */
    post: (event: OutgoingEvent, signal: AbortSignal): Promise<Attempt> =>
      timed(() => attempt(parts, eventExchange(event), signal)),
    /**
     * Sends a request that is not a callback to a host, under the same rules. It is unsigned and
     * has no query of a store. Rejects as `send` does.
     */
    probe: (request: ProbeRequest, signal: AbortSignal): Promise<ProbeResult> =>
      probe(parts, request, signal),
  };
}

/** What is particular to callbacks, or to events. */
interface Exchange {
  readonly policy: TargetPolicy;
  readonly url: string;
  /** @throws PaygateError invalid for a malformed URL */
  readonly target: () => Pick<CallbackTarget, 'origin' | 'path'> & Pick<SignedContent, 'payload'>;
  readonly signed: Pick<OutgoingEvent, 'eventId' | 'webhookSecrets' | 'format'>;
  /** An event is posted; a callback has no body. */
  readonly body?: string;
  readonly isReceived: IsReceived;
  readonly expected: '200' | '2xx';
  /** Judges the body of a response that was received. */
  readonly judge?: (body: Uint8Array, secrets: () => readonly string[]) => JudgedAnswer;
}

const callbackExchange = (callback: OutgoingCallback): Exchange => ({
  policy: callback,
  url: callback.callbackUrl,
  target() {
    const { query: payload, ...target } = callbackTarget(callback.callbackUrl, callback.query);
    return { ...target, payload };
  },
  signed: callback,
  isReceived: isCallbackReceived,
  expected: '200',
  judge: (body, secrets) => judgeAnswer(body, secrets, answersWithPage(callback.callbackUrl)),
});

const eventExchange = (event: OutgoingEvent): Exchange => ({
  policy: event,
  url: event.webhookUrl,
  target: () => ({ ...webhookTarget(event.webhookUrl), payload: event.body }),
  signed: event,
  body: event.body,
  isReceived: isEventReceived,
  expected: '2xx',
});

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
  exchange: Exchange,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { world } = parts;
  const { policy, body, target } = exchange;
  try {
    const { payload, ...place } = target();
    const headers = requestHeaders(parts, exchange, payload);
    const method = body === undefined ? 'GET' : 'POST';
    const progress = await sendRequest(parts, policy, { ...place, method, headers, body }, signal);
    const { host } = new URL(place.origin);
    return { ...resultOf(progress, exchange, host, headers, world.now()), request: { headers } };
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { ...unsentAttempt, outcome: 'refused', reason: error.message };
  }
}

function requestHeaders(
  { world, options, secretKey }: SenderParts,
  { signed: { eventId, webhookSecrets, format }, body }: Exchange,
  payload: string,
): Record<string, string> {
  const { version, isClockWrong, signingTime } = options;
  const now = signingTime?.() ?? world.now();
  const content = { eventId, timestamp: unixSeconds(now), payload };
  return {
    'user-agent': `paygate/${version}`,
    accept: '*/*',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(format === 'btcpay'
      ? btcpayHeaders(payload, webhookSecrets[0] ?? '')
      : isClockWrong?.()
        ? { 'webhook-id': eventId }
        : signatureHeaders(content, webhookSecrets, secretKey)),
  };
}

function resultOf(
  progress: AttemptProgress,
  { url, isReceived, expected, judge }: Exchange,
  host: string,
  headers: Readonly<Record<string, string>>,
  now: number,
): Omit<AttemptResult, 'request'> {
  const { status, address, phases, phase } = progress;
  const outcome = outcomeOf(progress, isReceived);
  const received = Buffer.concat(progress.body);
  const signature = headers['webhook-signature'] ?? headers[btcpayHeader];
  const signatures = signature?.split(' ') ?? [];
  const secrets = lazy(() => [...secretsOf(url), ...signatures]);
  const answer = outcome === 'delivered' ? judge?.(received, secrets) : undefined;
  return {
    outcome,
    httpStatus: status ?? null,
    reason:
      outcome === 'delivered' ? null : reasonFor({ ...progress, outcome, host, expected, secrets }),
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
