// Cross-checks one server's history with a second server, before a payment counts as gone and for
// items that the first server leaves out. While the list has no other server, a fresh connection to
// this one and its node are asked instead. Absence alone never cancels a payment.

import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { parseTransaction } from '../../bitcoin/transaction.ts';
import type { HistoryItem } from '../../domain/payment/script-history.ts';
import { refusalCost } from '../../electrum/budget.ts';
import type { Pool } from '../../electrum/pool.ts';
import { isUnknownTransaction, ServerError } from '../../electrum/requests.ts';
import type { Session } from '../../electrum/session.ts';
import type { Records } from '../../store/open-records.ts';
import type { GonePayment, SeenPayment } from '../../store/payments/observation.ts';
import type { World } from '../../world/world.ts';
import type { ServerChoice } from '../server-choice.ts';
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
import {
  type BorrowedSession,
  isUnanswered,
  noFallback,
  shareConnection,
} from './other-servers.ts';
import { blame, ServerLie } from './proofs.ts';

export interface SecondOpinion extends BorrowedSession {
  /** Whether it is another server, and not another connection to the same one. */
  readonly isIndependent: boolean;
  /** On another branch, our headers prove nothing, and what is gone there may stand here. */
  isOnOtherBranch(): boolean;
}

/** Undefined where no second server is healthy now. */
export type RequestSecondOpinion = (session: Session) => Promise<SecondOpinion | undefined>;

export interface SecondOpinionsParts {
  readonly world: Pick<World, 'after'>;
  readonly pool: Pick<Pool, 'reopen' | 'isAlone'>;
  readonly servers: Pick<ServerChoice, 'other' | 'isOnOtherBranch'>;
}

export function createSecondOpinions(parts: SecondOpinionsParts): RequestSecondOpinion {
  const { world, pool, servers } = parts;
  const reopen = shareConnection(world, (session: Session) => pool.reopen(session));
  return async (session) => {
    const other = servers.other(session);
    if (other !== undefined) {
      const isOnOtherBranch = () => servers.isOnOtherBranch(other);
      return { session: other, isIndependent: true, isOnOtherBranch, release: () => {} };
    }
    // A second server that is not connected, or in doubt, may come back. A banned one is not waited
    // for: what it invented would stay for so long.
    if (!pool.isAlone(session)) return undefined;
    const again = await reopen(session);
    return again && { ...again, isIndependent: false, isOnOtherBranch: () => false };
  };
}

/**
 * How long an absence must last to count: ElectrumX reads the mempool every 5 s, electrs every 10
 * s. See docs/decisions/006.
 */
const minAbsenceMs = 30_000;

/** Since when payments are unreported. */
export type AbsenceTracker = ReturnType<typeof createAbsenceTracker>;

/**
 * A server follows the chain first and its node's mempool after it. Around a block, all servers may
 * omit a payment for a few seconds. A restart begins to count anew.
 * @param recheck called when an absence that has begun may count
 */
export function createAbsenceTracker(world: World, recheck: (scripthash: Scripthash) => void) {
  const scripts = new Map<Scripthash, ReadonlyMap<Txid, number>>();
  return {
    /**
     * No server reports these payments of the script now; all others of it are reported.
     * @returns the payments that were unreported for half a minute
     */
    lasting(scripthash: Scripthash, txids: readonly Txid[]): ReadonlySet<Txid> {
      const now = world.monotonic();
      const before = scripts.get(scripthash);
      const since = new Map(txids.map((txid) => [txid, before?.get(txid) ?? now]));
      if (txids.length === 0) scripts.delete(scripthash);
      else scripts.set(scripthash, since);
      if (txids.some((txid) => before?.has(txid) !== true)) {
        world.after(minAbsenceMs, () => recheck(scripthash));
      }
      return new Set(txids.filter((txid) => now - (since.get(txid) ?? now) >= minAbsenceMs));
    },
  };
}

