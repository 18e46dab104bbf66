// The queue of events: what is claimed, in which order, and what a record or a newer event does.

import SqliteDatabase from 'better-sqlite3';
import { and, eq } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { dayMs } from '../../../src/lib/time-units.ts';
import type { AttemptRecord } from '../../../src/store/delivery/attempts.ts';
import { createEventRecords } from '../../../src/store/delivery/event-records.ts';
import { createWebhookQueue } from '../../../src/store/delivery/webhook-queue.ts';
import { attempts, deliveries, isOf } from '../../../src/store/schema/delivery-schema.ts';
import { orders } from '../../../src/store/schema/order-schema.ts';
import { webhooks } from '../../../src/store/schema/schema.ts';
import { addEvent, openWebhook } from '../../delivery/events.ts';
import { cleanUp } from '../../support/files.ts';
import type { Shop } from '../../support/ledger.ts';
import { plansOf, statementsOf, walksOfDeliveries } from '../../support/plans.ts';
import { now } from '../../support/store.ts';

/** One step of a statement's program. */
interface Opcode {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
}

afterEach(cleanUp);

const leaseMs = 30_000;

const claim = (shop: Shop, at = now, limit = 64) =>
  shop.write((tx) =>
    shop.webhooks.claim(tx, at, { limit, perReceiver: 2, leaseMs, afterReceiverId: 0 }),
  );

const idsOf = async (claimed: ReturnType<typeof claim>) => (await claimed).map(({ id }) => id);

const attempt = (outcome: AttemptRecord['outcome'], startedAt = now): AttemptRecord => ({
  ...{ startedAt, durationMs: 5, outcome, httpStatus: outcome === 'delivered' ? 204 : 500 },
  ...{ reason: outcome === 'delivered' ? null : 'no', body: 'text', address: '127.0.0.1' },
  ...{ phases: { connect: 1.5 }, doubt: null },
});

/** Records a failed attempt, or a delivery, of a claimed event. */
const record = (
  shop: Shop,
  claimed: Awaited<ReturnType<typeof claim>>[number] | undefined,
  outcome: AttemptRecord['outcome'],
  at?: number,
) => {
  if (claimed === undefined) throw new Error('nothing was claimed');
  return shop.write((tx) =>
    shop.webhooks.record(tx, now, claimed, attempt(outcome), { step: claimed.step + 1, at }),
  );
};

const stateOf = (shop: Shop, id: number) => shop.webhooks.event(id).state;

const addOrder = (shop: Shop, addressId = 1): number =>
  shop.database.orm
    .insert(orders)
    .values({
      ...{ publicId: `ord_${addressId}`, storeId: 1, addressId, amountSat: 1, quoteSeconds: 900 },
      ...{ toleranceBasisPoints: 0, latePolicy: 'worth', createdAt: now, status: 'open' },
      ...{ version: 1, fingerprint: '' },
    })
    .returning()
    .get().id;

const append = (shop: Shop, orderId: number, type: 'order.updated' | 'order.reversed') =>
  shop.write((tx) =>
    createEventRecords(shop.database.orm, shop.events).append(tx, now, {
      ...{ storeId: 1, orderId, addressId: 1, type, data: { order: { status: 'open' } } },
      publicId: `evt_${type}`,
    }),
  );

