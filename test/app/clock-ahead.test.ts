// A clock that is ahead, in the whole app, on a network with a schedule of blocks. Nothing is
// deleted, expires or fails for good, nothing is signed, and an alarm says so. Once it is right
// again, all goes on.

import { readdirSync } from 'node:fs';
import { asc } from 'drizzle-orm';
import { afterEach, describe, expect, test } from 'vitest';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../src/lib/time-units.ts';
import { backupFolder } from '../../src/store/file/backup.ts';
import { attempts, deliveries, isOf } from '../../src/store/schema/delivery-schema.ts';
import { notifications } from '../../src/store/schema/notification-schema.ts';
import { closeApps, openReady, type TestApp, untilReady } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';

afterEach(closeApps);
afterEach(cleanUp);

const yearMs = 365 * dayMs;
const scheduled = { maxBlockAgeMs: 3 * hourMs } as const;
const wrong = expect.stringContaining('the clock of this machine is wrong');

/** An app whose newest block is of now. */
async function openScheduled(options: Parameters<typeof openReady>[0] = {}): Promise<TestApp> {
  const app = await openReady({ ...scheduled, ...options });
  app.chain.mine();
  await app.settle();
  return app;
}

async function pass(app: TestApp, ms: number): Promise<void> {
  await app.world.advance(ms);
  await app.settle();
}

/** After a jump, all servers are connected anew. */
async function reconnect(app: TestApp): Promise<void> {
  await pass(app, 2 * secondMs);
  await untilReady(app);
  await pass(app, 2 * secondMs);
}

const warnings = (app: TestApp) => app.running.health().warnings;
const lastHeaders = (app: TestApp) => app.receiver.requests.at(-1)?.headers ?? {};

describe('P-170 a clock a year ahead of the newest block', () => {
  test('signs nothing, with an alarm until it is right', async () => {
    const app = await openScheduled();
    const [address, other] = [await app.newAddress(), await app.newAddress()];
    app.world.jumpWallClock(yearMs);
    expect(warnings(app)).toEqual([wrong]);
    app.pay(address, 5_000);
    await app.settle();
    expect(lastHeaders(app)).not.toHaveProperty('webhook-signature');
    app.world.jumpWallClock(-yearMs);
    expect(warnings(app)).toEqual([]);
    app.pay(other, 5_000);
    await app.settle();
    expect(lastHeaders(app)).toHaveProperty('webhook-signature');
  });

  test('is right if it slept: the next block says so', async () => {
    const app = await openScheduled();
    app.world.jumpWallClock(yearMs);
    expect(warnings(app)).toEqual([wrong]);
    app.chain.mine();
    await app.settle();
    expect(warnings(app)).toEqual([]);
  });

  test('expires no order before its time', async () => {
    const app = await openScheduled();
    const order = await makeOrder(app, await app.newAddress());
    app.world.jumpWallClock(yearMs);
    await reconnect(app);
    expect(await order.events()).toEqual([]);
    app.world.jumpWallClock(-yearMs);
    await pass(app, 50 * minuteMs);
    expect(await order.json()).toMatchObject({ status: 'open', version: 1 });
    await pass(app, 10 * minuteMs);
    expect(await order.json()).toMatchObject({ status: 'expired', version: 2 });
  });

  test('deletes no attempt, no event and no idempotency key', async () => {
    const app = await openScheduled();
    const key = { headers: { 'Idempotency-Key': '1007' } };
    const { body } = await app.ask('/api/new_address', key);
    const order = await makeOrder(app, body.address);
    app.pay(order.address, 5_000);
    await app.settle();
    const read = () =>
      app.withStore(async ({ database: { orm } }) => [
        orm.select().from(attempts).orderBy(asc(attempts.id)).all(),
        orm.select().from(deliveries).where(isOf('webhook')).orderBy(asc(deliveries.id)).all(),
      ]);
    const before = await read();
    expect(before.map((rows) => rows.length)).toEqual([1, 1]);
    app.world.jumpWallClock(yearMs);
    await pass(app, hourMs + minuteMs);
    await app.ask('/api/new_address', { headers: { 'Idempotency-Key': 'another' } });
    expect(await read()).toEqual(before);
    expect((await app.ask('/api/new_address', key)).body.address).toBe(order.address);
    // It slept, and the block proves it: what is old now goes.
    app.chain.mine();
    await pass(app, hourMs + minuteMs);
    const left = (await read()).flat();
    for (const row of before.flat()) expect(left).not.toContainEqual(row);
    expect((await app.ask('/api/new_address', key)).body.address).not.toBe(order.address);
  });

  test('gives no callback up, and sends it once it is right', async () => {
    let status = 500;
    const app = await openScheduled({ receiver: { answer: () => ({ status }) } });
    app.pay(await app.newAddress(), 5_000);
    await app.settle();
    for (let day = 0; day < 18; day += 1) {
      app.world.jumpWallClock(2 * dayMs);
      await pass(app, 2 * secondMs);
    }
    const { callbacks } = app.running.health();
    expect(callbacks).toEqual({ owed: 1, exhausted: 0 });
    expect(app.callbacks().length).toBeGreaterThan(15);
    status = 200;
    app.world.jumpWallClock(-36 * dayMs);
    await pass(app, hourMs);
    expect(app.running.health().callbacks).toEqual({ owed: 0, exhausted: 0 });
  });

  test('gives no notification up, and sends it once it is right', async () => {
    const app = await openScheduled();
    let status = 500;
    const hook = await startReceiver({ answer: () => ({ status }) });
    whenOver(() => hook.close());
    const target = { webhookUrl: hook.origin, webhookSecret: `whsec_${'A'.repeat(43)}=` };
    const rights = { allowPrivateCallback: true, allowHttpCallback: true };
    await app.withStore(({ state, database }) =>
      database.write((tx) =>
        state.notifyTarget(null).write(tx, { ...noTarget, ...target, ...rights }),
      ),
    );
    const rows = () =>
      app.withStore(async ({ database: { orm } }) => orm.select().from(notifications).all());
    // The alarm of the clock itself.
    app.world.jumpWallClock(dayMs);
    for (let minute = 0; minute < 4; minute += 1) await pass(app, minuteMs);
    expect(await rows()).toMatchObject([{ type: 'findings', state: 'owed' }]);
    for (let day = 0; day < 16; day += 1) {
      app.world.jumpWallClock(2 * dayMs);
      await pass(app, minuteMs + secondMs);
    }
    // The task of each hour ends what is old.
    await pass(app, hourMs);
    const [first] = await rows();
    expect(first).toMatchObject({ state: 'owed' });
    expect(first?.attemptCount).toBeGreaterThan(15);
    status = 200;
    app.world.jumpWallClock(-33 * dayMs);
    await pass(app, hourMs + minuteMs);
    expect((await rows())[0]).toMatchObject({ state: 'sent' });
  });

  test('removes no snapshot of another day', async () => {
    const app = await openScheduled();
    const days = () => readdirSync(backupFolder(app.path)).filter((name) => /^\d/.test(name));
    for (let day = 0; day < 9; day += 1) {
      await app.newAddress();
      await pass(app, 15 * minuteMs);
      app.world.jumpWallClock(dayMs);
    }
    expect(days().length).toBe(9);
    app.chain.mine();
    await app.newAddress();
    await pass(app, 15 * minuteMs);
    expect(days().length).toBe(7);
  });
});

