// Addresses for requests that arrive together. They share one write: the stores are read once, each wallet hands out
// what comes next in one go, and whoever is refused is refused alone. Who asks for what was given before goes first, so
// that it is given nothing that one beside it was.

import { containsPrivateMaterial } from '../bitcoin/private-material.ts';
import { chooseStore, noWalletError, type StoreQuery } from '../domain/store-choice.ts';
import { addUnknownCallbackUrl, stillUnknown } from '../domain/unknown-callback-url.ts';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { Tx } from '../store/db/writer.ts';
import type { Store } from '../store/open-store.ts';
import type { IssuedAddress } from '../store/records/address-row.ts';
import type { Key } from '../store/records/api-keys.ts';
import type { StoreChoice } from '../store/records/catalog.ts';
import { copiedAt, readUnmatched, writeUnmatched } from '../store/records/settings.ts';
import type { ApiOptions } from './api-parts.ts';
import { ownStores } from './store-list.ts';

export interface AddressRequest {
  readonly key: Key;
  /** Of which store. */
  readonly target: StoreQuery;
  /** The store's last address again, while nobody has paid it. */
  readonly reset: boolean;
  /** Makes two requests of a store one. */
  readonly idempotencyKey: string | undefined;
}

export type AddressRequestOptions = Pick<
  ApiOptions,
  'store' | 'now' | 'checkIssuing' | 'scanFault' | 'isCaughtUp' | 'isPending' | 'refuseGap'
>;

/** Those of one write, which holds the event loop for as long. */
const maxBatchRequests = 100;

/** The store that was chosen, and its wallet. */
interface Place {
  readonly storeId: number;
  readonly walletId: number;
}

type Outcome<T> = { readonly is: T } | { readonly refusal: PaygateError };

interface Batch {
  readonly orders: AddressRequest[];
  readonly outcomes: Promise<readonly Outcome<IssuedAddress>[]>;
}

/** @returns what answers an order once its address is on the disk; it throws a PaygateError where none may be issued */
export function createAddressIssuer(
  options: AddressRequestOptions,
): (order: AddressRequest) => Promise<IssuedAddress> {
  let batch: Batch | undefined;

  function open(): Batch {
    const orders: AddressRequest[] = [];
    const close = (): void => {
      if (batch?.orders === orders) batch = undefined;
    };
    const outcomes = options.store.database
      .write((tx) => {
        // Whoever comes from now on is served by the next write.
        close();
        return serve(options, tx, orders);
      }, 'awaited')
      // Also where nothing could be begun.
      .finally(close);
    return { orders, outcomes };
  }

  return async (order) => {
    options.checkIssuing();
    batch ??= open();
    const { orders, outcomes } = batch;
    const at = orders.push(order) - 1;
    if (orders.length === maxBatchRequests) batch = undefined;
    const outcome = (await outcomes)[at] as Outcome<IssuedAddress>;
    if ('refusal' in outcome) throw outcome.refusal;
    return outcome.is;
  };
}

/** @throws what concerns all of them */
function serve(
  options: AddressRequestOptions,
  tx: Tx,
  orders: readonly AddressRequest[],
): Outcome<IssuedAddress>[] {
  const { store } = options;
  const now = options.now();
  const choices = lazy(() => store.catalog.choices());
  const outcomes = new Map<AddressRequest, Outcome<IssuedAddress>>();
  const plain = new Map<number, { readonly order: AddressRequest; readonly storeId: number }[]>();
  for (const order of orders) {
    const place = attempt(() => placeOf(store, order, choices));
    if ('refusal' in place) outcomes.set(order, place);
    else if (needsNoCheck(options, order)) {
      const { walletId, storeId } = place.is;
      const theirs = plain.get(walletId) ?? [];
      plain.set(walletId, theirs);
      theirs.push({ order, storeId });
    } else {
      const served = attempt(() => serveApart(options, tx, now, order, place.is));
      outcomes.set(order, served);
    }
  }
  for (const [walletId, theirs] of plain) {
    const storeIds = theirs.map(({ storeId }) => storeId);
    const handed = attempt(() =>
      withScanFault(options, walletId, () =>
        store.addresses.issueEach(tx, now, walletId, storeIds, options.isPending),
      ),
    );
    for (const [at, { order }] of theirs.entries()) {
      outcomes.set(order, 'refusal' in handed ? handed : { is: handed.is[at] as IssuedAddress });
    }
  }
  recordUnknownCallbackUrls(
    store,
    tx,
    now,
    orders.filter((order) => hasUnknownCallbackUrl(order, outcomes.get(order))),
  );
  return orders.map((order) => outcomes.get(order) as Outcome<IssuedAddress>);
}

const hasUnknownCallbackUrl = (
  { target: wish }: AddressRequest,
  outcome: Outcome<IssuedAddress> | undefined,
): boolean =>
  outcome !== undefined &&
  'refusal' in outcome &&
  outcome.refusal.number === 1003 &&
  !!wish.callback;