describe('a claim', () => {
  it('takes one event of an address, two of a store, and of an address the oldest', async () => {
    const shop = await openWebhook();
    const rows = [1, 1, 2, 3].map((addressId) => addEvent(shop, { addressId }));
    expect(rows).toEqual([1, 2, 3, 4]);
    const first = await claim(shop);
    expect(first.map(({ id }) => id)).toEqual([1, 3]);
    expect(first[0]).toMatchObject({
      ...{ url: 'https://shop.example/hook', type: 'payment.seen', addressId: 1, step: 0 },
      ...{ eventId: shop.webhooks.event(1).publicId, content: shop.webhooks.event(1).body },
    });
    expect(await claim(shop)).toEqual([]);
    await record(shop, first[0], 'delivered');
    expect(await idsOf(claim(shop))).toEqual([2]);
  });

  it('takes what waits longest first, but the events of its address in order', async () => {
    const shop = await openWebhook();
    addEvent(shop, { addressId: 1, nextAttemptAt: now - 10 });
    addEvent(shop, { addressId: 2, nextAttemptAt: now - 20 });
    addEvent(shop, { addressId: 2, nextAttemptAt: now - 30 });
    expect(await idsOf(claim(shop))).toEqual([2, 1]);
  });

  it('keeps the order of events that were recorded by a clock that was ahead', async () => {
    const shop = await openWebhook();
    addEvent(shop, { nextAttemptAt: now + dayMs });
    addEvent(shop, { nextAttemptAt: now });
    expect(await idsOf(claim(shop))).toEqual([1]);
  });

  it('is repeated when its lease ends, with the same id', async () => {
    const shop = await openWebhook();
    addEvent(shop);
    const [first] = await claim(shop);
    expect(await claim(shop, now + leaseMs - 1)).toEqual([]);
    expect(await claim(shop, now + leaseMs)).toMatchObject([{ eventId: first?.eventId }]);
  });

  it.each(['url = null', 'is_enabled = 0', 'removed_at = 1', 'callbacks_stopped = 1'])(
    'takes nothing of a store with %s',
    async (change) => {
      const shop = await openWebhook();
      addEvent(shop);
      const table = change.startsWith('callbacks') ? 'stores' : 'webhooks';
      shop.database.orm.$client.exec(`update ${table} set ${change}`);
      expect(await claim(shop)).toEqual([]);
      expect(shop.webhooks.nextDueAt(now)).toBeUndefined();
      expect(shop.webhooks.counts()).toEqual({ owed: 0, exhausted: 0 });
    },
  );

  it('leaves order.paid while a block of its payments is off our best chain', async () => {
    const shop = await openWebhook();
    const issued = await shop.issue();
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.mine();
    await shop.observe(issued);
    shop.database.orm.delete(deliveries).where(isOf('webhook')).run();
    const [paid, updated] = (['order.paid', 'order.expired'] as const).map((type) =>
      addEvent(shop, { addressId: issued.id, type }),
    );
    shop.chain.reorganise(1, { blocks: 2, transactions: 'mempool' });
    await shop.follow();
    expect(shop.webhooks.nextDueAt(now)).toBe(now);
    const [other] = await claim(shop);
    expect(other?.id).toBe(updated);
    await record(shop, other, 'delivered');
    expect(await claim(shop)).toEqual([]);
    expect(shop.webhooks.nextDueAt(now)).toBeUndefined();
    await shop.observe(issued);
    expect(stateOf(shop, paid ?? 0)).toBe('owed');
    expect(await idsOf(claim(shop))).toContain(paid);
  });

  it('leaves the order.updated of a paid order just so: it says that the order is paid', async () => {
    const shop = await openWebhook();
    const issued = await shop.issue();
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.mine();
    await shop.observe(issued);
    shop.database.orm.delete(deliveries).where(isOf('webhook')).run();
    const [paid, updated] = (['order.paid', 'order.updated'] as const).map((type) =>
      addEvent(shop, { addressId: issued.id, type }),
    );
    shop.chain.reorganise(1, { blocks: 2, transactions: 'mempool' });
    await shop.follow();
    expect(await claim(shop)).toEqual([]);
    await shop.observe(issued);
    const [first] = await claim(shop);
    expect(first?.id).toBe(paid);
    await record(shop, first, 'delivered');
    expect(await idsOf(claim(shop))).toEqual([updated]);
  });

  it('does not cost more with the number of delivered events', async () => {
    const shop = await openWebhook();
    const statements = await statementsOf(() => createWebhookQueue(shop.database.orm));
    expect(statements.length).toBeGreaterThan(12);
    expect(walksOfDeliveries(shop.path, statements)).toEqual([]);
    const appends = await statementsOf(() => createEventRecords(shop.database.orm, shop.events));
    expect(walksOfDeliveries(shop.path, appends)).toEqual([]);
  });

  it('does not cost more with the number of due events: it looks at those of one address', async () => {
    const shop = await openWebhook();
    const statements = await statementsOf(() => createWebhookQueue(shop.database.orm));
    const next = statements.filter((text) => text.includes('order by c.id limit 1'));
    expect(next).toHaveLength(1);
    const plan = plansOf(shop.path, next).flat();
    expect(plan).toContain(
      'SEARCH c USING INDEX deliveries_of_address (channel=? AND address_id=?)',
    );
  });
});

