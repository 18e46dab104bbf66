// The slow rounds: every address is compared anew now and then, at a second server where there is one,
// so that neither an address beyond the subscribed ones nor a server's silence hides a payment for
// long. A few at a time: a server is never asked faster than it answers and forgives (see budget.ts),
// and a round that takes longer than it should goes on where it stopped.

import { ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Watched } from '../store/views/watched-addresses.ts';
import { hotForMs, maxId } from './address-subscriptions.ts';
import {
  broadcast,
  createQueue,
  createRefusals,
  forget,
  type SweeperParts,
} from './rebroadcast.ts';

export interface Sweeps {
  /**
   * One minute's share of every round; nothing while the one before is under way.
   * @param isCaughtUp else only a second server is asked: the watched one has enough to do, and may take hours over it
   */
  sweep(isCaughtUp: boolean): Promise<void>;
}

const hotRoundMinutes = 10;
const roundMinutes = 24 * 60;
/** Addresses asked about at once. */
const batchSize = 50;
/** Times that the same addresses are asked about where some of them are not answered. */
const maxUnanswered = 2;

export function createSweeps(parts: SweeperParts): Sweeps {
  const { world, store } = parts;
  const hotSince = () => world.now() - hotForMs;
  const { addresses } = store;
  const rounds = [
    createRound({
      minutes: hotRoundMinutes,
      count: () => addresses.countRecent(hotSince()),
      pageAfter: (last, limit) => addresses.recent(hotSince(), last, limit),
    }),
    createRound({
      minutes: hotRoundMinutes,
      count: () => addresses.countUnsettled(),
      pageAfter: (last, limit) => addresses.unsettled(last?.id ?? maxId, limit),
      // The others are in the round of recent ones.
      isPart: ({ issuedAt }) => (issuedAt ?? 0) <= hotSince(),
    }),
    createRound({
      minutes: roundMinutes,
      count: () => addresses.count(),
      pageAfter: (last, limit) => addresses.given(last?.id ?? maxId, limit),
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

interface RoundParts {
  /** How long one way through should take. */
  readonly minutes: number;
  /** How many there are, or a few more. */
  readonly count: () => number;
  /** Newest first, behind a row. */
  readonly pageAfter: (last: Watched | undefined, limit: number) => readonly Watched[];
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
function createRound({ minutes, count, pageAfter: page, isPart = () => true }: RoundParts): Round {
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
        if (unanswered < maxUnanswered || !(error instanceof PaygateError)) throw error;
      }
      unanswered = 0;
      const isThrough = rows.length < limit;
      last = isThrough ? undefined : (rows.at(-1) ?? last);
      due = isThrough ? 0 : due - rows.length;
      return due > 0;
    },
  };
}
