// What the passing of time changes of orders. Those whose time is over expire. Money that was in no
// block for a day counts nothing any more. Both need a right clock, and every address compared with
// the watched server. They wait while a change of the address is announced. Each other connected
// server is asked before an order expires, because one alone may hide a payment.

import type { Scripthash } from '../bitcoin/ids.ts';
import { statusHash } from '../domain/payment/script-history.ts';
import type { Session } from '../electrum/session.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Tx } from '../store/db/writer.ts';
import type { Records } from '../store/open-records.ts';
import type { DueOrder } from '../store/orders/orders.ts';
import { type AgeJudge, trustedClock } from '../world/clock-watch.ts';
import type { World } from '../world/world.ts';
import type { Interruption } from './interruption.ts';
import type { ServerChoice } from './server-choice.ts';
import type { WorkQueue } from './work-queue.ts';

export interface OrderExpiryParts {
  readonly world: World;
  readonly clock?: AgeJudge;
  readonly records: Pick<Records, 'database' | 'orders'>;
  readonly tasks: BackgroundTasks;
  readonly servers: Pick<ServerChoice, 'caughtUp' | 'current' | 'live'>;
  readonly interruption: Pick<Interruption, 'isWatching'>;
  readonly queue: Pick<WorkQueue, 'isPending' | 'add'>;
}

export type OrderExpiry = ReturnType<typeof createOrderExpiry>;

/** Orders that change in one commit. */
const maxAtOnce = 200;
/** Addresses that other servers are asked for at once. */
const maxAskedAtOnce = 20;

/** Repeats a write that changes some orders, until none is left. */
const all = (write: () => Promise<number>) => async (): Promise<void> => {
  while ((await write()) === maxAtOnce);
};

export function createOrderExpiry(parts: OrderExpiryParts) {
  const { world, clock = trustedClock, records, tasks, servers, interruption, queue } = parts;
  const { database, orders } = records;
  /** Scripts of due orders that every other connected server was asked for. */
  const asked = new Set<Scripthash>();
  let isAtWork = false;

  const isWatching = (): boolean =>
    servers.caughtUp !== undefined && interruption.isWatching() && clock.isSure();
  const isPending = (scripthash: Scripthash): boolean => queue.isPending(scripthash);
  const waits = (scripthash: Scripthash): boolean =>
    !asked.has(scripthash) || isPending(scripthash);

  const due = (limit: number): DueOrder[] => orders.expiring(world.now(), isPending, limit);

  /** The server may be lost, and a change be announced, before the write begins. */
  const write = (work: (tx: Tx, now: number) => number): Promise<number> =>
    database.write((tx) => (isWatching() ? work(tx, world.now()) : 0));

  const expire = () => write((tx, now) => orders.expire(tx, now, waits, maxAtOnce));
  const reopen = () => write((tx, now) => orders.reopen(tx, now, maxAtOnce));
  const review = () => write((tx, now) => orders.reviewUnmined(tx, now, isPending, maxAtOnce));

  /** A server that does not answer once is not asked again in this round. */
  async function ask(found: readonly DueOrder[], others: Set<Session>): Promise<void> {
    const answers = [...others].flatMap((other) =>
      found.map(async ({ scripthash, statusHash: recorded }) => {
        try {
          const status = statusHash(await other.history(scripthash));
          if (status !== recorded) queue.add(scripthash, 'cross');
        } catch (error) {
          if (!(error instanceof PaygateError)) throw error;
          others.delete(other);
          world.log.debug('a server was not asked for an order that is due', {
            server: other.server.label,
            reason: reasonOf(error),
          });
        }
      }),
    );
    await Promise.all(answers);
    for (const { scripthash } of found) asked.add(scripthash);
  }

  async function expireDue(): Promise<void> {
    const others = new Set(servers.live().filter((each) => each !== servers.current));
    for (;;) {
      const found = due(maxAtOnce).filter(({ scripthash }) => !asked.has(scripthash));
      if (found.length === 0 || !isWatching()) break;
      await ask(found.slice(0, maxAskedAtOnce), others);
      await expire();
    }
    await all(expire)();
    if (due(1).length === 0) asked.clear();
  }

  async function atWork(work: () => Promise<void>): Promise<void> {
    isAtWork = true;
    try {
      await work();
    } catch (error) {
      // The next tick tries again.
      if (!(error instanceof Unwritten)) throw error;
    } finally {
      isAtWork = false;
    }
  }

  return {
    /** Begins to expire what is due, unless the tick before is at work. Called each second. */
    tick(): void {
      if (isAtWork || !isWatching()) return;
      if (due(1).length > 0) tasks.run(() => atWork(expireDue));
      else if (orders.unexpired(world.now(), 1).length > 0) tasks.run(() => atWork(all(reopen)));
    },
    /** Reviews orders with money that has been in no block for a day. Called each minute. */
    reviewUnmined(): void {
      if (isAtWork || !isWatching()) return;
      if (orders.unmined(world.now(), isPending, 1).length === 0) orders.passUnmined(world.now());
      else tasks.run(() => atWork(all(review)));
    },
  };
}
