// Maintenance of the file by a running server, by the clock: it notices
// commits of other processes and a file that was moved away. It makes checkpoints (checkpoint.ts)
// and takes snapshots.

import { reasonOf } from '../../lib/errors.ts';
import { minuteMs } from '../../lib/time-units.ts';
import type { World } from '../../world/world.ts';
import type { StoreEvents } from '../db/store-events.ts';
import type { Database } from '../file/database.ts';
import type { IssuingGuard } from '../file/issuing-guard.ts';
import type { OrderView } from '../orders/order-view.ts';
import type { Snapshots } from './backup-schedule.ts';

const everySecond = '* * * * * *';
const everyMinute = '0 * * * * *';
const everyQuarter = '0 */15 * * * *';
const everyHour = '0 0 * * * *';

/** What a commit of another process may have changed. */
const changedByCommands = [
  'catalogChanged',
  'serversChanged',
  'retryRequested',
  'webhooksDue',
] as const;

/** Longest time between an event and its commit by a command, which waits for other writes. */
const maxCommandMs = minuteMs;

export interface MaintenanceParts {
  readonly world: World;
  readonly database: Database;
  readonly guard: IssuingGuard;
  readonly snapshots: Snapshots;
  readonly events: StoreEvents;
  readonly orderView: Pick<OrderView, 'changedSince'>;
}

export type Maintenance = ReturnType<typeof startMaintenance>;

export function startMaintenance({
  world,
  database,
  guard,
  snapshots,
  events,
  orderView,
}: MaintenanceParts) {
  const isDisplaced = () => guard.displaced() !== undefined;
  const isOverwritten = () => guard.overwritten() !== undefined;
  let isReported = false;
  function lookAround(): void {
    if (database.changedElsewhere()) {
      for (const name of changedByCommands) events.emit(name);
      const since = world.now() - maxCommandMs;
      for (const orderId of orderView.changedSince(since)) events.emit('orderChanged', orderId);
    }
    void database.probe();
    database.checkpointIfQuiet();
    const isWrong = isDisplaced() || isOverwritten();
    if (isWrong && !isReported) {
      for (const warning of guard.warnings()) world.log.error(warning);
      if (isDisplaced()) takeSnapshot();
    }
    isReported = isWrong;
  }
  function takeSnapshot(): void {
    // It would replace the snapshot that repairs this.
    if (isOverwritten()) return;
    snapshots.take(world.now()).catch((error: unknown) => {
      world.log.warn('the snapshot failed', { reason: reasonOf(error) });
    });
  }
  return {
    cancels: [
      world.schedule(everySecond, lookAround),
      // A kill would lose everything since the last snapshot.
      world.schedule(everyMinute, () => isDisplaced() && takeSnapshot()),
      world.schedule(everyQuarter, takeSnapshot),
      world.schedule(everyHour, () => void database.checkpoint()),
    ],
    async last(): Promise<void> {
      // The guard caches its answer for a turn, and the stop may come in the turn of the deletion.
      if (database.place() === 'ours') return;
      await snapshots.last(world.now()).catch((error: unknown) => {
        world.log.error('the content of the deleted file could not be saved', {
          reason: reasonOf(error),
        });
      });
    },
  };
}
