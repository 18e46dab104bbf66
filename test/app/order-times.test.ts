// The time of orders in the whole app. They expire once their addresses were looked at. An
// interruption of the watcher makes no payment late.

import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { minuteMs, secondMs } from '../../src/lib/time-units.ts';
import { closeApps, openReady, type TestApp, untilReady } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import { whenOver } from '../support/files.ts';

afterEach(closeApps);

const newOrder = async (app: TestApp, changes: Parameters<typeof makeOrder>[2] = {}) =>
  makeOrder(app, await app.newAddress(), changes);

const scriptOf = async (app: TestApp, address: string) =>
  app.withStore(async ({ addresses }) => {
    const found = addresses.byScripthash(scripthash(addressToScript(address, networks.regtest)));
    if (found === undefined) throw new Error(`${address} was not issued`);
    return found;
  });

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
  /** Each second costs, so it is over in minutes. */
  const shortOrder = (app: TestApp) => newOrder(app, { expiresAt: app.world.now() + 5 * minuteMs });

  test('expires within a second', async () => {
    const app = await openReady();
    const order = await shortOrder(app);
    await app.world.advance(5 * minuteMs - secondMs);
    expect(await order.json()).toMatchObject({ status: 'open', version: 1 });
    await app.world.advance(secondMs);
    await app.settle();
    expect(await order.json()).toMatchObject({ status: 'expired', version: 2 });
    expect(await order.events()).toEqual(['order.expired']);
  });

  test('does not expire before every address was compared with a server', async () => {
    const app = await openReady();
    const order = await shortOrder(app);
    const refusal = app.server.inject({ kind: 'refuse' });
    app.server.disconnectAll();
    await pass(app, 10);
    expect(await order.json()).toMatchObject({ status: 'open', version: 1 });
    refusal();
    await pass(app, 2);
    expect(await order.json()).toMatchObject({ status: 'expired', version: 2 });
  });

  test('does not expire while a change of its address is not recorded, and others do', async () => {
    const app = await openReady();
    const [paid, other] = [await shortOrder(app), await shortOrder(app)];
    await pass(app, 4);
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
    const order = await shortOrder(app);
    const txid = app.pay(order.address, 10_000);
    await pass(app, 3);
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

  test('is late if the interruption began when no order had been open for half an hour', async () => {
    const app = await openReady();
    const order = await newOrder(app, { expiresAt: app.world.now() + 16 * minuteMs });
    await pass(app, 46);
    await app.stop();
    app.pay(order.address, 25_000);
    await app.start();
    await untilReady(app);
    expect(await order.json()).toMatchObject({ ...late, status: 'expired' });
  });
});

describe('a stop', () => {
  test('notes the time: what is paid after the grace and before the next minute is late', async () => {
    const app = await openReady();
    await app.world.advance(minuteMs - (app.world.now() % minuteMs));
    const order = await newOrder(app, { expiresAt: null });
    // The minute before noted a time within the grace.
    await app.world.advance(17 * minuteMs + 20 * secondMs);
    await app.settle();
    await app.stop();
    app.pay(order.address, 25_000);
    await app.start();
    await untilReady(app);
    expect(await order.json()).toMatchObject({ late: true, payments: [{ late: true }] });
  });

  test('after a jump of the clock notes the time of now', async () => {
    const app = await openReady();
    const order = await newOrder(app, { expiresAt: null });
    await pass(app, 2);
    app.world.jumpWallClock(20 * 60 * minuteMs);
    await pass(app, 1);
    await app.stop();
    app.pay(order.address, 25_000);
    await app.start();
    await untilReady(app);
    expect(await order.json()).toMatchObject({ late: true, payments: [{ late: true }] });
  });
});

