// Standard Webhooks headers over a callback's query string (wire §4): HMAC-SHA256 of
// `id.timestamp.query`, one signature for each secret, so that a rotated one can still be checked.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { base64 } from '@scure/base';

const secretPrefix = 'whsec_';
const secretBytes = 32;

export interface Signable {
  readonly eventId: string;
  /** Epoch seconds. */
  readonly timestamp: number;
  /** The raw query string, exactly as sent. */
  readonly query: string;
}

export interface SignatureHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** @param secrets `whsec_…`, the current one first */
export function signatureHeaders(signable: Signable, secrets: readonly string[]): SignatureHeaders {
  const { eventId, timestamp, query } = signable;
  const message = utf8ToBytes(`${eventId}.${timestamp}.${query}`);
  const sign = (secret: string): string =>
    `v1,${base64.encode(hmac(sha256, secretKey(secret), message))}`;
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}

export interface SigningSecrets {
  readonly webhookSecret: string;
  readonly previousWebhookSecret: string | null;
  /** Epoch milliseconds. */
  readonly previousSecretUntil: number | null;
}

/** What signs at a time: the current secret, and the one before for a while after a rotation. */
export function signingSecrets(secrets: SigningSecrets, now: number): string[] {
  const { webhookSecret, previousWebhookSecret, previousSecretUntil } = secrets;
  const isKept = previousWebhookSecret !== null && now < (previousSecretUntil ?? 0);
  return isKept ? [webhookSecret, previousWebhookSecret] : [webhookSecret];
}

/** How long an old secret goes on signing. */
export const overlapMs = 7 * 86_400_000;

/** A fresh secret takes over; the one before signs beside it for a while, an earlier one no more. */
export const rotated = (
  { webhookSecret }: Pick<SigningSecrets, 'webhookSecret'>,
  fresh: string,
  now: number,
): SigningSecrets => ({
  webhookSecret: fresh,
  previousWebhookSecret: webhookSecret,
  previousSecretUntil: now + overlapMs,
});

const secretKey = (secret: string): Uint8Array => base64.decode(secret.slice(secretPrefix.length));

export const newWebhookSecret = (randomBytes: (length: number) => Uint8Array): string =>
  secretPrefix + base64.encode(randomBytes(secretBytes));
