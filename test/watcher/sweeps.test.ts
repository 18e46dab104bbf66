// A sweep on the watched session, while one of its addresses is issued.

import { afterEach, expect, it } from 'vitest';
import { Budget } from '../../src/electrum/budget.ts';
import { createBackgroundTasks } from '../../src/lib/background-tasks.ts';
import { AddressSubscriptions, hotForMs } from '../../src/watcher/address-subscriptions.ts';
import { createSweeps } from '../../src/watcher/sweeps.ts';
import { open } from '../electrum/open-session.ts';
import type { Peer, Request } from '../electrum/scripted-server.ts';
import { cleanUp } from '../support/files.ts';
import { now, openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const subscribe = 'blockchain.scripthash.subscribe';
const unsubscribe = 'blockchain.scripthash.unsubscribe';
/** All bulk requests that may go out at once to a public server. */
const burst = 1_000;

it('an address that is issued while its sweep ends stays subscribed', async () => {
  const store = await openTestStore();
  await store.addWallet();
  await store.addStore();
  // It is not hot any more, so only one round reaches it.
  const world = createTestWorld({ startAt: now + 2 * hotForMs });
  const budget = new Budget(world);
  const { scripthash } = await store.issue();
  const said: string[] = [];
  const answer = (peer: Peer, request: Request): void => {
    if (request.params[0] === scripthash) said.push(request.method.replace(/.*\./, ''));
    peer.answer(request, request.method === subscribe ? null : true);
  };
  const { session } = await open(
    { [subscribe]: answer, [unsubscribe]: answer, 'server.ping': answer },
    { world, budget },
  );
  const tasks = createBackgroundTasks(() => {});
  const queue = { statusChanged: () => {}, isPending: () => false, add: () => {} };
  const subscriptions = new AddressSubscriptions(
    { world, store, tasks, max: 10_000, queue, interruption: { compared: () => {} } },
    session,
  );
  const sweeps = createSweeps({
    ...{ world, store, subscriptions, queue, rebroadcast: { run: async () => {} } },
    servers: { current: session, caughtUp: session, other: () => undefined },
  });
  // One request is left, for the sweep's subscription.
  const spent = { method: 'server.ping', text: '', bulk: true } as const;
  for (let left = burst; left > 1; left -= 1) budget.sent(spent);
  const swept = sweeps.sweep();
  await world.until(() => said.length > 0 && session.bulkWaiting > 0, 'it to be given up');
  await subscriptions.add([scripthash]);
  expect(said).toEqual(['subscribe', 'subscribe']);
  for (let second = 0; second < 30; second += 1) await world.advance(1_000);
  await swept;
  expect(said).toEqual(['subscribe', 'subscribe', 'unsubscribe', 'subscribe']);
});
