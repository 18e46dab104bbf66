// Orders in the file: what payments, the time and commands make of them, and the events that follow
// in the same commit.

import { asc, sql } from 'drizzle-orm';
import { afterEach, describe, expect, it, test } from 'vitest';
import type { Scripthash } from '../../../src/bitcoin/ids.ts';
import type { OrderJson } from '../../../src/domain/order/order-json.ts';
import { maxRowsRead } from '../../../src/store/db/searched-list.ts';
import { type NewOrder, Orders } from '../../../src/store/orders/orders.ts';
import { deliveries, eventColumns, isOf } from '../../../src/store/schema/delivery-schema.ts';
import { cleanUp } from '../../support/files.ts';
import { openShop, type Shop } from '../../support/ledger.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { now } from '../../support/store.ts';

afterEach(cleanUp);

const hour = 3_600_000;
const publicId = 'ord_3yQ8tZr6WmB1nK5vXc2dLp';

/** 12.50 EUR at 50,000 EUR a bitcoin: 25,000 sat. */
const priced: Omit<NewOrder, 'addressId' | 'storeId' | 'publicId'> = {
  price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
  rateCents: 5_000_000,
  toleranceBasisPoints: 50,
  latePolicy: 'worth',
  quoteSeconds: 900,
  expiresAt: now + hour,
  reference: '1007',
  description: '2 posters',
  metadata: { cart: '7f' },
  returnUrl: 'https://shop.example/thanks/1007',
  language: 'de',
};

async function ordered(
  changes: Partial<NewOrder> = {},
  terms: Parameters<typeof openShop>[0] = {},
) {
  const shop = await openShop({ webhookUrl: 'https://shop.example/hook', ...terms });
  const issued = await shop.issue();
  const order = { ...priced, publicId, storeId: 1, addressId: issued.id, ...changes };
  const { id } = await shop.write((tx) => shop.orders.create(tx, now, order));
  const json = (at = now): OrderJson => {
    const row = shop.orderView.byPublicId(publicId);
    if (row === undefined) throw new Error('there is no order');
    return shop.orderView.json(row, at);
  };
  return { shop, issued, id, json };
}

const recordedEvents = (shop: Shop) =>
  shop.database.orm
    .select(eventColumns)
    .from(deliveries)
    .where(isOf('webhook'))
    .orderBy(asc(deliveries.id))
    .all();
const typesOf = (shop: Shop) => recordedEvents(shop).map(({ type }) => type);
const statesOf = (shop: Shop) => recordedEvents(shop).map(({ state }) => state);

describe('a new order', () => {
  it('has a quote, an address of its own, and no event', async () => {
    const { shop, issued, json } = await ordered();
    expect(json()).toEqual({
      ...{ id: publicId, store_id: 1, link_id: null, version: 1, status: 'open', late: false },
      ...{ amount: '12.50', currency: 'EUR', amount_sat: 25_000, received_sat: 0 },
      ...{ adjust_percent: 0, amount_due: '12.50' },
      ...{ confirmed_sat: 0, missing_sat: 25_000, excess_sat: 0, address: issued.address },
      quote: {
        rate: '50000.00',
        amount_sat: 25_000,
        created_at: now / 1000,
        expires_at: now / 1000 + 900,
      },
      uri: `bitcoin:${issued.address}?amount=0.00025&label=Shop`,
      lightning: null,
      page_url: `/o/${publicId}`,
      ...{ reference: '1007', description: '2 posters', metadata: { cart: '7f' } },
      ...{ return_url: 'https://shop.example/thanks/1007', language: 'de', customer_email: null },
      ...{ created_at: now / 1000, expires_at: (now + hour) / 1000, paid_at: null },
      ...{ canceled_at: null, accepted_at: null, payments: [], refunds: [] },
    });
    expect(recordedEvents(shop)).toEqual([]);
    expect(shop.row(issued).orderId).toBe(1);
  });

  it('has no amount to pay once its quote lapsed, until a new quote', async () => {
    const { shop, id, json } = await ordered();
    const later = now + 900_000;
    expect(json(later)).toMatchObject({ quote: null, missing_sat: null, uri: null });
    await shop.write((tx) => shop.orders.quote(tx, later, id, 6_250_000));
    expect(json(later)).toMatchObject({ amount_sat: 20_000, missing_sat: 20_000, version: 1 });
    expect(recordedEvents(shop)).toEqual([]);
  });

  it('is never the address of another request', async () => {
    const { shop, issued } = await ordered();
    expect(shop.addresses.unpaidSince(1, 1, 0)).toBeUndefined();
    expect((await shop.issue()).address).not.toBe(issued.address);
  });
});