describe('a record', () => {
  it('settles a delivered event, and keeps the attempt', async () => {
    const shop = await openWebhook();
    addEvent(shop);
    const [claimed] = await claim(shop);
    expect(await record(shop, claimed, 'delivered')).toBe('delivered');
    expect(shop.webhooks.event(1)).toMatchObject({
      ...{ state: 'delivered', attemptCount: 1, settledAt: now, leasedUntil: null },
      ...{ outcome: 'delivered', reason: null },
    });
    expect(shop.webhooks.attempts(1)).toMatchObject([
      { httpStatus: 204, body: 'text', phases: '{"connect":1.5}', address: '127.0.0.1' },
    ]);
  });

  it('makes a failed event due again, then exhausted', async () => {
    const shop = await openWebhook();
    addEvent(shop);
    const [claimed] = await claim(shop);
    expect(await record(shop, claimed, 'status', now + 4_000)).toBe('owed');
    expect(shop.webhooks.nextDueAt(now)).toBe(now + 4_000);
    const [again] = await claim(shop, now + 4_000);
    expect(again).toMatchObject({ step: 1, attemptCount: 1 });
    expect(shop.webhooks.failingShops()).toMatchObject([
      { storeId: 1, url: 'https://shop.example/hook', attempts: 1, reason: 'answered 500' },
    ]);
    expect(await record(shop, again, 'status')).toBe('exhausted');
    expect(shop.webhooks.counts()).toEqual({ owed: 0, exhausted: 1 });
    expect(shop.webhooks.exhaustedSince()).toBe(now);
    expect(shop.webhooks.depths(9)).toEqual({ owed: 0, exhausted: 1, done: 0 });
    expect(shop.outbox.counts()).toEqual({ owed: 0, exhausted: 0 });
  });

  it('keeps the schedule of a resend', async () => {
    const shop = await openWebhook();
    addEvent(shop);
    const [claimed] = await claim(shop);
    await shop.write((tx) => shop.webhooks.resend(tx, now + 1_000, 1));
    expect(await record(shop, claimed, 'status', now + 9_000)).toBe('owed');
    expect(shop.webhooks.nextDueAt(now)).toBe(now + 1_000);
  });
});

