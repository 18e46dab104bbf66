// The retry schedule of callbacks, and the outcome of an attempt. Time and random numbers are
// arguments. The outbox decides about superseded callbacks.

import { hourMs, minuteMs, secondMs } from '../../lib/time-units.ts';

/**
 * The waits after the first, second, … failed attempt. After the last one the callback is
 * exhausted.
 */
export const retryScheduleMs: readonly number[] = [
  4 * secondMs,
  8 * secondMs,
  16 * secondMs,
  32 * secondMs,
  64 * secondMs,
  128 * secondMs,
  256 * secondMs,
  15 * minuteMs,
  1 * hourMs,
  3 * hourMs,
  6 * hourMs,
  12 * hourMs,
  24 * hourMs,
  24 * hourMs,
];

/** The wait after a failure that would be the last one, while the clock cannot be trusted. */
export const unsureWaitMs = 24 * hourMs;

/** The waits before a callback with a doubtful 200 is sent again, each from the answer before. */
export const confirmScheduleMs: readonly number[] = [5 * minuteMs, 60 * minuteMs];

/**
 * When a callback with a doubtful 200 is sent again, epoch milliseconds; undefined after the last
 * time.
 * @param answers the number of doubtful answers so far
 * @param now epoch milliseconds
 */
export function nextConfirmation(answers: number, now: number): number | undefined {
  const wait = confirmScheduleMs[answers - 1];
  return wait === undefined ? undefined : now + wait;
}

/** Maximum deviation from the schedule, as a fraction of the wait. */
const jitterRatio = 0.2;
/** A shop may extend a wait up to this many times with `Retry-After`. */
const maxRetryAfterRatio = 2;

/** Upper limits of the time between two attempts; `retryMs` by the number of them. */
export const maxWaits = {
  retryMs: [
    0,
    ...retryScheduleMs.map((wait) => Math.ceil(wait * (1 + jitterRatio) * maxRetryAfterRatio)),
  ],
  confirmMs: Math.max(...confirmScheduleMs),
};
export type MaxWaits = Readonly<typeof maxWaits>;

export interface FailedAttempt {
  /** The number of attempts that count, including this one. */
  readonly attemptCount: number;
  readonly now: number;
  /** A random fraction in [0, 1). */
  readonly jitter: number;
  readonly retryAfterSeconds?: number | undefined;
}

export function nextAttempt(failed: FailedAttempt): number | undefined {
  const scheduled = retryScheduleMs[failed.attemptCount - 1];
  if (scheduled === undefined) return undefined;
  const wait = scheduled * (1 - jitterRatio + 2 * jitterRatio * failed.jitter);
  const asked = (failed.retryAfterSeconds ?? 0) * secondMs;
  return failed.now + Math.round(Math.min(Math.max(wait, asked), maxRetryAfterRatio * wait));
}

const scheduleMs = retryScheduleMs.reduce((sum, wait) => sum + wait, 0);

/**
 * Whether a callback to an unreachable host is exhausted. Attempts at such a host do not count.
 * Both times must be as long as the whole schedule, because paygate itself may have been stopped.
 * @param dueForMs how long the callback has been due
 * @param downForMs how long the host has been unreachable
 */
export const isWaitExhausted = (dueForMs: number, downForMs: number): boolean =>
  Math.min(dueForMs, downForMs) >= scheduleMs;

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The seconds from now in a `Retry-After` header, at least 0; undefined for a malformed header.
 * https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  if (!httpDate.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / secondMs));
}

/** The last phase of an attempt. */
export type AttemptPhase = 'resolve' | 'connect' | 'tls' | 'response' | 'body';

/** The outcome of an attempt, in classes that a merchant can act on. */
export type AttemptOutcome =
  | 'delivered'
  /** The callback URL policy forbids the address. */
  | 'refused'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  /** No answer, or no HTTP. */
  | 'response'
  | 'redirect'
  | 'status'
  /** A 200 with an incomplete body. */
  | 'body'
  /** A bug of paygate. */
  | 'internal';

export interface AttemptEnd {
  readonly phase: AttemptPhase;
  readonly status?: number | undefined;
  /** The network stack's code of the error that ended the attempt. */
  readonly errorCode?: string | undefined;
}

/** Our own deadline, among the codes of the network stack. */
export const deadlineCode = 'PAYGATE_DEADLINE';

/** The code of undici. */
export const connectTimeoutCode = 'UND_ERR_CONNECT_TIMEOUT';
/** The SOCKS5 proxy could not be reached. */
export const proxyDownCode = 'PAYGATE_PROXY_DOWN';
/** The SOCKS5 proxy could not reach the host. */
export const proxyRefusedCode = 'PAYGATE_PROXY_REFUSED';

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const timeoutCodes = new Set([deadlineCode, connectTimeoutCode, 'ETIMEDOUT']);
const tlsCode =
  /^(ERR_(TLS|SSL)_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_|PATH_LENGTH_)/;

/** Which status says that a shop received a delivery. */
export type IsReceived = (status: number) => boolean;

/** A callback is received with exactly 200, as it is specified. */
export const isCallbackReceived: IsReceived = (status) => status === 200;
/** An event is received with any 2xx. */
export const isEventReceived: IsReceived = (status) => status >= 200 && status <= 299;

export function outcomeOf(
  { phase, status, errorCode }: AttemptEnd,
  isReceived: IsReceived = isCallbackReceived,
): Exclude<AttemptOutcome, 'refused' | 'internal'> {
  if (status !== undefined && !isReceived(status))
    return redirectStatuses.has(status) ? 'redirect' : 'status';
  if (errorCode === undefined) return 'delivered';
  if (timeoutCodes.has(errorCode)) return 'timeout';
  switch (phase) {
    case 'resolve':
      return 'dns';
    case 'connect':
      return tlsCode.test(errorCode) ? 'tls' : 'connect';
    case 'tls':
      return 'tls';
    case 'response':
      return 'response';
    case 'body':
      return 'body';
  }
}

const phasesBeforeRequest: ReadonlySet<AttemptPhase> = new Set(['resolve', 'connect', 'tls']);

/**
 * Whether the host is unreachable for every callback. An untrusted certificate is not, because
 * another store may trust it.
 */
export const isUnreachable = (outcome: AttemptOutcome, phase: AttemptPhase): boolean =>
  outcome === 'dns' ||
  outcome === 'connect' ||
  (outcome === 'timeout' && phasesBeforeRequest.has(phase));