/** Notes the Callback URLs that no store has, for the alarm that names them. */
function recordUnknownCallbackUrls(
  store: Store,
  tx: Tx,
  now: number,
  orders: readonly AddressRequest[],
): void {
  const asked = orders.filter(({ target: wish }) => !containsPrivateMaterial(wish.callback ?? ''));
  if (asked.length === 0) return;
  const noted = asked.reduce(
    (list, { key, target: wish }) =>
      addUnknownCallbackUrl(
        list,
        { wish: wish.callback ?? '', keyId: key.id, storeId: key.storeId },
        now,
      ),
    readUnmatched(store.catalog),
  );
  writeUnmatched(tx, store.catalog, stillUnknown(noted, store.catalog.choices(), now));
}

/** Why a wallet that waits for its scan does so. */
function withScanFault<T>(
  { store, scanFault }: AddressRequestOptions,
  walletId: number,
  work: () => T,
): T {
  try {
    return work();
  } catch (error) {
    const isScan = store.catalog.wallet(walletId).scannedAt === null;
    const fault = isScan && error instanceof PaygateError ? scanFault() : undefined;
    if (fault === undefined) throw error;
    const { code, message, retryAfterSeconds = 5 } = error as PaygateError;
    throw new PaygateError(code, `${message}; the last try failed: ${fault}`, {
      retryAfterSeconds,
    });
  }
}

/** A refusal is the affair of who is refused; whatever else fails is everybody's. */
function attempt<T>(work: () => T): Outcome<T> {
  try {
    return { is: work() };
  } catch (error) {
    if (error instanceof PaygateError) return { refusal: error };
    throw error;
  }
}

function placeOf(
  store: Store,
  { key, target: wish }: AddressRequest,
  choices: () => StoreChoice[],
): Place {
  const accountOf = (walletId: number | null) =>
    // Read only where it is asked for: this is done for each address.
    walletId === null || !wish.account ? null : store.catalog.wallet(walletId).account;
  const candidates = candidatesFor(store, key, wish, choices).map((each) => ({
    ...each,
    account: accountOf(each.walletId),
  }));
  const { walletId, ...chosen } = chooseStore(
    candidates,
    { ...wish, hidesSecrets: key.scope !== 'payments' },
    () => removedStores(store, key),
  );
  if (walletId === null) throw noWalletError(chosen);
  return { storeId: chosen.id, walletId };
}

const removedStores = ({ catalog }: Store, key: Key) =>
  ownStores(catalog.stores({ archived: true }), key).filter(
    ({ archivedAt }) => archivedAt !== null,
  );

/** Those that the whole callback URL names, which go before all others: a hundred need not be read for one. */
function candidatesFor(
  { catalog }: Store,
  key: Key,
  { callback, account }: StoreQuery,
  choices: () => StoreChoice[],
): StoreChoice[] {
  const isExact = callback && !account;
  const named = isExact ? ownStores(catalog.choices(callback), key) : [];
  return named.length > 0 ? named : ownStores(choices(), key);
}

/** Whatever the answer to another one is, this one gets a new address. */
const needsNoCheck = (
  { refuseGap }: AddressRequestOptions,
  { reset, idempotencyKey }: AddressRequest,
): boolean => refuseGap === undefined && !reset && idempotencyKey === undefined;

function serveApart(
  options: AddressRequestOptions,
  tx: Tx,
  now: number,
  { reset, idempotencyKey }: AddressRequest,
  place: Place,
): IssuedAddress {
  const { addresses, idempotency } = options.store;
  const { storeId, walletId } = place;
  const before =
    idempotencyKey === undefined ? undefined : idempotency.addressOf(now, storeId, idempotencyKey);
  const answered = before === undefined ? undefined : addresses.issuedAs(before);
  if (answered !== undefined) return answered;
  const reused = reset ? reusable(options, place) : undefined;
  if (reused === undefined) refuseGap(options, walletId);
  const issued =
    reused ??
    withScanFault(options, walletId, () =>
      addresses.issue(tx, now, walletId, storeId, options.isPending),
    );
  if (idempotencyKey !== undefined) {
    idempotency.keep(tx, now, storeId, idempotencyKey, issued.id);
  }
  return issued;
}

/** The store's last address, where it is certain that nobody paid it and no copy handed it out. */
function reusable(
  options: AddressRequestOptions,
  { storeId, walletId }: Place,
): IssuedAddress | undefined {
  const { store, isCaughtUp, isPending } = options;
  if (!isCaughtUp()) return undefined;
  const last = store.addresses.unpaidSince(walletId, storeId, copiedAt(store.catalog));
  return last === undefined || isPending(last.scripthash) ? undefined : last;
}

function refuseGap({ store, refuseGap }: AddressRequestOptions, walletId: number): void {
  if (refuseGap === undefined || !store.addresses.isUnpaidFor(walletId, refuseGap)) return;
  throw new PaygateError(
    'conflict',
    `The last ${refuseGap} addresses of this wallet are unpaid, which is its gap limit: ` +
      'use reset=1 for orders that were given up, or raise --refuse-gap and the gap limit of the wallet',
    { number: 1008 },
  );
}