describe('a newer event of the order', () => {
  it.each(['order.processing', 'order.updated'] as const)(
    'supersedes %s, also after its request failed',
    async (type) => {
      const shop = await openWebhook();
      const orderId = addOrder(shop);
      addEvent(shop, { orderId, type });
      const [claimed] = await claim(shop);
      await append(shop, orderId, 'order.updated');
      expect([stateOf(shop, 1), stateOf(shop, 2)]).toEqual(['owed', 'owed']);
      expect(await record(shop, claimed, 'status', now + 4_000)).toBe('superseded');
      expect(await idsOf(claim(shop, now + 9_000))).toEqual([2]);
    },
  );

  it('does not supersede order.paid, unless it is order.reversed', async () => {
    const shop = await openWebhook();
    const orderId = addOrder(shop);
    addEvent(shop, { orderId, type: 'order.paid' });
    await append(shop, orderId, 'order.updated');
    expect(stateOf(shop, 1)).toBe('owed');
    await append(shop, orderId, 'order.reversed');
    expect([1, 2, 3].map((id) => stateOf(shop, id))).toEqual([
      ...['superseded', 'superseded', 'superseded'],
    ]);
  });

  it.each([{ attemptCount: 1 }, { leasedUntil: now - 1 }])(
    'lets order.reversed be sent when order.paid may have been received: %j',
    async (row) => {
      const shop = await openWebhook();
      const orderId = addOrder(shop);
      addEvent(shop, { orderId, type: 'order.paid', ...row });
      await append(shop, orderId, 'order.reversed');
      expect([stateOf(shop, 1), stateOf(shop, 2)]).toEqual(['superseded', 'owed']);
    },
  );

  it('supersedes an order.paid whose record was lost with the process', async () => {
    const shop = await openWebhook();
    const orderId = addOrder(shop);
    addEvent(shop, { orderId, type: 'order.paid' });
    addEvent(shop, { addressId: 2 });
    await claim(shop);
    await append(shop, orderId, 'order.reversed');
    expect([stateOf(shop, 1), stateOf(shop, 3)]).toEqual(['owed', 'owed']);
    await shop.write((tx) => shop.webhooks.releaseLeases(tx));
    expect(stateOf(shop, 1)).toBe('superseded');
    // The shop may have received the other one.
    expect(shop.webhooks.event(2)).toMatchObject({ state: 'owed', attemptCount: 1 });
    expect((await idsOf(claim(shop))).sort()).toEqual([2, 3]);
  });
});

describe('a resend', () => {
  it('sends an event again under its id, whatever its state', async () => {
    const shop = await openWebhook();
    for (const state of ['delivered', 'exhausted', 'unsent'] as const) addEvent(shop, { state });
    for (const id of [1, 2, 3]) await shop.write((tx) => shop.webhooks.resend(tx, now, id));
    expect([1, 2, 3].map((id) => stateOf(shop, id))).toEqual(['owed', 'owed', 'owed']);
  });

  it('refuses what a newer event of the order replaces, and a store without a webhook', async () => {
    const shop = await openWebhook();
    const orderId = addOrder(shop);
    addEvent(shop, { orderId, type: 'order.paid', state: 'delivered' });
    addEvent(shop, { orderId, type: 'order.reversed', state: 'delivered' });
    const resend = (id: number) => shop.write((tx) => shop.webhooks.resend(tx, now, id));
    await expect(resend(1)).rejects.toThrow('is superseded');
    await resend(2);
    await expect(resend(9)).rejects.toThrow('there is no event 9');
    shop.database.orm.update(webhooks).set({ url: null }).run();
    await expect(resend(2)).rejects.toThrow('store 1 has no webhook URL');
  });

  it('of all that failed counts them', async () => {
    const shop = await openWebhook();
    addEvent(shop, { state: 'exhausted' });
    addEvent(shop, { state: 'delivered' });
    addEvent(shop, { addressId: 2 });
    const [claimed] = await claim(shop);
    await record(shop, claimed, 'status', now + 4_000);
    const resendFailed = () => shop.write((tx) => shop.webhooks.resendFailed(tx, now, 1));
    expect(await resendFailed()).toBe(2);
    expect(await resendFailed()).toBe(0);
    expect(await idsOf(claim(shop))).toEqual([1, 3]);
  });

  it('of all that failed leaves what a newer event of the order replaces', async () => {
    const shop = await openWebhook();
    const [reversed, standing] = [addOrder(shop), addOrder(shop, 2)];
    addEvent(shop, { orderId: reversed, type: 'order.paid', state: 'exhausted' });
    addEvent(shop, { orderId: reversed, type: 'order.reversed', state: 'exhausted' });
    addEvent(shop, { orderId: standing, type: 'order.paid', state: 'exhausted' });
    expect(await shop.write((tx) => shop.webhooks.resendFailed(tx, now, 1))).toBe(2);
    expect([1, 2, 3].map((id) => stateOf(shop, id))).toEqual(['exhausted', 'owed', 'owed']);
  });

  it('of all that failed walks no event that was delivered', async () => {
    const shop = await openWebhook();
    const statements = await statementsOf(() => createWebhookQueue(shop.database.orm));
    const resends = statements.filter((text) => /set "state" = .*"store_id" = /.test(text));
    expect(resends).toHaveLength(2);
    const [exhausted, retrying] = plansOf(shop.path, resends).map(([first]) => first);
    expect(exhausted).toMatch(/USING INDEX deliveries_exhausted \(channel=\? AND store_id=\?\)/);
    expect(retrying).toContain('USING INDEX deliveries_owed (channel=? AND store_id=?)');
  });

  it('the overview counts them in an index, and reads none of their rows', async () => {
    const shop = await openWebhook();
    const statements = await statementsOf(() => createWebhookQueue(shop.database.orm));
    const counts = statements.filter((text) => /count\(\*\).*receiver_id not in/s.test(text));
    expect(counts).toHaveLength(1);
    const sqlite = new SqliteDatabase(shop.path, { readonly: true });
    const table = sqlite
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'deliveries'")
      .pluck()
      .get();
    const steps = sqlite.prepare(`EXPLAIN ${counts[0]}`).all(1, 1) as Opcode[];
    sqlite.close();
    // https://www.sqlite.org/opcode.html: a cursor that no Column names is never moved to its row.
    const cursors = steps.filter(({ opcode, p2 }) => opcode === 'OpenRead' && p2 === table);
    const read = steps.filter(({ opcode }) => opcode === 'Column').map(({ p1 }) => p1);
    expect(cursors).toHaveLength(2);
    expect(read.filter((cursor) => cursors.some(({ p1 }) => p1 === cursor))).toEqual([]);
  });
});

