// `price` and `currencies` (wire §3), without a key, in the shapes that shops rely on.

import * as z from 'zod';
import { PaygateError } from '../lib/errors.ts';
import type { Prices } from '../price/prices.ts';
import type { ApiOptions } from './api-parts.ts';
import { type Operation, operation } from './operation.ts';

const currency = z
  .object({
    code: z.string().describe('ISO 4217'),
    name: z.string().describe('In English'),
  })
  .meta({ id: 'Currency', examples: [{ code: 'EUR', name: 'Euro' }] });

export const priceOperations = ({ prices }: ApiOptions): readonly Operation[] => [
  operation({
    open: true,
    tag: 'Prices',
    methods: ['GET'],
    path: '/price',
    summary: 'The price of one bitcoin; null for a currency, or a crypto, without a price',
    limit: 'price',
    query: z.object({
      currency: z
        .string()
        .min(1)
        .describe('ISO 4217, such as USD, or BTC')
        .meta({ examples: ['EUR'] }),
      crypto: z.string().default('BTC').describe('BTC; any other has no price'),
    }),
    answer: z
      .object({ price: z.number().nullable().meta({ format: 'double' }) })
      .meta({ id: 'Price' }),
    async run({ query }) {
      const source = requirePrices(prices);
      if (query.crypto.toUpperCase() !== 'BTC') return { price: null };
      return { price: await source.price(query.currency) };
    },
  }),
  operation({
    open: true,
    tag: 'Prices',
    methods: ['GET'],
    path: '/currencies',
    summary: 'The currencies that have a price',
    limit: 'price',
    answer: z.array(currency),
    run: () => requirePrices(prices).currencies(),
  }),
];

function requirePrices(prices: Prices | undefined): Prices {
  if (prices !== undefined) return prices;
  throw new PaygateError('not_found', 'Prices are switched off at this paygate');
}
