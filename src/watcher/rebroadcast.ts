// Broadcasts the raw transactions of unconfirmed payments again, and forgets those of payments that
// were dropped long ago. A witness is no part of a transaction's id: a server may omit or pad it.
// Bytes without a whole witness are asked of other servers.

import type { Txid } from '../bitcoin/ids.ts';
import { isRelayable, maxRelayWeight, parseTransaction, weightOf } from '../bitcoin/transaction.ts';
import { refusalCost } from '../electrum/budget.ts';
import type { Pool } from '../electrum/pool.ts';
import { ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { SerialQueue } from '../lib/serial-queue.ts';
import { dayMs, hourMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { SeenPayment } from '../store/payments/observation.ts';
import { type AgeJudge, trustedClock } from '../world/clock-watch.ts';
import type { World } from '../world/world.ts';
import type { Fallback } from './proof/other-servers.ts';

export interface RebroadcastParts {
  readonly world: World;
  readonly clock?: AgeJudge;
  readonly records: Records;
  readonly pool: Pick<Pool, 'live'>;
}

export type Rebroadcast = ReturnType<typeof createRebroadcast>;

const intervalMs = 6 * hourMs;
const maxAgeMs = 14 * dayMs;
const maxAtOnce = 20;
const maxForgottenAtOnce = 20;

export function createRebroadcast(parts: RebroadcastParts) {
  const refusals = createBroadcastRefusals();
  // Servers are asked for the bytes of one transaction at a time.
  const queue = new SerialQueue();
  return {
    /** Broadcasts what is due now to every live server, and forgets what is too old. */
    async run(): Promise<void> {
      await broadcast(parts, refusals, queue);
      await forget(parts);
    },
  };
}

type BroadcastRefusals = ReturnType<typeof createBroadcastRefusals>;

function createBroadcastRefusals() {
  const allowanceOf = ({ budget }: Session) => budget.allowance('rebroadcast');
  return {
    /**
     * The servers that may refuse one more broadcast; none where a server that must not would miss
     * it.
     */
    mayAsk(live: readonly Session[]): readonly Session[] {
      const left = live.filter((session) => allowanceOf(session).left() >= refusalCost);
      // The operator's own server relays to the network.
      return left.length === live.length || left.some(({ server }) => server.own) ? left : [];
    },
    /** Servers that did not answer a request for bytes: they are not asked again. */
    unanswering: new WeakSet(),
    refused: (session: Session): void => allowanceOf(session).charge(refusalCost),
  };
}

async function broadcast(
  parts: RebroadcastParts,
  refusals: BroadcastRefusals,
  queue: SerialQueue,
): Promise<void> {
  const { world, clock = trustedClock, records, pool } = parts;
  // At least the newest block's time: a late clock must not make payments look too young. A clock
  // that is ahead must not make them look too old.
  const now = Math.max(clock.passed(world.now()), (records.headers.tipTime() ?? 0) * 1000);
  const due = records.broadcasts.due(now, now - maxAgeMs, now - intervalMs, maxAtOnce);
  for (const txid of due) {
    const raw = records.ledger.rawOf(txid);
    if (raw === undefined) continue;
    const sessions = refusals.mayAsk(pool.live());
    if (sessions.length === 0) return;
    // A transaction from a block may be heavier than nodes relay, and too long for one request.
    if (weightOf(parseTransaction(raw)) <= maxRelayWeight) {
      const answers = await broadcastTo(sessions, raw, refusals);
      const isWanting =
        answers.has('witness') || (answers.has('there') && !isWholeTransaction(raw));
      // Not awaited, because servers may be slow; the next run repeats what finds the queue full.
      if (isWanting && queue.size < maxAtOnce) {
        void queue.run(() => broadcastOthers(parts, sessions, txid, raw, refusals));
      }
    }
    await records.database.write((tx) => records.broadcasts.note(tx, now, txid));
  }
}

/** Forgets payments that were dropped as long ago as a payment is broadcast. */
async function forget({
  world,
  clock = trustedClock,
  records: { broadcasts, database },
}: RebroadcastParts): Promise<void> {
  const now = clock.passed(world.now());
  const idle = broadcasts.idle(now - maxAgeMs, maxForgottenAtOnce);
  if (idle.length === 0) return;
  await database.write((tx) => broadcasts.forget(tx, now, now - maxAgeMs, idle));
}

async function broadcastTo(
  sessions: readonly Session[],
  raw: Uint8Array,
  refusals: BroadcastRefusals,
): Promise<ReadonlySet<BroadcastAnswer>> {
  const answers = sessions.map((session) => broadcastOne(session, raw, refusals));
  return new Set(await Promise.all(answers));
}

/**
 * Broadcasts other servers' bytes of a transaction whose witness is missing or refused; stores what
 * one takes.
 */
async function broadcastOthers(
  { records: { database, broadcasts }, world }: RebroadcastParts,
  sessions: readonly Session[],
  txid: Txid,
  ours: Uint8Array,
  refusals: BroadcastRefusals,
): Promise<void> {
  try {
    const asked = refusals.mayAsk(sessions);
    for (const shown of await bytesFromOthers(asked, txid, ours, refusals)) {
      if ((await broadcastTo(sessions, shown, refusals)).has('witness')) continue;
      await database.write((tx) => broadcasts.keep(tx, txid, shown));
      return;
    }
  } catch (error) {
    world.log.error('a transaction could not be broadcast', { txid, reason: reasonOf(error) });
  }
}

type BroadcastAnswer =
  /**
   * It refuses the witness, which may be missing, padded or unsigned; other servers may have
   * another.
   */
  | 'witness'
  /** It takes the transaction, or has it. */
  | 'there'
  | 'other';

/** Error messages of nodes. */
const witnessRefusal = /witness|script-verify/i;
const alreadyKnown = /already/i;

async function broadcastOne(
  session: Session,
  raw: Uint8Array,
  refusals: BroadcastRefusals,
): Promise<BroadcastAnswer> {
  try {
    await session.broadcast(raw);
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    if (!(error instanceof ServerError)) return 'other';
    refusals.refused(session);
    if (witnessRefusal.test(error.message)) return 'witness';
    return alreadyKnown.test(error.message) ? 'there' : 'other';
  }
  return 'there';
}

function isWholeTransaction(raw: Uint8Array, txid?: Txid): boolean {
  try {
    const transaction = parseTransaction(raw);
    return isRelayable(transaction) && (txid === undefined || transaction.txid === txid);
  } catch (error) {
    if (error instanceof PaygateError) return false;
    throw error;
  }
}

/**
 * Asks another server for whole bytes of unconfirmed payments that were just recorded without, and
 * stores them.
 */
export async function seekWholeBytes(
  { database, broadcasts }: Pick<Records, 'database' | 'broadcasts'>,
  fallback: Fallback,
  session: Session,
  seen: readonly SeenPayment[],
): Promise<void> {
  for (const { txid, block, raw } of seen) {
    if (block !== null || raw === undefined) continue;
    // A flood brings thousands of transactions, each of which is parsed here.
    await nextTurn();
    if (isWholeTransaction(raw)) continue;
    const shown = await fallback.askOther(session, (another) => another.transaction(txid));
    if (shown === undefined || !isWholeTransaction(shown, txid)) continue;
    await database.write((tx) => broadcasts.keep(tx, txid, shown));
  }
}

/** The bytes of a transaction at servers that differ from ours, each once. */
async function bytesFromOthers(
  sessions: readonly Session[],
  txid: Txid,
  ours: Uint8Array,
  { unanswering, refused }: BroadcastRefusals,
): Promise<Uint8Array[]> {
  const shown: Uint8Array[] = [ours];
  for (const session of sessions) {
    if (unanswering.has(session)) continue;
    const raw = await session.transaction(txid, { bulk: true }).catch((error: unknown) => {
      if (!(error instanceof PaygateError)) throw error;
      if (error instanceof ServerError) refused(session);
      else unanswering.add(session);
      return undefined;
    });
    if (raw === undefined || !isWholeTransaction(raw, txid)) continue;
    if (!shown.some((each) => Buffer.compare(each, raw) === 0)) shown.push(raw);
  }
  return shown.slice(1);
}
