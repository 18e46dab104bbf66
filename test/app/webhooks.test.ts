// Orders of the whole app: the shop's webhook receives each event, with the order as a GET shows
// it.

import { eq } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { addresses } from '../../src/store/schema/schema.ts';
import type { StoreChange } from '../../src/store/wallets/catalog.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { signedIn } from '../support/visitor.ts';

const receivers: Receiver[] = [];

afterEach(async () => {
  await closeApps();
  for (const each of receivers.splice(0)) await each.close();
});

interface ReceivedEvent {
  readonly type: string;
  readonly data: { readonly was: string; readonly order: OrderJson };
}

const eventsAt = (hook: Receiver): ReceivedEvent[] =>
  hook.requests.map(({ body = '' }) => JSON.parse(body));
const typesAt = (hook: Receiver): string[] => eventsAt(hook).map(({ type }) => type);

async function openShop(change: StoreChange = {}) {
  const app = await openApp();
  const hook = await startReceiver();
  receivers.push(hook);
  const terms = { webhookUrl: `${hook.origin}/hook`, ...change };
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, terms)),
  );
  await untilReady(app);
  return { app, hook };
}

/** An order of 25,000 sat on a fresh address. */
async function order(app: TestApp, publicId = 'ord_3yQ8tZr6WmB1nK5vXc2dLp') {
  const address = await app.newAddress();
  await app.withStore(({ orders, database }) =>
    database.write((tx) => {
      const isIt = eq(addresses.address, address);
      const addressId = database.orm.select().from(addresses).where(isIt).get()?.id ?? 0;
      orders.create(tx, app.world.now(), {
        ...{ publicId, storeId: 1, addressId, price: { kind: 'sat', amountSat: 25_000 } },
        ...{ rateCents: null, toleranceBasisPoints: 0, latePolicy: 'worth', quoteSeconds: 900 },
        ...{ expiresAt: null, reference: '1007', description: null, metadata: {} },
        ...{ returnUrl: null, language: null },
      });
    }),
  );
  const json = () =>
    app.withStore(async ({ orderView }) => {
      const row = orderView.byPublicId(publicId);
      if (row === undefined) throw new Error('there is no order');
      return orderView.json(row, app.world.now());
    });
  return { address, json };
}

test('a paid order is posted as processing, then paid, as a GET shows it', async () => {
  const { app, hook } = await openShop();
  const { address, json } = await order(app);
  app.pay(address, 25_000);
  await app.settle();
  expect(eventsAt(hook)).toMatchObject([{ type: 'order.processing', data: { was: 'open' } }]);
  expect(eventsAt(hook)[0]?.data.order).toEqual(await json());
  app.chain.mine(2);
  await app.settle();
  expect(typesAt(hook)).toEqual(['order.processing', 'order.paid']);
  expect(eventsAt(hook)[1]?.data.order).toEqual(await json());
  expect(eventsAt(hook).map(({ data }) => data.order.version)).toEqual([2, 3]);
  // The callbacks leave as specified.
  expect(app.statuses(address)).toEqual(['0', '2']);
});

test('a shop that was down receives the newest state, and order.paid', async () => {
  const { app, hook } = await openShop();
  const { address } = await order(app);
  hook.script({ status: 503 }, { status: 503 }, { status: 503 });
  for (const valueSat of [5_000, 5_000, 15_000]) {
    app.pay(address, valueSat);
    await app.settle();
  }
  expect(typesAt(hook)).toEqual(['order.updated', 'order.updated', 'order.processing']);
  app.chain.mine(2);
  await app.settle();
  await app.world.advance(60_000);
  await app.settle();
  const received = typesAt(hook).slice(3);
  expect(received).toEqual(['order.paid']);
  const states = await app.withStore(async ({ webhooks }) =>
    webhooks.list({ limit: 9 }).map(({ type, state }) => [type, state]),
  );
  expect(states).toEqual([
    ['order.paid', 'delivered'],
    ['order.processing', 'superseded'],
    ['order.updated', 'superseded'],
    ['order.updated', 'superseded'],
  ]);
});

test('a store without a Callback URL receives events only', async () => {
  const { app, hook } = await openShop({ callbackUrl: '', webhookEvents: 'payment' });
  const address = await app.newAddress();
  app.pay(address, 5_000);
  await app.settle();
  expect(typesAt(hook)).toEqual(['payment.seen']);
  expect(app.callbacks()).toEqual([]);
  const { status, body } = await app.ask('/api/new_address?match_callback=cb');
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('no Callback URL')]);
  expect((await app.ask('/api/v2/stores')).body.data[0].http_callback).toBe('');
});

test('a webhook that rejects events for a quarter of an hour is an alarm of its store', async () => {
  const { app, hook } = await openShop({ webhookEvents: 'payment' });
  hook.script(...Array.from({ length: 30 }, () => ({ status: 500 })));
  app.pay(await app.newAddress(), 5_000);
  await app.settle();
  for (let minute = 0; minute < 30; minute += 1) {
    await app.world.advance(60_000);
    await app.settle();
  }
  const warnings = app.running.health().warnings.filter((text) => text.includes('webhook'));
  expect(warnings).toEqual([
    expect.stringMatching(/none of the last \d+ webhook attempts since .* \(answered 500\)/),
  ]);
  expect(warnings[0]).toContain('`paygate events resend-failed --store 1`');
  const visitor = await signedIn(app);
  const { text } = await visitor.get('/dashboard');
  expect(text).toContain('href="/dashboard/events?state=owed&amp;store=1"');
  expect(app.callbacks()).toHaveLength(1);
});

test('a webhook that is down is a finding, and callbacks go on', async () => {
  const { app, hook } = await openShop({ webhookEvents: 'payment' });
  const { port } = hook;
  await hook.close();
  const addresses = [];
  for (let count = 0; count < 6; count += 1) {
    const address = await app.newAddress();
    app.pay(address, 5_000);
    addresses.push(address);
    await app.settle();
    await app.world.advance(1_000);
    await app.settle();
  }
  for (const address of addresses) expect(app.statuses(address)).toEqual(['0']);
  const down = `127.0.0.1:${port} cannot be reached: 6 webhooks wait for it`;
  expect(app.running.health().warnings).toEqual([expect.stringContaining(down)]);
  expect((await app.ask('/readyz')).body.reasons).toEqual([
    'webhooks are not sent: none of the shops with pending webhooks can be reached',
  ]);
});
