// `new_address` (wire §2): a new address for one order of a store.

import * as z from 'zod';
import { unixSeconds } from '../../lib/time-units.ts';
import type { ApiOptions } from '../api-parts.ts';
import { idempotencyHeaders, idempotencyKeyOf } from '../idempotency-key.ts';
import { type Operation, operation } from '../operation.ts';
import { bitcoin, unixTime } from '../shared-schemas.ts';

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

const answer = z
  .object({
    address: z.string(),
    time: unixTime.describe('When the address was issued'),
    crypto: bitcoin,
    account: z.string().describe('The extended public key'),
    reset: z.literal(1).optional(),
  })
  .meta({ id: 'NewAddress' });

export const newAddress = ({ issue }: Pick<ApiOptions, 'issue'>): Operation =>
  operation({
    tag: 'Addresses',
    methods: ['GET', 'POST'],
    path: '/new_address',
    summary: 'A new address, never issued before',
    issues: true,
    conflict: 'The gap limit is reached, or the Idempotency-Key made an order',
    codes: [1001, 1003, 1008, 1032],
    limit: 'newAddress',
    query,
    headers: idempotencyHeaders('the same address'),
    answer,
    async run({ query, key, context }) {
      const idempotencyKey = idempotencyKeyOf(context);
      const target = {
        ...(isGiven(query.match_callback) && { callback: query.match_callback }),
        ...(isGiven(query.match_account) && { account: query.match_account }),
      };
      const reset = query.reset === '1';
      const { address } = await issue({ key, target, reset, idempotencyKey });
      return {
        address: address.address,
        time: unixSeconds(address.issuedAt),
        crypto: 'BTC' as const,
        account: address.account,
        ...(reset && { reset: 1 as const }),
      };
    },
  });

/** A plugin whose setting is empty sends an empty value, or white space. */
const isGiven = (text: string | undefined): text is string => text !== undefined && /\S/.test(text);
