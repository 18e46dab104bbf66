// Collects evidence for one script's history: every transaction that pays us, with its place
// proven. Never keeps a database transaction open while it waits for the network. Bounds the memory
// that evidence takes until it is recorded, because a server may invent transactions of any number.

import type { Txid } from '../../bitcoin/ids.ts';
import { type Bucket, type Rate, takeToken } from '../../domain/access/rate-limit.ts';
import type { Block } from '../../domain/payment/payment.ts';
import type { HistoryItem, Position } from '../../domain/payment/script-history.ts';
import type { Session } from '../../electrum/session.ts';
import type { Status } from '../../electrum/wire.ts';
import { chunks } from '../../lib/chunk.ts';
import type { Records } from '../../store/open-records.ts';
import type { Observation, SeenPayment } from '../../store/payments/observation.ts';
import type { PaymentRow } from '../../store/payments/payment-records.ts';
import type { AddressPlace } from '../../store/wallets/address-row.ts';
import type { Fallback, OnFault } from './other-servers.ts';
import type { Inclusion, Proofs } from './proofs.ts';

/**
 * `changed`: a script is checked if its status differs from the recorded one. `again`: it is
 * checked in any case. `cross`: the same, and against a second server.
 */
export type CheckKind = 'changed' | 'again' | 'cross';

/** One script, and its history at the watched server, or at another one where that refuses. */
export interface Subject {
  readonly address: AddressPlace;
  readonly history: readonly HistoryItem[];
  /** The status that the history hashes to. */
  readonly status: Status;
  readonly check: CheckKind;
}

export interface EvidenceParts {
  readonly session: Session;
  readonly proofs: Proofs;
  readonly records: Records;
  readonly fallback: Fallback;
  readonly onFault: OnFault;
  /** For the transactions that wait to be recorded. */
  readonly memory: MemoryReservation;
  /** Records evidence while a long check goes on; true when it did, and the bytes may go. */
  readonly recordEarly: (unwritten: readonly SeenEvidence[]) => Promise<boolean>;
  /** Starts the deadline for one server; the result says whether it is over. */
  readonly startDeadline: () => () => boolean;
}

export interface EvidenceContext extends EvidenceParts {
  /** The check answers a fresh notification of this same session. */
  readonly isNews: boolean;
  /** Evidence that is not recorded yet. */
  readonly unwritten: SeenEvidence[];
  /** The subject's script, read from the file on first use. */
  readonly script: () => Uint8Array;
}

/** One flooded address must not delay the others. */
const maxItemsAtOnce = 25;
/**
 * After so many refused items, one check asks for no more. A server that invents transactions must
 * neither delay true ones nor spend the budget of another server.
 */
export const maxRefusedItems = 20;

type ItemPlace = Inclusion | { readonly kind: 'mempool' };

export interface SeenEvidence {
  readonly kind: 'seen';
  /** Without its bytes once it is recorded. */
  seen: SeenPayment;
}

type Evidence =
  | SeenEvidence
  /** It pays us nothing. */
  | { readonly kind: 'nothing' }
  /** In a block below our first header. */
  | { readonly kind: 'unproven' }
  /** Nothing yet: it must be checked again. */
  | { readonly kind: 'open' }
  /** The same: no server has shown it. */
  | { readonly kind: 'refused' }
  /** The same: no server was asked. */
  | { readonly kind: 'unasked' };

export type ItemEvidence = Evidence & { readonly item: HistoryItem };

export type KnownPayments = ReadonlyMap<Txid, PaymentRow>;

/** @throws ServerLie when a proof fails; PaygateError unavailable when the session ends */
export async function collectEvidence(
  parts: EvidenceContext,
  history: readonly HistoryItem[],
  known: KnownPayments,
): Promise<ItemEvidence[]> {
  const evidence: ItemEvidence[] = [];
  const isTooLong = parts.startDeadline();
  let refused = 0;
  for (const items of chunks(knownFirst(history, known), maxItemsAtOnce)) {
    if (refused >= maxRefusedItems || isTooLong()) {
      evidence.push(...items.map((item): ItemEvidence => ({ item, kind: 'unasked' })));
      continue;
    }
    const work = items.map((item) => collectItem(parts, item, known.get(item.txid)));
    const found = await Promise.all(work);
    evidence.push(...found);
    refused += refusedOf(found);
    parts.unwritten.push(...found.filter((each) => each.kind === 'seen'));
    if (await parts.recordEarly(parts.unwritten)) dropBytes(parts.unwritten.splice(0));
  }
  return evidence;
}

function dropBytes(written: readonly SeenEvidence[]): void {
  for (const each of written) {
    const { raw: _, ...seen } = each.seen;
    each.seen = seen;
  }
}