interface NodeAnswer {
  /** Neither in the mempool nor in the chain of the node. */
  readonly absent: ReadonlySet<Txid>;
  /** The others that were asked about. */
  readonly present: ReadonlySet<Txid>;
}

/**
 * Asks a server's node about as many transactions as the allowance for absences covers, the first
 * ones first.
 */
async function askNode(session: Session, txids: readonly Txid[]): Promise<NodeAnswer> {
  const allowance = session.budget.allowance('absence');
  // All of them may be refused.
  const asked = txids.slice(0, Math.floor(allowance.left() / refusalCost));
  const endReservation = allowance.reserve(asked.length * refusalCost);
  try {
    const absent = await Promise.all(asked.map((txid) => isAbsent(session, txid)));
    return {
      absent: new Set(asked.filter((_, index) => absent[index])),
      present: new Set(asked.filter((_, index) => !absent[index])),
    };
  } finally {
    endReservation?.();
  }
}

async function isAbsent(session: Session, txid: Txid): Promise<boolean> {
  // Servers cache the bytes of a transaction: only the verbose answer comes from the node.
  const stands = await unlessUnknown(session, session.hasTransaction(txid));
  if (stands !== undefined) return !stands;
  // Some servers refuse verbose answers.
  const shown = session.transaction(txid).then(() => true);
  return (await unlessUnknown(session, shown)) === false;
}

/** False when the server has no such transaction, undefined when it refuses for another reason. */
async function unlessUnknown(session: Session, answer: Promise<boolean>) {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    session.budget.allowance('absence').charge(refusalCost);
    return isUnknownTransaction(error) ? false : undefined;
  }
}

export interface SecondOpinionParts {
  readonly requestSecondOpinion: RequestSecondOpinion;
  readonly absences: AbsenceTracker;
}

interface CrossCheck {
  readonly evidence: readonly ItemEvidence[];
  readonly gone: readonly GonePayment[];
  /** Something is unexplained: the script must be checked again. */
  readonly isOpen: boolean;
}

export async function crossCheck(
  parts: EvidenceContext & SecondOpinionParts,
  { address, history, check }: Subject,
  known: KnownPayments,
  evidence: readonly ItemEvidence[],
): Promise<CrossCheck> {
  const named = new Set(history.map(({ txid }) => txid));
  const missing = [...known.values()]
    .filter((row) => row.state !== 'dropped' && !named.has(row.txid))
    .filter((row) => !standsOn(parts.records, provenBlock(row)))
    // Dust does not delay larger payments.
    .sort((one, other) => other.valueSat - one.valueSat)
    .map(({ txid }) => txid);
  const nothing = () => {
    parts.absences.lasting(address.scripthash, []);
    return { evidence: [], gone: [], isOpen: missing.length > 0 };
  };
  const isCutShort =
    refusedOf(evidence) >= maxRefusedItems || evidence.some(({ kind }) => kind === 'unasked');
  if (missing.length === 0 && check !== 'cross' && !isCutShort) return nothing();
  const opinion = await parts.requestSecondOpinion(parts.session);
  if (opinion === undefined) return nothing();
  try {
    const doubted = opinion.isOnOtherBranch() ? [] : missing;
    const reported = await opinion.session.history(address.scripthash);
    const present = new Set(reported.map(({ txid }) => txid));
    const absent = doubted.filter((txid) => !present.has(txid));
    const others = { ...parts, session: opinion.session, isNews: false, fallback: noFallback };
    const found = await collectEvidence(others, disputedItems(reported, evidence), known);
    const unreported = withRivals(parts.records, absent, seenOf([...evidence, ...found]));
    const gone = await certainlyGone(parts, address.scripthash, opinion, unreported);
    const isOpen =
      gone.length < missing.length ||
      isRefuted(evidence, found) ||
      isReportedByOneServer(found, named);
    return { evidence: found, gone, isOpen };
  } catch (error) {
    // Without an answer, or with one about another branch, the first server's evidence stays.
    if (isUnanswered(error) || (error instanceof ServerLie && opinion.isOnOtherBranch()))
      return nothing();
    // The watched server must not be banned for another server's answer.
    throw opinion.isIndependent ? blame(opinion.session, error) : error;
  } finally {
    opinion.release();
  }
}

