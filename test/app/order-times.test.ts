// The time of orders in the whole app. They expire once their addresses were looked at. An
// interruption of the watcher makes no payment late.

import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { minuteMs, secondMs } from '../../src/lib/time-units.ts';
import { closeApps, openReady, type TestApp, untilReady } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import { whenOver } from '../support/files.ts';

afterEach(closeApps);

const newOrder = async (app: TestApp, changes: Parameters<typeof makeOrder>[2] = {}) =>
  makeOrder(app, await app.newAddress(), changes);

async function pass(app: TestApp, minutes: number): Promise<void> {
  await app.world.advance(minutes * minuteMs);
  await app.settle();
}

/** @returns a function that says whether the file was written since its last call */
function watchWrites(app: TestApp): () => boolean {
  const file = new SqliteDatabase(app.path, { readonly: true });
  whenOver(() => void file.close());
  const version = () => file.pragma('data_version', { simple: true });
  let last = version();
  return () => {
    const before = last;
    last = version();
    return last !== before;
  };
}

describe('an order whose time is over', () => {
  test('expires within a second', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    await app.world.advance(60 * minuteMs - secondMs);
    expect(await order.json()).toMatchObject({ status: 'open', version: 1 });
    await app.world.advance(secondMs);
    await app.settle();
    expect(await order.json()).toMatchObject({ status: 'expired', version: 2 });
    expect(await order.events()).toEqual(['order.expired']);
  });

  test('does not expire before every address was compared with a server', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    const refusal = app.server.inject({ kind: 'refuse' });
    app.server.disconnectAll();
    await pass(app, 70);
    expect(await order.json()).toMatchObject({ status: 'open', version: 1 });
    refusal();
    await pass(app, 2);
    expect(await order.json()).toMatchObject({ status: 'expired', version: 2 });
  });

  test('does not expire while a change of its address is not recorded, and others do', async () => {
    const app = await openReady();
    const [paid, other] = [await newOrder(app), await newOrder(app)];
    await pass(app, 59);
    const when = (method: string) => method === 'blockchain.scripthash.get_history';
    const answers = app.server.inject({ kind: 'hang', when });
    app.pay(paid.address, 10_000);
    await app.world.advance(minuteMs + secondMs);
    expect((await paid.json()).status).toBe('open');
    expect((await other.json()).status).toBe('expired');
    answers();
    await pass(app, 5);
    expect(await paid.json()).toMatchObject({ status: 'expired', received_sat: 10_000 });
    expect(await paid.events()).toEqual(['order.updated', 'order.expired']);
  });

  test('expires without a further block after its payment was dropped', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    const txid = app.pay(order.address, 10_000);
    await pass(app, 58);
    app.chain.evict(txid as Txid);
    await app.outlastAbsence();
    await pass(app, 2);
    expect(await order.json()).toMatchObject({ status: 'expired', payments: [{ gone: true }] });
  });

  test('costs no write before and after it expires', async () => {
    const app = await openReady();
    // At each full minute, the time is noted while orders are open.
    await app.world.advance(minuteMs - (app.world.now() % minuteMs) + secondMs);
    const expiresAt = app.world.now() + 20 * secondMs;
    const order = await newOrder(app, { expiresAt });
    await app.settle();
    const isWritten = watchWrites(app);
    await app.world.advance(18 * secondMs);
    expect(isWritten()).toBe(false);
    await app.world.advance(3 * secondMs);
    await app.settle();
    expect((await order.json()).status).toBe('expired');
    expect(isWritten()).toBe(true);
    await app.world.advance(30 * secondMs);
    expect(isWritten()).toBe(false);
  });
});

describe('a payment that arrives when its quote is in force, and is found after its end', () => {
  const onTime = { status: 'processing', late: false, payments: [{ late: false }] };
  const late = { status: 'open', late: true, payments: [{ late: true }] };

  test('is on time after a restart', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    await pass(app, 10);
    // A stop notes no time, and neither does a crash.
    await app.stop();
    await app.world.advance(2 * minuteMs);
    app.pay(order.address, 25_000);
    await app.world.advance(20 * minuteMs);
    await app.start();
    await untilReady(app);
    expect(await order.json()).toMatchObject(onTime);
    // What comes after that is late.
    app.pay(order.address, 5_000);
    await app.settle();
    expect((await order.json()).payments).toMatchObject([{ late: true }, { late: false }]);
  });

  test('is on time if the process ends within the first minute of the order', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    await app.stop();
    app.pay(order.address, 25_000);
    await app.world.advance(30 * minuteMs);
    await app.start();
    await untilReady(app);
    expect(await order.json()).toMatchObject(onTime);
  });

  test('is on time after a reconnect', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    await pass(app, 10);
    const refusal = app.server.inject({ kind: 'refuse' });
    app.server.disconnectAll();
    await app.world.turn();
    app.pay(order.address, 25_000);
    await pass(app, 20);
    expect((await order.json()).status).toBe('open');
    refusal();
    await pass(app, 2);
    expect(await order.json()).toMatchObject(onTime);
    app.pay(order.address, 5_000);
    await app.settle();
    expect((await order.json()).payments).toMatchObject([{ late: true }, { late: false }]);
  });

  test('is late if a server that had caught up announces it', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    await pass(app, 20);
    app.pay(order.address, 25_000);
    await app.settle();
    expect(await order.json()).toMatchObject(late);
  });

  test('is late if the interruption began after the quote', async () => {
    const app = await openReady();
    const order = await newOrder(app, { expiresAt: null });
    await pass(app, 20);
    await app.stop();
    app.pay(order.address, 25_000);
    await app.world.advance(5 * minuteMs);
    await app.start();
    await untilReady(app);
    expect(await order.json()).toMatchObject(late);
  });

  test('is late if the interruption began when no order had been open for hours', async () => {
    const app = await openReady();
    const order = await newOrder(app, { expiresAt: app.world.now() + 16 * minuteMs });
    await pass(app, 3 * 60);
    await app.stop();
    app.pay(order.address, 25_000);
    await app.start();
    await untilReady(app);
    expect(await order.json()).toMatchObject({ ...late, status: 'expired' });
  });
});

test('the time is noted each minute while an order is open, and an hour longer', async () => {
  const app = await openReady();
  const isWritten = watchWrites(app);
  await pass(app, 3);
  expect(isWritten()).toBe(false);
  const order = await newOrder(app, { expiresAt: app.world.now() + 10 * minuteMs });
  isWritten();
  for (let minutes = 0; minutes < 70; minutes += 1) {
    await pass(app, 1);
    expect(isWritten(), `after ${minutes} minutes`).toBe(true);
  }
  expect((await order.json()).status).toBe('expired');
  await pass(app, 10);
  isWritten();
  await pass(app, 3);
  expect(isWritten()).toBe(false);
});
