// The slow rounds: every address is compared anew now and then, at a second server where there is one,
// so that neither an address beyond the subscribed ones nor a server's silence hides a payment for
// long. A few at a time: a server is never asked faster than it answers and forgives (see budget.ts),
// and a round that takes longer than it should goes on where it stopped. And the raw transactions of
// unconfirmed payments are broadcast again, and those of what was dropped long ago forgotten.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import { mostRelayed, parseTransaction, weightOf, withoutWitness } from '../bitcoin/transaction.ts';
import { ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { dayMs, hourMs, minuteMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import type { Watched } from '../store/views/watched-addresses.ts';
import type { World } from '../world/world.ts';
import { isWholeOf, shownOf } from './whole.ts';

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

export interface Sweeper {
  /**
   * One minute's share of every round; nothing while the one before is under way.
   * @param isCaughtUp else only a second server is asked: the watched one has enough to do, and may take hours over it
   */
  sweep(isCaughtUp: boolean): Promise<void>;
}

/** Above every id. */
export const newest = Number.MAX_SAFE_INTEGER;
/** How long after it was issued an address is hot. */
export const hotForMs = 7 * dayMs;
const hotRoundMinutes = 10;
const roundMinutes = 24 * 60;
/** Addresses asked about at once. */
const batchSize = 50;
const broadcastEveryMs = 6 * 3_600_000;
const broadcastForMs = 14 * dayMs;
const broadcastsAtOnce = 20;
/**
 * Broadcasts that a public server may refuse in an hour: each is billed as a hundred answers are (see budget.ts), and
 * who makes payments up brings thousands. A third of what it forgives meanwhile; the rounds need it.
 */
const mostRefused = 10;
const forgottenAtOnce = 20;
/** Times that the same addresses are asked about where some of them are not answered. */
const mostUnanswered = 2;

export function createSweeper(parts: SweeperParts): Sweeper {
  const { world, store } = parts;
  const hotSince = () => world.now() - hotForMs;
  const { addresses } = store;
  const rounds = [
    createRound({
      minutes: hotRoundMinutes,
      count: () => addresses.countRecent(hotSince()),
      page: (last, limit) => addresses.recent(hotSince(), last, limit),
    }),
    createRound({
      minutes: hotRoundMinutes,
      count: () => addresses.countUnsettled(),
      page: (last, limit) => addresses.unsettled(last?.id ?? newest, limit),
      // The others are in the round of recent ones.
      isPart: ({ issuedAt }) => (issuedAt ?? 0) <= hotSince(),
    }),
    createRound({
      minutes: roundMinutes,
      count: () => addresses.count(),
      page: (last, limit) => addresses.given(last?.id ?? newest, limit),
    }),
  ];
  const refusals = createRefusals(world);
  const queue = createQueue();
  let sweeping = false;

  async function compareOne(session: Session, { scripthash, statusHash }: Watched): Promise<void> {
    const isKept = () => session === parts.watched() && parts.isSubscribed(scripthash);
    do {
      const status = await session.subscribe(scripthash, { bulk: true });
      if (status !== statusHash) parts.mark(scripthash);
      if (isKept()) return;
      await session.unsubscribe(scripthash, { bulk: true });
      // Issued meanwhile: its own subscription may have gone ahead of that.
    } while (isKept());
  }

  /** What a server refuses to tell of one address is nothing; that it does not answer is thrown. */
  async function compare(session: Session, rows: readonly Watched[]): Promise<void> {
    const compared = await Promise.allSettled(rows.map((row) => compareOne(session, row)));
    for (const each of compared) {
      if (each.status === 'rejected' && !(each.reason instanceof ServerError)) throw each.reason;
    }
  }

  /** The rounds in turns, so that neither waits for the other's end. */
  async function compareShares(isCaughtUp: boolean): Promise<void> {
    const until = world.monotonic() + minuteMs;
    for (const round of rounds) round.beginMinute();
    for (let left = rounds; left.length > 0; ) {
      const unfinished: typeof rounds = [];
      for (const round of left) {
        const session = secondVoice(isCaughtUp);
        // It has more to do already than its budget lets out.
        if (session === undefined || session.bulkWaiting > 0 || world.monotonic() > until) return;
        if (await round.step((rows) => compare(session, rows))) unfinished.push(round);
      }
      left = unfinished;
    }
  }

  function secondVoice(isCaughtUp: boolean): Session | undefined {
    const watched = parts.watched();
    const second = parts.sound().find((each) => each !== watched);
    return second ?? (isCaughtUp ? watched : undefined);
  }

  return {
    async sweep(isCaughtUp) {
      if (sweeping) return;
      sweeping = true;
      try {
        if (isCaughtUp) {
          // What has become of a payment meanwhile is known by then.
          await broadcast(parts, refusals, queue);
          await forget(parts);
        }
        await compareShares(isCaughtUp);
      } catch (error) {
        // A server that was lost meanwhile: the next minute goes on with what is left.
        if (!(error instanceof PaygateError)) throw error;
        world.log.debug('a sweep was cut short', { reason: reasonOf(error) });
      } finally {
        sweeping = false;
      }
    },
  };
}

interface Refusals {
  /** Whom one more may be sent that they refuse. What another one takes, one that may not would miss: then nobody. */
  hearers(live: readonly Session[]): readonly Session[];
  refused(session: Session): void;
  /** Those that did not answer when they were asked for bytes: they are not asked again. */
  readonly mute: WeakSet<Session>;
}

function createRefusals(world: Pick<World, 'monotonic'>): Refusals {
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
async function broadcast(
  parts: SweeperParts,
  refusals: Refusals,
  queue: ReturnType<typeof createQueue>,
): Promise<void> {
  const { world, store, live } = parts;
  // No earlier than the newest block: what a clock that is behind makes older would be too old once it is right.
  const now = Math.max(world.now(), (store.headers.tipTime() ?? 0) * 1000);
  const [seenAfter, before] = [now - broadcastForMs, now - broadcastEveryMs];
  const due = store.broadcasts.due(now, seenAfter, before, broadcastsAtOnce);
  for (const txid of due) {
    const raw = relayedForm(store.ledger.rawOf(txid));
    if (raw === undefined) continue;
    const sessions = refusals.hearers(live());
    if (sessions.length === 0) return;
    // What came out of a block may be heavier than nodes relay, and longer than a server lets a line be.
    if (weightOf(parseTransaction(raw)) <= mostRelayed) {
      const told = await broadcastTo(sessions, raw, refusals);
      // The round goes on meanwhile: servers may be slow to show them.
      if (told.has('witness') || (told.has('there') && !isWholeOf(raw))) {
        queue.add(() => broadcastOthers(parts, sessions, txid, raw, refusals));
      }
    }
    await store.database.write((tx) => store.broadcasts.note(tx, now, txid));
  }
}

/** What was dropped for as long as it would have been broadcast. */
async function forget({ world, store: { broadcasts, database } }: SweeperParts): Promise<void> {
  const now = world.now();
  const idle = broadcasts.idle(now - broadcastForMs, forgottenAtOnce);
  if (idle.length === 0) return;
  await database.write((tx) => broadcasts.forget(tx, now, now - broadcastForMs, idle));
}

/** Files of before hold witnesses that servers had padded. */
const relayedForm = (raw: Uint8Array | undefined): Uint8Array | undefined =>
  raw === undefined || weightOf(parseTransaction(raw)) <= mostRelayed ? raw : withoutWitness(raw);

/** One after the other, so that servers are asked for one transaction at a time; what finds the queue full is left to the next round. */
function createQueue() {
  let last = Promise.resolve();
  let waiting = 0;
  return {
    add(work: () => Promise<void>): void {
      if (waiting >= broadcastsAtOnce) return;
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
): Promise<ReadonlySet<Told>> {
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
    for (const shown of await shownOf(asked, txid, ours, refusals)) {
      if ((await broadcastTo(sessions, shown, refusals)).has('witness')) continue;
      await database.write((tx) => broadcasts.keep(tx, txid, shown));
      return;
    }
  } catch (error) {
    world.log.error('a transaction could not be broadcast', { txid, reason: reasonOf(error) });
  }
}

type Told =
  /** It refuses the witness, which may be missing, padded or not signed: another server may have shown another one. */
  | 'witness'
  /** It takes the transaction, or has it. */
  | 'there'
  | 'other';

/** What nodes say then. */
const ofWitness = /witness|script-verify/i;
const ofPresence = /already/i;

/** A server refuses what it has already, and what conflicts with what it has; or it does not answer. */
async function broadcastOne(session: Session, raw: Uint8Array, refusals: Refusals): Promise<Told> {
  try {
    await session.broadcast(raw);
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    if (!(error instanceof ServerError)) return 'other';
    refusals.refused(session);
    if (ofWitness.test(error.message)) return 'witness';
    return ofPresence.test(error.message) ? 'there' : 'other';
  }
  return 'there';
}

interface RoundParts {
  /** How long one way through should take. */
  readonly minutes: number;
  /** How many there are, or a few more. */
  readonly count: () => number;
  /** Newest first, behind a row. */
  readonly page: (last: Watched | undefined, limit: number) => readonly Watched[];
  /** Of a page; all without it. */
  readonly isPart?: (row: Watched) => boolean;
}

interface Round {
  /** A new minute's share is due; what is left of the last one is part of the round still. */
  beginMinute(): void;
  /** Compares some of the share; false when it is done. */
  step(compare: (rows: readonly Watched[]) => Promise<void>): Promise<boolean>;
}

/** A way through a set of addresses, over and over. */
function createRound({ minutes, count, page, isPart = () => true }: RoundParts): Round {
  let last: Watched | undefined;
  let share = 0;
  let due = 0;
  let unanswered = 0;
  return {
    beginMinute() {
      // What is new since the round began comes first in the next one.
      if (last === undefined) share = Math.ceil(count() / minutes);
      due = share;
    },
    async step(compare) {
      const limit = Math.min(due, batchSize);
      const rows = page(last, limit);
      try {
        await compare(rows.filter(isPart));
      } catch (error) {
        // What was not answered is asked again, but must not hold up the rest for ever.
        unanswered += 1;
        if (unanswered < mostUnanswered || !(error instanceof PaygateError)) throw error;
      }
      unanswered = 0;
      const isThrough = rows.length < limit;
      last = isThrough ? undefined : (rows.at(-1) ?? last);
      due = isThrough ? 0 : due - rows.length;
      return due > 0;
    },
  };
}
