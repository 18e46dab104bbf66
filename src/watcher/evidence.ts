// One script's history turned into evidence: every transaction that pays us, with its place proven.
// No transaction of the database is open while this waits for the network.

import type { Txid } from '../bitcoin/ids.ts';
import type { Block } from '../domain/payment.ts';
import { type Bucket, type Rate, takeToken } from '../domain/rate-limit.ts';
import type { HistoryItem, Position } from '../domain/script-history.ts';
import type { Session } from '../electrum/session.ts';
import type { Status } from '../electrum/wire.ts';
import { chunks } from '../lib/chunk.ts';
import type { Store } from '../store/open-store.ts';
import type { AddressPlace } from '../store/records/address-statements.ts';
import type { Observation, Seen } from '../store/records/ledger.ts';
import type { PaymentRow } from '../store/records/ledger-statements.ts';
import type { Fallback, OnFault } from './other-servers.ts';
import type { Inclusion, Proofs } from './proofs.ts';

/**
 * How a script is looked at: when its status is another than the one we worked up (`changed`), in any
 * case (`again`), or in any case and with a second voice (`cross`).
 */
export type Check = 'changed' | 'again' | 'cross';

/** One script, and what a server says of it: the watched one, or another where that refuses. */
export interface Subject {
  readonly address: AddressPlace;
  readonly history: readonly HistoryItem[];
  /** Of the history. */
  readonly status: Status;
  readonly look: Check;
}

export interface EvidenceParts {
  readonly session: Session;
  readonly proofs: Proofs;
  readonly store: Store;
  readonly elsewhere: Fallback;
  readonly onFault: OnFault;
  /** The transactions that are to be written down. */
  readonly held: MemoryReservation;
  /** What is not written down yet while a long look goes on. True when it is now, and need not be held. */
  readonly early: (unwritten: readonly SeenEvidence[]) => Promise<boolean>;
  /** Begins to ask one server; says whether that takes too long. */
  readonly startDeadline: () => () => boolean;
}

/** While one subject is gathered. */
export interface EvidenceContext extends EvidenceParts {
  /** Nothing else than what the session itself has just told. */
  readonly isNews: boolean;
  /** What is not written down yet. */
  readonly unwritten: SeenEvidence[];
  /** The subject's, which is read where a transaction is new to us alone. */
  readonly script: () => Uint8Array;
}

/** Items worked on at once, so that one flooded address leaves room for the others. */
const maxItemsAtOnce = 25;

/**
 * Items of one look that nobody shows, from which on no more are asked for: a server that invents
 * transactions must neither hold up the true ones nor have us spend all that it forgives.
 */
export const maxRefusedItems = 20;

type Place = Inclusion | { readonly kind: 'mempool' };

export interface SeenEvidence {
  readonly kind: 'seen';
  /** Without its bytes once it is written down. */
  seen: Seen;
}

/** What one item comes to. */
type Evidence =
  | SeenEvidence
  /** It pays us nothing. */
  | { readonly kind: 'nothing' }
  /** In a block that nothing can be proven of. */
  | { readonly kind: 'unproven' }
  /** Nothing yet: it must be looked at again. */
  | { readonly kind: 'open' }
  /** The same: nobody has shown it. */
  | { readonly kind: 'refused' }
  /** The same: it was not asked for. */
  | { readonly kind: 'unasked' };

export type ItemEvidence = Evidence & { readonly item: HistoryItem };

export type KnownPayments = ReadonlyMap<Txid, PaymentRow>;

export async function collectEvidence(
  parts: EvidenceContext,
  history: readonly HistoryItem[],
  known: KnownPayments,
): Promise<ItemEvidence[]> {
  const gathered: ItemEvidence[] = [];
  const isTooLong = parts.startDeadline();
  let refused = 0;
  for (const items of chunks(knownFirst(history, known), maxItemsAtOnce)) {
    if (refused >= maxRefusedItems || isTooLong()) {
      gathered.push(...items.map((item): ItemEvidence => ({ item, kind: 'unasked' })));
      continue;
    }
    const work = items.map((item) => collectItem(parts, item, known.get(item.txid)));
    const found = await Promise.all(work);
    gathered.push(...found);
    refused += refusedOf(found);
    parts.unwritten.push(...found.filter((each) => each.kind === 'seen'));
    if (await parts.early(parts.unwritten)) dropBytes(parts.unwritten.splice(0));
  }
  return gathered;
}

function dropBytes(written: readonly SeenEvidence[]): void {
  for (const each of written) {
    const { raw: _, ...seen } = each.seen;
    each.seen = seen;
  }
}

/** Payments that we know do not wait for what may be made up. */
const knownFirst = (history: readonly HistoryItem[], known: KnownPayments): HistoryItem[] => [
  ...history.filter(({ txid }) => known.has(txid)),
  ...history.filter(({ txid }) => !known.has(txid)),
];

export const seenOf = (found: readonly ItemEvidence[]): Seen[] =>
  found.flatMap((each) => (each.kind === 'seen' ? [each.seen] : []));

export const refusedOf = (found: readonly ItemEvidence[]): number =>
  found.filter(({ kind }) => kind === 'refused').length;
export const unfinishedKinds: ReadonlySet<Evidence['kind']> = new Set([
  'open',
  'refused',
  'unasked',
]);

export const isAt = (position: Position, height: number | null): boolean =>
  position.kind === 'mined' && position.height === height;

export const isMined = (found: ItemEvidence | undefined): boolean =>
  found?.kind === 'seen' && found.seen.block !== null;

