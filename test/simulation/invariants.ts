// The invariants that must hold when no fault is active and no work is pending. They compare the
// file, read by SQL of their own, with the requests that the shops received.

import SqliteDatabase from 'better-sqlite3';
import { amountSatOf } from './orders.ts';
import { type Expected, type IssuedAddress, paymentKey, recount } from './recount.ts';
import type { ReceivedCallback, Run } from './run.ts';

export interface Row {
  readonly id: number;
  readonly address: string;
  readonly txid: string;
  readonly state: string;
  readonly height: number | null;
  readonly blockHash: string | null;
  readonly valueSat: number;
  readonly status: number | null;
}

export interface Callback {
  readonly id: number;
  readonly eventId: string;
  readonly paymentId: number;
  readonly version: number;
  readonly status: number;
  readonly state: string;
  readonly attemptCount: number;
}

export interface Records {
  readonly payments: readonly Row[];
  readonly callbacks: readonly Callback[];
}

export function readRecords(path: string): Records {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    const payments = file.prepare<[], Row>(
      `select p.id, a.address, p.txid, p.state, p.height, p.block_hash as blockHash,
        p.value_sat as valueSat, p.status
      from payments p join addresses a on a.id = p.address_id
      where p.preimage is null order by p.id`,
    );
    const callbacks = file.prepare<[], Callback>(
      `select id, event_id as eventId, payment_id as paymentId, version, status, state,
        attempt_count as attemptCount
      from deliveries where channel = 'callback' order by id`,
    );
    return { payments: payments.all(), callbacks: callbacks.all() };
  } finally {
    file.close();
  }
}

/** Describes every violated invariant. */
export function violations(run: Run): string[] {
  const records = readRecords(run.app.path);
  const expected = expectedOf(run);
  return [
    ...run.requestFaults,
    ...wrongPayments(run, records, expected),
    ...wrongCallbacks(run, records, expected),
    ...wrongOrder(run, records),
    ...wrongEvents(run, records),
    ...wrongIndexes(run),
    ...wrongBans(run),
  ];
}

/** The expected state of every payment, by `paymentKey`. */
export const expectedOf = (run: Run): Map<string, Expected> =>
  recount(run.app.chain, [...run.issued, ...skippedOf(run)], (address) => orderSatOf(run, address));

/** The price of the order of an address in satoshis; 0 without an order. */
export function orderSatOf({ shopOrders }: Run, address: string): number {
  const order = shopOrders.get(address);
  return order === undefined ? 0 : amountSatOf(order);
}

/** Records the final payments: they may stay final when their shop requires more confirmations. */
export function noteFinals(run: Run): void {
  for (const { txid, blockHash, status } of expectedOf(run).values()) {
    if (status === 2) run.mayBeFinal.add(`${txid} ${blockHash}`);
  }
}

interface Skipped {
  readonly address: string;
  readonly script: Buffer;
  readonly index: number;
  readonly storeId: number | null;
}

/** Addresses that a restored file skipped and no shop received. Payments to them are recorded. */
function skippedOf({ app, issued, shops }: Run): IssuedAddress[] {
  const file = new SqliteDatabase(app.path, { readonly: true });
  const rows = file
    .prepare<[], Skipped>(
      `select address, script, derivation_index as "index", store_id as storeId
      from addresses where origin = 'skipped'`,
    )
    .all();
  file.close();
  const known = new Set(
    issued.flatMap(({ address, isUnwatched }) => (isUnwatched ? [] : [address])),
  );
  return rows
    .filter(({ address }) => !known.has(address))
    .flatMap(({ storeId, ...row }) => {
      const shop = shops.find(({ id }) => id === (storeId ?? shops[0]?.id));
      return shop === undefined ? [] : [{ ...row, shop, isAmbiguous: storeId === null }];
    });
}

function wrongPayments(run: Run, { payments }: Records, expected: Map<string, Expected>): string[] {
  const wrong: string[] = [];
  const recorded = new Map(payments.map((row) => [paymentKey(row.address, row.txid), row]));
  for (const [key, want] of expected) {
    const row = recorded.get(key);
    if (row === undefined) wrong.push(`missing: ${shown(want)}`);
    else if (!isAs(run, row, want))
      wrong.push(`differs: ${shown(row)}\n  should be ${shown(want)}`);
  }
  for (const [key, row] of recorded) {
    if (!expected.has(key) && row.state !== 'dropped') wrong.push(`should be gone: ${shown(row)}`);
  }
  return wrong;
}

function isAs(run: Run, row: Row, want: Expected): boolean {
  const { height, blockHash, valueSat } = want;
  const isSame = (name: 'height' | 'blockHash' | 'valueSat', value: unknown) => row[name] === value;
  return (
    isSame('height', height) &&
    isSame('blockHash', blockHash) &&
    isSame('valueSat', valueSat) &&
    statusesOf(run, want).some((status) => stateOf(want.depth, status) === row.state)
  );
}

/** More than one if the shop has since required more confirmations. */
export function statusesOf({ mayBeFinal }: Run, { status, txid, blockHash }: Expected): number[] {
  return status === 1 && mayBeFinal.has(`${txid} ${blockHash}`) ? [1, 2] : [status];
}

