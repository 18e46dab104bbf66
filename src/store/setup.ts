// Sets up a store with its wallet: one transaction, whoever asks for it. *The* merchant key is made with the
// first store and is the same for every later one.

import type { WalletKey } from '../bitcoin/keychain.ts';
import type { NewStore, StoreRow, WalletRow } from './catalog.ts';
import type { Store } from './open.ts';
import type { Tx } from './writer.ts';

export interface NewShop {
  readonly key: WalletKey;
  /** First index to issue, without a scan of the chain. */
  readonly startIndex: number | undefined;
  readonly fields: Omit<NewStore, 'walletId'>;
  /** 32 random bytes, for the merchant key where there is none yet. */
  readonly secret: Uint8Array;
}

export interface Shop {
  readonly row: StoreRow;
  readonly wallet: WalletRow;
  readonly apiKey: string;
}

/** @throws PaygateError conflict for a start index of a wallet that there is already */
export function setUpShop(
  { catalog, keys }: Pick<Store, 'catalog' | 'keys'>,
  tx: Tx,
  now: number,
  shop: NewShop,
): Shop {
  const wallet = catalog.ensureWallet(tx, now, shop.key, shop.startIndex);
  const row = catalog.addStore(tx, now, { ...shop.fields, walletId: wallet.id });
  const apiKey = keys.merchantKey() ?? keys.rotateMerchantKey(tx, now, shop.secret, 0);
  return { row, wallet, apiKey };
}
