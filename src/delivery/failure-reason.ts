// Why an attempt failed, as text for the merchant. Pure. Text that the server sent is redacted, cut
// and freed of control characters. The callback's own URL is never shown.

import { redactUrl } from '../domain/delivery/callback.ts';
import { connectErrors, dnsErrors, tlsErrors } from '../domain/delivery/network-error.ts';
import type { AttemptEnd, outcomeOf } from '../domain/delivery/retry.ts';
import { routingNames } from '../domain/delivery/test-answer.ts';
import { plainText } from '../domain/text/format.ts';
import { withoutSecrets } from '../domain/text/redaction.ts';

/** The longest excerpt of a body. */
const maxExcerptBytes = 1024;
const maxLocationLength = 200;

/** The name of undici's parser errors, which have no code. */
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
  /** Host and port of the URL. */
  readonly host: string;
  /** The status that counts as received; 200 without it. */
  readonly expected?: '200' | '2xx';
  /** The `Location` header. */
  readonly location?: string | undefined;
  /** Returns what the location must not show. */
  readonly secrets?: () => readonly string[];
}

/** One sentence; null for a delivered callback. */
export function reasonFor(attempt: EndedAttempt): string | null {
  const { outcome, host, phase, status, expected = '200' } = attempt;
  const errorCode = attempt.errorCode ?? '';
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
      return `${host} answered ${status}, ${shownLocation(attempt)}; redirects are not followed`;
    case 'status':
      return `${host} answered ${status}; only ${expected} counts as received`;
    case 'body':
      return `${host} answered ${status ?? 200}, but broke off before the end (${errorCode})`;
  }
}

function shownLocation({ location, secrets = () => [] }: EndedAttempt): string {
  if (location === undefined) return 'without a Location';
  const shown = withoutSecrets(redactUrl(location), secrets());
  return `pointing to ${plainText(shown, maxLocationLength)}`;
}

/** Characters that are not printed. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Shorter secrets would redact large parts of unrelated text. */
const minSecretLength = 4;

/**
 * The beginning of a body as text that is safe to show. A character cut in half is left out.
 * @param secrets returns the secrets to redact. It is called only for a body that can hold one.
 */
export function excerpt(body: Uint8Array, secrets: () => readonly string[] = () => []): string {
  const text = new TextDecoder().decode(body, { stream: true }).replace(unprintable, ' ').trim();
  if (text.length < minSecretLength) return text;
  const bytes = new TextEncoder()
    .encode(withoutSecrets(text, secrets()))
    .subarray(0, maxExcerptBytes);
  return new TextDecoder().decode(bytes, { stream: true });
}

/** A gateway of WooCommerce in its path `/wc-api/…`. */
const gatewayName = /^WC_Gateway_[a-z_]+$/i;

/**
 * The parts of a callback URL that may be secret, raw and decoded, the longest first. The name of a
 * plugin is none: its answers have it, such as "Blockonomics order not found".
 */
export function secretsOf(callbackUrl: string): string[] {
  const [path = '', query = ''] = callbackUrl.replace(/^[^:]*:\/\/[^/?]*/, '').split(/\?(.*)/s);
  const segments = path
    .split('/')
    .filter((segment) => redactUrl(segment) !== segment && !gatewayName.test(segment));
  const values = query
    .split('&')
    .filter((pair) => !routingNames.test(pair.slice(0, Math.max(pair.indexOf('='), 0))))
    .map((pair) => pair.slice(pair.indexOf('=') + 1));
  const raw = [query, ...values, ...segments];
  return [...new Set([...raw, ...raw.map(decoded)])]
    .filter((secret) => secret.length >= minSecretLength)
    .sort((one, other) => other.length - one.length);
}

function decoded(text: string): string {
  return new URLSearchParams(`text=${text.replaceAll('&', '%26')}`).get('text') ?? '';
}
