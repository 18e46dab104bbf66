// Wallets as plugins read them (wire §3): their extended key, next index and, on request, their
// balance. store-list.ts decides which wallets a key sees.

import * as z from 'zod';
import { unixSeconds } from '../../lib/time-units.ts';
import type { WalletRow } from '../../store/wallets/catalog.ts';
import type { ApiOptions } from '../api-parts.ts';
import { type Operation, operation } from '../operation.ts';
import { unixTime } from '../shared-schemas.ts';
import {
  describeWallet,
  flag,
  id,
  isOn,
  walletAnswer,
  walletOf,
  walletsOf,
} from '../store-list.ts';
import { balanceOf, balanceShape } from './balance.ts';
import type { Targets } from './balance-targets.ts';

const datedWallet = walletAnswer.extend({ created_at: unixTime }).meta({ id: 'DatedWallet' });

const describeDated = (options: ApiOptions, row: WalletRow) => ({
  ...describeWallet(options, row),
  created_at: unixSeconds(row.createdAt),
});

const listWallets = (options: ApiOptions): Operation =>
  operation({
    tag: 'Wallets',
    methods: ['GET'],
    path: '/v2/wallets',
    summary: 'The wallets',
    answer: z.object({ data: z.array(datedWallet) }).meta({ id: 'WalletList' }),
    run: ({ key }) => ({
      data: walletsOf(options.records, key).map((row) => describeDated(options, row)),
    }),
  });

const showWallet = (options: ApiOptions, targets: Targets): Operation =>
  operation({
    tag: 'Wallets',
    methods: ['GET'],
    path: '/v2/wallets/{id}',
    summary: 'One wallet',
    limit: ({ balance }) => (isOn(balance) ? 'balance' : undefined),
    params: z.object({ id }),
    query: z.object({
      balance: flag.describe('true: with its balance, which may take a while; counts as `balance`'),
    }),
    answer: z
      .object({ data: datedWallet.extend({ balance: balanceShape.optional() }) })
      .meta({ id: 'WalletData' }),
    async run({ params, query, key }) {
      const row = walletOf(options.records, key, params.id);
      const data = describeDated(options, row);
      if (!isOn(query.balance)) return { data };
      const balance = balanceOf(options, await targets.readWallet(row));
      return { data: { ...data, balance } };
    },
  });

export const walletOperations = (options: ApiOptions, targets: Targets): Operation[] => [
  listWallets(options),
  showWallet(options, targets),
];
