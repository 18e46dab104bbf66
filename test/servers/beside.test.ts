// A second server that follows another branch than ours, as in a race of two blocks: what it says beside its blocks counts.

import { afterEach, expect, test } from 'vitest';
import { cleanUp } from '../support/files.ts';
import { now } from '../support/store.ts';
import { prepareWatching } from '../support/watching.ts';

afterEach(cleanUp);

test('what a second server alone shows is recorded also while it follows another block of our height', async () => {
  const { store, chains, servers, inUse, world, watcher, start } = await prepareWatching({
    ...{ servers: 2, ownChains: true },
  });
  const [first] = await store.write((tx) =>
    // So many that the rounds do not come by each minute.
    Array.from({ length: 41 }, () => store.addresses.issue(tx, now - 86_400_000, 1, 1)),
  );
  await start();
  const other = chains[servers.findIndex((server) => server !== inUse())];
  other?.reorganise(1, { blocks: 1, transactions: 'mempool' });
  other?.pay([{ address: first?.address ?? '', valueSat: 7_000 }]);
  await watcher.idle();
  for (let minute = 0; minute < 10; minute += 1) {
    await world.advance(60_000 - (world.now() % 60_000));
    await watcher.idle();
  }
  expect(store.ledger.paymentsOf(first?.id ?? 0)).toMatchObject([{ state: 'unconfirmed' }]);
});
