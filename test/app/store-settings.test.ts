// Callback settings of a store: a minimum value, and no `rbf`. Dust below the minimum is recorded
// without callbacks. A flood of dust delays no other payment.

import { afterEach, expect, test } from 'vitest';
import type { StoreChange } from '../../src/store/wallets/catalog.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

async function openWith(fields: StoreChange, blocks = 110): Promise<TestApp> {
  const app = await openApp({ blocks });
  await change(app, fields);
  await untilReady(app);
  return app;
}

const change = (app: TestApp, fields: StoreChange): Promise<unknown> =>
  app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, fields)),
  );

async function pay(app: TestApp, valueSat: number): Promise<string> {
  const address = await app.newAddress();
  app.pay(address, valueSat);
  await app.settle();
  return address;
}

async function mine(app: TestApp): Promise<void> {
  app.chain.mine();
  await app.settle();
}

test('P-55 rbf is sent, and omitted if the store wants that', async () => {
  const app = await openWith({});
  await pay(app, 5_000);
  await change(app, { omitRbf: true });
  const address = await pay(app, 6_000);
  const told = app.receiver.requests.map(({ url }) => url.includes('rbf'));
  expect(told).toEqual([true, false]);
  // The record has it all the same.
  expect((await app.ask(`/api/merchant/tx?addr=${address}`)).body.rbf).toBe(1);
});

test('P-60 a payment below the minimum is recorded and shown, and sends no callback', async () => {
  const app = await openWith({ minimumSat: 1_000 });
  const [small, edge] = [await pay(app, 999), await pay(app, 1_000)];
  await mine(app);
  await mine(app);
  expect(app.statuses(small)).toEqual([]);
  expect(app.statuses(edge)).toEqual(['0', '1', '2']);
  const { body } = await app.ask(`/api/merchant/tx?addr=${small}`);
  expect(body).toMatchObject({ addr: small, status: 2, value: 999, confirmations: 2 });
});

test('P-60 a minimum that is set later does not stop the callbacks of earlier payments', async () => {
  const app = await openWith({});
  const early = await pay(app, 999);
  await change(app, { minimumSat: 1_000 });
  const late = await pay(app, 999);
  await mine(app);
  await change(app, { minimumSat: null });
  await mine(app);
  expect(app.statuses(early)).toEqual(['0', '1', '2']);
  expect(app.statuses(late)).toEqual(['2']);
});

test('a payment that is final after the store lowers its confirmations sends 2 at once, without another block', async () => {
  const app = await openWith({ requiredConfirmations: 3 });
  const address = await pay(app, 5_000);
  await mine(app);
  await mine(app);
  expect(app.statuses(address)).toEqual(['0', '1']);
  await change(app, { requiredConfirmations: 2 });
  await app.world.advance(2_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '1', '2']);
});

test('P-29 P-60 P-109 dust below the minimum is recorded behind a payment that came after it', async () => {
  const flood = 400;
  const app = await openApp({ before: (chain) => chain.stock(flood, 20_000) });
  await change(app, { minimumSat: 1_000 });
  await untilReady(app);
  const [flooded, other] = [await app.newAddress(), await app.newAddress()];
  const txids = Array.from({ length: flood }, () => app.pay(flooded, 600));
  app.pay(other, 5_000);
  await app.receiver.waitFor(1);
  const recorded = (await app.ask(`/api/merchant/tx?addr=${flooded}`)).body.txs ?? [];
  expect(app.callbacks()).toMatchObject([{ addr: other, status: '0' }]);
  expect(recorded.length).toBeLessThan(flood);
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  expect(app.statuses(other)).toEqual(['0', '2']);
  expect(app.statuses(flooded)).toEqual([]);
  // The newest are listed; each of them is found.
  const { body } = await app.ask(`/api/merchant/tx?addr=${flooded}`);
  expect(body.txs).toHaveLength(200);
  for (const txid of [txids[0], txids[flood / 2], txids[flood - 1]]) {
    const one = await app.ask(`/api/merchant/tx?addr=${flooded}&txid=${txid}`);
    expect(one.body.txs).toMatchObject([{ txid, value: 600, status: 2 }]);
    const page = await fetch(`http://127.0.0.1:${app.port}/api/tx?addr=${flooded}&txid=${txid}`);
    expect(page.status).toBe(200);
  }
});
