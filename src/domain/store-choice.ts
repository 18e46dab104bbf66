// Which store a request for an address means (wire §2). Pure.

import { PaygateError } from '../lib/errors.ts';
import { redactUrl } from './callback.ts';

interface StoreReference {
  readonly id: number;
  readonly name: string;
  readonly callbackUrl: string;
}

export interface StoreCandidate extends StoreReference {
  /** The wallet's key as the merchant's own wallet shows it; null while there is no wallet. */
  readonly account: string | null;
}

export interface StoreQuery {
  /** A whole callback URL, or a part of it such as the secret inside. */
  readonly callback?: string;
  /** A part of the account's extended public key. */
  readonly account?: string;
  /** The key that asks sees no secret of a Callback URL. */
  readonly hidesSecrets?: boolean;
}

/**
 * The store that a request means. A wish must fit, also where there is one store: a shop whose Callback URL is not known
 * would be paid and never told. Without a wish the only store is meant.
 * @param removed the stores that were removed; read only where no store fits
 * @throws PaygateError invalid with the numbers that clients branch on: 1001, 1003, 1032
 */
export function chooseStore<T extends StoreCandidate>(
  stores: readonly T[],
  wish: StoreQuery,
  removed: () => readonly StoreReference[] = () => [],
): T {
  if (stores.length === 0) {
    throw new PaygateError(
      'invalid',
      'There is no store yet: make one in the dashboard, or with `paygate store add`',
      { number: 1001 },
    );
  }
  const { account, callback } = wish;
  const fitting = account ? stores.filter((store) => store.account?.includes(account)) : stores;
  const [only, second] = fitting;
  if (only === undefined) throw noAccountError(stores);
  if (callback) {
    const matches = wish.hidesSecrets ? matchesVisibleCallback : matchesCallback;
    return byCallback(stores, fitting, { callback, matches: matches }, removed);
  }
  if (second === undefined) return only;
  throw new PaygateError(
    'invalid',
    `There are several stores: name one by match_callback (${formatStores(fitting)})`,
    { number: 1032 },
  );
}

/** Whether a store has the Callback URL that was asked for, or one that contains it. */
export const matchesCallback = (
  { callbackUrl }: Pick<StoreReference, 'callbackUrl'>,
  wish: string,
): boolean => callbackUrl.includes(wish);

/**
 * The same for a key that sees no secret of a URL: of what such a key does not see, it must name whole parts. By pieces
 * that fit or do not fit, it could find out a secret letter by letter.
 */
const matchesVisibleCallback = (
  { callbackUrl }: Pick<StoreReference, 'callbackUrl'>,
  wish: string,
): boolean => redactUrl(callbackUrl).includes(wish) || hasWholePart(callbackUrl, wish);

/** Whether a text stands in a URL between two of its edges: an end of the URL, or a character that divides it. */
function hasWholePart(url: string, text: string): boolean {
  const isEdge = (at: number): boolean =>
    at === 0 || at === url.length || /[/?&#=]/.test(url.slice(at - 1, at + 1));
  for (let at = url.indexOf(text); at !== -1; at = url.indexOf(text, at + 1)) {
    if (isEdge(at) && isEdge(at + text.length)) return true;
  }
  return false;
}

function byCallback<T extends StoreCandidate>(
  all: readonly T[],
  stores: readonly T[],
  wanted: { readonly callback: string; readonly matches: typeof matchesCallback },
  removed: () => readonly StoreReference[],
): T {
  const { callback: wish, matches } = wanted;
  const exact = stores.filter((store) => store.callbackUrl === wish);
  const found = exact.length > 0 ? exact : stores.filter((each) => matches(each, wish));
  const [only, second] = found;
  if (only === undefined) {
    const removedMatches = removed().filter((each) => matches(each, wish));
    throw noCallbackError(all, wish, removedMatches);
  }
  if (second === undefined) return only;
  const why = found.every(({ callbackUrl }) => callbackUrl === only.callbackUrl)
    ? 'Several stores have this callback URL, give each its own'
    : 'match_callback fits several stores, make it longer';
  throw new PaygateError('invalid', `${why} (${formatStores(found)})`, { number: 1032 });
}

/** What a store without a wallet answers. Not by `store add`: that would make another store. */
export const noWalletError = ({ id, name }: Pick<StoreCandidate, 'id' | 'name'>): PaygateError =>
  new PaygateError(
    'invalid',
    `Store ${id} ${JSON.stringify(name)} has no wallet yet: give it one in the dashboard, or with \`paygate store wallet ${id}\``,
    { number: 1001 },
  );

// The newest plugin takes two phrases in a message of 1001 or 1003 for a fault of another coin (wire §1): none of
// these has them.

const noAccountError = (stores: readonly StoreReference[]): PaygateError =>
  new PaygateError(
    'invalid',
    `match_account fits the wallet of no store (${formatStores(stores)}): send a part of the extended public key that a store uses, or none`,
    { number: 1003 },
  );

/** Names the Callback URLs that there are, without what may be a secret in them. */
function noCallbackError(
  stores: readonly StoreReference[],
  wish: string,
  removedMatches: readonly StoreReference[],
): PaygateError {
  const shown = stores
    .slice(0, maxShownStores)
    .map(
      ({ id, name, callbackUrl }) => `${id} ${JSON.stringify(name)} has ${redactUrl(callbackUrl)}`,
    );
  const more = stores.length > maxShownStores ? `, and ${stores.length - maxShownStores} more` : '';
  const isAlike = stores.some(({ callbackUrl }) => redactUrl(callbackUrl) === redactUrl(wish));
  const sentences = [
    removedMatches.length > 0
      ? `match_callback fits only a store that was removed (${formatStores(removedMatches)}).`
      : 'match_callback fits the Callback URL of no store.',
    `Store ${shown.join(', store ')}${more}.`,
    ...(isAlike ? ['The difference is in a part that is not shown here, such as the secret.'] : []),
    'Set the Callback URL of the store to the one that the shop shows, character for character, in the dashboard or ' +
      'with `paygate store set ID --callback-url URL`',
  ];
  return new PaygateError('invalid', sentences.join(' '), { number: 1003 });
}

/** Stores that a refusal names, at most. */
const maxShownStores = 10;

/** With their hosts, which fit as a `match_callback`; secrets stand in what comes behind. */
const formatStores = (stores: readonly StoreReference[]): string =>
  stores
    .map(({ id, name, callbackUrl }) => `${id} ${JSON.stringify(name)} at ${hostIn(callbackUrl)}`)
    .join(', ');

/** As it is written, for capitals count. */
const hostIn = (callbackUrl: string): string => /^[^:]+:\/\/([^/?#]*)/.exec(callbackUrl)?.[1] ?? '';

/** What a second store means for the shop of the first, which may have named none until now. */
export const severalStoresAdvice =
  'There are several now: a shop that asks for addresses with the API key of all stores must name its own by ' +
  'match_callback (its Callback URL, or a part that no other has), or use a key of its own store.';
