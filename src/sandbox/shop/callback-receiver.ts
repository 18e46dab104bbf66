// The shop's callback receiver, as docs/callbacks.md describes it. It verifies the signature of the
// raw query, then validates every field. It shares no code with the signing side. Pure.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { PaygateError } from '../../lib/errors.ts';
import type { CallbackFields } from './shop-orders.ts';

const toleranceSeconds = 300;

export interface CallbackRequest {
  /** Everything after the first `?`, unchanged. */
  readonly query: string;
  readonly header: (name: string) => string | undefined;
}

export interface VerificationOptions {
  /** `whsec_…` */
  readonly secret: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** @throws PaygateError unauthorized for a wrong signature, invalid for a wrong field */
export function readCallback(
  { query, header }: CallbackRequest,
  options: VerificationOptions,
): CallbackFields {
  const id = header('webhook-id') ?? '';
  const timestamp = header('webhook-timestamp') ?? '';
  const signatures = header('webhook-signature') ?? '';
  if (!isGenuine({ id, timestamp, signatures, query }, options)) {
    throw new PaygateError('unauthorized', 'The signature is not that of our paygate');
  }
  const fields = new URLSearchParams(query);
  const read = (name: string, form: RegExp): string => {
    const text = fields.get(name) ?? '';
    if (form.test(text)) return text;
    throw new PaygateError('invalid', `The callback has no valid ${name}`);
  };
  return {
    eventId: id,
    address: read('addr', /^[a-z0-9]{14,90}$/i),
    txid: read('txid', /^[a-z0-9]{1,64}$/i),
    valueSat: Number(read('value', /^\d{1,16}$/)),
    status: Number(read('status', /^(-1|0|1|2)$/)) as CallbackFields['status'],
  };
}

interface SignedRequest {
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: string;
  readonly query: string;
}

function isGenuine(signed: SignedRequest, { secret, now }: VerificationOptions): boolean {
  const { id, timestamp, signatures, query } = signed;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) >= toleranceSeconds) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${query}`).digest('base64');
  const expected = Buffer.from(`v1,${mac}`);
  return signatures.split(' ').some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
