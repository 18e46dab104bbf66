// Stores and wallets as plugins read them (wire §3). A key sees what it is for, and nothing else.

import { z } from 'zod';
import { scanGap } from '../domain/allocation.ts';
import { PaygateError } from '../errors.ts';
import type { StoreRow, WalletRow } from '../store/catalog.ts';
import type { Key } from '../store/keys.ts';
import type { Store } from '../store/open.ts';
import { type Operation, operation } from './operation.ts';
import type { ApiOptions } from './options.ts';
import { bitcoin, unixTime } from './schemas.ts';

export const id = z.coerce.number().int().positive();
const flag = z.string().optional();
const isOn = (text: string | undefined): boolean => text === 'true' || text === '1';

const wallet = z.object({
  id: z.int(),
  name: z.string(),
  crypto: bitcoin,
  address: z.string().describe('The extended public key'),
  xpub_index: z.int().describe('The next index'),
  gap_limit: z.int(),
});
const datedWallet = wallet.extend({ created_at: unixTime });
export const storeAnswer = z.object({
  id: z.int(),
  name: z.string(),
  http_callback: z.string(),
  wallets: z.array(wallet),
});

type CatalogOptions = Pick<ApiOptions, 'store' | 'refuseGap'>;

/** The stores that a key is for. */
export const storesOf = ({ catalog }: Store, { storeId }: Pick<Key, 'storeId'>): StoreRow[] =>
  catalog.stores().filter((row) => storeId === null || row.id === storeId);

/** @throws PaygateError not_found also for a store that the key is not for */
export function storeOf(store: Store, key: Key, storeId: number): StoreRow {
  const row = storesOf(store, key).find((each) => each.id === storeId);
  if (row === undefined) throw new PaygateError('not_found', `There is no store ${storeId}`);
  return row;
}

/** The wallets that a key is for: all of them, or that of its store. */
export function walletsOf(store: Store, key: Pick<Key, 'storeId'>): WalletRow[] {
  const own = new Set(storesOf(store, key).map(({ walletId }) => walletId));
  return store.catalog.wallets().filter((row) => key.storeId === null || own.has(row.id));
}

/** @throws PaygateError not_found */
export function walletOf(store: Store, key: Key, walletId: number): WalletRow {
  const row = walletsOf(store, key).find((each) => each.id === walletId);
  if (row === undefined) throw new PaygateError('not_found', `There is no wallet ${walletId}`);
  return row;
}

const describeWallet = ({ refuseGap }: CatalogOptions, row: WalletRow) => ({
  id: row.id,
  name: `Wallet ${row.id}`,
  crypto: 'BTC' as const,
  address: row.account,
  xpub_index: row.nextIndex,
  gap_limit: refuseGap ?? scanGap,
});

const describeDated = (options: CatalogOptions, row: WalletRow) => ({
  ...describeWallet(options, row),
  created_at: Math.floor(row.createdAt / 1000),
});

export function describeStore(options: CatalogOptions, row: StoreRow) {
  const wallets = row.walletId === null ? [] : [options.store.catalog.wallet(row.walletId)];
  return {
    id: row.id,
    name: row.name,
    http_callback: row.callbackUrl,
    wallets: wallets.map((each) => describeWallet(options, each)),
  };
}

const walletOperations = (options: CatalogOptions): Operation[] => [
  operation({
    methods: ['GET'],
    path: '/v2/wallets',
    summary: 'The wallets',
    answer: z.object({ data: z.array(datedWallet) }),
    run: ({ key }) => ({
      data: walletsOf(options.store, key).map((row) => describeDated(options, row)),
    }),
  }),
  operation({
    methods: ['GET'],
    path: '/v2/wallets/{id}',
    summary: 'One wallet',
    params: z.object({ id }),
    answer: z.object({ data: datedWallet }),
    run: ({ params, key }) => ({
      data: describeDated(options, walletOf(options.store, key, params.id)),
    }),
  }),
];

const storeOperations = (options: CatalogOptions): Operation[] => [
  operation({
    methods: ['GET'],
    path: '/v2/stores',
    summary: 'The stores',
    query: z.object({ wallets: flag.describe('true: each with its wallets') }),
    answer: z.object({ data: z.array(storeAnswer.partial({ wallets: true })) }),
    run: ({ key, query }) => ({
      data: storesOf(options.store, key).map((row) => {
        const { wallets, ...bare } = describeStore(options, row);
        return isOn(query.wallets) ? { ...bare, wallets } : bare;
      }),
    }),
  }),
  operation({
    methods: ['GET'],
    path: '/v2/stores/{id}',
    summary: 'One store',
    params: z.object({ id }),
    answer: z.object({ data: storeAnswer }),
    run: ({ params, key }) => ({
      data: describeStore(options, storeOf(options.store, key, params.id)),
    }),
  }),
  operation({
    methods: ['GET'],
    path: '/v2/stores/{id}/wallets',
    summary: 'The wallets of a store',
    params: z.object({ id }),
    answer: z.object({ data: z.array(wallet) }),
    run: ({ params, key }) => ({
      data: describeStore(options, storeOf(options.store, key, params.id)).wallets,
    }),
  }),
];

const addressEntry = z.object({
  address: z.string(),
  callback: z.string().nullable(),
  tag: z.string(),
});
type AddressEntry = z.infer<typeof addressEntry>;

const addressList = ({ store }: CatalogOptions): Operation =>
  operation({
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
      walletsOf(store, key).flatMap(({ id, account: address }): AddressEntry[] => {
        const users = storesOf(store, key)
          .filter(({ walletId }) => walletId === id)
          .map(({ callbackUrl, name }) => ({ address, callback: callbackUrl, tag: name }));
        return users.length > 0 ? users : [{ address, callback: null, tag: '' }];
      }),
  });

export const catalogOperations = (options: CatalogOptions): Operation[] => [
  ...walletOperations(options),
  ...storeOperations(options),
  addressList(options),
];
