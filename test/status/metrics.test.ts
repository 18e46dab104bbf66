// /metrics on its own listener. The figures follow payments and callbacks, and no label reveals
// anything. A scrape of a large database scans no table.

import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import { scrape } from '../support/metrics.ts';

afterEach(closeApps);

const config = { metricsListen: { host: '127.0.0.1', port: 0 } };

/** A sample's value; `name` is as Prometheus writes it, with its labels. */
function value(text: string, name: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

test('payments and callbacks by state, latency, servers, the loop and the memory', async () => {
  const app = await openApp({ config });
  await untilReady(app);
  const [label = ''] = app.labels;
  const server = label.replace('tcp://', '');
  const before = await scrape(app);
  expect(value(before, 'paygate_payments{state="unconfirmed"}')).toBeUndefined();
  expect(value(before, `paygate_electrum_height_blocks{server="${server}"}`)).toBe(110);
  expect(value(before, `paygate_electrum_up{server="${server}"}`)).toBe(1);
  expect(value(before, 'paygate_chain_height_blocks')).toBe(110);
  expect(value(before, 'paygate_ready')).toBe(1);
  expect(value(before, 'paygate_info{version="0.1.0"}')).toBe(1);
  expect(value(before, 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(value(before, 'nodejs_eventloop_lag_p99_seconds')).toBeDefined();

  app.pay(await app.newAddress(), 5_000);
  app.receiver.script({ status: 500 });
  await app.settle();
  const unconfirmed = await scrape(app);
  expect(value(unconfirmed, 'paygate_payments{state="unconfirmed"}')).toBe(1);
  expect(value(unconfirmed, 'paygate_callbacks{state="owed"}')).toBe(1);
  expect(value(unconfirmed, 'paygate_callback_attempt_seconds_count{outcome="status"}')).toBe(1);
  expect(value(unconfirmed, 'paygate_callback_delivery_seconds_count')).toBe(0);

  // The other channel has figures of its own.
  expect(value(unconfirmed, 'paygate_webhooks{state="owed"}')).toBe(0);
  expect(value(unconfirmed, 'paygate_webhook_delivery_seconds_count')).toBe(0);

  await app.world.advance(10_000);
  app.chain.mine();
  await app.settle();
  const mined = await scrape(app);
  expect(value(mined, 'paygate_payments{state="unconfirmed"}')).toBe(0);
  expect(value(mined, 'paygate_payments{state="confirming"}')).toBe(1);
  expect(value(mined, 'paygate_callbacks{state="owed"}')).toBe(0);
  expect(value(mined, 'paygate_callbacks{state="done"}')).toBe(2);
  expect(value(mined, 'paygate_callback_delivery_seconds_count')).toBe(2);
  expect(value(mined, 'paygate_callback_delivery_seconds_bucket{le="1"}')).toBe(1);
  expect(value(mined, 'paygate_callback_delivery_seconds_bucket{le="10"}')).toBe(2);

  // A start counts the same as the commits did.
  await app.stop();
  await app.start();
  const again = await scrape(app);
  expect(value(again, 'paygate_payments{state="confirming"}')).toBe(1);
  expect(value(again, 'paygate_callbacks{state="done"}')).toBe(2);
});

test('no label holds an address, a transaction, a URL or a secret', async () => {
  const app = await openApp({ config });
  await untilReady(app);
  const address = await app.newAddress();
  const txid = app.pay(address, 5_000);
  await app.settle();
  const text = await scrape(app);
  const secrets = [address, txid, app.apiKey, 's3cr3t', '://', 'bcrt1', 'tpub', 'whsec', app.path];
  for (const secret of secrets) expect(text).not.toContain(secret);
});

test('S-33 it answers on its own listener only, and only if that is set', async () => {
  const app = await openApp({ config });
  expect((await app.ask('/metrics')).status).toBe(404);
  const door = `http://127.0.0.1:${app.metricsPort}`;
  for (const path of ['/api/new_address', '/dashboard', '/healthz', '/']) {
    expect((await fetch(`${door}${path}`)).status).toBe(404);
  }
  for (const path of ['/metrics', '/']) {
    const { headers } = await fetch(`${door}${path}`);
    expect([path, headers.get('X-Content-Type-Options')]).toEqual([path, 'nosniff']);
  }
  const without = await openApp();
  expect(without.metricsPort).toBeUndefined();
});

test('orders, money, addresses and findings', async () => {
  const app = await openApp({ config });
  await untilReady(app);
  const before = await scrape(app);
  expect(value(before, 'paygate_orders{status="open"}')).toBe(0);
  expect(value(before, 'paygate_order_events_total{type="paid"}')).toBe(0);
  expect(value(before, 'paygate_confirmed_satoshis_total')).toBe(0);
  const issued = value(before, 'paygate_addresses') ?? Number.NaN;
  expect(value(before, 'paygate_findings{code="no-server",severity="error"}')).toBe(0);

  const order = await makeOrder(app, await app.newAddress());
  await makeOrder(app, await app.newAddress());
  expect(value(await scrape(app), 'paygate_orders{status="open"}')).toBe(2);
  expect(value(await scrape(app), 'paygate_addresses')).toBe(issued + 2);

  app.pay(order.address, 25_000);
  await app.settle();
  const seen = await scrape(app);
  expect(value(seen, 'paygate_orders{status="open"}')).toBe(1);
  expect(value(seen, 'paygate_orders{status="processing"}')).toBe(1);
  expect(value(seen, 'paygate_order_events_total{type="processing"}')).toBe(1);
  expect(value(seen, 'paygate_confirmed_satoshis_total')).toBe(0);

  for (let block = 0; block < 2; block += 1) {
    app.chain.mine();
    await app.settle();
  }
  const paid = await scrape(app);
  expect(value(paid, 'paygate_orders{status="processing"}')).toBe(0);
  expect(value(paid, 'paygate_order_events_total{type="paid"}')).toBe(1);
  expect(value(paid, 'paygate_confirmed_satoshis_total')).toBe(25_000);
  expect(value(paid, 'paygate_reversed_satoshis_total')).toBe(0);
});

test('a scrape reads indexes and never a table', async () => {
  const app = await openApp({ config });
  const plans = await app.withStore(async ({ outbox, orderCounts, database }) => {
    expect(outbox.depths(10)).toEqual({ owed: 0, exhausted: 0, done: 0 });
    expect(orderCounts.withStatus('open', 10)).toBe(0);
    const statements = [
      "select 1 from deliveries c where c.channel = 'callback' and c.state = 'owed' limit 10",
      "select 1 from deliveries c where c.channel = 'callback' and c.state = 'exhausted' limit 10",
      "select max(id) from deliveries where channel = 'callback'",
      'select state, count(*) from payments group by state',
      "select 1 from stores s cross join orders o where o.store_id = s.id and o.status = 'open' limit 10",
    ];
    return statements.flatMap((sql) =>
      database.orm.all<{ detail: string }>(`explain query plan ${sql}`),
    );
  });
  // There are few stores.
  const allowed = /COVERING INDEX|^SCAN s$/;
  for (const { detail } of plans) expect(detail).toMatch(allowed);
});

test('no callback is sent to the metrics listener', async () => {
  const port = await freePort();
  const app = await openApp({
    config: { metricsListen: { host: '127.0.0.1', port } },
    store: { callbackUrl: `http://127.0.0.1:${port}/metrics` },
  });
  await untilReady(app);
  app.pay(await app.newAddress(), 5_000);
  await app.settle();
  const row = await app.withStore(async ({ outbox }) => outbox.callback(1));
  expect(row).toMatchObject({
    state: 'owed',
    outcome: 'refused',
    reason: expect.stringContaining('paygate itself'),
  });
});
