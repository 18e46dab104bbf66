// A machine whose clock is wrong: an alarm reports it, nothing is signed, and no certificate is
// pinned. Everything else continues.

import { afterEach, expect, test } from 'vitest';
import { createServerMemory } from '../../src/watcher/server-choice.ts';
import { closeApps, openApp, openReady, type TestApp, untilReady } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(closeApps);
afterEach(cleanUp);

const hourMs = 3_600_000;
const yearMs = 365.25 * 24 * hourMs;

async function pay(app: TestApp): Promise<Readonly<Record<string, string | undefined>>> {
  app.pay(await app.newAddress(), 5_000);
  await app.settle();
  return app.receiver.requests.at(-1)?.headers ?? {};
}

test('P-170 behind the newest block: callbacks are unsigned, with a warning until the clock is right', async () => {
  const app = await openApp();
  await untilReady(app);
  app.chain.mine(1);
  await app.settle();
  expect(await pay(app)).toHaveProperty('webhook-signature');
  app.world.jumpWallClock(-3 * hourMs);
  expect(app.running.health().warnings).toEqual([
    expect.stringContaining('the clock of this machine is wrong'),
  ]);
  const headers = await pay(app);
  expect(headers['webhook-id']).toMatch(/./);
  expect(headers).not.toHaveProperty('webhook-signature');
  expect(headers).not.toHaveProperty('webhook-timestamp');
  app.world.jumpWallClock(3 * hourMs);
  expect(app.running.health().warnings).toEqual([]);
  expect(await pay(app)).toHaveProperty('webhook-signature');
});

test('P-170 no certificate is pinned while the clock is wrong', async () => {
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
  const app = await openReady();
  const { world, receiver } = app;
  world.jumpWallClock(56 * yearMs);
  receiver.script({ status: 500 });
  const address = await app.newAddress();
  app.pay(address, 5_000);
  await app.settle();
  return { app, address };
}

test('56 years ahead: delayed callbacks are sent soon after the clock is right', async () => {
  const { app, address } = await putOff();
  expect(app.callbacks()).toHaveLength(1);
  app.world.jumpWallClock(-56 * yearMs);
  await app.world.advance(hourMs);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '0']);
  expect(app.running.health().callbacks.owed).toBe(0);
});

test('56 years ahead and back at a restart: the same', async () => {
  const { app, address } = await putOff();
  await app.stop();
  app.world.jumpWallClock(-56 * yearMs);
  await app.start();
  await untilReady(app);
  expect(app.statuses(address)).toEqual(['0', '0']);
});
