// When a callback is tried again, and what to call the way a try ended (wire §4). Pure: time and
// chance come in as values. It decides nothing about superseding; the outbox does.

import { hourMs, minuteMs, secondMs } from '../lib/time-units.ts';

/** The waits after the first, second, … failed attempt; after the last one there is no more. */
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

/** The waits before a delivered callback is sent again, each from the doubtful answer before it. */
export const confirmScheduleMs: readonly number[] = [5 * minuteMs, 60 * minuteMs];

/**
 * When a delivered callback is sent again, epoch milliseconds; undefined when its doubt stays.
 * @param answers how many answers it has had by now, none of them without a doubt
 */
export function nextConfirmation(answers: number, now: number): number | undefined {
  const wait = confirmScheduleMs[answers - 1];
  return wait === undefined ? undefined : now + wait;
}

/** How far a wait may lie from the schedule's, as a fraction of it. */
const jitterRatio = 0.2;
/** How many times its wait a shop may ask for by `Retry-After`. */
const maxRetryAfterRatio = 2;

/** No next attempt is due later than this after the one before. */
export interface MaxWaits {
  /** By how many attempts were charged. */
  readonly retryMs: readonly number[];
  readonly confirmMs: number;
}

export const maxWaits: MaxWaits = {
  retryMs: [
    0,
    ...retryScheduleMs.map((wait) => Math.ceil(wait * (1 + jitterRatio) * maxRetryAfterRatio)),
  ],
  confirmMs: Math.max(...confirmScheduleMs),
};

export interface FailedAttempt {
  /** How many attempts were charged, this one included. */
  readonly attemptCount: number;
  readonly now: number;
  /** A random fraction in [0, 1). */
  readonly jitter: number;
  readonly retryAfterSeconds?: number | undefined;
}

/** When the next attempt is due, epoch milliseconds; undefined when the schedule is exhausted. */
export function nextAttempt(failed: FailedAttempt): number | undefined {
  const scheduled = retryScheduleMs[failed.attemptCount - 1];
  if (scheduled === undefined) return undefined;
  const wait = scheduled * (1 - jitterRatio + 2 * jitterRatio * failed.jitter);
  const asked = (failed.retryAfterSeconds ?? 0) * secondMs;
  return failed.now + Math.round(Math.min(Math.max(wait, asked), maxRetryAfterRatio * wait));
}

/** How long the whole schedule takes, without jitter. */
const scheduleMs = retryScheduleMs.reduce((sum, wait) => sum + wait, 0);

/**
 * Whether a callback that waits for a host which can't be reached is given up: once both have lasted
 * as long as the whole schedule takes, for paygate itself may have been away. Until then such failures are
 * not charged to it.
 */
export const isWaitExhausted = (dueForMs: number, downForMs: number): boolean =>
  Math.min(dueForMs, downForMs) >= scheduleMs;

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Seconds from now that a `Retry-After` header asks for, never below 0; undefined when it says
 * nothing that can be understood. https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  if (!httpDate.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / secondMs));
}

/** How far an attempt came: what it was waiting for when it ended. */
export type AttemptPhase = 'resolve' | 'connect' | 'tls' | 'response' | 'body';

/** How an attempt ended, in classes that a merchant can act on. */
export type AttemptOutcome =
  | 'delivered'
  /** The address is one that callbacks do not go to. */
  | 'refused'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  /** What came back is no HTTP answer, or nothing came back. */
  | 'response'
  | 'redirect'
  | 'status'
  /** A 200 whose body broke off. */
  | 'body'
  /** A fault of paygate itself. */
  | 'internal';

export interface AttemptEnd {
  readonly phase: AttemptPhase;
  /** The status of the answer, if one came. */
  readonly status?: number | undefined;
  /** The network stack's code of what broke the attempt off, if something did. */
  readonly errorCode?: string | undefined;
}

/** The code that stands for our own deadline among those of the network stack. */
export const deadlineCode = 'PAYGATE_DEADLINE';

/** As undici calls it. */
export const connectTimeoutCode = 'UND_ERR_CONNECT_TIMEOUT';
/** The proxy that leads to onion services could not be reached. */
export const proxyDownCode = 'PAYGATE_PROXY_DOWN';
/** It could, and found no way to the host. */
export const proxyRefusedCode = 'PAYGATE_PROXY_REFUSED';

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const timeoutCodes = new Set([deadlineCode, connectTimeoutCode, 'ETIMEDOUT']);
const tlsCode =
  /^(ERR_(TLS|SSL)_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_|PATH_LENGTH_)/;

/** A status other than 200 is the answer, however its body ended; exactly 200 is success. */
export function outcomeOf({
  phase,
  status,
  errorCode: fault,
}: AttemptEnd): Exclude<AttemptOutcome, 'refused' | 'internal'> {
  if (status !== undefined && status !== 200)
    return redirectStatuses.has(status) ? 'redirect' : 'status';
  if (fault === undefined) return 'delivered';
  if (timeoutCodes.has(fault)) return 'timeout';
  switch (phase) {
    case 'resolve':
      return 'dns';
    case 'connect':
      return tlsCode.test(fault) ? 'tls' : 'connect';
    case 'tls':
      return 'tls';
    case 'response':
      return 'response';
    case 'body':
      return 'body';
  }
}

/** The phases before a request can be written. */
const phasesBeforeRequest: ReadonlySet<AttemptPhase> = new Set(['resolve', 'connect', 'tls']);

/**
 * Whether the host could not be reached at all, so that no other callback to it has a chance either.
 * A certificate that is not trusted is no such case: another store may trust it.
 */
export const isUnreachable = (outcome: AttemptOutcome, phase: AttemptPhase): boolean =>
  outcome === 'dns' ||
  outcome === 'connect' ||
  (outcome === 'timeout' && phasesBeforeRequest.has(phase));
