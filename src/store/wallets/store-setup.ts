// Sets up a store with its wallet in one transaction. *The* merchant key is made with the first
// store and serves every later one. No two active stores have the same callback URL.

import type { WalletKey } from '../../bitcoin/keychain.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Keys } from '../access/api-keys.ts';
import type { Tx } from '../db/writer.ts';
import type { Catalog, NewStore, StoreChoice, StoreRow } from './catalog.ts';

export interface NewShop {
  readonly key: WalletKey;
  /** First index to issue, without a scan of the chain. */
  readonly startIndex: number | undefined;
  readonly fields: Omit<NewStore, 'walletId'>;
  /** 32 random bytes, for the merchant key where there is none yet. */
  readonly secret: Uint8Array;
}

export type Shop = ReturnType<typeof setUpShop>;

/**
 * @throws PaygateError conflict for a start index of a wallet, or the callback URL of a store, that
 * there is already
 */
export function setUpShop(
  { catalog, keys }: { readonly catalog: Catalog; readonly keys: Keys },
  tx: Tx,
  now: number,
  shop: NewShop,
) {
  requireOwnUrl(catalog, shop.fields.callbackUrl);
  const wallet = catalog.ensureWallet(tx, now, shop.key, shop.startIndex);
  const row = catalog.addStore(tx, now, { ...shop.fields, walletId: wallet.id });
  const apiKey = keys.merchantKey() ?? keys.rotateMerchantKey(tx, now, shop.secret, 0);
  return { row, wallet, apiKey };
}

/**
 * Uses a removed store again: it issues addresses and sends callbacks. Its own keys stay ended.
 * @returns whether it was removed.
 * @throws PaygateError not_found; conflict if another store has its callback URL by now
 */
export function restoreShop(
  { catalog }: { readonly catalog: Catalog },
  tx: Tx,
  id: number,
): { readonly row: StoreRow; readonly changed: boolean } {
  const before = catalog.store(id);
  if (before.archivedAt === null) return { row: before, changed: false };
  requireOwnUrl(catalog, before.callbackUrl);
  return { row: catalog.unarchiveStore(tx, id), changed: true };
}

export function twinOf(
  catalog: Pick<Catalog, 'choices'>,
  callbackUrl: string,
  before?: StoreRow,
): StoreChoice | undefined {
  // A removed store is not chosen by a shop.
  const isRemoved = before !== undefined && before.archivedAt !== null;
  if (callbackUrl === '' || isRemoved) return undefined;
  return catalog.choices(callbackUrl).find(({ id }) => id !== before?.id);
}

/**
 * `match_callback` could not distinguish the two, and the shop would get no address.
 * @throws PaygateError conflict
 */
export function requireOwnUrl(
  catalog: Pick<Catalog, 'choices'>,
  callbackUrl: string,
  before?: StoreRow,
): void {
  const twin = twinOf(catalog, callbackUrl, before);
  if (twin === undefined) return;
  throw new PaygateError(
    'conflict',
    `Nothing is changed: store ${twin.id} ${JSON.stringify(twin.name)} has this Callback URL already, and its shop would get no ` +
      `address any more. To change its wallet: "Use another wallet" on its page, or \`paygate store wallet ${twin.id}\`. ` +
      'Another store needs a URL of its own, such as one with another secret',
  );
}
