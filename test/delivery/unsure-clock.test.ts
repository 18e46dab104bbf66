// While the clock may be wrong, no delivery is exhausted and no attempt is deleted.

import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { failuresToOpen, hostProbeIntervalMs } from '../../src/delivery/circuit-breaker.ts';
import { retryScheduleMs } from '../../src/domain/delivery/retry.ts';
import { dayMs, hourMs } from '../../src/lib/time-units.ts';
import { createTestWorld } from '../support/world.ts';
import { closeAll, receiver, setUp } from './dispatcher-setup.ts';

afterEach(closeAll);

/** A clock that a test trusts or not; untrusted, nothing has certainly passed. */
function judge() {
  const clock = {
    isTrusted: true,
    isSure: () => clock.isTrusted,
    passed: (now: number) => (clock.isTrusted ? now : 0),
  };
  return clock;
}

it('goes on with the longest wait after the last attempt of the schedule', async () => {
  const clock = judge();
  const shop = await receiver({ answer: () => ({ status: 500 }) });
  const { owed, world, dispatcher, outbox, states } = setUp({ parts: () => ({ clock }) });
  await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
  await dispatcher.start();
  await dispatcher.idle();
  const dueAt = () => outbox.callback(1).nextAttemptAt;
  const attemptWhenDue = async () => {
    world.jumpWallClock(dueAt() - world.now());
    await world.advance(1_000);
    await dispatcher.idle();
  };
  for (const _ of retryScheduleMs.slice(1)) await attemptWhenDue();
  clock.isTrusted = false;
  for (let day = 0; day < 3; day += 1) {
    await attemptWhenDue();
    expect(states()).toEqual(['owed']);
    if (day > 0) expect(dueAt() - world.now()).toBeGreaterThan(dayMs - 2_000);
    expect(dueAt() - world.now()).toBeLessThanOrEqual(1.2 * dayMs);
  }
  expect(outbox.callback(1).step).toBe(retryScheduleMs.length);
  clock.isTrusted = true;
  await attemptWhenDue();
  expect(states()).toEqual(['exhausted']);
  expect(outbox.callback(1).attemptCount).toBe(shop.requests.length);
});

it('waits on for a host that cannot be reached', async () => {
  const clock = judge();
  const plain = createTestWorld();
  let passedMs = 0;
  const world = { ...plain, monotonic: () => plain.monotonic() + passedMs };
  const { owed, dispatcher, states } = setUp({ world, parts: () => ({ clock }) });
  const storeId = owed.addStore({ callbackUrl: `http://127.0.0.1:${await freePort()}/` });
  const waiting = Array.from({ length: failuresToOpen + 1 }, () => owed.addPayment(storeId));
  await owed.enqueue(world.now(), ...waiting);
  await dispatcher.start();
  await dispatcher.idle();
  clock.isTrusted = false;
  passedMs = 5 * dayMs;
  world.jumpWallClock(passedMs);
  await world.advance(hostProbeIntervalMs);
  await dispatcher.idle();
  expect(new Set(states())).toEqual(new Set(['owed']));
  clock.isTrusted = true;
  await world.advance(hostProbeIntervalMs);
  await dispatcher.idle();
  expect(states()).toContain('exhausted');
});

it('deletes no attempt', async () => {
  const clock = judge();
  const shop = await receiver({ answer: () => ({ status: 500 }) });
  const { owed, world, dispatcher, outbox } = setUp({ parts: () => ({ clock }) });
  await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
  await dispatcher.start();
  await dispatcher.idle();
  clock.isTrusted = false;
  world.jumpWallClock(91 * dayMs);
  await world.advance(hourMs);
  await dispatcher.idle();
  expect(outbox.attempts(1)).toHaveLength(outbox.callback(1).attemptCount);
  clock.isTrusted = true;
  await world.advance(hourMs);
  await dispatcher.idle();
  expect(outbox.attempts(1)).toHaveLength(outbox.callback(1).attemptCount - 1);
});