/** Known payments do not wait for items that may be invented. */
const knownFirst = (history: readonly HistoryItem[], known: KnownPayments): HistoryItem[] => [
  ...history.filter(({ txid }) => known.has(txid)),
  ...history.filter(({ txid }) => !known.has(txid)),
];

export const seenOf = (found: readonly ItemEvidence[]): SeenPayment[] =>
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

/** Without `isRelayed`, it was recorded before. */
type PaidBytes = Pick<SeenPayment, 'output' | 'raw'> & { readonly isRelayed?: boolean };

type CheckedItem = readonly [paid: PaidBytes | undefined, place: ItemPlace];

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

/** Undefined where no server shows the item. */
const checkItemAnywhere = (
  parts: EvidenceContext,
  ...item: [item: HistoryItem, row: PaymentRow | undefined]
): Promise<CheckedItem | undefined> =>
  parts.fallback.ask(
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
  const checked = await checkItemAnywhere(parts, item, row);
  const found = evidenceOf(parts.memory, item, checked);
  // We know another place for it: nothing is recorded before both agree.
  const isFalse =
    found.kind === 'unproven' && row !== undefined && !isAt(item.position, row.height);
  return { item, ...(isFalse ? { kind: 'open' } : found) };
}

function evidenceOf(
  memory: MemoryReservation,
  { txid }: HistoryItem,
  checked: CheckedItem | undefined,
): Evidence {
  // No server shows this transaction: the other items must not wait for it.
  if (checked === undefined) return { kind: 'refused' };
  const [paid, place] = checked;
  if (paid === undefined) return { kind: 'nothing' };
  if (place.kind === 'unproven') return { kind: 'unproven' };
  if (place.kind === 'ahead') return { kind: 'open' };
  const { isRelayed = true, ...shown } = paid;
  if (place.kind === 'mempool' && !isRelayed) return { kind: 'open' };
  if (!memory.take(shown.raw?.length ?? 0)) return { kind: 'open' };
  const block = place.kind === 'proven' ? place.block : null;
  return { kind: 'seen', seen: { txid, block, ...shown } };
}

const outputOf = ({ valueSat, signalsRbf, coinbase }: PaymentRow): Pick<SeenPayment, 'output'> => ({
  output: { valueSat, signalsRbf, coinbase },
});

async function placeOf(
  { session, proofs, records }: EvidenceParts,
  txid: Txid,
  position: Position,
  row: PaymentRow | undefined,
): Promise<ItemPlace> {
  if (position.kind === 'mempool') return { kind: 'mempool' };
  const known = provenBlock(row);
  if (known?.height === position.height && standsOn(records, known)) {
    return { kind: 'proven', block: known };
  }
  return proofs.prove(session, txid, position.height);
}

/** A proof in a block of our best chain outweighs any absence. */
export const standsOn = ({ headers }: Records, block: Block | undefined): boolean =>
  block !== undefined && headers.isOnBest(block);

export function provenBlock(row: PaymentRow | undefined): Block | undefined {
  if (row === undefined || row.height === null || row.blockHash === null) return undefined;
  return { height: row.height, hash: row.blockHash };
}

/** Bounds the bytes that evidence takes: in memory, and unconfirmed ones in the file. */
export type EvidenceMemory = ReturnType<typeof createEvidenceMemory>;

export interface MemoryReservation {
  /** Reserves bytes; false while too many are reserved. */
  take(bytes: number): boolean;
  /** The bytes are recorded, or dropped. */
  release(): void;
  /** The check has ended: it reserves no more. */
  close(): void;
}

/**
 * For bytes of unconfirmed transactions that are recorded: 12 MB an hour, more than all of Bitcoin.
 */
const recordedBytes: Rate = { perMinute: 200_000, burst: 32_000_000 };

/**
 * @param maxBytes of all open reservations together
 * @param monotonic milliseconds
 */
export function createEvidenceMemory(maxBytes: number, monotonic: () => number) {
  let total = 0;
  let recorded: Bucket | undefined;
  function mayRecord({ block, raw }: SeenPayment): boolean {
    if (block !== null || raw === undefined) return true;
    const { bucket, waitMs } = takeToken(recordedBytes, recorded, monotonic(), raw.length);
    recorded = bucket;
    return waitMs === 0;
  }
  return {
    /** The observation without the bytes of unconfirmed transactions that exceed the rate. */
    bounded: (observation: Observation): Observation => ({
      ...observation,
      seen: observation.seen.map((each) => (mayRecord(each) ? each : withoutBytes(each))),
    }),
    open(): MemoryReservation {
      let own = 0;
      let isOpen = true;
      const release = (): void => {
        total -= own;
        own = 0;
      };
      return {
        take(bytes) {
          if (!isOpen || total + bytes > maxBytes) return false;
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

const withoutBytes = ({ raw: _, ...seen }: SeenPayment): SeenPayment => seen;
