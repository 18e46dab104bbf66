// kill -9 at 200 random moments around an acknowledged delivery. No callback is lost. None arrives
// more than twice, and a repeated one has the same id.

import { sql } from 'drizzle-orm';
import { afterEach, expect, it } from 'vitest';
import { deliveries, nextId } from '../../src/store/schema/delivery-schema.ts';
import { orders } from '../../src/store/schema/order-schema.ts';
import { webhooks } from '../../src/store/schema/schema.ts';
import { openOwed } from '../delivery/owed.ts';
import { startChild } from '../support/child.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';

afterEach(cleanUp);

const program = `${import.meta.dirname}/deliver.ts`;
const kills = 200;
const owedAtOnce = 4;
/** The longest time from a response to the kill: longer than the record of a response takes. */
const maxMs = 40;

it(`${kills} kills lose no callback and repeat none more than once`, async () => {
  const shop = await startReceiver();
  whenOver(() => shop.close());
  const owed = openOwed();
  whenOver(owed.close);
  for (const path of ['/one', '/two']) owed.addStore({ callbackUrl: shop.origin + path });
  const count = kills * owedAtOnce;
  for (let payment = 0; payment < count; payment += 1) owed.addPayment(1 + ((payment + 1) % 2));

  for (let kill = 0; kill < kills; kill += 1) {
    // First it delivers the callbacks that are pending since the previous kill.
    const child = startChild(program, owed.path);
    expect(await child.line()).toBe('idle');
    const from = 1 + kill * owedAtOnce;
    const before = shop.requests.length;
    child.say(`${from} ${from + owedAtOnce}`);
    expect(await child.line()).toBe('added');
    // The receiver responds in the turn after the request.
    await shop.waitFor(before + 1 + (kill % owedAtOnce));
    const waitMs = Math.random() * maxMs;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    child.kill();
    expect(await child.ended).toEqual({ by: 'SIGKILL', errors: '' });
  }
  const last = startChild(program, owed.path);
  expect(await last.line()).toBe('idle');
  last.kill();
  await last.ended;

  const states = owed.outbox.list({ limit: 10_000 });
  expect(states).toHaveLength(count);
  expect(new Set(states.map(({ state }) => state))).toEqual(new Set(['delivered']));
  const idsOf = new Map<string, string[]>();
  for (const { url, headers } of shop.requests) {
    idsOf.set(url, [...(idsOf.get(url) ?? []), headers['webhook-id'] ?? '']);
  }
  const times = [...idsOf.values()];
  expect(times).toHaveLength(count);
  expect(times.filter((ids) => ids.length > 2 || new Set(ids).size > 1)).toEqual([]);
  const twice = times.filter((ids) => ids.length === 2).length;
  process.stdout.write(
    `${kills} kills, ${count} callbacks: 0 lost, ${twice} twice, 0 more often\n`,
  );
  // At least one kill fell between a response and its record.
  expect(twice).toBeGreaterThan(0);
});

const invoiceKills = 60;

