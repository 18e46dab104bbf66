// Schemas that several operations share.

import * as z from 'zod';

export const unixTime = z.int().nonnegative().describe('Unix seconds');
export const satoshis = z.int().describe('Satoshis');
export const bitcoin = z.literal('BTC');
export const txid = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, '64 hex digits are expected')
  .transform((text) => text.toLowerCase());

/** @param message what is expected. A query has numbers as text. */
export const wholeNumber = (min: number, max: number, message: string) =>
  z.preprocess(
    (given) =>
      typeof given === 'string' && /^(0|[1-9]\d{0,14})$/.test(given) ? Number(given) : given,
    z.int(message).min(min, message).max(max, message),
  );

/** In a query. */
export const unixTimeText = wholeNumber(0, 99_999_999_999, 'Unix seconds are expected');
