// Callback URLs that an address was asked for with and that no store has: a shop whose customers get no address. Pure. The
// list is bounded, for whoever has a key may name as many as they like.

import { redactUrl } from './callback.ts';
import { plainText } from './format.ts';
import { fitsCallback } from './store-choice.ts';

export interface Unmatched {
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
const toldMs = 3 * 86_400_000;
const maxOfKey = 3;
const maxOfAll = 12;
const maxWishLength = 1_000;
const maxShownLength = 200;

type Asked = Pick<Unmatched, 'wish' | 'keyId' | 'storeId'>;

/** The list with one more request; what was not asked for the longest gives way. */
export function noteUnmatched(
  list: readonly Unmatched[],
  { wish: whole, keyId, storeId }: Asked,
  now: number,
): Unmatched[] {
  const wish = whole.slice(0, maxWishLength);
  const isSame = (each: Unmatched): boolean => each.wish === wish && each.keyId === keyId;
  const before = list.find(isSame);
  const { since = now, count = 0 } = before ?? {};
  const entry = { wish, keyId, storeId, since, lastAt: now, count: count + 1 };
  const others = list
    .filter((each) => !isSame(each))
    .toSorted((one, other) => other.lastAt - one.lastAt);
  const ofKey = others.filter((each) => each.keyId === keyId).slice(0, maxOfKey - 1);
  const kept = others.filter((each) => each.keyId !== keyId || ofKey.includes(each));
  return [entry, ...kept].slice(0, maxOfAll);
}

/** Those that are still true: asked for lately, and fitting no store that the key is for. */
export const stillUnmatched = (
  list: readonly Unmatched[],
  stores: readonly { readonly id: number; readonly callbackUrl: string }[],
  now: number,
): Unmatched[] =>
  list.filter(({ wish, storeId, lastAt }) => {
    const own = stores.filter(({ id }) => storeId === null || id === storeId);
    // A clock that was ahead must not keep one for ever.
    const isRecent = Math.abs(now - lastAt) < toldMs;
    return isRecent && own.length > 0 && !own.some((store) => fitsCallback(store, wish));
  });

/** For people: without secrets. What is no URL may be a secret as a whole. */
export const showWish = (wish: string): string =>
  /^https?:\/\//i.test(wish)
    ? plainText(redactUrl(wish), maxShownLength)
    : `a part of one, of ${wish.length} characters`;