test('a quote of a clock that was a year ahead is no option for a year', async () => {
  const app = await openScheduled();
  app.world.jumpWallClock(yearMs);
  await reconnect(app);
  const { address, json } = await makeOrder(app, await app.newAddress());
  expect(await json()).toMatchObject({ status: 'open', missing_sat: 25_000 });
  app.world.jumpWallClock(-yearMs);
  await reconnect(app);
  expect(await json()).toMatchObject({ status: 'open', quote: null, missing_sat: null });
  app.pay(address, 25_000);
  app.chain.mine(2);
  await app.settle();
  expect(await json()).toMatchObject({ status: 'open', late: true, received_sat: 25_000 });
});

describe('an order that expired by a clock that was ahead', () => {
  async function expiredEarly(app: TestApp) {
    const order = await makeOrder(app, await app.newAddress());
    app.world.jumpWallClock(2 * hourMs);
    await reconnect(app);
    expect(await order.events()).toEqual(['order.expired']);
    const get = async () => (await app.ask(`/api/v3/orders/${order.publicId}`)).body;
    expect(await get()).toMatchObject({ status: 'expired', version: 2 });
    return { order, get };
  }

  test('is open again with one version more, once the clock is right', async () => {
    const app = await openScheduled();
    const { order, get } = await expiredEarly(app);
    app.world.jumpWallClock(-2 * hourMs);
    expect(await get()).toMatchObject({ status: 'expired', version: 2 });
    await reconnect(app);
    expect(await get()).toMatchObject({ status: 'open', version: 3, missing_sat: 25_000 });
    await pass(app, hourMs);
    expect(await get()).toMatchObject({ status: 'expired', version: 4 });
    expect(await order.events()).toEqual(['order.expired', 'order.updated', 'order.expired']);
  });

  test('stays expired while the clock is behind, which proves nothing', async () => {
    const app = await openScheduled();
    const { order, get } = await expiredEarly(app);
    app.chain.mine();
    await app.settle();
    app.world.jumpWallClock(-5 * hourMs);
    await reconnect(app);
    expect(await get()).toMatchObject({ status: 'expired', version: 2 });
    expect(await order.events()).toEqual(['order.expired']);
  });
});
