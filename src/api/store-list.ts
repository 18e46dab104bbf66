// Stores and their wallets, as plugins read them (wire §3). A key sees its own stores and nothing
// else.

import * as z from 'zod';
import { parseWalletKey } from '../bitcoin/keychain.ts';
import { redactUrl } from '../domain/delivery/callback.ts';
import { decodeBars } from '../domain/text/url-text.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Key } from '../store/access/api-keys.ts';
import type { Records } from '../store/open-records.ts';
import type { StoreRow, WalletRow } from '../store/wallets/catalog.ts';
import type { ApiOptions } from './api-parts.ts';
import { type Operation, operation } from './operation.ts';
import { bitcoin, wholeNumber } from './shared-schemas.ts';

/** A path has it as text, and some clients send it as text in a body, too. */
export const id = wholeNumber(1, 999_999_999_999_999, 'a whole number above 0 is expected');
export const flag = z.string().optional();
export const isOn = (text: string | undefined): boolean => text === 'true' || text === '1';

const wallet = z.object({
  id: z.int(),
  name: z.string(),
  crypto: bitcoin,
  address: z.string().describe('The extended public key'),
  xpub_index: z.int().describe('The next index'),
  gap_limit: z.int(),
});
export const walletAnswer = wallet.meta({ id: 'Wallet' });
const store = z.object({
  id: z.int(),
  name: z.string(),
  http_callback: z
    .string()
    .describe('As the shop writes it; to a key that may only read, without the secrets in it'),
  wallets: z.array(walletAnswer),
});
const storeAnswer = store.meta({ id: 'Store' });
export const storeData = z.object({ data: storeAnswer }).meta({ id: 'StoreData' });
const listedStore = store.partial({ wallets: true }).meta({ id: 'ListedStore' });

export type CatalogOptions = Pick<ApiOptions, 'records' | 'refuseGap' | 'walletGap'>;

export const ownStores = <T extends Pick<StoreRow, 'id'>>(
  stores: readonly T[],
  { storeId }: Pick<Key, 'storeId'>,
): T[] => stores.filter(({ id }) => storeId === null || id === storeId);

export const storesOf = (
  { catalog }: Pick<Records, 'catalog'>,
  key: Pick<Key, 'storeId'>,
): StoreRow[] => ownStores(catalog.stores(), key);

/** @throws PaygateError not_found, also for a store of other keys */
export function storeOf(records: Records, key: Key, storeId: number): StoreRow {
  const row = storesOf(records, key).find((each) => each.id === storeId);
  if (row === undefined) throw new PaygateError('not_found', `There is no store ${storeId}`);
  return row;
}

/** The wallets that a key is for: all, or the one of its store. */
export function walletsOf(records: Records, key: Pick<Key, 'storeId'>): WalletRow[] {
  const own = new Set(storesOf(records, key).map(({ walletId }) => walletId));
  return records.catalog.wallets().filter((row) => key.storeId === null || own.has(row.id));
}

/**
 * The wallets of a key with an extended key, as it was given or in another notation. Several may
 * have the same one, with other types of addresses.
 */
export function walletsNamed(records: Records, key: Key, text: string): WalletRow[] {
  const own = walletsOf(records, key);
  const literal = own.filter(({ account }) => account === text);
  if (literal.length > 0 || isBareXpub(text)) return literal;
  const { descriptor } = parseWalletKey(text, { network: records.network, allowDepth: true });
  return own.filter((row) => row.descriptor === descriptor);
}

/** Whether a text is an extended key that does not name its type of addresses. */
export const isBareXpub = (text: string): boolean => /^[xt]pub[^(]*$/i.test(text);

/** @throws PaygateError not_found */
export function walletOf(records: Records, key: Key, walletId: number): WalletRow {
  const row = walletsOf(records, key).find((each) => each.id === walletId);
  if (row === undefined) throw new PaygateError('not_found', `There is no wallet ${walletId}`);
  return row;
}

export const describeWallet = ({ refuseGap, walletGap }: CatalogOptions, row: WalletRow) => ({
  id: row.id,
  name: `Wallet ${row.id}`,
  crypto: 'BTC' as const,
  address: row.account,
  xpub_index: row.nextIndex,
  gap_limit: refuseGap ?? walletGap,
});

/** The Callback URL as a key may see it. With its secrets, anybody could forge callbacks. */
const callbackUrlFor = ({ scope }: Pick<Key, 'scope'>, { callbackUrl }: StoreRow): string =>
  scope === 'payments' ? decodeBars(callbackUrl) : redactUrl(callbackUrl);

export function describeStore(options: CatalogOptions, key: Key, row: StoreRow) {
  const wallets = row.walletId === null ? [] : [options.records.catalog.wallet(row.walletId)];
  return {
    id: row.id,
    name: row.name,
    http_callback: callbackUrlFor(key, row),
    wallets: wallets.map((each) => describeWallet(options, each)),
  };
}

const storeOperations = (options: CatalogOptions): Operation[] => [
  operation({
    tag: 'Stores',
    methods: ['GET'],
    path: '/v2/stores',
    summary: 'The stores',
    query: z.object({ wallets: flag.describe('true: each with its wallets') }),
    answer: z.object({ data: z.array(listedStore) }).meta({ id: 'StoreList' }),
    run: ({ key, query }) => ({
      data: storesOf(options.records, key).map((row) => {
        const { wallets, ...bare } = describeStore(options, key, row);
        return isOn(query.wallets) ? { ...bare, wallets } : bare;
      }),
    }),
  }),
  operation({
    tag: 'Stores',
    methods: ['GET'],
    path: '/v2/stores/{id}',
    summary: 'One store',
    params: z.object({ id }),
    answer: storeData,
    run: ({ params, key }) => ({
      data: describeStore(options, key, storeOf(options.records, key, params.id)),
    }),
  }),
  operation({
    tag: 'Stores',
    methods: ['GET'],
    path: '/v2/stores/{id}/wallets',
    summary: 'The wallets of a store',
    params: z.object({ id }),
    answer: z.object({ data: z.array(walletAnswer) }).meta({ id: 'StoreWallets' }),
    run: ({ params, key }) => ({
      data: describeStore(options, key, storeOf(options.records, key, params.id)).wallets,
    }),
  }),
];

const addressEntry = z.object({
  address: z.string(),
  callback: z.string().nullable(),
  tag: z.string(),
});
type AddressEntry = z.infer<typeof addressEntry>;

const addressList = ({ records }: CatalogOptions): Operation =>
  operation({
    tag: 'Stores',
    methods: ['GET'],
    path: '/address',
    summary: 'The extended public keys with their callback URLs',
    query: z.object({
      no_balance: flag.describe('Balances are never in this list'),
      only_xpub: flag.describe('Addresses are never in this list'),
      get_callback: flag,
    }),
    answer: z.array(addressEntry),
    run: ({ key }) =>
      walletsOf(records, key).flatMap(({ id, account: address }): AddressEntry[] => {
        const users = storesOf(records, key)
          .filter(({ walletId }) => walletId === id)
          .map((row) => ({ address, callback: callbackUrlFor(key, row), tag: row.name }));
        return users.length > 0 ? users : [{ address, callback: null, tag: '' }];
      }),
  });

export const catalogOperations = (options: CatalogOptions): Operation[] => [
  ...storeOperations(options),
  addressList(options),
];
