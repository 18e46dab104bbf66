// One script's history turned into an observation: every transaction that pays us, with its place
// proven, and every payment that is certain to be gone. No transaction of the database is open while
// this waits for the network.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import { parseTransaction } from '../bitcoin/transaction.ts';
import type { Block } from '../domain/payment.ts';
import type { HistoryItem, Position } from '../domain/script-history.ts';
import type { Session } from '../electrum/session.ts';
import type { Status } from '../electrum/wire.ts';
import { slices } from '../lib/chunk.ts';
import { once } from '../lib/lazy.ts';
import type { Store } from '../store/open-store.ts';
import type { AddressPlace } from '../store/records/address-statements.ts';
import type { Gone, Observation, Seen } from '../store/records/ledger.ts';
import type { PaymentRow } from '../store/records/ledger-statements.ts';
import { type Elsewhere, isSilence, nobodyElse, type OnFault } from './elsewhere.ts';
import { Lie, laidTo } from './lie.ts';
import type { Held } from './load.ts';
import type { Nowhere } from './nowhere.ts';
import type { Silence } from './silence.ts';
import type { Inclusion, Proofs } from './verifier.ts';
import { type CallWitness, testify, type Witness } from './witness.ts';

/**
 * How a script is looked at: when its status is another than the one we worked up (`changed`), in any
 * case (`again`), or in any case and with a second voice (`cross`).
 */
export type Look = 'changed' | 'again' | 'cross';

/** One script, and what a server says of it: the watched one, or another where that refuses. */
export interface Subject {
  readonly address: AddressPlace;
  readonly history: readonly HistoryItem[];
  /** Of the history. */
  readonly status: Status;
  readonly look: Look;
}

export interface GatherParts {
  readonly session: Session;
  readonly proofs: Proofs;
  readonly store: Store;
  readonly callWitness: CallWitness;
  readonly silence: Silence;
  readonly elsewhere: Elsewhere;
  readonly onFault: OnFault;
  readonly nowhere: Nowhere;
  /** The transactions that are to be written down. */
  readonly held: Held;
  /** What is not written down yet while a long look goes on. True when it is now, and need not be held. */
  readonly early: (unwritten: readonly FoundSeen[]) => Promise<boolean>;
  /** Begins to ask one server; says whether that takes too long. */
  readonly startDeadline: () => () => boolean;
}

/** While one subject is gathered. */
interface Gathering extends GatherParts {
  /** Nothing else than what the session itself has just told. */
  readonly isNews: boolean;
  /** What is not written down yet. */
  readonly unwritten: FoundSeen[];
  /** The subject's, which is read where a transaction is new to us alone. */
  readonly script: () => Uint8Array;
}

/** Items worked on at once, so that one flooded address leaves room for the others. */
const itemsAtOnce = 25;
/**
 * Items of one look that nobody shows, from which on no more are asked for: a server that invents
 * transactions must neither hold up the true ones nor have us spend all that it forgives.
 */
const mostRefused = 20;

type Place = Inclusion | { readonly kind: 'mempool' };

export interface FoundSeen {
  readonly kind: 'seen';
  /** Without its bytes once it is written down. */
  seen: Seen;
}

/** What one item comes to. */
type Found =
  | FoundSeen
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

type Gathered = Found & { readonly item: HistoryItem };

type Known = ReadonlyMap<Txid, PaymentRow>;

/** @throws Lie when a proof fails; PaygateError unavailable when the session ends */
export async function gather(all: GatherParts, subject: Subject): Promise<Observation> {
  const { address, history, status, look } = subject;
  const { id: addressId, origin } = address;
  const script = once(() => all.store.addresses.scriptOf(addressId));
  const parts: Gathering = { ...all, isNews: look === 'changed', unwritten: [], script };
  const known = new Map(parts.store.ledger.paymentsOf(addressId).map((row) => [row.txid, row]));
  const gathered = await gatherAll(parts, history, known);
  const testified = await hearWitness(parts, subject, known, gathered);
  const found = [...gathered, ...testified.gathered];
  const seen = provenFirst(seenOf(found));
  const isOpen = testified.isOpen || found.some(({ kind }) => left.has(kind));
  const { gone } = testified;
  return { addressId, origin, seen, gone, statusHash: isOpen ? undefined : status };
}

/** What is in a block of ours is in no mempool, whoever says so. */
function provenFirst(seen: readonly Seen[]): Seen[] {
  const mined = new Set(seen.flatMap(({ txid, block }) => (block === null ? [] : [txid])));
  return seen.filter(({ txid, block }) => block !== null || !mined.has(txid));
}

