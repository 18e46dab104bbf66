// Which store a request for a new address, or for a new order, means.

import { PaygateError } from '../../lib/errors.ts';
import { redactUrl } from '../delivery/callback.ts';
import { encodeBars } from '../text/url-text.ts';

interface StoreReference {
  readonly id: number;
  readonly name: string;
  readonly callbackUrl: string;
}

export interface StoreCandidate extends StoreReference {
  /** The wallet's key as the merchant's wallet shows it; null without a wallet. */
  readonly account: string | null;
}

export interface StoreQuery {
  /** `store_id`; present, but undefined, in a request that could have named a store by it. */
  readonly id?: number | undefined;
  /** `match_callback`: a whole Callback URL or a part of it, such as its secret. */
  readonly callback?: string;
  /** `match_account`: a part of the extended public key. */
  readonly account?: string;
  /** Whether the API key must not learn secrets of Callback URLs. */
  readonly hidesSecrets?: boolean;
}

/**
 * The store that a request means. A query must match, even if there is only one store: a shop with
 * an unknown Callback URL would be paid and get no callback. An empty query means the only store.
 * See docs/decisions/002.
 * @param removed the removed stores, read only if no store matches
 * @throws PaygateError invalid with the numbers that clients branch on: 1001, 1003, 1032; not_found
 *   for an unknown id
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
  const { id, account, callback } = wish;
  if (id !== undefined) return byId(stores, id);
  const fitting = account ? stores.filter((store) => store.account?.includes(account)) : stores;
  const [only, second] = fitting;
  if (only === undefined) throw noAccountError(stores);
  if (callback) {
    const matches = wish.hidesSecrets ? matchesVisibleCallback : matchesCallback;
    return byCallback(stores, fitting, { callback, matches: matches }, removed);
  }
  if (second === undefined) return only;
  const parameter = 'id' in wish ? 'store_id' : 'match_callback';
  throw new PaygateError(
    'invalid',
    `There are several stores: name one by ${parameter} (${formatStores(fitting)})`,
    { number: 1032 },
  );
}

function byId<T extends StoreReference>(stores: readonly T[], id: number): T {
  const found = stores.find((store) => store.id === id);
  if (found === undefined) throw new PaygateError('not_found', `There is no store ${id}`);
  return found;
}

/** Whether a store's Callback URL contains the text of a query. */
export const matchesCallback = (
  { callbackUrl }: Pick<StoreReference, 'callbackUrl'>,
  wish: string,
): boolean => encodeBars(callbackUrl).includes(encodeBars(wish));

/**
 * `matchesCallback` for a key that must not learn secrets. Hidden text must be named in whole
 * parts, because matching pieces would reveal a secret letter by letter.
 */
const matchesVisibleCallback = (
  { callbackUrl }: Pick<StoreReference, 'callbackUrl'>,
  wish: string,
): boolean =>
  redactUrl(callbackUrl).includes(wish) || hasWholePart(encodeBars(callbackUrl), encodeBars(wish));

/** Whether a text is a whole part of a URL: between its ends or characters that separate parts. */
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
  const exact = stores.filter((store) => encodeBars(store.callbackUrl) === encodeBars(wish));
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

/** The error of a store without a wallet. `store add` is no advice: it would add another store. */
export const noWalletError = ({ id, name }: Pick<StoreCandidate, 'id' | 'name'>): PaygateError =>
  new PaygateError(
    'invalid',
    `Store ${id} ${JSON.stringify(name)} has no wallet yet: give it one in the dashboard, or with \`paygate store wallet ${id}\``,
    { number: 1001 },
  );

// Messages of 1001 and 1003 must not contain `add an xpub` or `Could not find matching xpub`. The
// newest plugin would take them for an error of another coin.

const noAccountError = (stores: readonly StoreReference[]): PaygateError =>
  new PaygateError(
    'invalid',
    `match_account fits the wallet of no store (${formatStores(stores)}): send a part of the extended public key that a store uses, or none`,
    { number: 1003 },
  );

/** Names the Callback URLs of the stores, without secrets. */
function noCallbackError(
  stores: readonly StoreReference[],
  wish: string,
  removedMatches: readonly StoreReference[],
): PaygateError {
  const shown = stores
    .slice(0, maxShownStores)
    .map(
      ({ id, name, callbackUrl }) =>
        `${id} ${JSON.stringify(name)} has ${redactUrl(callbackUrl) || 'no Callback URL'}`,
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

const maxShownStores = 10;

/**
 * Stores with the hosts of their Callback URLs, which work as a `match_callback` and are no secret.
 */
const formatStores = (stores: readonly StoreReference[]): string =>
  stores
    .map(({ id, name, callbackUrl }) => {
      const host = hostIn(callbackUrl);
      return `${id} ${JSON.stringify(name)}${host === '' ? '' : ` at ${host}`}`;
    })
    .join(', ');

/** The host as written, because `match_callback` is case-sensitive. */
const hostIn = (callbackUrl: string): string => /^[^:]+:\/\/([^/?#]*)/.exec(callbackUrl)?.[1] ?? '';

/** What follows when stores have one wallet. @param others the other active stores that have it */
export const sharedWalletAdvice = (
  others: readonly Pick<StoreReference, 'id' | 'name'>[],
): string[] =>
  others.length === 0
    ? []
    : [
        `This wallet is also that of ${others.map(({ id, name }) => `store ${id} ${JSON.stringify(name)}`).join(' and ')}. ` +
          'All share one counter of addresses, so that no address is issued twice.',
      ];

/** Advice after a second store was added, for shops that named no store until then. */
export const severalStoresAdvice =
  'There are several now: a shop that asks for addresses with the API key of all stores must name its own by ' +
  'match_callback (its Callback URL, or a part that no other has), or use a key of its own store.';