it(`${invoiceKills} kills change no order of the events of an invoice`, async () => {
  const shop = await startReceiver();
  whenOver(() => shop.close());
  const owed = openOwed();
  whenOver(owed.close);
  const storeId = owed.addStore();
  const { orm } = owed.database;
  const webhook = { storeId, format: 'btcpay', url: shop.origin, events: '', secret: 's' } as const;
  const { id: webhookId } = orm.insert(webhooks).values(webhook).returning().get();
  const types = ['ReceivedPayment', 'Processing', 'PaymentSettled', 'Settled'] as const;
  for (let kill = 0; kill < invoiceKills; kill += 1) {
    owed.addPayment(storeId);
    const addressId = kill + 1;
    const publicId = `ord_${addressId}`;
    const { id: orderId } = orm
      .insert(orders)
      .values({
        ...{ publicId, storeId, addressId, amountSat: 1, quoteSeconds: 900, createdAt: 0 },
        ...{ toleranceBasisPoints: 0, latePolicy: 'worth', status: 'paid', version: 1 },
        fingerprint: '',
      })
      .returning()
      .get();
    for (const type of types) {
      orm
        .insert(deliveries)
        .values({
          ...{ channel: 'webhook', id: nextId('webhook'), storeId, webhookId, addressId, orderId },
          ...{ eventId: `${publicId} ${type}`, type: `Invoice${type}`, state: 'owed' },
          content: JSON.stringify({ type, invoiceId: publicId }),
          ...{ createdAt: Date.now(), nextAttemptAt: Date.now() },
        })
        .run();
    }
    const before = shop.requests.length;
    const child = startChild(program, owed.path, 'webhook');
    await shop.waitFor(before + 1 + (kill % types.length));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * maxMs));
    child.kill();
    await child.ended;
  }
  const last = startChild(program, owed.path, 'webhook');
  expect(await last.line()).toBe('idle');
  last.kill();
  await last.ended;
  const received = Map.groupBy(
    shop.requests.map(({ body = '' }) => JSON.parse(body)),
    ({ invoiceId }) => invoiceId,
  );
  expect(received.size).toBe(invoiceKills);
  for (const events of received.values()) {
    expect([...new Set(events.map(({ type }) => type))]).toEqual(types);
    // A repetition comes before the next event.
    expect(events.map(({ type }) => types.indexOf(type))).toEqual(
      events.map(({ type }) => types.indexOf(type)).sort(),
    );
    for (const type of types) {
      const times = events.filter((each) => each.type === type);
      // Two kills can fall into one event. One whose request never arrived is a repetition as well.
      expect(times.slice(1).every(({ isRedelivery }) => isRedelivery)).toBe(true);
    }
  }
});

it('a kill changes no due time', async () => {
  const shop = await startReceiver({ answer: () => ({ status: 500 }) });
  whenOver(() => shop.close());
  const owed = openOwed();
  whenOver(owed.close);
  const storeId = owed.addStore({ callbackUrl: shop.origin });
  const payments = Array.from({ length: 20 }, () => owed.addPayment(storeId));
  await owed.enqueue(Date.now(), ...payments);
  const dueTimes = () => owed.outbox.list({ limit: 100 }).map((row) => row.nextAttemptAt);
  const first = startChild(program, owed.path);
  expect(await first.line()).toBe('idle');
  first.kill();
  await first.ended;
  // A failing shop gets one request a second, so most callbacks have had no attempt.
  const attempts = shop.requests.length;
  expect(attempts).toBeGreaterThan(0);
  // None becomes due during the test, and each delay is one that its step allows.
  const later = Date.now() + 3_600_000;
  owed.database.orm
    .update(deliveries)
    .set({ step: 12, nextAttemptAt: sql`${later} + id * 1000` })
    .run();
  const before = dueTimes();
  const second = startChild(program, owed.path);
  expect(await second.line()).toBe('idle');
  second.kill();
  await second.ended;
  expect(dueTimes()).toEqual(before);
  expect(shop.requests).toHaveLength(attempts);
});

it('a kill preserves when a doubtful 200 is confirmed, and an interrupted attempt is repeated', async () => {
  let body = 'Error: secret does not match';
  const shop = await startReceiver({ answer: () => ({ status: 200, body }) });
  whenOver(() => shop.close());
  const owed = openOwed();
  whenOver(owed.close);
  await owed.enqueue(Date.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
  const first = startChild(program, owed.path);
  expect(await first.line()).toBe('idle');
  first.kill();
  await first.ended;
  const { confirmAt } = owed.outbox.callback(1);
  expect(confirmAt).toBeGreaterThan(Date.now() + 4 * 60_000);

  shop.script('hang');
  const due = () => owed.database.orm.update(deliveries).set({ confirmAt: Date.now() }).run();
  due();
  const second = startChild(program, owed.path);
  await shop.waitFor(2);
  second.kill();
  await second.ended;
  body = 'ok';
  const third = startChild(program, owed.path);
  expect(await third.line()).toBe('idle');
  third.kill();
  await third.ended;
  expect(owed.outbox.callback(1)).toMatchObject({
    state: 'delivered',
    confirmAt: null,
    doubt: null,
  });
  expect(new Set(shop.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(shop.requests).toHaveLength(3);
});
