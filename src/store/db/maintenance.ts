// What a running server does for its file: sees what other processes wrote and whether the file still stands in its
// place, makes checkpoints, takes snapshots.

import { reasonOf } from '../../lib/errors.ts';
import type { Cancel, World } from '../../world/world.ts';
import type { Snapshots } from '../backup/backup-schedule.ts';
import type { Database } from './database.ts';
import type { IssuingGuard } from './issuing-guard.ts';

const everySecond = '* * * * * *';
const everyMinute = '0 * * * * *';
const everyQuarter = '0 */15 * * * *';
const everyHour = '0 0 * * * *';

export interface MaintenanceParts {
  readonly world: World;
  readonly database: Database;
  readonly guard: IssuingGuard;
  readonly snapshots: Snapshots;
  /** Another process has written to the file. */
  readonly onOthers: () => void;
}

export interface Maintenance {
  readonly cancels: readonly Cancel[];
  /** Saves, before it is closed, what would be lost with a file that was deleted. */
  last(): Promise<void>;
}

export function startMaintenance({
  world,
  database,
  guard,
  snapshots,
  onOthers,
}: MaintenanceParts): Maintenance {
  const isDisplaced = () => guard.displaced() !== undefined;
  const isOverwritten = () => guard.overwritten() !== undefined;
  let told = false;
  function lookAround(): void {
    if (database.changedElsewhere()) onOthers();
    void database.probe();
    database.checkpointIfQuiet();
    const isAmiss = isDisplaced() || isOverwritten();
    if (isAmiss && !told) {
      for (const warning of guard.warnings()) world.log.error(warning);
      if (isDisplaced()) takeSnapshot();
    }
    told = isAmiss;
  }
  function takeSnapshot(): void {
    // It would take the place of the one that mends this.
    if (isOverwritten()) return;
    snapshots.take(world.now()).catch((error: unknown) => {
      world.log.warn('the snapshot failed', { reason: reasonOf(error) });
    });
  }
  return {
    cancels: [
      world.schedule(everySecond, lookAround),
      // A kill would take along all that came since the last one.
      world.schedule(everyMinute, () => isDisplaced() && takeSnapshot()),
      world.schedule(everyQuarter, takeSnapshot),
      world.schedule(everyHour, () => void database.checkpoint()),
    ],
    async last() {
      if (!isDisplaced()) return;
      await snapshots.last(world.now()).catch((error: unknown) => {
        world.log.error('what the deleted file held could not be saved', {
          reason: reasonOf(error),
        });
      });
    },
  };
}
