// Why an attempt failed, in words for the merchant whose server it went to. Pure. What the server
// sent is shown redacted, cut and without control characters; the callback's own URL never.

import { redactUrl } from '../domain/callback.ts';
import { plainText } from '../domain/format.ts';
import { connectErrors, dnsErrors, tlsErrors } from '../domain/network-error.ts';
import type { AttemptEnd, outcomeOf } from '../domain/retry.ts';

/** How much of an answer's body is kept for the log. */
const maxExcerptBytes = 1024;
const maxLocationLength = 200;

/** undici's name for what it gives no code. */
export const parserFault = 'HTTPParserError';

const responseFaults: Readonly<Record<string, string>> = {
  ECONNRESET: 'it closed the connection without an answer',
  UND_ERR_SOCKET: 'it closed the connection without an answer',
  [parserFault]: 'it does not speak HTTP on this port',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too large',
};

const phaseTexts: Readonly<Record<AttemptEnd['phase'], string>> = {
  resolve: 'its name to be resolved',
  connect: 'a connection',
  tls: 'the TLS handshake',
  response: 'an answer',
  body: 'the end of its answer',
};

export interface EndedAttempt extends AttemptEnd {
  readonly outcome: ReturnType<typeof outcomeOf>;
  /** Host and port that the callback went to. */
  readonly host: string;
  /** The `Location` of the answer. */
  readonly location?: string | undefined;
}

/** One sentence; null for what was delivered. */
export function reasonFor(told: EndedAttempt): string | null {
  const { outcome, host, phase, status, location } = told;
  const errorCode = told.errorCode ?? '';
  switch (outcome) {
    case 'delivered':
      return null;
    case 'dns':
      return `${host} could not be resolved: ${dnsErrors[errorCode] ?? errorCode}`;
    case 'connect':
      return `${host} could not be reached: ${connectErrors[errorCode] ?? errorCode}`;
    case 'tls':
      return `${host} could not be trusted: ${tlsErrors[errorCode] ?? errorCode}`;
    case 'timeout':
      return `${host} took too long: waited in vain for ${phaseTexts[phase]}`;
    case 'response':
      return `${host} gave no HTTP answer: ${responseFaults[errorCode] ?? errorCode}`;
    case 'redirect':
      return `${host} answered ${status}, pointing to ${shownLocation(location)}; redirects are not followed`;
    case 'status':
      return `${host} answered ${status}; only 200 counts as received`;
    case 'body':
      return `${host} answered 200, but broke off before the end (${errorCode})`;
  }
}

const shownLocation = (location: string | undefined): string =>
  location === undefined ? 'nowhere' : plainText(redactUrl(location), maxLocationLength);

/** What does not show, in a body that keeps its white space and is cut only when it is redacted. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Shorter ones would blacken half of a text that has nothing to do with them. */
const minSecretLength = 4;

/**
 * The beginning of a body as text that is safe to show; bytes cut in half are left out.
 * @param secrets what an answer may echo and must not be shown; asked where it is long enough to hold one
 */
export function excerpt(body: Uint8Array, secrets: () => readonly string[] = () => []): string {
  const whole = new TextDecoder().decode(body, { stream: true }).replace(unprintable, ' ').trim();
  if (whole.length < minSecretLength) return whole;
  const text = secrets().reduce((shown, secret) => shown.replaceAll(secret, '…'), whole);
  const kept = new TextEncoder().encode(text).subarray(0, maxExcerptBytes);
  return new TextDecoder().decode(kept, { stream: true });
}

/** What of a callback URL may be a secret, as it stands there and decoded; the longest first. */
export function secretsOf(callbackUrl: string): string[] {
  const [path = '', query = ''] = callbackUrl.replace(/^[^:]*:\/\/[^/?]*/, '').split(/\?(.*)/s);
  const segments = path.split('/').filter((segment) => redactUrl(segment) !== segment);
  const values = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const raw = [query, ...values, ...segments];
  return [...new Set([...raw, ...raw.map(decoded)])]
    .filter((secret) => secret.length >= minSecretLength)
    .sort((one, other) => other.length - one.length);
}

function decoded(text: string): string {
  return new URLSearchParams(`text=${text.replaceAll('&', '%26')}`).get('text') ?? '';
}