describe('the money of an order', () => {
  it('makes it processing, then paid, each with an event that holds the whole order', async () => {
    const { shop, issued, json } = await ordered({}, { requiredConfirmations: 2 });
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.observe(issued);
    expect(json()).toMatchObject({ status: 'processing', version: 2, missing_sat: 0, uri: null });
    expect(json().payments).toMatchObject([{ value_sat: 25_000, rate: '50000.00', status: 0 }]);
    await shop.mine();
    await shop.observe(issued);
    expect(json()).toMatchObject({ status: 'processing', version: 2, confirmed_sat: 0 });
    await shop.mine();
    expect(json()).toMatchObject({ status: 'paid', version: 3, confirmed_sat: 25_000 });
    const [processing, paid] = recordedEvents(shop);
    expect(processing).toMatchObject({ type: 'order.processing', state: 'superseded' });
    expect(paid).toMatchObject({ type: 'order.paid', state: 'owed', orderId: 1 });
    const told = JSON.parse(paid?.body ?? '');
    expect(told).toEqual({
      type: 'order.paid',
      timestamp: new Date(now).toISOString().replace('.000Z', 'Z'),
      data: { was: 'processing', order: json() },
    });
  });

  it('in two parts is updated, then processing', async () => {
    const { shop, issued, json } = await ordered();
    shop.chain.pay([{ address: issued.address, valueSat: 10_000 }]);
    await shop.observe(issued);
    expect(json()).toMatchObject({ status: 'open', missing_sat: 15_000 });
    shop.chain.pay([{ address: issued.address, valueSat: 15_000 }]);
    await shop.observe(issued);
    expect(typesOf(shop)).toEqual(['order.updated', 'order.processing']);
  });

  it('is reversed by a reorganisation, and nobody hears of a paid that had not left', async () => {
    const { shop, issued, json } = await ordered({}, { requiredConfirmations: 1 });
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.observe(issued);
    shop.database.orm.update(deliveries).set({ state: 'delivered' }).where(isOf('webhook')).run();
    await shop.mine();
    await shop.observe(issued);
    expect(typesOf(shop)).toEqual(['order.processing', 'order.paid']);
    shop.chain.reorganise(1, { blocks: 2, transactions: 'mempool' });
    await shop.follow();
    await shop.observe(issued);
    expect(statesOf(shop)).toEqual(['delivered', 'superseded', 'superseded']);
    expect(json()).toMatchObject({ status: 'processing', paid_at: null, version: 4 });
  });

  it('is told as reversed where the shop never heard of the status that is left', async () => {
    const { shop, issued, json } = await ordered({}, { requiredConfirmations: 1 });
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.mine();
    await shop.observe(issued);
    expect(typesOf(shop)).toEqual(['order.paid']);
    shop.chain.reorganise(1, { blocks: 2, transactions: 'mempool' });
    await shop.follow();
    await shop.observe(issued);
    expect(typesOf(shop)).toEqual(['order.paid', 'order.reversed']);
    expect(statesOf(shop)).toEqual(['superseded', 'owed']);
    expect(json()).toMatchObject({ status: 'processing', paid_at: null, version: 3 });
  });

  it('needs the depth of the whole order also in small parts', async () => {
    const { shop, issued, json } = await ordered(
      {},
      { requiredConfirmations: 1, confirmationBands: '[{"aboveSat":20000,"confirmations":3}]' },
    );
    shop.chain.pay([{ address: issued.address, valueSat: 12_500 }]);
    shop.chain.pay([{ address: issued.address, valueSat: 12_500 }]);
    await shop.mine();
    await shop.observe(issued);
    expect(json().status).toBe('processing');
    expect(shop.told()).toEqual([1, 1]);
    await shop.mine(2);
    expect(json().status).toBe('paid');
    expect(shop.told()).toEqual([1, 1, 2, 2]);
  });

  it('needs the depth of the price of its newest quote, also in small parts', async () => {
    const confirmationBands = '[{"aboveSat":30000,"confirmations":3}]';
    const { shop, issued, id, json } = await ordered(
      {},
      { requiredConfirmations: 1, confirmationBands },
    );
    // At half the rate, 25,000 sat become 50,000.
    const later = now + 900_000;
    await shop.write((tx) => shop.orders.quote(tx, later, id, 2_500_000));
    expect(shop.orders.priceOf(id)).toMatchObject({ amountSat: 50_000, currency: 'EUR' });
    for (const valueSat of [25_000, 25_000])
      shop.chain.pay([{ address: issued.address, valueSat }]);
    await shop.mine();
    await shop.write((tx) => shop.ledger.apply(tx, later, shop.observation(issued)));
    expect(json(later).status).toBe('processing');
    await shop.mine(2);
    expect(json(later).status).toBe('paid');
  });

  it('keeps the time at which the order was first paid, until it is reversed', async () => {
    const { shop, issued, json } = await ordered({}, { requiredConfirmations: 1 });
    const observe = (at: number) =>
      shop.write((tx) => shop.ledger.apply(tx, at, shop.observation(issued)));
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.mine();
    await observe(now + 1_000);
    expect(json()).toMatchObject({ status: 'paid', paid_at: now / 1000 + 1 });
    shop.chain.pay([{ address: issued.address, valueSat: 5_000 }]);
    await observe(now + 9_000);
    expect(json()).toMatchObject({ status: 'paid', version: 3, paid_at: now / 1000 + 1 });
    const told = recordedEvents(shop).map(({ body }) => JSON.parse(body).data.order.paid_at);
    expect(told).toEqual([now / 1000 + 1, now / 1000 + 1]);
    shop.chain.reorganise(1, { blocks: 2, transactions: 'mempool' });
    await shop.follow();
    await observe(now + 20_000);
    expect(json()).toMatchObject({ status: 'processing', paid_at: null });
    await shop.mine();
    await observe(now + 30_000);
    expect(json()).toMatchObject({ status: 'paid', paid_at: now / 1000 + 30 });
  });

  it('in the currency of the order waits for its price where it is late', async () => {
    const { shop, issued, json } = await ordered({ expiresAt: null });
    const seenAt = now + 2 * hour;
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.write((tx) => shop.ledger.apply(tx, seenAt, shop.observation(issued)));
    expect(json(seenAt)).toMatchObject({ status: 'open', late: true, received_sat: 25_000 });
    const price = { currency: 'EUR', priceCents: 5_100_000, sources: ['a.example'] };
    await shop.write((tx) => shop.receiptPrices.put(tx, seenAt, now, price, 10));
    expect(json(seenAt)).toMatchObject({ status: 'processing', late: true });
    expect(json(seenAt).payments).toMatchObject([{ rate: '50000.00', late: true }]);
    expect(typesOf(shop)).toEqual(['order.updated', 'order.processing']);
  });
});