describe('old rows', () => {
  it('stay if a clock that was a year behind made them after newer ones', async () => {
    const shop = await openWebhook();
    const [old, behind] = [now - 100 * dayMs, now - 365 * dayMs];
    for (const createdAt of [old, now - dayMs, behind, behind]) {
      addEvent(shop, { state: 'delivered', createdAt });
    }
    for (const startedAt of [old, now - dayMs, behind, behind]) {
      shop.database.orm
        .insert(attempts)
        .values({
          ...attempt('delivered', startedAt),
          channel: 'webhook',
          deliveryId: 4,
          phases: '{}',
        })
        .run();
    }
    const fold = () => shop.write((tx) => shop.webhooks.fold(tx, now - 90 * dayMs));
    expect([await fold(), await fold()]).toEqual([true, false]);
    expect(shop.webhooks.list({ limit: 9 }).map(({ id }) => id)).toEqual([4, 3, 2]);
    const times = shop.webhooks.attempts(4).map(({ startedAt }) => startedAt);
    expect(times).toEqual([now - dayMs, behind, behind]);
  });

  it('are deleted, but not an event that is pending', async () => {
    const shop = await openWebhook();
    const old = now - 91 * dayMs;
    const { orm } = shop.database;
    for (const state of ['delivered', 'owed', 'unsent'] as const) {
      addEvent(shop, { state, createdAt: old });
    }
    addEvent(shop, { state: 'delivered' });
    for (const [deliveryId, startedAt] of [
      [1, old],
      [2, old],
      [4, now],
    ] as const) {
      orm
        .insert(attempts)
        .values({
          ...attempt('delivered', startedAt),
          channel: 'webhook',
          deliveryId,
          phases: '{}',
        })
        .run();
    }
    const fold = () => shop.write((tx) => shop.webhooks.fold(tx, now - 90 * dayMs));
    expect([await fold(), await fold()]).toEqual([true, false]);
    expect(shop.webhooks.list({ limit: 9 }).map(({ id }) => id)).toEqual([4, 2]);
    expect(orm.select().from(attempts).all()).toMatchObject([{ deliveryId: 4 }]);
    expect(shop.webhooks.depths(9)).toEqual({ owed: 1, exhausted: 0, done: 2 });
    orm.update(webhooks).set({ url: null }).run();
    await fold();
    expect(
      orm
        .select()
        .from(deliveries)
        .where(and(isOf('webhook'), eq(deliveries.id, 2)))
        .all(),
    ).toEqual([]);
  });
});
