// Which store a request for an address means (wire §2). Pure.

import { PaygateError } from '../errors.ts';

interface Named {
  readonly id: number;
  readonly name: string;
  readonly callbackUrl: string;
}

export interface Candidate extends Named {
  /** The wallet's key as the merchant's own wallet shows it; null while there is no wallet. */
  readonly account: string | null;
}

export interface Wish {
  /** A whole callback URL, or a part of it such as the secret inside. */
  readonly callback?: string;
  /** A part of the account's extended public key. */
  readonly account?: string;
}

/**
 * The only store there is; else the one whose callback URL is the wish, or whose URL contains it.
 * Of several none is guessed: the money would go astray.
 * @param removed asked for only where the one store that is left may not be the one that was meant
 * @throws PaygateError invalid with the numbers that clients branch on: 1001, 1003, 1032
 */
export function chooseStore<T extends Candidate>(
  stores: readonly T[],
  wish: Wish,
  removed: () => readonly Named[] = () => [],
): T {
  if (stores.length === 0) {
    throw new PaygateError(
      'invalid',
      'There is no store yet: add an xpub with `paygate store add`',
      {
        number: 1001,
      },
    );
  }
  const { account, callback } = wish;
  const fitting = account ? stores.filter((store) => store.account?.includes(account)) : stores;
  const [only, second] = fitting;
  if (only === undefined) throw noMatch(stores, 'match_account');
  if (stores.length === 1 || (second === undefined && !callback)) {
    if (callback && !only.callbackUrl.includes(callback)) refuseRemoved(only, callback, removed());
    return only;
  }
  if (!callback) {
    throw new PaygateError(
      'invalid',
      `There are several stores: name one by match_callback (${names(fitting)})`,
      { number: 1032 },
    );
  }
  return byCallback(fitting, callback);
}

/** A shop goes on asking after its store was removed; it is not to collect for another one. */
function refuseRemoved(only: Named, wish: string, removed: readonly Named[]): void {
  const meant = removed.filter((each) => each.callbackUrl.includes(wish));
  if (meant.length === 0) return;
  throw new PaygateError(
    'invalid',
    `Could not find matching xpub: match_callback fits a store that was removed (${names(meant)}), ` +
      `and not the one that is left (${names([only])})`,
    { number: 1003 },
  );
}

function byCallback<T extends Candidate>(stores: readonly T[], wish: string): T {
  const exact = stores.filter((store) => store.callbackUrl === wish);
  const matches =
    exact.length > 0 ? exact : stores.filter((each) => each.callbackUrl.includes(wish));
  const [only, second] = matches;
  if (only === undefined) throw noMatch(stores, 'match_callback');
  if (second === undefined) return only;
  const why = matches.every(({ callbackUrl }) => callbackUrl === only.callbackUrl)
    ? 'Several stores have this callback URL, give each its own'
    : 'match_callback fits several stores, make it longer';
  throw new PaygateError('invalid', `${why} (${names(matches)})`, { number: 1032 });
}

/** What a store without a wallet answers. Plugins look for "add an xpub" (wire §1); `store add` would make another store. */
export const noWallet = ({ id, name }: Pick<Candidate, 'id' | 'name'>): PaygateError =>
  new PaygateError(
    'invalid',
    `Store ${id} ${JSON.stringify(name)} has no wallet yet: add an xpub to it in the dashboard, or with \`paygate store wallet ${id}\``,
    { number: 1001 },
  );

const noMatch = (stores: readonly Candidate[], parameter: string): PaygateError =>
  new PaygateError(
    'invalid',
    `Could not find matching xpub: ${parameter} fits none of the stores (${names(stores)})`,
    { number: 1003 },
  );

/** With their hosts, which fit as a `match_callback`; secrets stand in what comes behind. */
const names = (stores: readonly Named[]): string =>
  stores
    .map(({ id, name, callbackUrl }) => `${id} ${JSON.stringify(name)} at ${hostIn(callbackUrl)}`)
    .join(', ');

/** As it is written, for capitals count. */
const hostIn = (callbackUrl: string): string => /^[^:]+:\/\/([^/?#]*)/.exec(callbackUrl)?.[1] ?? '';

/** What a second store means for the shop of the first, which may have named none until now. */
export const severalStores =
  'There are several now: a shop that asks for addresses with the API key of all stores must name its own by ' +
  'match_callback (its Callback URL, or a part that no other has), or use a key of its own store.';
