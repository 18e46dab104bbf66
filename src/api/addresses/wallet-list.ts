// Wallets as plugins read them (wire §3): their extended key, next index and, on request, their
// balance. store-list.ts decides which wallets a key sees.

import * as z from 'zod';
import { priceCentsOf } from '../../domain/payment/money.ts';
import { PaygateError } from '../../lib/errors.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import type { WalletRow } from '../../store/wallets/catalog.ts';
import type { ScriptMovements } from '../../watcher/reader.ts';
import type { ApiOptions } from '../api-parts.ts';
import { type Operation, operation } from '../operation.ts';
import { satoshis, unixTime } from '../shared-schemas.ts';
import {
  describeWallet,
  flag,
  id,
  isOn,
  walletAnswer,
  walletOf,
  walletsOf,
} from '../store-list.ts';
import { balanceOf, balanceShape, fiatOf } from './balance.ts';
import type { Targets } from './balance-targets.ts';

const fiat = z.number().nullable().meta({ format: 'double' });
const walletBalance = balanceShape
  .extend({
    confirmed_sats: satoshis.describe('As `confirmed`'),
    unconfirmed_sats: satoshis.describe('As `unconfirmed`'),
    confirmed_fiat: fiat.describe('At the price of now; null without one'),
    unconfirmed_fiat: fiat,
    fiat_currency: z.string().describe("The currency of the wallet's first store, or USD"),
    total_addresses: z.int().nonnegative().describe('Addresses with a transaction'),
  })
  .meta({ id: 'WalletBalance' });
const datedWallet = walletAnswer
  .extend({ created_at: unixTime, balance: walletBalance.optional() })
  .meta({ id: 'DatedWallet' });
const balanceQuery = z.object({
  balance: flag.describe('true: with its balance, which may take a while; counts as `balance`'),
});
const limit: Operation['limit'] = ({ balance }) => (isOn(balance) ? 'balance' : undefined);

/** @param asked whether the balance is asked for */
async function describeDated(
  options: ApiOptions,
  targets: Targets,
  row: WalletRow,
  asked: string | undefined,
) {
  const wallet = { ...describeWallet(options, row), created_at: unixSeconds(row.createdAt) };
  if (!isOn(asked)) return wallet;
  return { ...wallet, balance: await fullBalance(options, row, await targets.readWallet(row)) };
}

/** The balance in the names of paygate, and in those of Blockonomics. */
async function fullBalance(
  options: ApiOptions,
  { id: walletId }: WalletRow,
  scripts: readonly ScriptMovements[],
) {
  const { catalog } = options.records;
  const { confirmed, unconfirmed } = balanceOf(options, scripts);
  const currencies = catalog.stores().filter((store) => store.walletId === walletId);
  const currency = currencies.find((store) => store.currency !== null)?.currency ?? 'USD';
  const rateCents = await rateOrNull(options, currency);
  return {
    confirmed,
    unconfirmed,
    confirmed_sats: confirmed,
    unconfirmed_sats: unconfirmed,
    confirmed_fiat: fiatOf(confirmed, { currency, priceCents: rateCents }),
    unconfirmed_fiat: fiatOf(unconfirmed, { currency, priceCents: rateCents }),
    fiat_currency: currency,
    total_addresses: scripts.length,
  };
}

/** The price of one bitcoin in hundredths; null without one, because a balance needs none. */
async function rateOrNull({ prices }: ApiOptions, currency: string): Promise<number | null> {
  try {
    const price = (await prices?.price(currency)) ?? null;
    return price === null ? null : priceCentsOf(price);
  } catch (error) {
    if (error instanceof PaygateError) return null;
    throw error;
  }
}

const listWallets = (options: ApiOptions, targets: Targets): Operation =>
  operation({
    tag: 'Wallets',
    methods: ['GET'],
    path: '/v2/wallets',
    summary: 'The wallets',
    limit,
    query: balanceQuery,
    answer: z.object({ data: z.array(datedWallet) }).meta({ id: 'WalletList' }),
    async run({ query, key }) {
      const rows = walletsOf(options.records, key);
      const described = rows.map((row) => describeDated(options, targets, row, query.balance));
      return { data: await Promise.all(described) };
    },
  });

const showWallet = (options: ApiOptions, targets: Targets): Operation =>
  operation({
    tag: 'Wallets',
    methods: ['GET'],
    path: '/v2/wallets/{id}',
    summary: 'One wallet',
    limit,
    params: z.object({ id }),
    query: balanceQuery,
    answer: z.object({ data: datedWallet }).meta({ id: 'WalletData' }),
    async run({ params, query, key }) {
      const row = walletOf(options.records, key, params.id);
      return { data: await describeDated(options, targets, row, query.balance) };
    },
  });

export const walletOperations = (options: ApiOptions, targets: Targets): Operation[] => [
  listWallets(options, targets),
  showWallet(options, targets),
];
