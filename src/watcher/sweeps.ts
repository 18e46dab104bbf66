// The slow rounds: every address is compared again now and then, at a second server if there is
// one. So no missing subscription, lost notification or omission hides a payment for long. Each
// minute has its share: a server is never asked faster than it answers and forgives (see
// electrum/budget.ts).

import { lookahead } from '../domain/store/allocation.ts';
import { ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { Watched } from '../store/wallets/watched-addresses.ts';
import type { World } from '../world/world.ts';
import { type CurrentSubscriptions, hotForMs, maxId } from './address-subscriptions.ts';
import type { Rebroadcast } from './rebroadcast.ts';
import type { ServerChoice } from './server-choice.ts';
import type { WorkQueue } from './work-queue.ts';

export interface SweepsParts {
  readonly world: World;
  readonly records: Records;
  readonly servers: Pick<ServerChoice, 'current' | 'caughtUp' | 'other'>;
  readonly subscriptions: Pick<CurrentSubscriptions, 'has'>;
  readonly queue: Pick<WorkQueue, 'add'>;
  readonly rebroadcast: Rebroadcast;
}

export type Sweeps = ReturnType<typeof createSweeps>;

const hotRoundMinutes = 10;
const roundMinutes = 24 * 60;
/** Addresses compared at once. */
const batchSize = 50;
/** How often the same addresses are compared where some of them stay unanswered. */
const maxUnanswered = 2;

export function createSweeps(parts: SweepsParts) {
  const { world, servers, subscriptions, queue, rebroadcast } = parts;
  const rounds = createRounds(parts);
  let isSweeping = false;

  async function compareOne(session: Session, { scripthash, statusHash }: Watched): Promise<void> {
    const isSubscribed = () => session === servers.current && subscriptions.has(scripthash);
    do {
      const status = await session.subscribe(scripthash, { bulk: true });
      if (status !== statusHash) queue.add(scripthash, 'cross');
      if (isSubscribed()) return;
      await session.unsubscribe(scripthash, { bulk: true });
      // An address that was issued meanwhile: its own subscription may have gone before that.
    } while (isSubscribed());
  }

  /** A refusal concerns one address; a missing answer is thrown. */
  async function compare(session: Session, rows: readonly Watched[]): Promise<void> {
    const compared = await Promise.allSettled(rows.map((row) => compareOne(session, row)));
    for (const each of compared) {
      if (each.status === 'rejected' && !(each.reason instanceof ServerError)) throw each.reason;
    }
  }

  /** The rounds take turns, so that none waits for another one's end. */
  async function compareShares(isCaughtUp: boolean): Promise<void> {
    const until = world.monotonic() + minuteMs;
    for (const round of rounds) round.beginMinute();
    for (let left = rounds; left.length > 0; ) {
      const unfinished: Round[] = [];
      for (const round of left) {
        const session = sessionFor(isCaughtUp);
        // It has more to do already than its budget lets out.
        if (session === undefined || session.bulkWaiting > 0 || world.monotonic() > until) return;
        if (await round.step((rows) => compare(session, rows))) unfinished.push(round);
      }
      left = unfinished;
    }
  }

  /**
   * A second server, or the watched one where it has compared every address. See
   * docs/decisions/010.
   */
  function sessionFor(isCaughtUp: boolean): Session | undefined {
    const { current } = servers;
    return servers.other(current) ?? (isCaughtUp ? current : undefined);
  }

  return {
    /** One minute's share of every round; nothing while the sweep before it is under way. */
    async sweep(): Promise<void> {
      if (isSweeping) return;
      isSweeping = true;
      const isCaughtUp = servers.caughtUp !== undefined;
      try {
        // By then, the newest state of each payment is recorded.
        if (isCaughtUp) await rebroadcast.run();
        await compareShares(isCaughtUp);
      } catch (error) {
        // A server was lost meanwhile: the next minute goes on from here.
        if (!(error instanceof PaygateError)) throw error;
        world.log.debug('a sweep was cut short', { reason: reasonOf(error) });
      } finally {
        isSweeping = false;
      }
    },
  };
}

function createRounds({ world, records: { addresses } }: SweepsParts): readonly Round[] {
  const hotSince = () => world.now() - hotForMs;
  return [
    createRound({
      minutes: hotRoundMinutes,
      count: () => addresses.countRecent(hotSince()),
      pageAfter: (last, limit) => addresses.recent(hotSince(), last, limit),
    }),
    createRound({
      minutes: hotRoundMinutes,
      count: () => addresses.countUnsettled(),
      pageAfter: (last, limit) => addresses.unsettled(last?.id ?? maxId, limit),
      // Recent addresses are in the round above.
      isPart: ({ issuedAt }) => (issuedAt ?? 0) <= hotSince(),
    }),
    createRound({
      minutes: hotRoundMinutes,
      count: () => addresses.upcoming(lookahead).length,
      // Issued next: a use by another program must be known before.
      pageAfter: (last, limit) =>
        addresses
          .upcoming(lookahead)
          .filter(({ id }) => id < (last?.id ?? maxId))
          .slice(0, limit),
    }),
    createRound({
      minutes: roundMinutes,
      count: () => addresses.count(),
      pageAfter: (last, limit) => addresses.notAhead(last?.id ?? maxId, limit),
    }),
  ];
}

interface RoundParts {
  /** How long one round should take. */
  readonly minutes: number;
  /** How many addresses there are, or a few more. */
  readonly count: () => number;
  /** The page that follows a row, the newest first. */
  readonly pageAfter: (last: Watched | undefined, limit: number) => readonly Watched[];
  /** Which rows of a page are compared; all without it. */
  readonly isPart?: (row: Watched) => boolean;
}

type Round = ReturnType<typeof createRound>;

/** Goes through a set of addresses, over and over. */
function createRound({ minutes, count, pageAfter, isPart = () => true }: RoundParts) {
  let last: Watched | undefined;
  let share = 0;
  let due = 0;
  let unanswered = 0;
  return {
    /** A new minute's share is due; rows that the last minute left are part of the round still. */
    beginMinute(): void {
      // Addresses that are new since the round began come first in the next one.
      if (last === undefined) share = Math.ceil(count() / minutes);
      due = share;
    },
    /** Compares some of the share; false when it is done. */
    async step(compare: (rows: readonly Watched[]) => Promise<void>): Promise<boolean> {
      const limit = Math.min(due, batchSize);
      const rows = pageAfter(last, limit);
      try {
        await compare(rows.filter(isPart));
      } catch (error) {
        // Unanswered addresses are compared again, but must not hold up the rest for ever.
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
