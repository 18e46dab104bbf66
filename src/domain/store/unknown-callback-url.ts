// `match_callback` texts of requests that matched no store: the customers of such a shop get no
// address. The list is limited, because a client may send any number of them.

import { redactUrl } from '../delivery/callback.ts';
import { plainText } from '../text/format.ts';
import { matchesCallback } from './store-choice.ts';

export interface UnknownCallbackUrl {
  /** The text of the request, truncated. It may contain a secret. */
  readonly wish: string;
  readonly keyId: number;
  /** The store of a store-bound key; null for a key of all stores. */
  readonly storeId: number | null;
  /** Epoch milliseconds of the first and the last request. */
  readonly since: number;
  readonly lastAt: number;
  readonly count: number;
}

/** An entry is reported for this long after its last request. */
const reportedMs = 3 * 86_400_000;
const maxPerKey = 3;
const maxEntries = 12;
const maxWishLength = 1_000;
const maxShownLength = 200;

type AddressRequest = Pick<UnknownCallbackUrl, 'wish' | 'keyId' | 'storeId'>;

/** The list with one more request. The entry with the oldest last request is evicted. */
export function addUnknownCallbackUrl(
  list: readonly UnknownCallbackUrl[],
  { wish: whole, keyId, storeId }: AddressRequest,
  now: number,
): UnknownCallbackUrl[] {
  const wish = whole.slice(0, maxWishLength);
  const isSame = (each: UnknownCallbackUrl): boolean => each.wish === wish && each.keyId === keyId;
  const before = list.find(isSame);
  const { since = now, count = 0 } = before ?? {};
  const entry = { wish, keyId, storeId, since, lastAt: now, count: count + 1 };
  const others = list
    .filter((each) => !isSame(each))
    .toSorted((one, other) => other.lastAt - one.lastAt);
  const ofKey = others.filter((each) => each.keyId === keyId).slice(0, maxPerKey - 1);
  const remaining = others.filter((each) => each.keyId !== keyId || ofKey.includes(each));
  return [entry, ...remaining].slice(0, maxEntries);
}

/** The entries that still hold: recent, and matching no store of the key. */
export const stillUnknown = (
  list: readonly UnknownCallbackUrl[],
  stores: readonly { readonly id: number; readonly callbackUrl: string }[],
  now: number,
): UnknownCallbackUrl[] =>
  list.filter(({ wish, storeId, lastAt }) => {
    const own = stores.filter(({ id }) => storeId === null || id === storeId);
    // `abs`, because an entry from a clock that was ahead would stay for ever.
    const isRecent = Math.abs(now - lastAt) < reportedMs;
    return isRecent && own.length > 0 && !own.some((store) => matchesCallback(store, wish));
  });

/** For people, without secrets. A text that is no URL may be a secret as a whole. */
export const formatUnknownCallbackUrl = (wish: string): string =>
  /^https?:\/\//i.test(wish)
    ? plainText(redactUrl(wish), maxShownLength)
    : `a part of one, of ${wish.length} characters`;
