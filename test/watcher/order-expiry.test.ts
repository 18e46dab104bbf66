// An order expires only if its address is compared with a server at the moment of the write.

import { sql } from 'drizzle-orm';
import { afterEach, expect, it } from 'vitest';
import type { Scripthash } from '../../src/bitcoin/ids.ts';
import type { Session } from '../../src/electrum/session.ts';
import { createBackgroundTasks } from '../../src/lib/background-tasks.ts';
import { dayMs, hourMs } from '../../src/lib/time-units.ts';
import { maxRowsRead } from '../../src/store/db/searched-list.ts';
import { createOrderExpiry } from '../../src/watcher/order-expiry.ts';
import { cleanUp } from '../support/files.ts';
import { openShop } from '../support/ledger.ts';
import { now } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

/** An order that is due, and what says whether its address is compared. */
async function dueOrder() {
  const shop = await openShop();
  const issued = await shop.issue();
  const order = {
    publicId: 'ord_3yQ8tZr6WmB1nK5vXc2dLp',
    storeId: 1,
    addressId: issued.id,
    price: { kind: 'sat', amountSat: 25_000 },
    rateCents: null,
    toleranceBasisPoints: 50,
    latePolicy: 'worth',
    quoteSeconds: 900,
    expiresAt: now + hourMs,
    reference: null,
    description: null,
    metadata: {},
    returnUrl: null,
    language: null,
  } as const;
  await shop.write((tx) => shop.orders.create(tx, now, order));
  const server = {} as Session;
  const servers = {
    caughtUp: server as Session | undefined,
    current: server,
    live: () => [server],
  };
  const watching = { is: true };
  const pending = new Set<Scripthash>();
  const failures: unknown[] = [];
  const tasks = createBackgroundTasks((error) => void failures.push(error));
  const parts = {
    world: createTestWorld({ startAt: now + hourMs }),
    records: shop,
    tasks,
    servers,
    interruption: { isWatching: () => watching.is },
    queue: {
      isPending: (scripthash: Scripthash) => pending.has(scripthash),
      add: (scripthash: Scripthash) => void pending.add(scripthash),
    },
  };
  const expiry = createOrderExpiry(parts);
  return {
    servers,
    watching,
    announce: () => pending.add(issued.scripthash),
    tick: () => expiry.tick(),
    shop,
    /** @returns how many transactions began since */
    countWrites() {
      const { database } = shop;
      const write = database.write.bind(database);
      let count = 0;
      database.write = (work, kind) => {
        count += 1;
        return write(work, kind);
      };
      return () => count;
    },
    reviewUnmined: () => expiry.reviewUnmined(),
    async status() {
      await tasks.idle();
      expect(failures).toEqual([]);
      return shop.orderView.byPublicId(order.publicId)?.status;
    },
  };
}

it('expires once its address is compared', async () => {
  const { servers, tick, status } = await dueOrder();
  const { caughtUp } = servers;
  servers.caughtUp = undefined;
  tick();
  expect(await status()).toBe('open');
  servers.caughtUp = caughtUp;
  tick();
  expect(await status()).toBe('expired');
});

it('stays open while the machine has just slept, also if that begins before the write', async () => {
  const { watching, tick, status } = await dueOrder();
  watching.is = false;
  tick();
  expect(await status()).toBe('open');
  watching.is = true;
  tick();
  watching.is = false;
  expect(await status()).toBe('open');
});

it('stays open if the server is lost, or a change is announced, before the write', async () => {
  const lost = await dueOrder();
  lost.tick();
  lost.servers.caughtUp = undefined;
  expect(await lost.status()).toBe('open');
  const announced = await dueOrder();
  announced.tick();
  announced.announce();
  expect(await announced.status()).toBe('open');
});

it('does one work at a time', async () => {
  const once = await dueOrder();
  const writesOfOne = once.countWrites();
  once.tick();
  expect(await once.status()).toBe('expired');
  const twice = await dueOrder();
  const writesOfTwo = twice.countWrites();
  twice.tick();
  twice.tick();
  expect(await twice.status()).toBe('expired');
  expect([writesOfOne(), writesOfTwo()]).toEqual([2, 2]);
});

it('looks for unmined money behind so many payments in the next minute, while it watches', async () => {
  const { shop, status, watching, reviewUnmined, countWrites } = await dueOrder();
  const { orm } = shop.database;
  const { id: addressId } = await shop.issue();
  const seenAt = now - 2 * dayMs;
  orm.run(sql`update orders set currency = 'EUR', amount_minor = 1250, expires_at = null`);
  orm.run(sql`insert into quotes (order_id, rate_cents, amount_sat, created_at, expires_at)
    values (1, 5000000, 25000, ${seenAt}, ${now})`);
  orm.run(sql`insert into payments (address_id, txid, value_sat, state, first_seen_at, changed_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${maxRowsRead})
    select ${addressId}, 'n' || i, 1000, 'unconfirmed', ${seenAt}, 0 from n
    union all select address_id, 'last', 25000, 'unconfirmed', ${seenAt}, 0 from orders`);
  const scannedAt = () => shop.orderView.list({ limit: 1 })[0]?.scannedAt;
  const minute = async () => {
    reviewUnmined();
    await status();
    return scannedAt();
  };
  watching.is = false;
  expect([await minute(), await minute()]).toEqual([null, null]);
  watching.is = true;
  expect(await minute()).toBeNull();
  const writes = countWrites();
  reviewUnmined();
  expect(await minute()).toBe(now + hourMs);
  expect(writes()).toBe(1);
});
