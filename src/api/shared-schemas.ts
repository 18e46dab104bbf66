// Schemas that several operations share.

import { z } from 'zod';

export const unixTime = z.int().nonnegative().describe('Unix seconds');
export const satoshis = z.int().describe('Satoshis');
export const bitcoin = z.literal('BTC');
export const txid = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, '64 hex digits are expected')
  .transform((text) => text.toLowerCase());