/** What took its inputs says that a payment is gone; without that, only silence that lasts, of the node as well. */
async function certain(
  { silence, nowhere }: GatherParts,
  scripthash: Scripthash,
  { session, independent }: Witness,
  unnamed: readonly Gone[],
): Promise<Gone[]> {
  const silent = unnamed.flatMap(({ txid, replacedBy }) => (replacedBy === null ? [txid] : []));
  let lasting = silence.lasting(scripthash, silent);
  if (!independent && lasting.size > 0) {
    const { gone, there } = await nowhere.ask(session, [...lasting]);
    lasting = gone;
    // Theirs begins anew.
    silence.lasting(
      scripthash,
      silent.filter((txid) => !there.has(txid)),
    );
  }
  return unnamed.filter(({ txid, replacedBy }) => replacedBy !== null || lasting.has(txid));
}

async function gatherAll(
  parts: Gathering,
  history: readonly HistoryItem[],
  known: Known,
): Promise<Gathered[]> {
  const gathered: Gathered[] = [];
  const isTooLong = parts.startDeadline();
  let refused = 0;
  for (const items of slices(knownFirst(history, known), itemsAtOnce)) {
    if (refused >= mostRefused || isTooLong()) {
      gathered.push(...items.map((item): Gathered => ({ item, kind: 'unasked' })));
      continue;
    }
    const work = items.map((item) => gatherItem(parts, item, known.get(item.txid)));
    const found = await Promise.all(work);
    gathered.push(...found);
    refused += refusedOf(found);
    parts.unwritten.push(...found.filter((each) => each.kind === 'seen'));
    if (await parts.early(parts.unwritten)) letGo(parts.unwritten.splice(0));
  }
  return gathered;
}

function letGo(written: readonly FoundSeen[]): void {
  for (const each of written) {
    const { raw: _, ...seen } = each.seen;
    each.seen = seen;
  }
}

/** Payments that we know do not wait for what may be made up. */
const knownFirst = (history: readonly HistoryItem[], known: Known): HistoryItem[] => [
  ...history.filter(({ txid }) => known.has(txid)),
  ...history.filter(({ txid }) => !known.has(txid)),
];

const seenOf = (found: readonly Gathered[]): Seen[] =>
  found.flatMap((each) => (each.kind === 'seen' ? [each.seen] : []));

const refusedOf = (found: readonly Gathered[]): number =>
  found.filter(({ kind }) => kind === 'refused').length;

const left: ReadonlySet<Found['kind']> = new Set(['open', 'refused', 'unasked']);

/** What a second voice adds to a history, or takes from what we know. */
interface Testified {
  readonly gathered: readonly Gathered[];
  readonly gone: readonly Gone[];
  /** Silence that nobody could explain yet: to be looked at again. */
  readonly isOpen: boolean;
}

/** Never cancels on silence: what a history leaves out is asked of a second voice. */
async function hearWitness(
  parts: Gathering,
  { address, history, look }: Subject,
  known: Known,
  gathered: readonly Gathered[],
): Promise<Testified> {
  const named = new Set(history.map(({ txid }) => txid));
  const missing = [...known.values()]
    .filter((row) => row.state !== 'dropped' && !named.has(row.txid))
    .filter((row) => !standsOn(parts.store, provenBlock(row)))
    // Dust does not delay what is worth more.
    .sort((one, other) => other.valueSat - one.valueSat)
    .map(({ txid }) => txid);
  const nothing = () => {
    parts.silence.lasting(address.scripthash, []);
    return { gathered: [], gone: [], isOpen: missing.length > 0 };
  };
  const isCutShort =
    refusedOf(gathered) >= mostRefused || gathered.some(({ kind }) => kind === 'unasked');
  if (missing.length === 0 && look !== 'cross' && !isCutShort) return nothing();
  const witness = await parts.callWitness(parts.session);
  if (witness === undefined) return nothing();
  try {
    const doubted = witness.isBeside() ? [] : missing;
    const { absent, told } = await testify(witness, address.scripthash, doubted);
    const others = { ...parts, session: witness.session, isNews: false, elsewhere: nobodyElse };
    const disputed = disputedBy(told, gathered);
    const found = await gatherAll(others, disputed, known);
    const unnamed = withRivals(parts.store, absent, seenOf([...gathered, ...found]));
    const gone = await certain(parts, address.scripthash, witness, unnamed);
    const isOpen =
      gone.length < missing.length || isRefuted(gathered, found) || isAlone(found, named);
    return { gathered: found, gone, isOpen };
  } catch (error) {
    // It has nothing to say, or speaks of another branch: that is no reason to lose what the first one said.
    if (isSilence(error) || (error instanceof Lie && witness.isBeside())) return nothing();
    // The watched server must not be banned for what it did not say.
    throw witness.independent ? laidTo(witness.session, error) : error;
  } finally {
    witness.release();
  }
}

