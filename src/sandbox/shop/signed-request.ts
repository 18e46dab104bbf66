// Whether a request comes from our paygate, by Standard Webhooks: a webhook signs its body, and a
// callback signs its raw query. It shares no code with the signing side. Pure.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { PaygateError } from '../../lib/errors.ts';

const toleranceSeconds = 300;

export interface SignedRequest {
  /** The bytes that are signed, unchanged. */
  readonly content: string;
  readonly header: (name: string) => string | undefined;
}

export interface VerificationOptions {
  /** `whsec_…` */
  readonly secret: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** @throws PaygateError unauthorized for a wrong signature */
export function verify(request: SignedRequest, options: VerificationOptions): void {
  if (isGenuine(request, options)) return;
  throw new PaygateError('unauthorized', 'The signature is not that of our paygate');
}

function isGenuine(
  { content, header }: SignedRequest,
  { secret, now }: VerificationOptions,
): boolean {
  const timestamp = header('webhook-timestamp') ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) >= toleranceSeconds) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${header('webhook-id')}.${timestamp}.${content}`;
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  return (header('webhook-signature') ?? '').split(' ').some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