/** Without `isRelayed` it was recorded before. */
type PaidBytes = Pick<Seen, 'output' | 'raw'> & { readonly isRelayed?: boolean };

type CheckedItem = readonly [paid: PaidBytes | undefined, place: Place];

async function checkItem(
  parts: EvidenceContext,
  { txid, position }: HistoryItem,
  row: PaymentRow | undefined,
): Promise<CheckedItem> {
  const { session, proofs, isNews, script } = parts;
  const isFresh = isNews && position.kind === 'mempool';
  const [paid, place] = await Promise.all([
    row === undefined ? proofs.output(session, txid, script(), isFresh) : outputOf(row),
    placeOf(parts, txid, position, row),
  ]);
  if (paid !== undefined && place.kind === 'proven') {
    await proofs.checkTreeDepth(session, place, paid.output.valueSat);
  }
  return [paid, place];
}

/** What one server refuses to show, another one may; undefined where none does. */
const checkItemAnywhere = (
  parts: EvidenceContext,
  ...item: [item: HistoryItem, row: PaymentRow | undefined]
): Promise<CheckedItem | undefined> =>
  parts.elsewhere.ask(
    parts.session,
    (session) => {
      const isNews = parts.isNews && session === parts.session;
      return checkItem({ ...parts, session, isNews }, ...item);
    },
    parts.onFault,
  );

async function collectItem(
  parts: EvidenceContext,
  item: HistoryItem,
  row: PaymentRow | undefined,
): Promise<ItemEvidence> {
  const looked = await checkItemAnywhere(parts, item, row);
  const found = evidenceOf(parts.held, item, looked);
  // It is known to be elsewhere: that is not worked up before they agree.
  const isFalse =
    found.kind === 'unproven' && row !== undefined && !isAt(item.position, row.height);
  return { item, ...(isFalse ? { kind: 'open' } : found) };
}

function evidenceOf(
  held: MemoryReservation,
  { txid }: HistoryItem,
  looked: CheckedItem | undefined,
): Evidence {
  // It names a transaction that nobody will show: the others must not wait for that.
  if (looked === undefined) return { kind: 'refused' };
  const [paid, place] = looked;
  if (paid === undefined) return { kind: 'nothing' };
  if (place.kind === 'unproven') return { kind: 'unproven' };
  if (place.kind === 'ahead') return { kind: 'open' };
  const { isRelayed = true, ...told } = paid;
  if (place.kind === 'mempool' && !isRelayed) return { kind: 'open' };
  if (!held.take(told.raw?.length ?? 0)) return { kind: 'open' };
  const block = place.kind === 'proven' ? place.block : null;
  return { kind: 'seen', seen: { txid, block, ...told } };
}

const outputOf = ({ valueSat, signalsRbf, coinbase }: PaymentRow): Pick<Seen, 'output'> => ({
  output: { valueSat, signalsRbf, coinbase },
});

async function placeOf(
  { session, proofs, store }: EvidenceParts,
  txid: Txid,
  position: Position,
  row: PaymentRow | undefined,
): Promise<Place> {
  if (position.kind === 'mempool') return { kind: 'mempool' };
  const known = provenBlock(row);
  if (known?.height === position.height && standsOn(store, known)) {
    return { kind: 'proven', block: known };
  }
  return proofs.prove(session, txid, position.height);
}

/** Then a proof in it outweighs any silence. */
export const standsOn = ({ headers }: Store, block: Block | undefined): boolean =>
  block !== undefined && headers.isOnBest(block);

export function provenBlock(row: PaymentRow | undefined): Block | undefined {
  if (row === undefined || row.height === null || row.blockHash === null) return undefined;
  return { height: row.height, hash: row.blockHash };
}

export interface EvidenceMemory {
  /** Opens what one look will hold. */
  open(): MemoryReservation;
  /** What is to be written down: without the bytes of what is in no block where they are too many. */
  bounded(observation: Observation): Observation;
}

export interface MemoryReservation {
  /** Takes so many bytes; false when there is no room for them now. */
  take(bytes: number): boolean;
  /** To be called when they are written down, or let go of. */
  release(): void;
  /** The look has ended: what still comes of it is let go of at once. */
  close(): void;
}

/** Bytes of transactions in no block that are kept: 12 MB an hour, which is more than all of Bitcoin pays by. */
const recordedBytes: Rate = { perMinute: 200_000, burst: 32_000_000 };

/**
 * @param most bytes of all that is open
 * @param monotonic milliseconds
 */
export function createEvidenceMemory(most: number, monotonic: () => number): EvidenceMemory {
  let total = 0;
  let kept: Bucket | undefined;
  function mayKeep({ block, raw }: Seen): boolean {
    if (block !== null || raw === undefined) return true;
    const { bucket, waitMs } = takeToken(recordedBytes, kept, monotonic(), raw.length);
    kept = bucket;
    return waitMs === 0;
  }
  return {
    bounded: (observation) => ({
      ...observation,
      seen: observation.seen.map((each) => (mayKeep(each) ? each : withoutBytes(each))),
    }),
    open() {
      let own = 0;
      let isOpen = true;
      const release = (): void => {
        total -= own;
        own = 0;
      };
      return {
        take(bytes) {
          if (!isOpen || total + bytes > most) return false;
          total += bytes;
          own += bytes;
          return true;
        },
        release,
        close() {
          isOpen = false;
          release();
        },
      };
    },
  };
}

const withoutBytes = ({ raw: _, ...seen }: Seen): Seen => seen;
