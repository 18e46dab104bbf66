// A certificate and its key, checked before a server uses them. A pair that is broken, expired or
// does not match is refused, and the current one stays.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { formatCount } from '../domain/text/format.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { dayMs } from '../lib/time-units.ts';

export interface Certificate {
  /** PEM: the certificate, then its chain. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** The names in the certificate: `DNS:pay.example.com, DNS:…`. */
  readonly names: string;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly until: number;
}

/** The source of the server's certificate, and its warnings. */
export interface CertificateSource {
  /** Undefined before the first certificate. */
  current(): Certificate | undefined;
  /** Texts for /healthz. */
  warnings(): string[];
  /** Begins to renew or reload, and calls back with each new certificate. */
  start(onChange: (certificate: Certificate) => void): void;
  stop(): void;
}

const warnMs = 14 * dayMs;

/** @throws PaygateError invalid, with the reason */
export function readCertificate(cert: string, key: string, now: number): Certificate {
  const x509 = parsed('the certificate', () => new X509Certificate(cert));
  const privateKey = parsed('the key', () => createPrivateKey(key));
  if (!x509.checkPrivateKey(privateKey)) {
    throw new PaygateError('invalid', 'the key does not belong to the certificate');
  }
  const [from, until] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)];
  if (!(until > now)) throw new PaygateError('invalid', `it expired on ${dayOf(until)}`);
  parsed('the chain', () => createSecureContext({ cert, key }));
  return { cert, key, names: x509.subjectAltName ?? x509.subject, from, until };
}

function parsed<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new PaygateError('invalid', `${what} cannot be read (${reasonOf(error)})`);
  }
}

export const dayOf = (epochMs: number): string =>
  Number.isNaN(epochMs) ? 'no date' : new Date(epochMs).toISOString().slice(0, 10);

/** Short-lived certificates are renewed late, so their warning comes late. */
export function expiryWarnings({ from, until }: Certificate, now: number): string[] {
  if (until <= now) return [`the HTTPS certificate expired on ${dayOf(until)}: browsers refuse it`];
  if (until - now >= Math.min(warnMs, (until - from) / 4)) return [];
  const days = Math.floor((until - now) / dayMs);
  return [`the HTTPS certificate expires on ${dayOf(until)}, in ${formatCount(days, 'day')}`];
}
