// Expires orders whose time is over, while every address is compared with the watched server. An
// order waits while its address has an announced change that is not recorded. Without a due order,
// a tick costs one read by an index.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Store } from '../store/open-store.ts';
import type { World } from '../world/world.ts';
import type { ServerChoice } from './server-choice.ts';
import type { WorkQueue } from './work-queue.ts';

export interface OrderExpiryParts {
  readonly world: World;
  readonly store: Pick<Store, 'database' | 'orders'>;
  readonly tasks: BackgroundTasks;
  readonly servers: Pick<ServerChoice, 'caughtUp'>;
  readonly queue: Pick<WorkQueue, 'isPending'>;
}

export interface OrderExpiry {
  /** Begins to expire what is due, unless the tick before is at work. */
  tick(): void;
}

/** Orders that expire in one commit. */
const maxExpiredAtOnce = 200;

export function createOrderExpiry(parts: OrderExpiryParts): OrderExpiry {
  const { world, store, tasks, servers, queue } = parts;
  const { database, orders } = store;
  const isPending = (scripthash: Scripthash): boolean => queue.isPending(scripthash);
  let isAtWork = false;

  const hasDue = (): boolean =>
    servers.caughtUp !== undefined && orders.expiring(world.now(), isPending, 1).length > 0;

  /** The server may be lost, and a change be announced, before the write begins. */
  const expire = (): Promise<number> =>
    database.write((tx) =>
      servers.caughtUp === undefined
        ? 0
        : orders.expire(tx, world.now(), isPending, maxExpiredAtOnce),
    );

  async function expireDue(): Promise<void> {
    isAtWork = true;
    try {
      for (let count = maxExpiredAtOnce; count === maxExpiredAtOnce; ) count = await expire();
    } catch (error) {
      // The next tick tries again.
      if (!(error instanceof Unwritten)) throw error;
    } finally {
      isAtWork = false;
    }
  }

  return {
    tick() {
      if (!isAtWork && hasDue()) tasks.run(expireDue);
    },
  };
}
