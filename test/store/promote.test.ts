// A block by which more payments become final than one commit takes.

import { asc } from 'drizzle-orm';
import { afterEach, expect, it } from 'vitest';
import { idBytes, idOf } from '../../src/domain/order/order-id.ts';
import type { Records } from '../../src/store/open-records.ts';
import { createPaymentRecords } from '../../src/store/payments/payment-records.ts';
import { deliveries, isOf } from '../../src/store/schema/delivery-schema.ts';
import { payments } from '../../src/store/schema/schema.ts';
import { promote } from '../../src/watcher/finality-hold.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop } from '../support/ledger.ts';
import { plansOf, statementsOf } from '../support/plans.ts';
import { now } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const count = 450;
const world = createTestWorld();

/** Payments with one confirmation, and a block more that is not followed yet. */
async function confirming(): Promise<Shop> {
  const shop = await openShop();
  const issued = await shop.write((tx) =>
    Array.from({ length: count }, () => shop.addresses.issue(tx, now, 1, 1)),
  );
  shop.chain.pay(issued.map(({ address }) => ({ address, valueSat: 1_000 })));
  await shop.mine();
  for (const each of issued) await shop.observe(each);
  shop.chain.mine();
  return shop;
}

const follow = (shop: Shop, records: Records = shop): Promise<number> =>
  promote({ records, world }, (tx) => {
    const result = shop.connect();
    if (result.kind === 'best') shop.headers.setBest(tx, result.added, result.forkHeight);
  });

const statuses = (shop: Shop): string[] =>
  [...Map.groupBy(shop.outbox.list({ limit: 10_000 }), ({ paymentId }) => paymentId).values()].map(
    (told) => told.map(({ status }) => status).join(' '),
  );

/** The store, whose commits are counted and fail from one on. */
function failingFrom(shop: Shop, first: number) {
  const seen = { commits: 0 };
  const write: Records['database']['write'] = (work) => {
    seen.commits += 1;
    return seen.commits < first
      ? shop.database.write(work)
      : Promise.reject(new Error('the process has ended'));
  };
  return { seen, records: { ...shop, database: { ...shop.database, write } } };
}

it('becomes final in several commits, each payment once', async () => {
  const shop = await confirming();
  const { seen, records } = failingFrom(shop, Number.POSITIVE_INFINITY);
  expect(await follow(shop, records)).toBe(count);
  expect(seen.commits).toBe(3);
  expect(new Set(statuses(shop))).toEqual(new Set(['2 1']));
  expect(await promote({ records: shop, world })).toBe(0);
});

it('a start finishes the promotions that a crash interrupted', async () => {
  const shop = await confirming();
  await expect(follow(shop, failingFrom(shop, 2).records)).rejects.toThrow('ended');
  expect(statuses(shop).filter((told) => told === '2 1')).toHaveLength(200);
  expect(await promote({ records: shop, world })).toBe(count - 200);
  expect(new Set(statuses(shop))).toEqual(new Set(['2 1']));
});

it('decides nothing about payments that left the block meanwhile', async () => {
  const shop = await confirming();
  const { records } = failingFrom(shop, 2);
  await expect(follow(shop, records)).rejects.toThrow('ended');
  const [first] = shop.ledger.maturing();
  const { orm } = shop.database;
  const before = statuses(shop);
  await shop.write((tx) => {
    orm.update(payments).set({ state: 'dropped', height: null, blockHash: null }).run();
    expect(shop.ledger.promote(tx, now, [first ?? 0])).toBe(0);
  });
  expect(statuses(shop)).toEqual(before);
});

it('the payments of one commit are found by id, however many others are in the block', async () => {
  const { path, database } = await openShop();
  const statements = await statementsOf(() => createPaymentRecords(database.orm));
  const parts = statements.filter((text) => text.includes('json_each'));
  expect(parts).toHaveLength(1);
  expect(plansOf(path, parts).flat()).toContainEqual(
    'SEARCH payments USING INTEGER PRIMARY KEY (rowid=?)',
  );
});

/** An order of three payments in one block, and the block that confirms them. */
async function orderOfThree() {
  const shop = await openShop({
    ...{ webhookUrl: 'https://shop.example/hook', webhookEvents: 'order,payment', callbackUrl: '' },
  });
  const others = await shop.issue();
  const issued = await shop.issue();
  const { id } = await shop.write((tx) =>
    shop.orders.create(tx, now, {
      ...{ publicId: idOf('ord', new Uint8Array(idBytes)), storeId: 1, addressId: issued.id },
      ...{ price: { kind: 'sat', amountSat: 3_000 }, rateCents: null, toleranceBasisPoints: 0 },
      ...{ latePolicy: 'worth', quoteSeconds: 900, expiresAt: null, reference: null },
      ...{ description: null, metadata: {}, returnUrl: null, language: null },
    }),
  );
  const place = { address: issued.address, valueSat: 1_000 };
  for (let payment = 0; payment < 3; payment += 1) {
    shop.chain.pay([place]);
    // The ids of the payments of one address do not follow each other.
    shop.chain.pay([{ ...place, address: others.address }]);
    await shop.observe(issued);
    await shop.observe(others);
  }
  await shop.mine();
  await shop.observe(issued);
  await shop.observe(others);
  return { shop, issued, others, id };
}

const eventsOf = (shop: Shop) =>
  shop.database.orm
    .select({ type: deliveries.type, orderId: deliveries.orderId, body: deliveries.content })
    .from(deliveries)
    .where(isOf('webhook'))
    .orderBy(asc(deliveries.id))
    .all();

it('settles an order once for all its payments, with an event of each', async () => {
  const { shop, id } = await orderOfThree();
  const before = eventsOf(shop).length;
  let changes = 0;
  shop.events.on('orderChanged', () => {
    changes += 1;
  });
  await shop.mine();
  const fresh = eventsOf(shop).slice(before);
  expect(changes).toBe(1);
  expect(fresh.filter(({ orderId }) => orderId === id).map(({ type }) => type)).toEqual([
    ...['payment.confirmed', 'payment.confirmed', 'payment.confirmed', 'order.paid'],
  ]);
  expect(fresh.filter(({ orderId }) => orderId === null).map(({ type }) => type)).toEqual([
    ...['payment.confirmed', 'payment.confirmed', 'payment.confirmed'],
  ]);
  expect(new Set(fresh.map(({ body }) => body)).size).toBe(fresh.length);
});

it('has the payments of an address together, so that one commit takes them', async () => {
  const { shop, issued, others } = await orderOfThree();
  const addressOf = new Map(
    [issued, others].flatMap((each) => shop.payments(each).map(({ id }) => [id, each.id])),
  );
  const maturing = shop.ledger.maturing();
  expect(maturing.map((id) => addressOf.get(id))).toEqual([
    ...[others.id, others.id, others.id, issued.id, issued.id, issued.id],
  ]);
  expect(maturing.slice(0, 3)).toEqual(maturing.slice(0, 3).toSorted((a, b) => a - b));
});