describe('the time of an order', () => {
  const over = now + hour;

  it('expires it once its address was looked at', async () => {
    const { shop, json } = await ordered();
    const expire = (at: number, isPending = false) =>
      shop.write((tx) => shop.orders.expire(tx, at, () => isPending, 200));
    expect(await expire(over - 1)).toBe(0);
    expect(json(over).status).toBe('open');
    await expire(over, true);
    expect(json(over).status).toBe('open');
    await expire(over);
    expect(json(over)).toMatchObject({ status: 'expired', uri: null, missing_sat: null });
    expect(await expire(over)).toBe(0);
    expect(typesOf(shop)).toEqual(['order.expired']);
  });

  it('expires orders behind any number of those whose addresses are pending', async () => {
    const { shop } = await ordered();
    const last = 205;
    for (let number = 2; number <= last; number += 1) {
      const { id: addressId } = await shop.issue();
      const order = { ...priced, publicId: `ord_${number}`, storeId: 1, addressId };
      await shop.write((tx) => shop.orders.create(tx, now, { ...order, expiresAt: over + number }));
    }
    const isPending = (scripthash: Scripthash) =>
      (shop.addresses.byScripthash(scripthash)?.id ?? 0) < last - 1;
    const at = over + last;
    const due = (...asked: Parameters<typeof shop.orders.expiring>) =>
      shop.orders.expiring(...asked).map(({ id }) => id);
    expect(due(at, isPending, 200)).toEqual([last - 1, last]);
    const expire = (limit: number) =>
      shop.write((tx) => shop.orders.expire(tx, at, isPending, limit));
    expect([await expire(1), await expire(200), await expire(200)]).toEqual([1, 1, 0]);
    expect(typesOf(shop)).toEqual(['order.expired', 'order.expired']);
    expect(due(at, () => false, 3)).toEqual([1, 2, 3]);
  });

  it('that is not over any more opens orders again, a part of them at once', async () => {
    const { shop, json } = await ordered();
    const { id: addressId } = await shop.issue();
    const second = { ...priced, publicId: 'ord_2', storeId: 1, addressId, expiresAt: over + 1 };
    await shop.write((tx) => shop.orders.create(tx, now, second));
    await shop.write((tx) => shop.orders.expire(tx, over + hour, () => false, 200));
    const reopen = (at: number, limit: number) =>
      shop.write((tx) => shop.orders.reopen(tx, at, limit));
    expect(shop.orders.unexpired(over + 1, 9)).toEqual([]);
    expect(shop.orders.unexpired(over, 9)).toEqual([2]);
    expect(shop.orders.unexpired(over - 1, 9)).toEqual([1, 2]);
    expect([await reopen(over, 200), await reopen(over, 200)]).toEqual([1, 0]);
    expect([await reopen(now, 1), await reopen(now, 1)]).toEqual([1, 0]);
    expect(json()).toMatchObject({ status: 'open', version: 3, missing_sat: 25_000 });
    expect(typesOf(shop)).toEqual([
      ...['order.expired', 'order.expired', 'order.updated', 'order.updated'],
    ]);
    // It waits for a new scan.
    expect(json(over + hour).status).toBe('open');
  });

  it('is read by its index', async () => {
    const { shop } = await ordered();
    const { database, orderView: view, events: listeners, notifications } = shop;
    const texts = { events: {} as never, baseUrl: '' };
    const parts = { orm: database.orm, view, listeners, notifications, ...texts };
    const statements = await statementsOf(() => new Orders(parts));
    const due = statements.filter(
      (text) => /"status" = 'open'/.test(text) && !/payments/.test(text),
    );
    expect(due).toHaveLength(2);
    const [ending, expiring] = plansOf(shop.path, due).map((steps) => steps.join('; '));
    expect(ending).toMatch(
      /^SEARCH orders USING (COVERING )?INDEX orders_expiring \(expires_at<\?\)$/,
    );
    expect(expiring).toContain('SEARCH orders USING INDEX orders_expiring (expires_at>? AND');
    expect(expiring).not.toContain('TEMP B-TREE');
    const ended = statements.filter((text) => /"status" = 'expired' and/.test(text));
    const [unexpired] = plansOf(shop.path, ended).map((steps) => steps.join('; '));
    expect(unexpired).toBe('SEARCH orders USING COVERING INDEX orders_expired (expires_at>?)');
  });

  it('is no obstacle to enough money', async () => {
    const { shop, issued, json } = await ordered({
      price: { kind: 'sat', amountSat: 25_000 },
      rateCents: null,
    });
    await shop.write((tx) => shop.orders.expire(tx, over, () => false, 200));
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.write((tx) => shop.ledger.apply(tx, over + hour, shop.observation(issued)));
    expect(json(over + hour)).toMatchObject({ status: 'processing', late: true, quote: null });
    expect(typesOf(shop)).toEqual(['order.expired', 'order.processing']);
  });
});

