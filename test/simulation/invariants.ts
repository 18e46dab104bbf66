// What must hold once nothing is wrong any more and nothing is under way. The file is read as it is, by
// SQL of our own; the shops' side is what came over the wire.

import SqliteDatabase from 'better-sqlite3';
import { type Expected, type Given, paymentKey, recount } from './recount.ts';
import type { Heard, Run } from './run.ts';

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

export interface Books {
  readonly payments: readonly Row[];
  readonly callbacks: readonly Callback[];
}

export function readBooks(path: string): Books {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    const payments = file.prepare<[], Row>(
      `select p.id, a.address, p.txid, p.state, p.height, p.block_hash as blockHash,
        p.value_sat as valueSat, p.status
      from payments p join addresses a on a.id = p.address_id order by p.id`,
    );
    const callbacks = file.prepare<[], Callback>(
      `select id, event_id as eventId, payment_id as paymentId, version, status, state,
        attempt_count as attemptCount
      from callbacks order by id`,
    );
    return { payments: payments.all(), callbacks: callbacks.all() };
  } finally {
    file.close();
  }
}

/** Everything that is not as it must be, in words. */
export function violations(run: Run): string[] {
  const books = readBooks(run.app.path);
  const expected = expectedOf(run);
  return [
    ...run.complaints,
    ...wrongPayments(run, books, expected),
    ...wrongCallbacks(run, books, expected),
    ...wrongOrder(run, books),
    ...wrongEvents(run, books),
    ...wrongIndexes(run),
    ...wrongBans(run),
  ];
}

/** What every payment should be, by address and transaction. */
export const expectedOf = (run: Run): Map<string, Expected> =>
  recount(run.app.chain, [...run.given, ...skippedOf(run)]);

/** What is final now may stay so when its shop asks for more from now on. */
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

/** What no shop was given, but a restored file takes for given: whoever pays to it is recorded. */
function skippedOf({ app, given, shops }: Run): Given[] {
  const file = new SqliteDatabase(app.path, { readonly: true });
  const rows = file
    .prepare<[], Skipped>(
      `select address, script, derivation_index as "index", store_id as storeId
      from addresses where origin = 'skipped'`,
    )
    .all();
  file.close();
  const known = new Set(given.flatMap(({ address, unseen }) => (unseen ? [] : [address])));
  return rows
    .filter(({ address }) => !known.has(address))
    .flatMap(({ storeId, ...row }) => {
      const shop = shops.find(({ id }) => id === (storeId ?? shops[0]?.id));
      return shop === undefined ? [] : [{ ...row, shop, forgotten: storeId === null }];
    });
}

