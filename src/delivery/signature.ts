// Standard Webhooks headers over a callback's query string (wire §4): HMAC-SHA256 of
// `id.timestamp.query`, one signature for each secret, so that a rotated one can still be checked.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { base64 } from '@scure/base';
import { LRUCache } from 'lru-cache';

const secretPrefix = 'whsec_';
const secretBytes = 32;

export interface SignedContent {
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

/** Makes the key of a secret, `whsec_…`. */
export type SecretKeyOf = (secret: string) => KeyObject;

const secretKey: SecretKeyOf = (secret) =>
  createSecretKey(base64.decode(secret.slice(secretPrefix.length)));

/** To make one takes as long as five signatures. A replaced one is kept until others push it out: what signs is for the store to say. */
const maxCachedKeys = 256;

/** The same, each made once while so many others are not. */
export function createKeyCache(): SecretKeyOf {
  const keys = new LRUCache<string, KeyObject>({ max: maxCachedKeys });
  return (secret) => {
    const known = keys.get(secret);
    if (known !== undefined) return known;
    const key = secretKey(secret);
    keys.set(secret, key);
    return key;
  };
}

/** @param secrets `whsec_…`, the current one first */
export function signatureHeaders(
  signable: SignedContent,
  secrets: readonly string[],
  keyOf: SecretKeyOf = secretKey,
): SignatureHeaders {
  const { eventId, timestamp, query } = signable;
  const message = `${eventId}.${timestamp}.${query}`;
  const sign = (secret: string): string =>
    `v1,${createHmac('sha256', keyOf(secret)).update(message).digest('base64')}`;
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
export const secretOverlapMs = 7 * 86_400_000;

/** A fresh secret takes over; the one before signs beside it for a while, an earlier one no more. */
export const rotatedSecrets = (
  { webhookSecret }: Pick<SigningSecrets, 'webhookSecret'>,
  fresh: string,
  now: number,
): SigningSecrets => ({
  webhookSecret: fresh,
  previousWebhookSecret: webhookSecret,
  previousSecretUntil: now + secretOverlapMs,
});

export const newWebhookSecret = (randomBytes: (length: number) => Uint8Array): string =>
  secretPrefix + base64.encode(randomBytes(secretBytes));
