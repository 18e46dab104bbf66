// Issues addresses, and makes the orders on them, for requests that arrive together, in one write.
// The write reads the stores once, and issues the next addresses of each wallet at once. A refusal
// concerns its own request only. Requests that may get an earlier address again are served first,
// so that no other request of the write shares it.

import { containsPrivateMaterial } from '../../bitcoin/private-material.ts';
import { orderExpiryOf } from '../../domain/order/quote.ts';
import { addUnknownCallbackUrl, stillUnknown } from '../../domain/store/unknown-callback-url.ts';
import { PaygateError } from '../../lib/errors.ts';
import { lazy } from '../../lib/lazy.ts';
import type { Tx } from '../../store/db/writer.ts';
import type { Records } from '../../store/open-records.ts';
import type { OrderRow } from '../../store/orders/order-view.ts';
import type { IssuedAddress } from '../../store/wallets/address-row.ts';
import type { IsPending } from '../../store/wallets/unpaid-addresses.ts';
import type { AddressRequest, IssueAddress, Issued, OrderDraft } from '../api-parts.ts';
import { type Place, placeOf } from '../chosen-store.ts';

export interface AddressRequestOptions {
  readonly records: Records;
  readonly now: () => number;
  /** Throws when no address may be issued now. */
  readonly checkIssuing: () => void;
  /** Why the last attempt to scan a wallet failed; undefined when it did not. */
  readonly scanFault: () => string | undefined;
  /** Whether all addresses were compared with a server. Only then an empty history is a fact. */
  readonly isCaughtUp: () => boolean;
  readonly isPending: IsPending;
  /** Unpaid addresses in a row after which the next one is refused; undefined: never refused. */
  readonly refuseGap: number | undefined;
  /** To call after the commit that issued an address. */
  readonly onIssued: (issued: IssuedAddress) => void;
}

/** Requests of one write, which blocks the event loop. */
const maxBatchRequests = 100;

type Outcome<T> = { readonly is: T } | { readonly refusal: PaygateError };

interface Batch {
  readonly requests: AddressRequest[];
  readonly outcomes: Promise<readonly Outcome<Issued>[]>;
}

/**
 * Returns what issues an address; it resolves when the address and its order are on the disk.
 * It throws a PaygateError when no address may be issued. One serves all, so that requests of the
 * API, the dashboard and plugins share a write.
 */
export function createAddressIssuer(options: AddressRequestOptions): IssueAddress {
  let batch: Batch | undefined;

  function open(): Batch {
    const requests: AddressRequest[] = [];
    const close = (): void => {
      if (batch?.requests === requests) batch = undefined;
    };
    const outcomes = options.records.database
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
    if (batch === undefined) batch = open();
    else options.records.database.joined();
    const { requests, outcomes } = batch;
    const at = requests.push(request) - 1;
    if (requests.length === maxBatchRequests) batch = undefined;
    const outcome = (await outcomes)[at] as Outcome<Issued>;
    if ('refusal' in outcome) throw outcome.refusal;
    options.onIssued(outcome.is.address);
    return outcome.is;
  };
}

/** @throws an error that concerns the whole write */
function serve(
  options: AddressRequestOptions,
  tx: Tx,
  requests: readonly AddressRequest[],
): Outcome<Issued>[] {
  const { records } = options;
  const now = options.now();
  const choices = lazy(() => records.catalog.choices());
  const outcomes = new Map<AddressRequest, Outcome<Issued>>();
  const plain = new Map<number, Due[]>();
  for (const request of requests) {
    const place = attempt(() => placeOf(records, request, choices));
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
    const issued = attempt(() => issueEach(options, tx, now, walletId, own));
    for (const [at, { request }] of own.entries()) {
      outcomes.set(request, 'refusal' in issued ? issued : { is: issued.is[at] as Issued });
    }
  }
  recordUnknownCallbackUrls(
    records,
    tx,
    now,
    requests.filter((request) => hasUnknownCallbackUrl(request, outcomes.get(request))),
  );
  return requests.map((request) => outcomes.get(request) as Outcome<Issued>);
}

interface Due {
  readonly request: AddressRequest;
  readonly storeId: number;
}

/** Issues new addresses of a wallet, and makes the orders on them. */
function issueEach(
  options: AddressRequestOptions,
  tx: Tx,
  now: number,
  walletId: number,
  due: readonly Due[],
): Issued[] {
  const { records, isPending } = options;
  const storeIds = due.map(({ storeId }) => storeId);
  const issued = withScanFault(options, walletId, () =>
    records.addresses.issueEach(tx, now, walletId, storeIds, isPending),
  );
  return due.map(({ request: { order }, storeId }, at) => {
    const address = issued[at] as IssuedAddress;
    const place = { storeId, addressId: address.id };
    return { address, order: order && createOrder(records, tx, now, place, order) };
  });
}