describe('a machine that sleeps', () => {
  test.each([
    ['by hours', 3 * 60 * minuteMs],
    ['over the end of its quote', 16 * minuteMs],
  ])('%s makes no payment late, and expires no order unseen', async (_what, sleptMs) => {
    const app = await openReady();
    const order = await newOrder(app);
    await pass(app, 10);
    // The notification waits in the socket until the machine wakes up.
    app.pay(order.address, 25_000);
    app.world.jumpWallClock(sleptMs);
    await pass(app, 2);
    expect(await order.json()).toMatchObject({ status: 'processing', late: false });
    expect(await order.events()).toEqual(['order.processing']);
    expect(app.world.logs.map(({ message }) => message)).toContain(
      'the machine slept, or its clock jumped',
    );
    // What comes after that is seen live.
    await pass(app, 20);
    app.pay(order.address, 5_000);
    await app.settle();
    expect((await order.json()).payments).toMatchObject([{ late: true }, { late: false }]);
  });

  test('connects again at once', async () => {
    const app = await openReady({ servers: 2 });
    app.world.jumpWallClock(minuteMs);
    await app.world.advance(secondMs);
    await app.world.until(() => app.running.health().electrum.caught_up, 'it to catch up');
    const lost = app.world.logs.filter(({ message }) => message === 'electrum server lost');
    expect(lost).toHaveLength(2);
  });

  test('has its sessions anew before an order expires', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    const refusal = app.server.inject({ kind: 'refuse' });
    app.world.jumpWallClock(2 * 60 * minuteMs);
    await pass(app, 5);
    expect((await order.json()).status).toBe('open');
    refusal();
    await pass(app, 2);
    expect((await order.json()).status).toBe('expired');
  });

  test('a clock that is set back is an interruption, too', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    await pass(app, 10);
    app.world.jumpWallClock(-30 * minuteMs);
    app.pay(order.address, 25_000);
    await pass(app, 2);
    expect(await order.json()).toMatchObject({ status: 'processing', late: false });
  });

  test('a pause of half a minute is none', async () => {
    const app = await openReady();
    await newOrder(app);
    app.world.jumpWallClock(29 * secondMs);
    await app.world.advance(2 * secondMs);
    await app.settle();
    const messages = app.world.logs.map(({ message }) => message);
    expect(messages).not.toContain('electrum server lost');
  });
});

describe('a script that a server keeps open', () => {
  test('hides nothing that comes later: that is seen live', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    await app.settle();
    await app.stop();
    const hidden = app.pay(order.address, 10_000);
    const shown = app.server.inject({
      kind: 'error',
      code: 2,
      message: 'daemon error',
      when: (method, [txid]) => method === 'blockchain.transaction.get' && txid === hidden,
    });
    await app.start();
    await untilReady(app);
    await pass(app, 20);
    app.pay(order.address, 5_000);
    await app.settle();
    expect((await order.json()).payments).toMatchObject([{ value_sat: 5_000, late: true }]);
    shown();
    await pass(app, 20);
    const { payments } = await order.json();
    expect(payments).toMatchObject([
      { value_sat: 10_000, late: false },
      { value_sat: 5_000, late: true },
    ]);
  });
});

describe('before an order expires, each connected server is asked for its address', () => {
  const shortly = async (app: TestApp) =>
    newOrder(app, { expiresAt: app.world.now() + 5 * minuteMs });

  async function openTwo() {
    const app = await openReady({ servers: 2 });
    const other = app.servers.find((each) => each !== app.inUse());
    if (other === undefined) throw new Error('there are not two servers');
    return { app, other, used: app.inUse() };
  }

  test('a payment that the watched one hides is found', async () => {
    const { app, used } = await openTwo();
    const order = await shortly(app);
    await pass(app, 4);
    const { scripthash: script } = await scriptOf(app, order.address);
    used.inject({ kind: 'omit', scripthashes: [script] });
    app.pay(order.address, 25_000);
    await app.world.advance(minuteMs + 2 * secondMs);
    await app.settle();
    expect(await order.json()).toMatchObject({ status: 'processing', late: false });
    expect(await order.events()).toEqual(['order.processing']);
  });

  test.each(['hang', 'refuse'] as const)(
    'one that does not answer (%s) is not waited for',
    async (how) => {
      const { app, other } = await openTwo();
      const orders = [await shortly(app), await shortly(app)];
      await pass(app, 4);
      const when = (method: string) => method === 'blockchain.scripthash.get_history';
      if (how === 'hang') other.inject({ kind: 'hang', when });
      else other.inject({ kind: 'error', code: 1, message: 'excessive resource usage', when });
      await app.world.advance(minuteMs + 15 * secondMs);
      await app.settle();
      for (const order of orders) expect((await order.json()).status).toBe('expired');
    },
  );

  test('and the server that shows nothing new is asked once', async () => {
    const { app, other } = await openTwo();
    const orders = [await shortly(app), await shortly(app)];
    await pass(app, 4);
    const asked: string[] = [];
    other.inject({
      kind: 'delay',
      ms: 0,
      when: (method, [script]) => {
        if (method === 'blockchain.scripthash.get_history') asked.push(String(script));
        return false;
      },
    });
    await pass(app, 3);
    for (const order of orders) expect((await order.json()).status).toBe('expired');
    expect(new Set(asked).size).toBe(2);
    expect(asked).toHaveLength(2);
  });
});

