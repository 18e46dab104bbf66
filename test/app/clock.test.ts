// A machine whose clock is wrong: that is said, nothing is signed, and no certificate is learnt. All else goes on.

import { afterEach, expect, test } from 'vitest';
import { createServerMemory } from '../../src/watcher/server-choice.ts';
import { closeApps, openApp, openReady, type TestApp, untilReady } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(closeApps);
afterEach(cleanUp);

const hourMs = 3_600_000;
const yearMs = 365.25 * 24 * hourMs;

async function pay(house: TestApp): Promise<Readonly<Record<string, string | undefined>>> {
  house.pay(await house.newAddress(), 5_000);
  await house.settle();
  return house.receiver.requests.at(-1)?.headers ?? {};
}

test('P-170 behind the newest block: callbacks go out unsigned, and that is said until it is right', async () => {
  const house = await openApp();
  await untilReady(house);
  house.chain.mine(1);
  await house.settle();
  expect(await pay(house)).toHaveProperty('webhook-signature');
  house.world.jumpWallClock(-3 * hourMs);
  expect(house.running.health().warnings).toEqual([
    expect.stringContaining('the clock of this machine is wrong'),
  ]);
  const headers = await pay(house);
  expect(headers['webhook-id']).toMatch(/./);
  expect(headers).not.toHaveProperty('webhook-signature');
  expect(headers).not.toHaveProperty('webhook-timestamp');
  house.world.jumpWallClock(3 * hourMs);
  expect(house.running.health().warnings).toEqual([]);
  expect(await pay(house)).toHaveProperty('webhook-signature');
});

test('P-170 no certificate is learnt meanwhile', async () => {
  const { servers } = await openTestStore();
  let isClockWrong = true;
  const memory = createServerMemory({ servers, now: () => 1, isClockWrong: () => isClockWrong });
  await memory.learn('ssl://a:1', { kind: 'valid' });
  expect(memory.trust('ssl://a:1')).toBeUndefined();
  isClockWrong = false;
  await memory.learn('ssl://a:1', { kind: 'valid' });
  expect(memory.trust('ssl://a:1')).toEqual({ kind: 'valid' });
});

/** A callback that failed while the clock was 56 years ahead. */
async function putOff() {
  const house = await openReady();
  const { world, receiver } = house;
  world.jumpWallClock(56 * yearMs);
  receiver.script({ status: 500 });
  const address = await house.newAddress();
  house.pay(address, 5_000);
  await house.settle();
  return { house, address };
}

test('56 years ahead: what was put off there is told soon after the clock is right', async () => {
  const { house, address } = await putOff();
  expect(house.callbacks()).toHaveLength(1);
  house.world.jumpWallClock(-56 * yearMs);
  await house.world.advance(hourMs);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0', '0']);
  expect(house.running.health().callbacks.owed).toBe(0);
});

test('56 years ahead and back at a restart: the same', async () => {
  const { house, address } = await putOff();
  await house.stop();
  house.world.jumpWallClock(-56 * yearMs);
  await house.start();
  await untilReady(house);
  expect(house.statuses(address)).toEqual(['0', '0']);
});