/** What a second voice names, and what the first one left out or named at a place that it has not shown. */
function disputedBy(
  told: readonly HistoryItem[],
  gathered: readonly Gathered[],
): readonly HistoryItem[] {
  const first = new Map<Txid, Gathered>();
  for (const each of gathered) {
    const { txid } = each.item;
    // It may be named twice, in a block and still in the mempool.
    if (!isMined(first.get(txid))) first.set(txid, each);
  }
  return told.filter(({ txid, position }) => {
    const found = first.get(txid);
    switch (found?.kind) {
      case 'nothing':
        return false;
      case 'seen':
        return !isMined(found) && position.kind === 'mined';
      case 'unproven':
        // Of what may be old, nothing but a proof counts.
        return position.kind === 'mined' && !isAt(found.item.position, position.height);
      default:
        return true;
    }
  });
}

const isAt = (position: Position, height: number | null): boolean =>
  position.kind === 'mined' && position.height === height;

const isMined = (found: Gathered | undefined): boolean =>
  found?.kind === 'seen' && found.seen.block !== null;

/** Whether a payment stands elsewhere than where the first one says, who cannot be held to it there. */
function isRefuted(gathered: readonly Gathered[], found: readonly Gathered[]): boolean {
  const seen = new Set(found.flatMap(({ kind, item }) => (kind === 'seen' ? [item.txid] : [])));
  return gathered.some(({ kind, item }) => kind === 'unproven' && seen.has(item.txid));
}

/** Whether the second voice alone names what is in a mempool: that it is gone, no status of the first one would tell. */
const isAlone = (found: readonly Gathered[], named: ReadonlySet<Txid>): boolean =>
  found.some(
    (each) => each.kind === 'seen' && each.seen.block === null && !named.has(each.item.txid),
  );

/** Without `isRelayed` it was recorded before. */
type Paid = Pick<Seen, 'output' | 'raw'> & { readonly isRelayed?: boolean };
type Looked = readonly [paid: Paid | undefined, place: Place];

async function lookAt(
  parts: Gathering,
  { txid, position }: HistoryItem,
  row: PaymentRow | undefined,
): Promise<Looked> {
  const { session, proofs, isNews, script } = parts;
  const isFresh = isNews && position.kind === 'mempool';
  const [paid, place] = await Promise.all([
    row === undefined ? proofs.output(session, txid, script(), isFresh) : outputOf(row),
    placeOf(parts, txid, position, row),
  ]);
  if (paid !== undefined && place.kind === 'proven') {
    await proofs.checkDepth(session, place, paid.output.valueSat);
  }
  return [paid, place];
}

/** What one server refuses to show, another one may; undefined where none does. */
const lookAnywhere = (
  parts: Gathering,
  ...item: [item: HistoryItem, row: PaymentRow | undefined]
): Promise<Looked | undefined> =>
  parts.elsewhere.ask(
    parts.session,
    (session) => {
      const isNews = parts.isNews && session === parts.session;
      return lookAt({ ...parts, session, isNews }, ...item);
    },
    parts.onFault,
  );

async function gatherItem(
  parts: Gathering,
  item: HistoryItem,
  row: PaymentRow | undefined,
): Promise<Gathered> {
  const looked = await lookAnywhere(parts, item, row);
  const found = foundBy(parts.held, item, looked);
  // It is known to be elsewhere: that is not worked up before they agree.
  const isFalse =
    found.kind === 'unproven' && row !== undefined && !isAt(item.position, row.height);
  return { item, ...(isFalse ? { kind: 'open' } : found) };
}

function foundBy(held: Held, { txid }: HistoryItem, looked: Looked | undefined): Found {
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
  { session, proofs, store }: GatherParts,
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
const standsOn = ({ headers }: Store, block: Block | undefined): boolean =>
  block !== undefined && headers.isOnBest(block);

function provenBlock(row: PaymentRow | undefined): Block | undefined {
  if (row === undefined || row.height === null || row.blockHash === null) return undefined;
  return { height: row.height, hash: row.blockHash };
}

/** For each that is gone, which of the transactions that are there took an input of it. */
function withRivals({ ledger }: Store, gone: readonly Txid[], seen: readonly Seen[]): Gone[] {
  if (gone.length === 0) return [];
  // Each is read once, so that thousands that replace thousands are no more work than their number.
  const takers = new Map(
    seen.flatMap(({ txid, raw }) =>
      inputsOf(raw ?? ledger.rawOf(txid)).map((input) => [input, txid] as const),
    ),
  );
  return gone.map((txid) => {
    const [rival] = inputsOf(ledger.rawOf(txid)).flatMap((input) => takers.get(input) ?? []);
    return { txid, replacedBy: rival ?? null };
  });
}

function inputsOf(raw: Uint8Array | undefined): string[] {
  if (raw === undefined) return [];
  const { coinbase, inputs } = parseTransaction(raw);
  // All coinbases have the same input, which nothing takes from them.
  return coinbase ? [] : inputs.map(({ txid, vout }) => `${txid}:${vout}`);
}
