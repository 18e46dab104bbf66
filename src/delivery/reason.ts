// Why an attempt failed, in words for the merchant whose server it went to. Pure. What the server
// sent is shown redacted, cut and without control characters; the callback's own URL never.

import { redactUrl } from '../domain/callback.ts';
import { type classify, deadlineFault, type Ending } from '../domain/retry.ts';

/** How much of an answer's body is kept for the log. */
const keptBytes = 1024;
const keptLocation = 200;

const dnsFaults: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address',
  EAI_AGAIN: 'the name server does not answer',
};

const connectFaults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refuses connections',
  ECONNRESET: 'it closed the connection at once',
  EHOSTUNREACH: 'there is no way to this host',
  ENETUNREACH: 'there is no way to its network',
};

const tlsFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate leads to an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate is from an authority that is not trusted here, or its chain is incomplete',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it does not send the intermediate certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
};

/** undici's name for what it gives no code. */
export const parserFault = 'HTTPParserError';

const responseFaults: Readonly<Record<string, string>> = {
  ECONNRESET: 'it closed the connection without an answer',
  UND_ERR_SOCKET: 'it closed the connection without an answer',
  [parserFault]: 'it does not speak HTTP on this port',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too large',
};

const waitedFor: Readonly<Record<Ending['phase'], string>> = {
  resolve: 'its name to be resolved',
  connect: 'a connection',
  response: 'an answer',
  body: 'the end of its answer',
};

export interface Told extends Ending {
  readonly outcome: ReturnType<typeof classify>;
  /** Host and port that the callback went to. */
  readonly host: string;
  /** The `Location` of the answer. */
  readonly location?: string | undefined;
}

/** One sentence; null for what was delivered. */
export function reasonFor(told: Told): string | null {
  const { outcome, host, phase, status, location } = told;
  const fault = told.fault ?? '';
  switch (outcome) {
    case 'delivered':
      return null;
    case 'dns':
      return `${host} could not be resolved: ${dnsFaults[fault] ?? fault}`;
    case 'connect':
      return `${host} could not be reached: ${connectFaults[fault] ?? fault}`;
    case 'tls':
      return `${host} could not be trusted: ${tlsFaults[fault] ?? fault}`;
    case 'timeout':
      return `${host} took too long: waited in vain for ${waitedFor[phase]}${
        fault === deadlineFault ? '' : ` (${fault})`
      }`;
    case 'response':
      return `${host} gave no HTTP answer: ${responseFaults[fault] ?? fault}`;
    case 'redirect':
      return `${host} answered ${status}, pointing to ${shownLocation(location)}; redirects are not followed`;
    case 'status':
      return `${host} answered ${status}; only 200 counts as received`;
    case 'body':
      return `${host} answered 200, but broke off before the end (${fault})`;
  }
}

const shownLocation = (location: string | undefined): string =>
  location === undefined ? 'nowhere' : printable(redactUrl(location)).slice(0, keptLocation);

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

const printable = (text: string): string => text.replace(unprintable, ' ').trim();

/** The beginning of a body as text that is safe to show; bytes cut in half are left out. */
export function excerpt(body: Uint8Array): string {
  const text = new TextDecoder().decode(body.subarray(0, keptBytes), { stream: true });
  return printable(text);
}
