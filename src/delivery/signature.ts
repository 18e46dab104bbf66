// The signature of a callback or event: Standard Webhooks headers over its query string (wire §4)
// or its body. Each secret makes one HMAC-SHA256 of `id.timestamp.payload`. Receivers can thus
// check either secret during a rotation.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { bytesToHex } from '@noble/hashes/utils.js';
import { base64 } from '@scure/base';
import { LRUCache } from 'lru-cache';

const secretPrefix = 'whsec_';
const secretBytes = 32;

export interface SignedContent {
  readonly eventId: string;
  /** Epoch seconds. */
  readonly timestamp: number;
  /** The raw query string or body, as sent. */
  readonly payload: string;
}

export interface SignatureHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** Returns the HMAC key of a secret, `whsec_…`. */
export type SecretKeyOf = (secret: string) => KeyObject;

const secretKey: SecretKeyOf = (secret) =>
  createSecretKey(base64.decode(secret.slice(secretPrefix.length)));

/** Keys of replaced secrets stay in the cache until they are evicted. */
const maxCachedKeys = 256;

/** Caches keys, because a new key takes as long as five signatures. */
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
  content: SignedContent,
  secrets: readonly string[],
  keyOf: SecretKeyOf = secretKey,
): SignatureHeaders {
  const { eventId, timestamp, payload } = content;
  const message = `${eventId}.${timestamp}.${payload}`;
  const sign = (secret: string): string =>
    `v1,${createHmac('sha256', keyOf(secret)).update(message).digest('base64')}`;
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}

export const btcpayHeader = 'BTCPay-Sig';

/** The one header of BTCPay Server: HMAC-SHA256 over the body, by the text of the secret. */
export const btcpayHeaders = (body: string, secret: string): Record<string, string> => ({
  [btcpayHeader]: `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
});

export interface SigningSecrets {
  readonly webhookSecret: string;
  readonly previousWebhookSecret: string | null;
  /** Epoch milliseconds. */
  readonly previousSecretUntil: number | null;
}

/** The secrets that sign now: the current one, and the previous one for a week after a rotation. */
export function signingSecrets(secrets: SigningSecrets, now: number): string[] {
  const { webhookSecret, previousWebhookSecret, previousSecretUntil } = secrets;
  const hasPrevious = previousWebhookSecret !== null && now < (previousSecretUntil ?? 0);
  return hasPrevious ? [webhookSecret, previousWebhookSecret] : [webhookSecret];
}

/** How long the previous secret signs after a rotation. */
export const secretOverlapMs = 7 * 86_400_000;

/** The fresh secret becomes current, and the current one previous. An earlier one is dropped. */
export const rotatedSecrets = (
  { webhookSecret }: Pick<SigningSecrets, 'webhookSecret'>,
  fresh: string,
  now: number,
): SigningSecrets => ({
  webhookSecret: fresh,
  previousWebhookSecret: webhookSecret,
  previousSecretUntil: now + secretOverlapMs,
});

/** For a webhook of a plugin: letters and digits, which any shop can hold. */
export const newPluginSecret = (randomBytes: (length: number) => Uint8Array): string =>
  bytesToHex(randomBytes(24));

export const newWebhookSecret = (randomBytes: (length: number) => Uint8Array): string =>
  secretPrefix + base64.encode(randomBytes(secretBytes));
