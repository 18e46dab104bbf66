// Callbacks of one address never overlap, for all answers, resends, clocks and leases.

import { afterEach, expect, it } from 'vitest';
import type { Sender } from '../../src/delivery/sender.ts';
import { deliveries } from '../../src/store/schema/delivery-schema.ts';
import { createTestWorld } from '../support/world.ts';
import { closeAll, receiver, setUp } from './dispatcher-setup.ts';
import { withStatus } from './owed.ts';

afterEach(closeAll);

const statuses = [200, 200, 503, 500, 429];
const bodies = ['ok', 'Invalid secret', '<!doctype html>', ''];

it.each([1, 2, 3])('in a storm of payments, failures, doubts and resends (%i)', async (seed) => {
  let state = seed;
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  /** Addresses with a request on the wire. */
  const open = new Set<string>();
  const sent = new Map<string, number[]>();
  const held: (() => void)[] = [];
  let overlaps = 0;
  const shop = await receiver({
    answer: ({ url }) => {
      const query = new URLSearchParams(url.split('?')[1]);
      const txid = query.get('txid') ?? '';
      sent.set(txid, [...(sent.get(txid) ?? []), Number(query.get('status'))]);
      return new Promise((resolve) =>
        held.push(() => resolve({ status: pick(statuses), body: pick(bodies) })),
      );
    },
  });
  const counting = (sender: Sender): Sender => ({
    ...sender,
    async send(order, signal) {
      const addr = new URLSearchParams(order.query).get('addr') ?? '';
      if (open.has(addr)) overlaps += 1;
      open.add(addr);
      try {
        return await sender.send(order, signal);
      } finally {
        open.delete(addr);
      }
    },
  });
  const world = createTestWorld();
  const { owed, outbox, dispatcher } = setUp({
    world,
    parts: ({ sender }) => ({ sender: counting(sender) }),
  });
  const stores = [1, 2, 3].map(() => owed.addStore({ callbackUrl: shop.origin }));
  const payments = stores.flatMap((storeId) =>
    [1, 2].flatMap(() => {
      const first = owed.addPayment(storeId);
      return [first, owed.addPayment(storeId, first), owed.addPayment(storeId, first)];
    }),
  );
  const reached = payments.map(() => 0);
  await owed.enqueue(world.now(), ...payments);
  await dispatcher.start();
  for (let step = 0; step < 300; step += 1) {
    const at = random(payments.length);
    const payment = payments[at];
    switch (random(6)) {
      case 0:
        if (payment !== undefined && (reached[at] ?? 0) < 2) {
          reached[at] = (reached[at] ?? 0) + 1;
          await owed.enqueue(world.now(), withStatus(payment, reached[at] as 1 | 2));
        }
        break;
      case 1: {
        const rows = owed.database.orm.select({ id: deliveries.id }).from(deliveries).all();
        await owed.database
          .write((tx) => outbox.resend(tx, world.now(), pick(rows).id))
          .catch(() => {});
        break;
      }
      case 2:
        await owed.database.write((tx) => outbox.resendDoubtful(tx, world.now(), pick(stores), 0));
        break;
      case 3:
        await world.advance(pick([100, 4_000, 5 * 60_000]));
        break;
      case 4:
        world.jumpWallClock(pick([-60_000, 40_000, 3_600_000]));
        break;
      default:
        held.shift()?.();
    }
    dispatcher.wake();
    await world.turn();
  }
  expect(overlaps).toBe(0);
  // No status of a payment was ever followed by a lower one.
  for (const list of sent.values()) expect(list).toEqual(list.toSorted());
  expect(shop.requests.length).toBeGreaterThan(50);
  const letGo = setInterval(() => held.shift()?.(), 1);
  await dispatcher.stop();
  clearInterval(letGo);
});
