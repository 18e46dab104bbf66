// The header `Idempotency-Key`: its schema, and how an operation reads it (wire §2).

import type { Context } from 'hono';
import { z } from 'zod';
import { containsPrivateMaterial, rejectPrivateMaterial } from '../bitcoin/private-material.ts';
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
  if (success && containsPrivateMaterial(text)) rejectPrivateMaterial(text);
  if (success) return data[header];
  throw new PaygateError('invalid', `An ${header} has 1 to ${maxBytes} bytes`);
}