describe('money that is in no block for a day', () => {
  const day = 24 * hour;
  const inSat = { price: { kind: 'sat', amountSat: 25_000 }, rateCents: null } as const;
  const paid = async (changes: Partial<NewOrder>, valueSat = 25_000) => {
    const ordering = await ordered({ expiresAt: null, ...changes });
    const { shop, issued, id } = ordering;
    shop.chain.pay([{ address: issued.address, valueSat }]);
    await shop.observe(issued);
    const due = (at: number, waits = false) => shop.orders.unmined(at, () => waits, 10);
    const review = (at: number) =>
      shop.write((tx) => shop.orders.reviewUnmined(tx, at, () => false, 10));
    return { ...ordering, id, due, review };
  };

  it('is taken out of its order once', async () => {
    const { shop, id, due, review, json } = await paid({});
    expect(due(now + day)).toEqual([]);
    expect(due(now + day + 1)).toEqual([id]);
    expect(due(now + day + 1, true)).toEqual([]);
    expect(await review(now + day + 1)).toBe(1);
    expect(json()).toMatchObject({ status: 'open', late: true, received_sat: 25_000 });
    expect(typesOf(shop)).toEqual(['order.processing', 'order.reversed']);
    expect(due(now + 9 * day)).toEqual([]);
  });

  it('counts in an order in satoshis, in one that was accepted, and once it is mined', async () => {
    expect((await paid(inSat)).due(now + 2 * day)).toEqual([]);
    const part = await paid({}, 9_000);
    expect(part.due(now + 2 * day)).toEqual([part.id]);
    await part.shop.write((tx) => part.shop.orders.accept(tx, now, part.id));
    expect(part.due(now + 2 * day)).toEqual([]);
    const mined = await paid({});
    await mined.shop.mine();
    await mined.shop.observe(mined.issued);
    expect(mined.due(now + 2 * day)).toEqual([]);
  });

  it('is looked for among so many payments at once, and then among those behind them', async () => {
    const { shop, id, due, review } = await paid({});
    const { id: addressId } = await shop.issue();
    const addOlder = (from: number, to: number) =>
      shop.database.orm.run(sql`insert into payments
          (address_id, txid, value_sat, state, first_seen_at, changed_at)
        with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to})
        select ${addressId}, 'n' || i, 1000, 'unconfirmed', ${now - 2}, 0 from n`);
    const at = now + day + 1;
    addOlder(1, maxRowsRead - 1);
    expect(due(at)).toEqual([id]);
    addOlder(maxRowsRead, maxRowsRead);
    expect(due(at)).toEqual([]);
    shop.orders.passUnmined(at);
    expect(due(at)).toEqual([id]);
    expect(await review(at)).toBe(1);
    expect(due(at)).toEqual([]);
    shop.database.orm.run(sql`update orders set scanned_at = null`);
    expect(due(at)).toEqual([id]);
    shop.orders.passUnmined(at);
    expect(due(at)).toEqual([]);
    shop.orders.passUnmined(at);
    expect(due(at)).toEqual([id]);
  });

  it('does not make an order expire that other servers were not asked for', async () => {
    const { due } = await paid({ expiresAt: now + hour }, 9_000);
    expect(due(now + 2 * day)).toEqual([]);
  });
});

