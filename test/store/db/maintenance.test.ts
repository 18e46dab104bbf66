// Housekeeping by the clock: a running server notices what another process committed.

import { afterEach, expect, it } from 'vitest';
import { createSnapshots } from '../../../src/store/backup/backup-schedule.ts';
import { createIssuingGuard } from '../../../src/store/db/issuing-guard.ts';
import { startMaintenance } from '../../../src/store/db/maintenance.ts';
import type { StoreEventMap } from '../../../src/store/store-events.ts';
import { cleanUp, whenOver } from '../../support/files.ts';
import { now, openTestStore } from '../../support/store.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(cleanUp);

it('emits once, within a second, what a commit of another process may have changed', async () => {
  const { database, events, addresses, path } = await openTestStore({ hasLock: true });
  const world = createTestWorld();
  const { cancels } = startMaintenance({
    world,
    database,
    guard: createIssuingGuard(database, addresses.isSetBack),
    snapshots: createSnapshots(database, { floorBytes: 0 }),
    events,
  });
  whenOver(() => cancels.forEach((cancel) => void cancel()));
  const emitted: string[] = [];
  const names: readonly (keyof StoreEventMap)[] = [
    'catalogChanged',
    'serversChanged',
    'retryRequested',
    'webhooksDue',
  ];
  for (const name of names) events.on(name, () => void emitted.push(name));
  await world.advance(1_000);
  expect(emitted).toEqual([]);
  const command = await openTestStore({ path });
  await command.write((tx) => command.audit.noteChange(tx, now, 'command', 'test'));
  await world.advance(1_000);
  expect(emitted).toEqual(names);
  await world.advance(1_000);
  expect(emitted).toEqual(names);
});
