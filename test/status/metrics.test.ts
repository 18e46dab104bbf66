// /metrics on its own listener. The figures follow payments and callbacks, and no label reveals
// anything. A scrape of a large database scans no table.

import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

const config = { metricsListen: { host: '127.0.0.1', port: 0 } };

async function scrape(house: TestApp): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${house.metricsPort}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  return response.text();
}

/** A sample's value; `name` is as Prometheus writes it, with its labels. */
function value(text: string, name: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

test('payments and callbacks by state, latency, servers, the loop and the memory', async () => {
  const house = await openApp({ config });
  await untilReady(house);
  const [label = ''] = house.labels;
  const server = label.replace('tcp://', '');
  const before = await scrape(house);
  expect(value(before, 'paygate_payments{state="unconfirmed"}')).toBeUndefined();
  expect(value(before, `paygate_electrum_height_blocks{server="${server}"}`)).toBe(110);
  expect(value(before, `paygate_electrum_up{server="${server}"}`)).toBe(1);
  expect(value(before, 'paygate_chain_height_blocks')).toBe(110);
  expect(value(before, 'paygate_ready')).toBe(1);
  expect(value(before, 'paygate_info{version="0.1.0"}')).toBe(1);
  expect(value(before, 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(value(before, 'nodejs_eventloop_lag_p99_seconds')).toBeDefined();

  house.pay(await house.newAddress(), 5_000);
  house.receiver.script({ status: 500 });
  await house.settle();
  const unconfirmed = await scrape(house);
  expect(value(unconfirmed, 'paygate_payments{state="unconfirmed"}')).toBe(1);
  expect(value(unconfirmed, 'paygate_callbacks{state="owed"}')).toBe(1);
  expect(value(unconfirmed, 'paygate_callback_attempt_seconds_count{outcome="status"}')).toBe(1);
  expect(value(unconfirmed, 'paygate_callback_delivery_seconds_count')).toBe(0);

  await house.world.advance(10_000);
  house.chain.mine();
  await house.settle();
  const mined = await scrape(house);
  expect(value(mined, 'paygate_payments{state="unconfirmed"}')).toBe(0);
  expect(value(mined, 'paygate_payments{state="confirming"}')).toBe(1);
  expect(value(mined, 'paygate_callbacks{state="owed"}')).toBe(0);
  expect(value(mined, 'paygate_callbacks{state="done"}')).toBe(2);
  expect(value(mined, 'paygate_callback_delivery_seconds_count')).toBe(2);
  expect(value(mined, 'paygate_callback_delivery_seconds_bucket{le="1"}')).toBe(1);
  expect(value(mined, 'paygate_callback_delivery_seconds_bucket{le="10"}')).toBe(2);

  // A start counts the same as the commits did.
  await house.stop();
  await house.start();
  const again = await scrape(house);
  expect(value(again, 'paygate_payments{state="confirming"}')).toBe(1);
  expect(value(again, 'paygate_callbacks{state="done"}')).toBe(2);
});

test('no label holds an address, a transaction, a URL or a secret', async () => {
  const house = await openApp({ config });
  await untilReady(house);
  const address = await house.newAddress();
  const txid = house.pay(address, 5_000);
  await house.settle();
  const text = await scrape(house);
  const secrets = [
    address,
    txid,
    house.apiKey,
    's3cr3t',
    '://',
    'bcrt1',
    'tpub',
    'whsec',
    house.path,
  ];
  for (const secret of secrets) expect(text).not.toContain(secret);
});

test('S-33 it answers on its own listener only, and only if that is set', async () => {
  const house = await openApp({ config });
  expect((await house.ask('/metrics')).status).toBe(404);
  const door = `http://127.0.0.1:${house.metricsPort}`;
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

test('the dashboard of packaging/grafana asks for nothing that is not there', async () => {
  const house = await openApp({ config });
  await untilReady(house);
  house.pay(await house.newAddress(), 5_000);
  await house.settle();
  const text = await scrape(house);
  const dashboard = readFileSync('packaging/grafana/paygate.json', 'utf8');
  const asked = new Set(dashboard.match(/\b(?:paygate|process|nodejs)_[a-z0-9_]+(?=\{)/g));
  expect(asked.size).toBeGreaterThan(15);
  for (const name of asked) expect(text).toMatch(new RegExp(`^${name}[{ ]`, 'm'));
});

test('a scrape reads indexes and never a table', async () => {
  const house = await openApp({ config });
  const plans = await house.withStore(async ({ outbox, database }) => {
    expect(outbox.depths(10)).toEqual({ owed: 0, exhausted: 0, done: 0 });
    const statements = [
      "select 1 from callbacks c where c.state = 'owed' limit 10",
      "select 1 from callbacks c where c.state = 'exhausted' limit 10",
      'select max(id) from callbacks',
      'select state, count(*) from payments group by state',
    ];
    return statements.flatMap((sql) =>
      database.orm.all<{ detail: string }>(`explain query plan ${sql}`),
    );
  });
  for (const { detail } of plans) expect(detail).toMatch(/COVERING INDEX|^SEARCH callbacks$/);
});

test('their listener belongs to paygate: no callback goes there', async () => {
  const port = await freePort();
  const house = await openApp({
    config: { metricsListen: { host: '127.0.0.1', port } },
    store: { callbackUrl: `http://127.0.0.1:${port}/metrics` },
  });
  await untilReady(house);
  house.pay(await house.newAddress(), 5_000);
  await house.settle();
  const row = await house.withStore(async ({ outbox }) => outbox.callback(1));
  expect(row).toMatchObject({
    state: 'owed',
    outcome: 'refused',
    reason: expect.stringContaining('paygate itself'),
  });
});