describe('a command', () => {
  it('cancels an open order once', async () => {
    const { shop, id, json } = await ordered();
    await shop.write((tx) => shop.orders.cancel(tx, now, id));
    await shop.write((tx) => shop.orders.cancel(tx, now, id));
    expect(json()).toMatchObject({ status: 'canceled', canceled_at: now / 1000, uri: null });
    expect(typesOf(shop)).toEqual(['order.canceled']);
  });

  it('accepts what came, and refuses where nothing came', async () => {
    const { shop, issued, id, json } = await ordered();
    await expect(shop.write((tx) => shop.orders.accept(tx, now, id))).rejects.toThrow(
      'received nothing',
    );
    shop.chain.pay([{ address: issued.address, valueSat: 9_000 }]);
    await shop.observe(issued);
    await shop.write((tx) => shop.orders.accept(tx, now, id));
    expect(json()).toMatchObject({ status: 'processing', accepted_at: now / 1000 });
    await expect(shop.write((tx) => shop.orders.cancel(tx, now, id))).rejects.toThrow('processing');
  });
});

test.each<[string, number, (scene: Awaited<ReturnType<typeof ordered>>) => Promise<unknown>]>([
  ['open', 0, async () => {}],
  [
    'processing',
    0,
    async ({ shop, issued }) => {
      shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
      await shop.observe(issued);
    },
  ],
  [
    'paid',
    1,
    async ({ shop, issued }) => {
      shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
      await shop.mine(2);
      await shop.observe(issued);
    },
  ],
  ['canceled', 1, ({ shop, id }) => shop.write((tx) => shop.orders.cancel(tx, now, id))],
  [
    'expired',
    1,
    ({ shop }) => shop.write((tx) => shop.orders.expire(tx, now + hour, () => false, 9)),
  ],
])('the texts of an order that is %s are forgotten %i times', async (status, times, reach) => {
  const scene = await ordered();
  await reach(scene);
  const { shop, json } = scene;
  expect(json(now + hour).status).toBe(status);
  const forget = (before: number) => shop.write((tx) => shop.orders.forget(tx, before, 0, 9));
  expect(await forget(now)).toBe(0);
  expect(await forget(now + 1)).toBe(times);
  expect(json().reference).toBe(times === 0 ? '1007' : null);
  expect(await forget(now + 1)).toBe(0);
});

