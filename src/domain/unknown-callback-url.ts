// Callback URLs that an address was asked for with and that no store has: a shop whose customers get no address. Pure. The
// list is bounded, for whoever has a key may name as many as they like.

import { redactUrl } from './callback.ts';
import { plainText } from './format.ts';
import { matchesCallback } from './store-choice.ts';

export interface UnknownCallbackUrl {
  /** What was asked for, cut; a secret may be in it. */
  readonly wish: string;
  readonly keyId: number;
  /** The only store that the key is for; null for all of them. */
  readonly storeId: number | null;
  /** Epoch milliseconds of the first and the last request. */
  readonly since: number;
  readonly lastAt: number;
  readonly count: number;
}

/** How long it is told after the last such request. */
const reportedMs = 3 * 86_400_000;
const maxPerKey = 3;
const maxEntries = 12;
const maxWishLength = 1_000;
const maxShownLength = 200;

type AddressRequest = Pick<UnknownCallbackUrl, 'wish' | 'keyId' | 'storeId'>;

/** The list with one more request; what was not asked for the longest gives way. */
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

/** Those that are still true: asked for lately, and fitting no store that the key is for. */
export const stillUnknown = (
  list: readonly UnknownCallbackUrl[],
  stores: readonly { readonly id: number; readonly callbackUrl: string }[],
  now: number,
): UnknownCallbackUrl[] =>
  list.filter(({ wish, storeId, lastAt }) => {
    const own = stores.filter(({ id }) => storeId === null || id === storeId);
    // A clock that was ahead must not keep one for ever.
    const isRecent = Math.abs(now - lastAt) < reportedMs;
    return isRecent && own.length > 0 && !own.some((store) => matchesCallback(store, wish));
  });

/** For people: without secrets. What is no URL may be a secret as a whole. */
export const formatUnknownCallbackUrl = (wish: string): string =>
  /^https?:\/\//i.test(wish)
    ? plainText(redactUrl(wish), maxShownLength)
    : `a part of one, of ${wish.length} characters`;