function wrongPayments(run: Run, { payments }: Books, expected: Map<string, Expected>): string[] {
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

/** More than one where a shop has raised its demands since. */
export function statusesOf({ mayBeFinal }: Run, { status, txid, blockHash }: Expected): number[] {
  return status === 1 && mayBeFinal.has(`${txid} ${blockHash}`) ? [1, 2] : [status];
}

function stateOf(depth: number, status: number): string {
  if (status === 0) return 'unconfirmed';
  if (status === 1) return 'confirming';
  return depth > 144 ? 'settled' : 'confirmed';
}

function wrongCallbacks(run: Run, { payments }: Books, expected: Map<string, Expected>): string[] {
  const before = toldBy(run.heard.slice(0, run.restoredAt));
  const told = toldBy(run.heard.slice(run.restoredAt));
  const wrong: string[] = [];
  for (const [key, want] of expected) {
    const last = told.get(key)?.at(-1);
    if (want.forgotten || (last === undefined && mayBeSilent(want, before.get(key)))) continue;
    const row = payments.find((each) => paymentKey(each.address, each.txid) === key);
    if (last === undefined || !statusesOf(run, want).includes(last) || last !== row?.status) {
      wrong.push(`told ${before.get(key)} | ${told.get(key) ?? 'nothing'}: ${shown(want)}`);
    }
  }
  for (const row of payments) {
    const key = paymentKey(row.address, row.txid);
    const heard = told.get(key) ?? [];
    const given = run.given.find(({ address }) => address === row.address);
    if (given?.forgotten || !given?.shop.tellsReversal || expected.has(key)) continue;
    if (!heard.some((each) => each > 0)) continue;
    if (heard.at(-1) !== -1) wrong.push(`told ${heard}, and never -1: ${shown(row)}`);
  }
  return wrong;
}

/** The statuses that were accepted of each payment. */
function toldBy(heard: readonly Heard[]): Map<string, number[]> {
  const told = new Map<string, number[]>();
  for (const { url, accepted } of heard) {
    if (!accepted) continue;
    const { searchParams } = new URL(url, 'http://shop.invalid');
    const key = paymentKey(searchParams.get('addr') ?? '', searchParams.get('txid') ?? '');
    told.set(key, [...(told.get(key) ?? []), Number(searchParams.get('status'))]);
  }
  return told;
}

/**
 * Nothing is told of what is too small, and nothing anew by a restored file that knew what was told; what was told
 * between the copy and its return is unknown to it.
 */
const mayBeSilent = ({ valueSat, shop }: Expected, before: readonly number[] = []): boolean =>
  valueSat < shop.maxMinimumSat || before.length > 0;

/** Within a payment, a callback is never heard after one that was enqueued later. */
function wrongOrder(run: Run, { callbacks }: Books): string[] {
  const byId = new Map(callbacks.map((callback) => [callback.eventId, callback]));
  const newest = new Map<number, number>();
  const wrong: string[] = [];
  // A restored file begins where its copy stood.
  for (const { id, url } of run.heard.slice(run.restoredAt)) {
    const callback = byId.get(id);
    if (callback === undefined) {
      wrong.push(`heard of an event that nobody enqueued: ${id} ${url}`);
      continue;
    }
    const { paymentId, version } = callback;
    if (version < (newest.get(paymentId) ?? 0)) wrong.push(`heard too late: ${id} ${url}`);
    newest.set(paymentId, Math.max(version, newest.get(paymentId) ?? 0));
  }
  return wrong;
}

function wrongEvents(run: Run, { callbacks, payments }: Books): string[] {
  const isGone = new Set(payments.flatMap(({ id, state }) => (state === 'dropped' ? [id] : [])));
  const isHeld = ({ state, paymentId }: { state: string; paymentId: number }): boolean =>
    state === 'held' && isGone.has(paymentId);
  const heard = Map.groupBy(run.heard, ({ id }: Heard) => id);
  const wrong: string[] = [];
  for (const [id, requests] of heard) {
    // Another shop may be told by a restored file, and of the same.
    const contents = new Set(requests.map(({ url }) => url.replace(/^[^?]*/, '')));
    if (contents.size > 1) wrong.push(`two contents of ${id}: ${[...contents].join(' and ')}`);
  }
  for (const callback of callbacks) {
    const accepted = heard.get(callback.eventId)?.some((each) => each.accepted) ?? false;
    const isOver = ['superseded', 'exhausted'].includes(callback.state) || isHeld(callback);
    if (!isOver && !(callback.state === 'delivered' && accepted)) {
      wrong.push(`never delivered: ${shown(callback)}`);
    }
  }
  return wrong;
}

function wrongIndexes({ given }: Run): string[] {
  const wrong: string[] = [];
  const last = new Map<number, number>();
  for (const { address, index, shop } of given) {
    if (index <= (last.get(shop.wallet) ?? -1)) wrong.push(`index ${index} again: ${address}`);
    last.set(shop.wallet, index);
  }
  return wrong;
}

/** A server that never lied is never banned, whatever the other one said. */
function wrongBans({ app, liars, world }: Run): string[] {
  return world.logs
    .filter(({ message }) => message === 'electrum server banned')
    .filter(({ fields }) => !liars.has(app.labels.indexOf(String(fields.server))))
    .map(({ fields }) => `banned without a lie: ${shown(fields)}`);
}

const shown = (value: object): string => JSON.stringify(value);