test('forgetting the texts of orders walks none of them twice', async () => {
  const { shop } = await ordered();
  const parts = { orm: shop.database.orm } as ConstructorParameters<typeof Orders>[0];
  const statements = await statementsOf(() => new Orders(parts));
  const forget = statements.filter((text) => /set "reference" = /.test(text));
  expect(forget).toHaveLength(1);
  const ofOrders = plansOf(shop.path, forget).map((plan) =>
    plan.filter((row) => /\borders\b/.test(row)),
  );
  expect(ofOrders).toEqual([
    [expect.stringMatching(/^SEARCH orders USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)$/)],
  ]);
});

describe('events', () => {
  it('are recorded and not owed where the store has no webhook', async () => {
    const { shop, issued } = await ordered({}, { webhookUrl: null });
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.observe(issued);
    expect(statesOf(shop)).toEqual(['unsent']);
  });

  it('of payments are recorded for a store that subscribes to them', async () => {
    const { shop, issued } = await ordered({}, { webhookEvents: 'order,payment' });
    const plain = await shop.issue();
    const txid = shop.chain.pay([{ address: plain.address, valueSat: 7_000 }]);
    await shop.observe(plain);
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.observe(issued);
    expect(typesOf(shop)).toEqual(['payment.seen', 'payment.seen', 'order.processing']);
    const [first, second] = recordedEvents(shop).map(({ body }) => JSON.parse(body).data);
    expect(first).toMatchObject({
      payment: { txid, value_sat: 7_000, rate: null, address: plain.address, status: 0 },
      order_id: null,
    });
    expect(second).toMatchObject({ payment: { rate: '50000.00' }, order_id: publicId });
  });

  it('of a payment that is mined again after a reorganisation have an id of their own', async () => {
    const { shop, issued, json } = await ordered(
      {},
      { webhookEvents: 'order,payment', requiredConfirmations: 2 },
    );
    const observe = (at: number) =>
      shop.write((tx) => shop.ledger.apply(tx, at, shop.observation(issued)));
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.mine();
    await observe(now + 1_000);
    shop.chain.reorganise(1, { blocks: 2, transactions: 'mempool' });
    await shop.follow();
    await observe(now + 2_000);
    await shop.mine();
    await observe(now + 3_000);
    const mined = recordedEvents(shop).filter(({ type }) => type === 'payment.mined');
    expect(new Set(mined.map(({ publicId }) => publicId)).size).toBe(2);
    expect(shop.row(issued).statusHash).toBe(shop.observation(issued).statusHash);
    expect(json().payments).toMatchObject([{ status: 1 }]);
  });

  it('of a payment supersede no event of its order: they hold no order', async () => {
    const terms = { webhookEvents: 'order,payment', requiredConfirmations: 2 } as const;
    const { shop, issued } = await ordered({}, terms);
    shop.chain.pay([{ address: issued.address, valueSat: 25_000 }]);
    await shop.observe(issued);
    await shop.mine();
    await shop.observe(issued);
    expect(recordedEvents(shop).map(({ type, state }) => [type, state])).toEqual([
      ['payment.seen', 'owed'],
      ['order.processing', 'owed'],
      ['payment.mined', 'owed'],
    ]);
    const failed = recordedEvents(shop)[1]?.id ?? 0;
    await shop.write((tx) => shop.webhooks.resend(tx, now, failed));
    expect(shop.webhooks.event(failed).state).toBe('owed');
  });

  it('have an id of their own', async () => {
    const { shop, issued } = await ordered();
    for (const valueSat of [6_000, 7_000]) {
      shop.chain.pay([{ address: issued.address, valueSat }]);
      await shop.observe(issued);
    }
    const ids = recordedEvents(shop).map((event) => event.publicId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^evt_[1-9A-HJ-NP-Za-km-z]{22}$/);
  });
});