function createOrder(
  { orders }: Records,
  tx: Tx,
  now: number,
  place: { readonly storeId: number; readonly addressId: number },
  { input, bodyHash: _, ...draft }: OrderDraft,
): OrderRow {
  const { expiresInSeconds, ...fields } = input;
  return orders.create(tx, now, {
    ...place,
    ...draft,
    ...fields,
    expiresAt: orderExpiryOf(now, expiresInSeconds),
  });
}

const hasUnknownCallbackUrl = (
  { target }: AddressRequest,
  outcome: Outcome<Issued> | undefined,
): boolean =>
  outcome !== undefined &&
  'refusal' in outcome &&
  outcome.refusal.number === 1003 &&
  !!target.callback;

/** Records Callback URLs that no store has, for the finding that names them. */
function recordUnknownCallbackUrls(
  records: Records,
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
    records.state.unmatched.read(),
  );
  records.state.unmatched.write(tx, stillUnknown(noted, records.catalog.choices(), now));
}

/** Adds to an error why the scan of the wallet failed. */
function withScanFault<T>(
  { records, scanFault }: AddressRequestOptions,
  walletId: number,
  work: () => T,
): T {
  try {
    return work();
  } catch (error) {
    const isScan = records.catalog.wallet(walletId).scannedAt === null;
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

/** Whether the request gets a new address regardless of the other requests. */
const needsNoCheck = (
  { refuseGap }: AddressRequestOptions,
  { reset, idempotencyKey }: AddressRequest,
): boolean => refuseGap === undefined && !reset && idempotencyKey === undefined;

function serveApart(
  options: AddressRequestOptions,
  tx: Tx,
  now: number,
  request: AddressRequest,
  place: Place,
): Issued {
  const { records } = options;
  const { storeId, walletId } = place;
  const answered = answeredBefore(records, now, storeId, request);
  if (answered !== undefined) return answered;
  const reused = request.reset ? reusable(options, place) : undefined;
  if (reused === undefined) refuseGap(options, walletId);
  const served =
    reused ?? (issueEach(options, tx, now, walletId, [{ request, storeId }])[0] as Issued);
  const { idempotencyKey, order } = request;
  if (idempotencyKey !== undefined) {
    const answer = { addressId: served.address.id, bodyHash: order?.bodyHash ?? null };
    records.idempotency.keep(tx, now, storeId, idempotencyKey, answer);
  }
  return served;
}

/**
 * What an earlier request of the store with the same idempotency key got.
 * @throws PaygateError conflict if that request was another one
 */
export function answeredBefore(
  { idempotency, addresses, orderView }: Records,
  now: number,
  storeId: number,
  { idempotencyKey, order }: IdempotentRequest,
): Issued | undefined {
  if (idempotencyKey === undefined) return undefined;
  const before = idempotency.find(now, storeId, idempotencyKey);
  const address = before && addresses.issuedAs(before.addressId);
  if (before === undefined || address === undefined) return undefined;
  const { bodyHash } = before;
  const isSame =
    bodyHash === null || order === undefined
      ? bodyHash === null && order === undefined
      : bodyHash.equals(order.bodyHash);
  if (isSame) return { address, order: order && orderView.byAddressId(address.id) };
  throw new PaygateError(
    'conflict',
    'This Idempotency-Key was used within a day for another request: use a new key for each order',
  );
}

export interface IdempotentRequest extends Pick<AddressRequest, 'idempotencyKey'> {
  readonly order?: Pick<OrderDraft, 'bodyHash'>;
}

/** The store's last address, if it is surely unpaid and was issued by no copy of the database. */
function reusable(
  options: AddressRequestOptions,
  { storeId, walletId }: Place,
): Issued | undefined {
  const { records, isCaughtUp, isPending } = options;
  if (!isCaughtUp()) return undefined;
  const last = records.addresses.unpaidSince(walletId, storeId, records.state.copied.read().at);
  const isUnfit = last === undefined || isPending(last.scripthash);
  return isUnfit ? undefined : { address: last, order: undefined };
}

function refuseGap({ records, refuseGap }: AddressRequestOptions, walletId: number): void {
  if (refuseGap === undefined || !records.addresses.isUnpaidFor(walletId, refuseGap)) return;
  throw new PaygateError(
    'conflict',
    `The last ${refuseGap} addresses of this wallet are unpaid, which is its gap limit: ` +
      'use reset=1 for abandoned orders, or raise --refuse-gap and the gap limit of the wallet',
    { number: 1008 },
  );
}
