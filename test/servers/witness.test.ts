// The second voice of an only server: a fresh connection to it.

import { afterEach, expect, test } from 'vitest';
import { cleanUp } from '../support/files.ts';
import { prepareLying } from '../support/lying.ts';
import { prepareWatching } from '../support/watching.ts';

afterEach(cleanUp);

test('a lost mempool is asked about over one fresh connection, which is closed after it', async () => {
  const house = await prepareLying({ servers: 1 });
  const { world, chain, watcher, liars } = house;
  await house.start();
  const issued = await Promise.all(Array.from({ length: 100 }, () => house.issue()));
  await world.advance(2_000);
  await watcher.idle();
  const txid = chain.pay(issued.map(({ address }) => ({ address, valueSat: 7_000 })));
  await watcher.idle();
  const states = () => new Set(issued.flatMap(house.payments).map(({ state }) => state));
  expect(states()).toEqual(new Set(['unconfirmed']));

  const accepted = () => liars[0]?.accepted ?? 0;
  const open = () => liars[0]?.open ?? 0;
  const before = accepted();
  chain.evict(txid);
  await watcher.idle();
  expect(accepted() - before).toBe(1);
  // Silence counts when it has lasted 30 s.
  await world.advance(31_000);
  await watcher.idle();
  expect(states()).toEqual(new Set(['dropped']));
  expect(accepted() - before).toBe(2);
  await world.advance(6_000);
  await world.until(() => open() === 1, 'the fresh one to be closed');
});

test('a payment that its histories leave out is there as long as its node says so', async () => {
  const { chain, store, servers, watcher, world, start } = await prepareWatching({ servers: 1 });
  await start();
  const issued = await store.issue();
  watcher.issued(issued.scripthash);
  const txid = chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  await watcher.idle();
  servers[0]?.inject({ kind: 'omit', txids: [txid] });
  servers[0]?.announce();
  for (let minute = 0; minute < 3; minute += 1) {
    await world.advance(60_000);
    await watcher.idle();
  }
  expect(store.ledger.paymentsOf(issued.id)).toMatchObject([{ txid, state: 'unconfirmed' }]);
});
