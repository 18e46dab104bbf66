// Which store a request for an address or an order means, among those of its key.

import { chooseStore, noWalletError, type StoreQuery } from '../domain/store/store-choice.ts';
import { encodeBars } from '../domain/text/url-text.ts';
import type { Key } from '../store/access/api-keys.ts';
import type { Records } from '../store/open-records.ts';
import type { StoreChoice } from '../store/wallets/catalog.ts';
import { ownStores } from './store-list.ts';

export type Place = ReturnType<typeof placeOf>;

/** @throws PaygateError not_found, or invalid with the numbers of `chooseStore` */
export function placeOf(
  records: Records,
  { key, target }: { readonly key: Pick<Key, 'storeId' | 'scope'>; readonly target: StoreQuery },
  choices: () => StoreChoice[] = () => records.catalog.choices(),
) {
  const accountOf = (walletId: number | null) =>
    // Read only when it is asked for, because this runs for each address.
    walletId === null || !target.account ? null : records.catalog.wallet(walletId).account;
  const candidates = candidatesFor(records, key, target, choices).map((each) => ({
    ...each,
    account: accountOf(each.walletId),
  }));
  const { walletId, ...chosen } = chooseStore(
    candidates,
    { ...target, hidesSecrets: key.scope !== 'payments' },
    () => removedStores(records, key),
  );
  if (walletId === null) throw noWalletError(chosen);
  return { storeId: chosen.id, walletId };
}

const removedStores = ({ catalog }: Records, key: Pick<Key, 'storeId'>) =>
  ownStores(catalog.stores({ archived: true }), key).filter(
    ({ archivedAt }) => archivedAt !== null,
  );

/** Stores with exactly this callback URL, or else all stores. It avoids reading all for one. */
function candidatesFor(
  { catalog }: Records,
  key: Pick<Key, 'storeId'>,
  { callback, account }: StoreQuery,
  choices: () => StoreChoice[],
): StoreChoice[] {
  const isExact = callback && !account;
  const named = isExact ? ownStores(catalog.choices(encodeBars(callback)), key) : [];
  return named.length > 0 ? named : ownStores(choices(), key);
}
