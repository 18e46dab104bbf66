// `new_address` (wire §2): a new address for one order of a store.

import type { Context } from 'hono';
import { z } from 'zod';
import { containsPrivateMaterial, rejectPrivateMaterial } from '../bitcoin/private-material.ts';
import { PaygateError } from '../lib/errors.ts';
import { createAddressIssuer } from './address-requests.ts';
import type { ApiOptions } from './api-parts.ts';
import { type Operation, operation } from './operation.ts';
import { bitcoin, unixTime } from './shared-schemas.ts';

const maxIdempotencyKeyBytes = 255;

const query = z.object({
  match_callback: z
    .string()
    .optional()
    .describe("The store's callback URL, or a part of it; it must fit"),
  match_account: z.string().optional().describe('A part of the extended public key; it must fit'),
  crypto: z
    .string()
    .regex(/^[bB][tT][cC]$/, 'Only crypto=BTC is served here')
    .optional()
    .describe('BTC, and nothing else'),
  reset: z.string().optional().describe('1: the last address again, while nobody has paid it'),
});

const idempotencyHeader = 'Idempotency-Key';
const headers = z.object({
  [idempotencyHeader]: z
    .string()
    .min(1)
    .max(maxIdempotencyKeyBytes)
    .optional()
    .describe('Within a day the same one gets the same address again; 1 to 255 bytes'),
});

const answer = z.object({
  address: z.string(),
  time: unixTime.describe('When the address was issued'),
  crypto: bitcoin,
  account: z.string().describe('The extended public key'),
  reset: z.literal(1).optional(),
});

export function newAddress(options: ApiOptions): Operation {
  const issue = createAddressIssuer(options);
  return operation({
    methods: ['GET', 'POST'],
    path: '/new_address',
    summary: 'A new address, never issued before',
    issues: true,
    limit: 'newAddress',
    query,
    headers,
    answer,
    async run({ query, key, context }) {
      const idempotencyKey = idempotencyKeyOf(context);
      const target = {
        ...(isGiven(query.match_callback) && { callback: query.match_callback }),
        ...(isGiven(query.match_account) && { account: query.match_account }),
      };
      const reset = query.reset === '1';
      const issued = await issue({ key, target, reset, idempotencyKey });
      options.onIssued(issued);
      return {
        address: issued.address,
        time: Math.floor(issued.issuedAt / 1000),
        crypto: 'BTC' as const,
        account: issued.account,
        ...(reset && { reset: 1 as const }),
      };
    },
  });
}

/** A plugin whose setting is empty sends an empty value, or white space. */
const isGiven = (text: string | undefined): text is string => text !== undefined && /\S/.test(text);

function idempotencyKeyOf(context: Context): string | undefined {
  // The header has one character for each byte, in any encoding.
  const text = context.req.header(idempotencyHeader);
  if (text === undefined) return undefined;
  const { success, data } = headers.safeParse({ [idempotencyHeader]: text });
  // The database stores it for a day.
  if (success && containsPrivateMaterial(text)) rejectPrivateMaterial(text);
  if (success) return data[idempotencyHeader];
  throw new PaygateError(
    'invalid',
    `An ${idempotencyHeader} has 1 to ${maxIdempotencyKeyBytes} bytes`,
  );
}
