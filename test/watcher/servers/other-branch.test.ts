// A server that follows another branch than ours, as in a race of two blocks. A second server's
// other answers count, and payments in the watched server's blocks are delivered once these win.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openApp, untilReady } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { now } from '../../support/store.ts';
import { prepareWatching } from '../../support/watching.ts';

afterEach(closeApps);
afterEach(cleanUp);

/**
 * Our block lacks the payment; the server moved to another block of the same work, which has it.
 */
async function openRace() {
  const app = await openApp();
  const { chain } = app;
  await untilReady(app);
  const address = await app.newAddress();
  app.pay(address, 50_000);
  chain.mine(1, { include: 'none' });
  await app.settle();
  chain.reorganise(1, { blocks: 0, transactions: 'mempool' });
  chain.mine();
  await app.settle();
  return { app, address };
}

test('P-133 a payment that only the second server reports is recorded, also while it follows another block of our height', async () => {
  const { records, chains, servers, inUse, world, watcher, start } = await prepareWatching({
    ...{ servers: 2, ownChains: true },
  });
  const [first] = await records.write((tx) =>
    // So many addresses that no sweep reaches each one every minute.
    Array.from({ length: 41 }, () => records.addresses.issue(tx, now - 86_400_000, 1, 1)),
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
  expect(records.ledger.paymentsOf(first?.id ?? 0)).toMatchObject([{ state: 'unconfirmed' }]);
});

test('P-133 a payment that the watched server omits is not gone because of a server on another block', async () => {
  const { records, chains, servers, inUse, world, watcher, start } = await prepareWatching({
    ...{ servers: 2, ownChains: true },
  });
  await start();
  const issued = await records.issue();
  watcher.issued(issued.scripthash);
  const watched = inUse();
  const used = watched === servers[0] ? 0 : 1;
  chains[1 - used]?.reorganise(1, { blocks: 1, transactions: 'mempool' });
  const txid = chains[used]?.pay([{ address: issued.address, valueSat: 7_000 }]);
  await watcher.idle();
  watched?.inject({ kind: 'omit', txids: txid === undefined ? [] : [txid] });
  watched?.notifyAll();
  for (let minute = 0; minute < 3; minute += 1) {
    await world.advance(60_000);
    await watcher.idle();
  }
  expect(records.ledger.paymentsOf(issued.id)).toMatchObject([{ txid, state: 'unconfirmed' }]);
});

test('P-134 a payment in a block that wins a long race sends its callback with the deciding block', async () => {
  const { app, address } = await openRace();
  const { chain, world } = app;
  // For longer than an unproven item is checked each minute.
  await world.advance(15 * 60_000);
  expect(app.statuses(address)).toEqual(['0']);
  chain.mine();
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '2']);
});

test('P-134 a server whose branch wins while it still sends its headers is no liar', async () => {
  const { app, address } = await openRace();
  const { chain, world, server } = app;
  // A slow server: it announces its next block between an inclusion proof in the block before and
  // the headers of both.
  const when = (wanted: string) => (method: string) => method === `blockchain.${wanted}`;
  server.inject({ kind: 'delay', ms: 3_000, when: when('transaction.get_merkle') });
  server.inject({ kind: 'delay', ms: 5_000, when: when('block.headers') });
  const asked = server.count('blockchain.transaction.get_merkle');
  await world.advance(60_000);
  expect(server.count('blockchain.transaction.get_merkle')).toBe(asked + 1);
  chain.mine();
  await world.advance(10_000);
  await app.settle();
  expect(app.running.health().electrum.servers).toMatchObject([{ state: 'live' }]);
  expect(world.logs.map(({ message }) => message)).not.toContain('electrum server banned');
  await world.advance(10_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '2']);
});
