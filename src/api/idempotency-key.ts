// The header `Idempotency-Key`: its schema, how an operation reads it, and the hash of the body
// beside it (wire §2).

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import type { Context } from 'hono';
import * as z from 'zod';
import { refusePrivateMaterial } from '../bitcoin/private-material.ts';
import { PaygateError } from '../lib/errors.ts';

const maxBytes = 255;
const header = 'Idempotency-Key';

/** @param effect what the same key has again, for the documentation */
export const idempotencyHeaders = (effect: string) =>
  z.object({
    [header]: z
      .string()
      .min(1)
      .max(maxBytes)
      .optional()
      .describe(`The same one gets ${effect} for a day; 1 to ${maxBytes} bytes`),
  });

const schema = idempotencyHeaders('');

/** @throws PaygateError invalid for a key that is too long or holds private keys */
export function idempotencyKeyOf(context: Context): string | undefined {
  // The header has one character for each byte, in any encoding.
  const text = context.req.header(header);
  if (text === undefined) return undefined;
  const { success, data } = schema.safeParse({ [header]: text });
  // The database stores it for a day.
  if (success) refusePrivateMaterial([text]);
  if (success) return data[header];
  throw new PaygateError('invalid', `An ${header} has 1 to ${maxBytes} bytes`);
}

/** SHA-256 of a body, whatever the order of its fields. */
export function bodyHashOf(body: object): Buffer {
  const sorted = (_name: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  return Buffer.from(sha256(utf8ToBytes(JSON.stringify(body, sorted))));
}
