// `v2/payments`: the confirmed payments of stores, as clients of Blockonomics read them.
// docs/api.md says what of it is documented there, and what is supposed.

import * as z from 'zod';
import { dayMs } from '../../lib/time-units.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { PaymentEntry } from '../../store/payments/payment-view.ts';
import type { ApiOptions } from '../api-parts.ts';
import { type Operation, operation } from '../operation.ts';
import { bitcoin, wholeNumber } from '../shared-schemas.ts';
import { ownStores } from '../store-list.ts';
import { currencyIn, fiatOf } from './balance.ts';
import { describePayment, paymentAnswer } from './merchant-tx.ts';

const maxLimit = 200;

const timeframes = ['1W', '2W', '1M', '3M'] as const;
const days: Readonly<Record<(typeof timeframes)[number], number>> = {
  '1W': 7,
  '2W': 14,
  '1M': 30,
  '3M': 90,
};

const query = z.object({
  limit: wholeNumber(1, maxLimit, `a whole number from 1 to ${maxLimit} is expected`)
    .default(maxLimit)
    .describe(`1 to ${maxLimit}`),
  timeframe: z
    .enum(timeframes, `one of ${timeframes.join(', ')} is expected`)
    .optional()
    .describe('Only payments first seen in the last week, two weeks, 30 or 90 days'),
  crypto: z.string().optional().describe('BTC; any other has no payment here'),
  store_name: z.string().optional().describe('A part of the name of the store, in any case'),
  currency: z.string().optional().describe('ISO 4217: adds `fiat_value`'),
});

type Query = z.infer<typeof query>;

const listedPayment = paymentAnswer
  .extend({
    crypto: bitcoin,
    store_name: z.string().nullable().describe('null for an address of an unknown store'),
    fiat_value: z
      .number()
      .nullable()
      .optional()
      .meta({ format: 'double' })
      .describe('With `currency`: the value when paygate saw it first; null if it noted none'),
  })
  .meta({ id: 'StorePayment' });

export const listPayments = (options: ApiOptions): Operation =>
  operation({
    tag: 'Payments',
    methods: ['GET'],
    path: '/v2/payments',
    summary: 'The confirmed payments of all stores, newest first',
    limit: 'searchHistory',
    query,
    answer: z.object({ data: z.array(listedPayment) }).meta({ id: 'StorePayments' }),
    run({ query, key }) {
      const { records } = options;
      const currency = currencyIn(query.currency);
      if (query.crypto !== undefined && query.crypto.toUpperCase() !== 'BTC') return { data: [] };
      const listed = confirmedOf(options, query, key).map((row) => {
        const payment = describePayment(records, row);
        const described = { ...payment, crypto: 'BTC' as const, store_name: row.storeName };
        if (currency === undefined) return described;
        return {
          ...described,
          fiat_value: row.currency === currency ? fiatOf(row.valueSat, row) : null,
        };
      });
      // A payment whose block has just left the chain is not confirmed.
      return { data: listed.filter(({ status }) => status === 2) };
    },
  });

function confirmedOf({ records, now }: ApiOptions, query: Query, key: Key): PaymentEntry[] {
  const { limit, timeframe, store_name: name } = query;
  const since = timeframe === undefined ? 0 : now() - days[timeframe] * dayMs;
  const filter = { states: ['confirmed', 'settled'], since, limit, isOnChain: true } as const;
  const { paymentView, catalog } = records;
  if (name === undefined) {
    return paymentView.list({ ...filter, storeId: key.storeId ?? undefined });
  }
  return ownStores(catalog.stores({ archived: true }), key)
    .filter((store) => store.name.toLowerCase().includes(name.toLowerCase()))
    .flatMap(({ id }) => paymentView.list({ ...filter, storeId: id }))
    .sort((one, other) => other.firstSeenAt - one.firstSeenAt || other.id - one.id)
    .slice(0, limit);
}
