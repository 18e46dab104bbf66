// Housekeeping by the clock: a running server notices what another process committed.

import { afterEach, expect, it } from 'vitest';
import { createSnapshots } from '../../../src/store/backup/backup-schedule.ts';
import { startMaintenance } from '../../../src/store/backup/maintenance.ts';
import { createIssuingGuard } from '../../../src/store/file/issuing-guard.ts';
import { cleanUp, whenOver } from '../../support/files.ts';
import { openShop } from '../../support/ledger.ts';
import { now, openTestStore } from '../../support/store.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(cleanUp);

it('announces within a second, once, what a commit of another process may have changed', async () => {
  const { path, issue, write, ...records } = await openShop();
  const { database, events, addresses, orders, orderView } = records;
  const issued = await issue();
  const { id } = await write((tx) =>
    orders.create(tx, now, {
      ...{ publicId: 'ord_3yQ8tZr6WmB1nK5vXc2dLp', storeId: 1, addressId: issued.id },
      ...{ price: { kind: 'sat', amountSat: 25_000 }, rateCents: null, quoteSeconds: 900 },
      ...{ toleranceBasisPoints: 50, latePolicy: 'worth', expiresAt: null, reference: null },
      ...{ description: null, metadata: {}, returnUrl: null, language: null },
    }),
  );
  const world = createTestWorld();
  const { cancels } = startMaintenance({
    world,
    database,
    guard: createIssuingGuard(database, addresses.isSetBack),
    snapshots: createSnapshots(database, { floorBytes: 0 }),
    events,
    orderView,
  });
  whenOver(() => {
    for (const cancel of cancels) cancel();
  });
  const emitted: string[] = [];
  const names = ['catalogChanged', 'serversChanged', 'retryRequested', 'webhooksDue'] as const;
  for (const name of names) events.on(name, () => void emitted.push(name));
  events.on('orderChanged', (orderId) => void emitted.push(`orderChanged ${orderId}`));
  await world.advance(1_000);
  expect(emitted).toEqual([]);
  const command = await openTestStore({ path });
  await command.write((tx) => command.orders.cancel(tx, world.now(), id));
  await world.advance(1_000);
  const expected = [...names, `orderChanged ${id}`];
  expect(emitted).toEqual(expected);
  await world.advance(1_000);
  expect(emitted).toEqual(expected);
});
