// `new_address` (wire §2): an address for one order, for the store that the request means.

import type { Context } from 'hono';
import { z } from 'zod';
import { chooseStore, noWallet } from '../domain/store-choice.ts';
import { PaygateError } from '../errors.ts';
import type { Issued } from '../store/addresses.ts';
import type { StoreChoice } from '../store/catalog.ts';
import type { Key } from '../store/keys.ts';
import type { Store } from '../store/open.ts';
import { copiedAt } from '../store/settings.ts';
import type { Tx } from '../store/writer.ts';
import { ownStores } from './catalog.ts';
import { type Operation, operation } from './operation.ts';
import type { ApiOptions } from './options.ts';
import { bitcoin, unixTime } from './schemas.ts';

const longestIdempotencyKey = 255;

const query = z.object({
  match_callback: z.string().optional().describe("A part of the store's callback URL"),
  match_account: z.string().optional().describe('A part of the extended public key'),
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
    .max(longestIdempotencyKey)
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

type Query = z.infer<typeof query>;

/** The store that was chosen, its wallet, and how the request may be answered again. */
interface Order {
  readonly storeId: number;
  readonly walletId: number;
  readonly reset: boolean;
  readonly idempotencyKey: string | undefined;
}

export const newAddress = (options: ApiOptions): Operation =>
  operation({
    methods: ['GET', 'POST'],
    path: '/new_address',
    summary: 'A fresh address, which nobody was ever given',
    issues: true,
    limit: 'newAddress',
    query,
    headers,
    answer,
    async run({ query, key, context }) {
      const { store, checkIssuing, onIssued } = options;
      const idempotencyKey = idempotencyKeyOf(context);
      checkIssuing();
      const issued = await store.database.write((tx) => {
        const { id: storeId, walletId } = storeFor(store, key, query);
        const reset = query.reset === '1';
        return issue(options, tx, { storeId, walletId, reset, idempotencyKey });
      }, 'awaited');
      onIssued(issued);
      return {
        address: issued.address,
        time: Math.floor(issued.issuedAt / 1000),
        crypto: 'BTC' as const,
        account: issued.account,
        ...(query.reset === '1' && { reset: 1 as const }),
      };
    },
  });

function idempotencyKeyOf(context: Context): string | undefined {
  // A letter a byte, whatever it was meant to be.
  const given = { [idempotencyHeader]: context.req.header(idempotencyHeader) };
  const { success, data } = headers.safeParse(given);
  if (success) return data[idempotencyHeader];
  throw new PaygateError(
    'invalid',
    `An ${idempotencyHeader} has 1 to ${longestIdempotencyKey} bytes`,
  );
}

function storeFor(
  store: Store,
  key: Key,
  query: Query,
): { readonly id: number; readonly walletId: number } {
  const { match_callback, match_account } = query;
  const accountOf = (walletId: number | null) =>
    // Read only where it is asked for: this is done for each address.
    walletId === null || !match_account ? null : store.catalog.wallet(walletId).account;
  const candidates = candidatesFor(store, key, query).map((each) => ({
    ...each,
    account: accountOf(each.walletId),
  }));
  const wish = {
    ...(match_callback ? { callback: match_callback } : {}),
    ...(match_account ? { account: match_account } : {}),
  };
  const { walletId, ...chosen } = chooseStore(candidates, wish, () => removedStores(store, key));
  if (walletId === null) throw noWallet(chosen);
  return { id: chosen.id, walletId };
}

const removedStores = ({ catalog }: Store, key: Key) =>
  ownStores(catalog.stores({ archived: true }), key).filter(
    ({ archivedAt }) => archivedAt !== null,
  );

/** Those that the whole callback URL names, which go before all others: a hundred need not be read for one. */
function candidatesFor(
  { catalog }: Store,
  key: Key,
  { match_callback, match_account }: Query,
): StoreChoice[] {
  const isExact = match_callback && !match_account;
  const named = isExact ? ownStores(catalog.choices(match_callback), key) : [];
  return named.length > 0 ? named : ownStores(catalog.choices(), key);
}

function issue(options: ApiOptions, tx: Tx, order: Order): Issued {
  const { addresses, idempotency } = options.store;
  const { storeId, walletId, idempotencyKey } = order;
  const now = options.now();
  const before =
    idempotencyKey === undefined ? undefined : idempotency.addressOf(now, storeId, idempotencyKey);
  const answered = before === undefined ? undefined : addresses.issuedAs(before);
  if (answered !== undefined) return answered;
  const reused = order.reset ? reusable(options, order) : undefined;
  if (reused === undefined) refuseGap(options, walletId);
  const issued = reused ?? addresses.issue(tx, now, walletId, storeId);
  if (idempotencyKey !== undefined) {
    idempotency.keep(tx, now, storeId, idempotencyKey, issued.id);
  }
  return issued;
}

/** The store's last address, where it is certain that nobody paid it and no copy handed it out. */
function reusable({ store, isCaughtUp }: ApiOptions, { storeId, walletId }: Order) {
  if (!isCaughtUp()) return undefined;
  return store.addresses.unpaidSince(walletId, storeId, copiedAt(store.catalog));
}

function refuseGap({ store, refuseGap }: ApiOptions, walletId: number): void {
  if (refuseGap === undefined || !store.addresses.isUnpaidFor(walletId, refuseGap)) return;
  throw new PaygateError(
    'conflict',
    `The last ${refuseGap} addresses of this wallet are unpaid, which is its gap limit: ` +
      'use reset=1 for orders that were given up, or raise --refuse-gap and the gap limit of the wallet',
    { number: 1008 },
  );
}
