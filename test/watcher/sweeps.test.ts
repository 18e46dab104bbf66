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

/** A store, and the sweeps of it on a session whose requests are answered by `answer`. */
async function openSweeps(answer: (peer: Peer, request: Request) => void) {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  // No address is hot any more, so only one round reaches it.
  const world = createTestWorld({ startAt: now + 2 * hotForMs });
  const budget = new Budget(world);
  const { session } = await open(
    { [subscribe]: answer, [unsubscribe]: answer, 'server.ping': answer },
    { world, budget },
  );
  const tasks = createBackgroundTasks(() => {});
  const queue = { statusChanged: () => {}, isPending: () => false, add: () => {} };
  const subscriptions = new AddressSubscriptions(
    { world, records, tasks, max: 10_000, queue, interruption: { compared: () => {} } },
    session,
  );
  const sweeps = createSweeps({
    ...{ world, records, subscriptions, queue, rebroadcast: { run: async () => {} } },
    servers: { current: session, caughtUp: session, other: () => undefined },
  });
  return { records, world, budget, session, subscriptions, sweeps };
}

it('an address that is issued while its sweep ends stays subscribed', async () => {
  const said: string[] = [];
  const { records, world, budget, session, subscriptions, sweeps } = await openSweeps(
    (peer, request) => {
      if (request.params[0] === scripthash) said.push(request.method.replace(/.*\./, ''));
      peer.answer(request, request.method === subscribe ? null : true);
    },
  );
  const { scripthash } = await records.issue();
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

it('P-158 each address that stays unanswered is compared once more, and then the next one', async () => {
  const asked: unknown[] = [];
  const { records, world, sweeps } = await openSweeps((peer, request) => {
    const [of] = request.params;
    if (request.method === subscribe) asked.push(of);
    const isHung = of === newest || (of === middle && asked.indexOf(of) === asked.length - 1);
    if (request.method !== subscribe || !isHung) peer.answer(request, null);
  });
  const { scripthash: oldest } = await records.issue();
  const { scripthash: middle } = await records.issue();
  const { scripthash: newest } = await records.issue();
  for (let minute = 0; minute < 5; minute += 1) {
    const swept = sweeps.sweep();
    for (let second = 0; second < 60; second += 1) await world.advance(1_000);
    await swept;
  }
  expect(asked).toEqual([newest, newest, middle, middle, oldest]);
});