test('P-128 a payment that a banned server invented goes without that server', async () => {
  const app = await openReady({ servers: 2 });
  const order = await newOrder(app, { expiresAt: null });
  const txid = app.pay(order.address, 25_000);
  await app.settle();
  expect((await order.json()).status).toBe('processing');
  await app.stop();
  const [label = ''] = app.labels;
  const until = app.world.now() + 60 * minuteMs;
  await app.withStore(({ servers }) =>
    servers.setBan(label, { until, reason: 'a lie' }, app.world.now()),
  );
  // The other server does not have it.
  app.chain.evict(txid as Txid);
  await app.start();
  await untilReady(app);
  await app.outlastAbsence();
  expect(await order.json()).toMatchObject({ status: 'open', payments: [{ gone: true }] });
});

describe('money that is in no block for a day', () => {
  test('counts nothing until the order is accepted', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    app.pay(order.address, 25_000);
    await app.settle();
    app.world.jumpWallClock(24 * 60 * minuteMs - 5 * minuteMs);
    await pass(app, 3);
    expect(await order.json()).toMatchObject({ status: 'processing', late: false, version: 2 });
    await pass(app, 5);
    expect(await order.json()).toMatchObject({ status: 'expired', late: true, version: 3 });
    expect(await order.events()).toEqual(['order.processing', 'order.reversed']);
    await pass(app, 5);
    app.chain.mine(2);
    await app.settle();
    expect(await order.json()).toMatchObject({ status: 'expired', received_sat: 25_000 });
    await app.withStore(({ orders, orderView, database }) =>
      database.write((tx) => {
        const id = orderView.byPublicId(order.publicId)?.id ?? 0;
        orders.accept(tx, app.world.now(), id);
      }),
    );
    expect(await order.json()).toMatchObject({ status: 'paid', late: true });
  });

  test('is asked for once a server was asked, and not while its block is on the way', async () => {
    const app = await openReady();
    const order = await newOrder(app);
    app.pay(order.address, 25_000);
    await app.settle();
    const refusal = app.server.inject({ kind: 'refuse' });
    app.world.jumpWallClock(23 * 60 * minuteMs);
    await pass(app, 2);
    app.chain.mine(2);
    app.world.jumpWallClock(3 * 60 * minuteMs);
    await pass(app, 2);
    expect((await order.json()).status).toBe('processing');
    refusal();
    await pass(app, 2);
    expect(await order.json()).toMatchObject({ status: 'paid', late: false });
    expect(await order.events()).toEqual(['order.processing', 'order.paid']);
  });
});

test('the time is noted each minute while a quote may end, and not for orders without an end', async () => {
  const app = await openReady();
  const isWritten = watchWrites(app);
  await pass(app, 3);
  expect(isWritten()).toBe(false);
  const order = await newOrder(app, { expiresAt: app.world.now() + 10 * minuteMs });
  isWritten();
  for (let minutes = 0; minutes < 64; minutes += 1) {
    await pass(app, 1);
    expect(isWritten(), `after ${minutes} minutes`).toBe(true);
  }
  expect((await order.json()).status).toBe('expired');
  await pass(app, 10);
  isWritten();
  await pass(app, 3);
  expect(isWritten()).toBe(false);
});
