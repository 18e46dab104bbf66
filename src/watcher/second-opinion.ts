// A second voice: asked before anything is taken back, and for what the first one leaves out.
// It is another server where there is one; with a single server in the list, a fresh connection to it.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import { parseTransaction } from '../bitcoin/transaction.ts';
import type { HistoryItem } from '../domain/script-history.ts';
import type { Pool } from '../electrum/pool.ts';
import { isUnknownTransaction, ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { hourMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import type { Gone, Seen } from '../store/records/ledger.ts';
import type { World } from '../world/world.ts';
import {
  collectEvidence,
  type EvidenceContext,
  type ItemEvidence,
  isAt,
  isMined,
  type KnownPayments,
  maxRefusedItems,
  provenBlock,
  refusedOf,
  type Subject,
  seenOf,
  standsOn,
} from './evidence.ts';
import { isUnanswered, noFallback, shareConnection } from './other-servers.ts';
import { blame, Lie } from './proofs.ts';
import type { ServerChoice } from './server-choice.ts';

export interface SecondOpinion {
  readonly session: Session;
  /** Whether it is another server, and not only another connection to the same one. */
  readonly isIndependent: boolean;
  /** Whether it is on another branch: what is true there, our headers do not prove, and what is gone there may be here. */
  isOnOtherBranch(): boolean;
  /** To be called when it was heard. */
  release(): void;
}

export type RequestSecondOpinion = (session: Session) => Promise<SecondOpinion | undefined>;

export interface WitnessParts {
  readonly world: Pick<World, 'after'>;
  readonly pool: () => Pool;
  /** The live servers whose word counts, and where they stand. */
  readonly roster: Pick<ServerChoice, 'healthy' | 'isOnOtherBranch'>;
  /** How many servers the operator has named. */
  readonly servers: number;
}

export function createSecondOpinions({
  world,
  pool,
  roster,
  servers,
}: WitnessParts): RequestSecondOpinion {
  const reopen = shareConnection(world, (session: Session) => pool().reopen(session));
  return async (session) => {
    const other = roster.healthy().find((each) => each !== session);
    if (other !== undefined) {
      const isBeside = () => roster.isOnOtherBranch(other);
      return { session: other, isIndependent: true, isOnOtherBranch: isBeside, release: () => {} };
    }
    // One that is named but not connected, or in doubt, may come back: it is waited for.
    if (servers > 1) return undefined;
    const again = await reopen(session);
    return again && { ...again, isIndependent: false, isOnOtherBranch: () => false };
  };
}

export interface Testimony {
  /** What it does not name either. */
  readonly absent: readonly Txid[];
  /** All that the witness names. */
  readonly told: readonly HistoryItem[];
}

/** @param missing payments of ours that the first server's history does not name */
export async function testify(
  { session }: SecondOpinion,
  scripthash: Scripthash,
  missing: readonly Txid[],
): Promise<Testimony> {
  const told = await session.history(scripthash);
  const there = new Set(told.map(({ txid }) => txid));
  return { absent: missing.filter((txid) => !there.has(txid)), told };
}

/** How long it must last before it counts: ElectrumX reads the mempool every 5 s, electrs every 10 s. */
const minAbsenceMs = 30_000;

export interface AbsenceTracker {
  /**
   * Nobody names these payments of the script now, and no others of it are left out.
   * @returns those that nobody has named for half a minute
   */
  lasting(scripthash: Scripthash, txids: readonly Txid[]): ReadonlySet<Txid>;
}

/**
 * Not kept over a restart: it is counted anew then.
 * @param lookAgain called when a silence that has begun may count
 */
export function createAbsenceTracker(
  world: World,
  lookAgain: (scripthash: Scripthash) => void,
): AbsenceTracker {
  const scripts = new Map<Scripthash, ReadonlyMap<Txid, number>>();
  return {
    lasting(scripthash, txids) {
      const now = world.monotonic();
      const before = scripts.get(scripthash);
      const since = new Map(txids.map((txid) => [txid, before?.get(txid) ?? now]));
      if (txids.length === 0) scripts.delete(scripthash);
      else scripts.set(scripthash, since);
      if (txids.some((txid) => before?.has(txid) !== true)) {
        world.after(minAbsenceMs, () => lookAgain(scripthash));
      }
      return new Set(txids.filter((txid) => now - (since.get(txid) ?? now) >= minAbsenceMs));
    },
  };
}

export interface NodeLookup {
  /** Asks about as many of them as it may now, the first of them first. */
  ask(session: Session, txids: readonly Txid[]): Promise<NodeAnswer>;
}

export interface NodeAnswer {
  /** Neither in the mempool nor in the chain of its node. */
  readonly absent: ReadonlySet<Txid>;
  /** The others of those that were asked about. */
  readonly present: ReadonlySet<Txid>;
}

/** Refusals of public servers in an hour: half of what they forgive meanwhile. */
const mostRefusedAnHour = 20;

export function createNodeLookup(world: Pick<World, 'monotonic'>): NodeLookup {
  let refusals: number[] = [];
  /** Of public servers: all may be refused. */
  let underWay = 0;

  function left(): number {
    const since = world.monotonic() - hourMs;
    refusals = refusals.filter((at) => at > since);
    return Math.max(0, mostRefusedAnHour - refusals.length - underWay);
  }

  /** False when the server says that there is none, undefined when it refuses for another reason. */
  async function unlessUnknown(session: Session, asked: Promise<boolean>) {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (!session.server.own) refusals.push(world.monotonic());
      return isUnknownTransaction(error) ? false : undefined;
    }
  }

  async function isNowhere(session: Session, txid: Txid): Promise<boolean> {
    // Servers keep the bytes of what they once had: only the verbose answer comes from the node.
    const stands = await unlessUnknown(session, session.hasTransaction(txid));
    if (stands !== undefined) return !stands;
    // Some refuse to be verbose.
    const shown = session.transaction(txid).then(() => true);
    return (await unlessUnknown(session, shown)) === false;
  }

  return {
    async ask(session, txids) {
      const { own } = session.server;
      const asked = own ? txids : txids.slice(0, left());
      const places = own ? 0 : asked.length;
      underWay += places;
      try {
        const unknown = await Promise.all(asked.map((txid) => isNowhere(session, txid)));
        return {
          absent: new Set(asked.filter((_, index) => unknown[index])),
          present: new Set(asked.filter((_, index) => !unknown[index])),
        };
      } finally {
        underWay -= places;
      }
    },
  };
}

/** What a second voice is asked with. */
export interface SecondOpinionParts {
  readonly callWitness: RequestSecondOpinion;
  readonly silence: AbsenceTracker;
  readonly nowhere: NodeLookup;
}

/** What a second voice adds to a history, or takes from what we know. */
interface CrossCheck {
  readonly gathered: readonly ItemEvidence[];
  readonly gone: readonly Gone[];
  /** Silence that nobody could explain yet: to be looked at again. */
  readonly isOpen: boolean;
}

/** Never cancels on silence: what a history leaves out is asked of a second voice. */
export async function crossCheck(
  parts: EvidenceContext & SecondOpinionParts,
  { address, history, look }: Subject,
  known: KnownPayments,
  gathered: readonly ItemEvidence[],
): Promise<CrossCheck> {
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
    refusedOf(gathered) >= maxRefusedItems || gathered.some(({ kind }) => kind === 'unasked');
  if (missing.length === 0 && look !== 'cross' && !isCutShort) return nothing();
  const witness = await parts.callWitness(parts.session);
  if (witness === undefined) return nothing();
  try {
    const doubted = witness.isOnOtherBranch() ? [] : missing;
    const { absent, told } = await testify(witness, address.scripthash, doubted);
    const others = { ...parts, session: witness.session, isNews: false, elsewhere: noFallback };
    const disputed = disputedItems(told, gathered);
    const found = await collectEvidence(others, disputed, known);
    const unnamed = withRivals(parts.store, absent, seenOf([...gathered, ...found]));
    const gone = await certainlyGone(parts, address.scripthash, witness, unnamed);
    const isOpen =
      gone.length < missing.length ||
      isRefuted(gathered, found) ||
      isReportedByOneServer(found, named);
    return { gathered: found, gone, isOpen };
  } catch (error) {
    // It has nothing to say, or speaks of another branch: that is no reason to lose what the first one said.
    if (isUnanswered(error) || (error instanceof Lie && witness.isOnOtherBranch()))
      return nothing();
    // The watched server must not be banned for what it did not say.
    throw witness.isIndependent ? blame(witness.session, error) : error;
  } finally {
    witness.release();
  }
}

/** What took its inputs says that a payment is gone; without that, only silence that lasts, of the node as well. */
async function certainlyGone(
  { silence, nowhere }: SecondOpinionParts,
  scripthash: Scripthash,
  { session, isIndependent: independent }: SecondOpinion,
  unnamed: readonly Gone[],
): Promise<Gone[]> {
  const silent = unnamed.flatMap(({ txid, replacedBy }) => (replacedBy === null ? [txid] : []));
  let lasting = silence.lasting(scripthash, silent);
  if (!independent && lasting.size > 0) {
    const { absent: gone, present: there } = await nowhere.ask(session, [...lasting]);
    lasting = gone;
    // Theirs begins anew.
    silence.lasting(
      scripthash,
      silent.filter((txid) => !there.has(txid)),
    );
  }
  return unnamed.filter(({ txid, replacedBy }) => replacedBy !== null || lasting.has(txid));
}

/** What a second voice names, and what the first one left out or named at a place that it has not shown. */
function disputedItems(
  told: readonly HistoryItem[],
  gathered: readonly ItemEvidence[],
): readonly HistoryItem[] {
  const first = new Map<Txid, ItemEvidence>();
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

/** Whether a payment stands elsewhere than where the first one says, who cannot be held to it there. */
function isRefuted(gathered: readonly ItemEvidence[], found: readonly ItemEvidence[]): boolean {
  const seen = new Set(found.flatMap(({ kind, item }) => (kind === 'seen' ? [item.txid] : [])));
  return gathered.some(({ kind, item }) => kind === 'unproven' && seen.has(item.txid));
}

/** Whether the second voice alone names what is in a mempool: that it is gone, no status of the first one would tell. */
const isReportedByOneServer = (found: readonly ItemEvidence[], named: ReadonlySet<Txid>): boolean =>
  found.some(
    (each) => each.kind === 'seen' && each.seen.block === null && !named.has(each.item.txid),
  );

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
  const { isCoinbase: coinbase, inputs } = parseTransaction(raw);
  // All coinbases have the same input, which nothing takes from them.
  return coinbase ? [] : inputs.map(({ txid, vout }) => `${txid}:${vout}`);
}
