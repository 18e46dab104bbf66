// Broadcasts the raw transactions of unconfirmed payments again, and forgets those of what was dropped long ago.
// Bytes that lack what a node asks for are asked of other servers.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import {
  isRelayable,
  maxRelayWeight,
  parseTransaction,
  weightOf,
  withoutWitness,
} from '../bitcoin/transaction.ts';
import { ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { dayMs, hourMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import type { Seen } from '../store/records/ledger.ts';
import type { World } from '../world/world.ts';
import type { Fallback } from './other-servers.ts';

export interface SweeperParts {
  readonly world: World;
  readonly store: Store;
  /** The session that addresses are subscribed on. */
  readonly watched: () => Session | undefined;
  readonly live: () => readonly Session[];
  /** Of those, the ones whose word counts. */
  readonly sound: () => readonly Session[];
  readonly isSubscribed: (scripthash: Scripthash) => boolean;
  /** A script must be looked at with both servers. */
  readonly mark: (scripthash: Scripthash) => void;
}

const intervalMs = 6 * 3_600_000;
const maxAgeMs = 14 * dayMs;
const maxAtOnce = 20;
/**
 * Broadcasts that a public server may refuse in an hour: each is billed as a hundred answers are (see budget.ts), and
 * who makes payments up brings thousands. A third of what it forgives meanwhile; the rounds need it.
 */
const mostRefused = 10;
const maxForgottenAtOnce = 20;

interface Refusals {
  /** Whom one more may be sent that they refuse. What another one takes, one that may not would miss: then nobody. */
  hearers(live: readonly Session[]): readonly Session[];
  refused(session: Session): void;
  /** Those that did not answer when they were asked for bytes: they are not asked again. */
  readonly mute: WeakSet<Session>;
}

export function createRefusals(world: Pick<World, 'monotonic'>): Refusals {
  /** When each refused one, by its label: a new connection does not make it forget. */
  const refusedAt = new Map<string, readonly number[]>();
  const lately = ({ label }: Session['server']): readonly number[] =>
    (refusedAt.get(label) ?? []).filter((at) => at > world.monotonic() - hourMs);
  return {
    hearers(live) {
      const left = live.filter(({ server }) => server.own || lately(server).length < mostRefused);
      // The operator's own one tells the network.
      return left.length === live.length || left.some(({ server }) => server.own) ? left : [];
    },
    mute: new WeakSet(),
    refused({ server }) {
      refusedAt.set(server.label, [...lately(server), world.monotonic()]);
    },
  };
}

/** Once to each server that is connected, whatever it answers. */
export async function broadcast(
  parts: SweeperParts,
  refusals: Refusals,
  queue: ReturnType<typeof createQueue>,
): Promise<void> {
  const { world, store, live } = parts;
  // No earlier than the newest block: what a clock that is behind makes older would be too old once it is right.
  const now = Math.max(world.now(), (store.headers.tipTime() ?? 0) * 1000);
  const [seenAfter, before] = [now - maxAgeMs, now - intervalMs];
  const due = store.broadcasts.due(now, seenAfter, before, maxAtOnce);
  for (const txid of due) {
    const raw = relayedForm(store.ledger.rawOf(txid));
    if (raw === undefined) continue;
    const sessions = refusals.hearers(live());
    if (sessions.length === 0) return;
    // What came out of a block may be heavier than nodes relay, and longer than a server lets a line be.
    if (weightOf(parseTransaction(raw)) <= maxRelayWeight) {
      const told = await broadcastTo(sessions, raw, refusals);
      // The round goes on meanwhile: servers may be slow to show them.
      if (told.has('witness') || (told.has('there') && !isWholeTransaction(raw))) {
        queue.add(() => broadcastOthers(parts, sessions, txid, raw, refusals));
      }
    }
    await store.database.write((tx) => store.broadcasts.note(tx, now, txid));
  }
}

/** What was dropped for as long as it would have been broadcast. */
export async function forget({
  world,
  store: { broadcasts, database },
}: SweeperParts): Promise<void> {
  const now = world.now();
  const idle = broadcasts.idle(now - maxAgeMs, maxForgottenAtOnce);
  if (idle.length === 0) return;
  await database.write((tx) => broadcasts.forget(tx, now, now - maxAgeMs, idle));
}

/** Files of before hold witnesses that servers had padded. */
const relayedForm = (raw: Uint8Array | undefined): Uint8Array | undefined =>
  raw === undefined || weightOf(parseTransaction(raw)) <= maxRelayWeight
    ? raw
    : withoutWitness(raw);

/** One after the other, so that servers are asked for one transaction at a time; what finds the queue full is left to the next round. */
export function createQueue() {
  let last = Promise.resolve();
  let waiting = 0;
  return {
    add(work: () => Promise<void>): void {
      if (waiting >= maxAtOnce) return;
      waiting += 1;
      last = last.then(work).finally(() => {
        waiting -= 1;
      });
    },
  };
}

async function broadcastTo(
  sessions: readonly Session[],
  raw: Uint8Array,
  refusals: Refusals,
): Promise<ReadonlySet<BroadcastAnswer>> {
  const told = sessions.map((session) => broadcastOne(session, raw, refusals));
  return new Set(await Promise.all(told));
}

/** What servers show of a transaction whose witness is missing, or refused. What one of them takes is kept. */
async function broadcastOthers(
  { store: { database, broadcasts }, world }: SweeperParts,
  sessions: readonly Session[],
  txid: Txid,
  ours: Uint8Array,
  refusals: Refusals,
): Promise<void> {
  try {
    const asked = refusals.hearers(sessions);
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
  /** It refuses the witness, which may be missing, padded or not signed: another server may have shown another one. */
  | 'witness'
  /** It takes the transaction, or has it. */
  | 'there'
  | 'other';

/** What nodes say then. */
const witnessRefusal = /witness|script-verify/i;
const alreadyKnown = /already/i;

/** A server refuses what it has already, and what conflicts with what it has; or it does not answer. */
async function broadcastOne(
  session: Session,
  raw: Uint8Array,
  refusals: Refusals,
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

export function isWholeTransaction(raw: Uint8Array, txid?: Txid): boolean {
  try {
    const transaction = parseTransaction(raw);
    return isRelayable(transaction) && (txid === undefined || transaction.txid === txid);
  } catch (error) {
    if (error instanceof PaygateError) return false;
    throw error;
  }
}

/** Asks another server for the bytes of what was just recorded in no block without what a node asks for, and keeps them. */
export async function seekWholeBytes(
  { database, broadcasts }: Pick<Store, 'database' | 'broadcasts'>,
  elsewhere: Fallback,
  session: Session,
  seen: readonly Seen[],
): Promise<void> {
  for (const { txid, block, raw } of seen) {
    if (block !== null || raw === undefined) continue;
    // A flood brings thousands, which are read once more here.
    await nextTurn();
    if (isWholeTransaction(raw)) continue;
    const shown = await elsewhere.askOther(session, (another) => another.transaction(txid));
    if (shown === undefined || !isWholeTransaction(shown, txid)) continue;
    await database.write((tx) => broadcasts.keep(tx, txid, shown));
  }
}

interface Answers {
  /** They did not answer once, and are not asked again. */
  readonly mute: WeakSet<Session>;
  readonly refused: (session: Session) => void;
}

/** The bytes that other servers show of a transaction, where they are others than ours: each once. */
export async function bytesFromOthers(
  sessions: readonly Session[],
  txid: Txid,
  ours: Uint8Array,
  { mute, refused }: Answers,
): Promise<Uint8Array[]> {
  const shown: Uint8Array[] = [ours];
  for (const session of sessions) {
    if (mute.has(session)) continue;
    const raw = await session.transaction(txid, { bulk: true }).catch((error: unknown) => {
      if (!(error instanceof PaygateError)) throw error;
      if (error instanceof ServerError) refused(session);
      else mute.add(session);
      return undefined;
    });
    if (raw === undefined || !isWholeTransaction(raw, txid)) continue;
    if (!shown.some((each) => Buffer.compare(each, raw) === 0)) shown.push(raw);
  }
  return shown.slice(1);
}
