// Issues addresses for requests that arrive together, in one write. The write reads the stores
// once, and issues the next addresses of each wallet at once. A refusal concerns its own request
// only. Requests that may get an earlier address again are served first, so that no other request
// of the write shares it.

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
  /** Names the store. */
  readonly target: StoreQuery;
  /** Asks for the store's last address again, while it is unpaid. */
  readonly reset: boolean;
  /** Requests of a store with the same key get the same address. */
  readonly idempotencyKey: string | undefined;
}

export type AddressRequestOptions = Pick<
  ApiOptions,
  'store' | 'now' | 'checkIssuing' | 'scanFault' | 'isCaughtUp' | 'isPending' | 'refuseGap'
>;

/** Requests of one write, which blocks the event loop. */
const maxBatchRequests = 100;

/** The chosen store and its wallet. */
interface Place {
  readonly storeId: number;
  readonly walletId: number;
}

type Outcome<T> = { readonly is: T } | { readonly refusal: PaygateError };

interface Batch {
  readonly requests: AddressRequest[];
  readonly outcomes: Promise<readonly Outcome<IssuedAddress>[]>;
}

/**
 * Returns what issues an address; it resolves when the address is on the disk.
 * It throws a PaygateError when no address may be issued.
 */
export function createAddressIssuer(
  options: AddressRequestOptions,
): (request: AddressRequest) => Promise<IssuedAddress> {
  let batch: Batch | undefined;

  function open(): Batch {
    const requests: AddressRequest[] = [];
    const close = (): void => {
      if (batch?.requests === requests) batch = undefined;
    };
    const outcomes = options.store.database
      .write((tx) => {
        // Later requests are served by the next write.
        close();
        return serve(options, tx, requests);
      }, 'awaited')
      // Also when the write could not begin.
      .finally(close);
    return { requests, outcomes };
  }

  return async (request) => {
    options.checkIssuing();
    batch ??= open();
    const { requests, outcomes } = batch;
    const at = requests.push(request) - 1;
    if (requests.length === maxBatchRequests) batch = undefined;
    const outcome = (await outcomes)[at] as Outcome<IssuedAddress>;
    if ('refusal' in outcome) throw outcome.refusal;
    return outcome.is;
  };
}

/** @throws an error that concerns the whole write */
function serve(
  options: AddressRequestOptions,
  tx: Tx,
  requests: readonly AddressRequest[],
): Outcome<IssuedAddress>[] {
  const { store } = options;
  const now = options.now();
  const choices = lazy(() => store.catalog.choices());
  const outcomes = new Map<AddressRequest, Outcome<IssuedAddress>>();
  const plain = new Map<number, { readonly request: AddressRequest; readonly storeId: number }[]>();
  for (const request of requests) {
    const place = attempt(() => placeOf(store, request, choices));
    if ('refusal' in place) outcomes.set(request, place);
    else if (needsNoCheck(options, request)) {
      const { walletId, storeId } = place.is;
      const own = plain.get(walletId) ?? [];
      plain.set(walletId, own);
      own.push({ request, storeId });
    } else {
      const served = attempt(() => serveApart(options, tx, now, request, place.is));
      outcomes.set(request, served);
    }
  }
  for (const [walletId, own] of plain) {
    const storeIds = own.map(({ storeId }) => storeId);
    const issued = attempt(() =>
      withScanFault(options, walletId, () =>
        store.addresses.issueEach(tx, now, walletId, storeIds, options.isPending),
      ),
    );
    for (const [at, { request }] of own.entries()) {
      outcomes.set(request, 'refusal' in issued ? issued : { is: issued.is[at] as IssuedAddress });
    }
  }
  recordUnknownCallbackUrls(
    store,
    tx,
    now,
    requests.filter((request) => hasUnknownCallbackUrl(request, outcomes.get(request))),
  );
  return requests.map((request) => outcomes.get(request) as Outcome<IssuedAddress>);
}

const hasUnknownCallbackUrl = (
  { target }: AddressRequest,
  outcome: Outcome<IssuedAddress> | undefined,
): boolean =>
  outcome !== undefined &&
  'refusal' in outcome &&
  outcome.refusal.number === 1003 &&
  !!target.callback;

/** Records Callback URLs that no store has, for the finding that names them. */
function recordUnknownCallbackUrls(
  store: Store,
  tx: Tx,
  now: number,
  requests: readonly AddressRequest[],
): void {
  const asked = requests.filter(({ target }) => !containsPrivateMaterial(target.callback ?? ''));
  if (asked.length === 0) return;
  const noted = asked.reduce(
    (list, { key, target }) =>
      addUnknownCallbackUrl(
        list,
        { wish: target.callback ?? '', keyId: key.id, storeId: key.storeId },
        now,
      ),
    readUnmatched(store.catalog),
  );
  writeUnmatched(tx, store.catalog, stillUnknown(noted, store.catalog.choices(), now));
}

/** Adds to an error why the scan of the wallet failed. */
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
    throw new PaygateError(code, `${message}; the last attempt failed: ${fault}`, {
      retryAfterSeconds,
    });
  }
}

/** A PaygateError fails only its own request; any other error fails the write. */
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
  { key, target }: AddressRequest,
  choices: () => StoreChoice[],
): Place {
  const accountOf = (walletId: number | null) =>
    // Read only when it is asked for, because this runs for each address.
    walletId === null || !target.account ? null : store.catalog.wallet(walletId).account;
  const candidates = candidatesFor(store, key, target, choices).map((each) => ({
    ...each,
    account: accountOf(each.walletId),
  }));
  const { walletId, ...chosen } = chooseStore(
    candidates,
    { ...target, hidesSecrets: key.scope !== 'payments' },
    () => removedStores(store, key),
  );
  if (walletId === null) throw noWalletError(chosen);
  return { storeId: chosen.id, walletId };
}

const removedStores = ({ catalog }: Store, key: Key) =>
  ownStores(catalog.stores({ archived: true }), key).filter(
    ({ archivedAt }) => archivedAt !== null,
  );

/** Stores with exactly this callback URL, or else all stores. It avoids reading all for one. */
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

/** Whether the request gets a new address regardless of the other requests. */
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

/** The store's last address, if it is surely unpaid and was issued by no copy of the database. */
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
      'use reset=1 for abandoned orders, or raise --refuse-gap and the gap limit of the wallet',
    { number: 1008 },
  );
}