function stateOf(depth: number, status: number): string {
  if (status === 0) return 'unconfirmed';
  if (status === 1) return 'confirming';
  return depth > 144 ? 'settled' : 'confirmed';
}

function wrongCallbacks(
  run: Run,
  { payments }: Records,
  expected: Map<string, Expected>,
): string[] {
  const before = acceptedStatuses(run.received.slice(0, run.restoredAt));
  const after = acceptedStatuses(run.received.slice(run.restoredAt));
  const wrong: string[] = [];
  for (const [key, want] of expected) {
    const last = after.get(key)?.at(-1);
    if (want.isAmbiguous || (last === undefined && mayBeUnsent(want, before.get(key)))) continue;
    const row = payments.find((each) => paymentKey(each.address, each.txid) === key);
    if (last === undefined || !statusesOf(run, want).includes(last) || last !== row?.status) {
      wrong.push(`accepted ${before.get(key)} | ${after.get(key) ?? 'nothing'}: ${shown(want)}`);
    }
  }
  for (const row of payments) {
    const key = paymentKey(row.address, row.txid);
    const accepted = after.get(key) ?? [];
    const issued = run.issued.find(({ address }) => address === row.address);
    if (issued?.isAmbiguous || !issued?.shop.hasReversalCallback || expected.has(key)) continue;
    if (!accepted.some((each) => each > 0)) continue;
    if (accepted.at(-1) !== -1) wrong.push(`accepted ${accepted}, and never -1: ${shown(row)}`);
  }
  return wrong;
}

/** The statuses that shops accepted, by payment, in order. */
function acceptedStatuses(requests: readonly ReceivedCallback[]): Map<string, number[]> {
  const statuses = new Map<string, number[]>();
  for (const { url, accepted } of requests) {
    if (!accepted) continue;
    const { searchParams } = new URL(url, 'http://shop.invalid');
    const key = paymentKey(searchParams.get('addr') ?? '', searchParams.get('txid') ?? '');
    statuses.set(key, [...(statuses.get(key) ?? []), Number(searchParams.get('status'))]);
  }
  return statuses;
}

/**
 * A payment below the minimum has no callback. A restored file does not repeat the callbacks that
 * it contains, and has no record of those between the copy and the restore.
 */
const mayBeUnsent = ({ valueSat, shop }: Expected, before: readonly number[] = []): boolean =>
  valueSat < shop.maxMinimumSat || before.length > 0;

/** Within a payment, no callback arrives after one that was enqueued later. */
function wrongOrder(run: Run, { callbacks }: Records): string[] {
  const byId = new Map(callbacks.map((callback) => [callback.eventId, callback]));
  const newest = new Map<number, number>();
  const wrong: string[] = [];
  // A restored file continues at the state of its copy.
  for (const { id, url } of run.received.slice(run.restoredAt)) {
    const callback = byId.get(id);
    if (callback === undefined) {
      wrong.push(`an event that was never enqueued: ${id} ${url}`);
      continue;
    }
    const { paymentId, version } = callback;
    if (version < (newest.get(paymentId) ?? 0)) wrong.push(`out of order: ${id} ${url}`);
    newest.set(paymentId, Math.max(version, newest.get(paymentId) ?? 0));
  }
  return wrong;
}

function wrongEvents(run: Run, { callbacks, payments }: Records): string[] {
  const isGone = new Set(payments.flatMap(({ id, state }) => (state === 'dropped' ? [id] : [])));
  const isHeldBack = ({ state, paymentId }: { state: string; paymentId: number }): boolean =>
    state === 'held' && isGone.has(paymentId);
  const byEvent = Map.groupBy(run.received, ({ id }: ReceivedCallback) => id);
  const wrong: string[] = [];
  for (const [id, requests] of byEvent) {
    // After a restore another shop may receive the same event.
    const contents = new Set(requests.map(({ url }) => url.replace(/^[^?]*/, '')));
    if (contents.size > 1) wrong.push(`two contents of ${id}: ${[...contents].join(' and ')}`);
  }
  for (const callback of callbacks) {
    const accepted = byEvent.get(callback.eventId)?.some((each) => each.accepted) ?? false;
    const isOver = ['superseded', 'exhausted'].includes(callback.state) || isHeldBack(callback);
    if (!isOver && !(callback.state === 'delivered' && accepted)) {
      wrong.push(`never delivered: ${shown(callback)}`);
    }
  }
  return wrong;
}

function wrongIndexes({ issued }: Run): string[] {
  const wrong: string[] = [];
  const last = new Map<number, number>();
  for (const { address, index, shop } of issued) {
    if (index <= (last.get(shop.wallet) ?? -1)) wrong.push(`index ${index} again: ${address}`);
    last.set(shop.wallet, index);
  }
  return wrong;
}

/** A server that never lied is never banned, whatever other servers responded. */
function wrongBans({ app, liars, world }: Run): string[] {
  return world.logs
    .filter(({ message }) => message === 'electrum server banned')
    .filter(({ fields }) => !liars.has(app.labels.indexOf(String(fields.server))))
    .map(({ fields }) => `banned without a lie: ${shown(fields)}`);
}

const shown = (value: object): string => JSON.stringify(value);