/**
 * A transaction that took its inputs proves that a payment is gone; otherwise only a lasting
 * absence does.
 */
async function certainlyGone(
  { absences }: SecondOpinionParts,
  scripthash: Scripthash,
  { session, isIndependent }: SecondOpinion,
  unreported: readonly GonePayment[],
): Promise<GonePayment[]> {
  const unexplained = unreported.flatMap((each) => (each.replacedBy === null ? [each.txid] : []));
  let lasting = absences.lasting(scripthash, unexplained);
  if (!isIndependent && lasting.size > 0) {
    const { absent, present } = await askNode(session, [...lasting]);
    lasting = absent;
    // The absence of those that the node has begins anew.
    absences.lasting(
      scripthash,
      unexplained.filter((txid) => !present.has(txid)),
    );
  }
  return unreported.filter(({ txid, replacedBy }) => replacedBy !== null || lasting.has(txid));
}

/**
 * Items of the second history that the first server left out, or named at a place without evidence.
 */
function disputedItems(
  reported: readonly HistoryItem[],
  evidence: readonly ItemEvidence[],
): readonly HistoryItem[] {
  const first = new Map<Txid, ItemEvidence>();
  for (const each of evidence) {
    const { txid } = each.item;
    // A history may name it twice, in a block and still in the mempool.
    if (!isMined(first.get(txid))) first.set(txid, each);
  }
  return reported.filter(({ txid, position }) => {
    const found = first.get(txid);
    switch (found?.kind) {
      case 'nothing':
        return false;
      case 'seen':
        return !isMined(found) && position.kind === 'mined';
      case 'unproven':
        // For a block below our first header, only a proof counts.
        return position.kind === 'mined' && !isAt(found.item.position, position.height);
      default:
        return true;
    }
  });
}

/**
 * Whether the second server proves a payment that the first one names at a place that nothing
 * proves.
 */
function isRefuted(first: readonly ItemEvidence[], second: readonly ItemEvidence[]): boolean {
  const seen = new Set(second.flatMap(({ kind, item }) => (kind === 'seen' ? [item.txid] : [])));
  return first.some(({ kind, item }) => kind === 'unproven' && seen.has(item.txid));
}

/**
 * Whether only the second server has it in a mempool: no status of the first one will announce its
 * end.
 */
const isReportedByOneServer = (found: readonly ItemEvidence[], named: ReadonlySet<Txid>): boolean =>
  found.some(
    (each) => each.kind === 'seen' && each.seen.block === null && !named.has(each.item.txid),
  );

/** Adds to each absent payment which of the transactions that are there took an input of it. */
function withRivals(
  { ledger }: Records,
  absent: readonly Txid[],
  seen: readonly SeenPayment[],
): GonePayment[] {
  if (absent.length === 0) return [];
  // Each transaction is read once: thousands that replace thousands stay linear work.
  const takers = new Map(
    seen.flatMap(({ txid, raw }) =>
      inputsOf(raw ?? ledger.rawOf(txid)).map((input) => [input, txid] as const),
    ),
  );
  return absent.map((txid) => {
    const [rival] = inputsOf(ledger.rawOf(txid)).flatMap((input) => takers.get(input) ?? []);
    return { txid, replacedBy: rival ?? null };
  });
}

function inputsOf(raw: Uint8Array | undefined): string[] {
  if (raw === undefined) return [];
  const { isCoinbase, inputs } = parseTransaction(raw);
  // All coinbases have the same input, which no transaction takes from them.
  return isCoinbase ? [] : inputs.map(({ txid, vout }) => `${txid}:${vout}`);
}
