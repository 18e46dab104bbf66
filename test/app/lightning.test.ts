// Orders of a store with a Lightning node, through the whole app. Invoices are made, paid, replaced
// and ended. The node goes away and comes back.

import { afterEach, describe, expect, it } from 'vitest';
import { PaygateError } from '../../src/lib/errors.ts';
import { closeApps, loseByRestore, type TestAppOptions } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { PlayedNode } from '../support/played-node.ts';
import { openPriced } from '../support/priced.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);
afterEach(closeApps);

const minute = 60_000;
const eur = { amount: '12.50', currency: 'EUR' };

async function openLightning(options: TestAppOptions = {}) {
  const world = createTestWorld();
  const node = new PlayedNode(() => world.now());
  const app = await openPriced({ ...options, world, openLightning: () => node });
  const set = (known: boolean, publicKey = '02aa') =>
    app.withStore(({ lightningInvoices, database }) =>
      database.write((tx) =>
        lightningInvoices.setNode(
          tx,
          world.now(),
          1,
          known
            ? {
                ...{ kind: 'lnd', url: 'https://node.example:8080', credential: 's3cr3tmac' },
                ...{ publicKey, certificate: null },
              }
            : undefined,
          '0',
        ),
      ),
    );
  /** Lets paygate see what a command changed. */
  const notice = () => world.advance(1_000);
  await set(true);
  await notice();
  await world.until(() => node.asked.length > 0, 'the node to be asked');
  const read = async (id: string) => (await app.get(`/orders/${id}`)).body;
  const until = async (id: string, holds: (order: Awaited<ReturnType<typeof read>>) => boolean) => {
    for (let turns = 0; turns < 200; turns += 1) {
      const order = await read(id);
      if (holds(order)) return order;
      await world.turn();
    }
    throw new Error(`the order stays ${JSON.stringify(await read(id))}`);
  };
  const findings = () => app.running.health().warnings;
  return { app, world, node, set, notice, read, until, findings };
}

describe('an order of a store with a node', () => {
  it('has an invoice until its quote ends', async () => {
    const { app, world, node } = await openLightning();
    const order = await app.order({ ...eur, reference: '1007' });
    expect(order.lightning).toEqual({
      ...{ invoice: 'lnbcrt1', amount_sat: 25_000 },
      expires_at: world.now() / 1000 + 900,
    });
    expect(node.invoices).toMatchObject([
      { valueSat: 25_000, seconds: 900, text: 'Shop: 1007', externalId: order.id },
    ]);
    const { body } = await app.get(`/orders?limit=1`);
    expect(body.data[0].lightning).toEqual(order.lightning);
  });

  it('is paid as soon as the node says so', async () => {
    const { app, node, until } = await openLightning();
    const { id, address } = await app.order(eur);
    node.pay(1);
    const order = await until(id, ({ status }) => status === 'paid');
    expect(order).toMatchObject({ lightning: null, received_sat: 25_000, missing_sat: 0 });
    expect(order.payments).toMatchObject([{ kind: 'lightning', value_sat: 25_000 }]);
    // It is no payment of the address for programs that know addresses only.
    expect((await app.ask(`/api/merchant/tx?addr=${address}`)).status).toBe(404);
    expect((await app.ask('/api/v2/payments?limit=1')).body).toEqual({ data: [] });
    await app.settle();
    expect(app.callbacks()).toEqual([]);
  });

  it('gets another invoice when a payment changes what is missing, and none once it is paid', async () => {
    const { app, node, until } = await openLightning();
    const { id, address } = await app.order(eur);
    app.pay(address, 10_000);
    await app.settle();
    const rest = await until(id, ({ lightning }) => lightning?.amount_sat === 15_000);
    expect(rest.lightning.invoice).toBe('lnbcrt2');
    expect(node.invoices.map(({ isCanceled }) => isCanceled)).toEqual([true, false]);
    app.pay(address, 15_000);
    await app.settle();
    await until(id, () => node.invoices[1]?.isCanceled === true);
    // A customer paid the first one all the same: it is an excess.
    node.pay(1);
    const over = await until(id, ({ received_sat }) => received_sat === 50_000);
    expect(over).toMatchObject({ excess_sat: 25_000, lightning: null });
  });

  it('has another invoice with each quote', async () => {
    const { app, node, world } = await openLightning();
    const { id } = await app.order(eur);
    await world.advance(16 * minute);
    expect((await app.get(`/orders/${id}`)).body.lightning).toBeNull();
    const { body } = await app.post(`/orders/${id}/quote`);
    expect(body.lightning).toMatchObject({ invoice: 'lnbcrt2', amount_sat: 25_000 });
    expect(node.invoices).toHaveLength(2);
  });

  it('shows no invoice of the quote before, not even for the same amount', async () => {
    const { app, node, world, read } = await openLightning();
    const { id } = await app.order(eur);
    await world.advance(15 * minute - 1);
    expect((await read(id)).lightning).not.toBeNull();
    node.set('down');
    await world.advance(1);
    const { body } = await app.post(`/orders/${id}/quote`);
    expect(body).toMatchObject({ missing_sat: 25_000, lightning: null });
  });

  it('shows no invoice that is over at a node whose clock is behind', async () => {
    const { app, node, world, read } = await openLightning();
    node.aheadMs = -minute;
    const { id } = await app.order(eur);
    await world.advance(14 * minute - 1);
    expect((await read(id)).lightning).not.toBeNull();
    await world.advance(1);
    expect(await read(id)).toMatchObject({ missing_sat: 25_000, lightning: null });
  });

  it('gets one invoice, also if the clock is set back while that is made', async () => {
    const { app, node, world, read } = await openLightning();
    node.set('slow');
    const made = app.order(eur);
    await world.turn();
    world.jumpWallClock(-minute);
    node.set('up');
    const { id } = await made;
    for (let turns = 0; turns < 20; turns += 1) await world.turn();
    expect(node.invoices).toHaveLength(1);
    expect((await read(id)).lightning?.invoice).toBe('lnbcrt1');
  });

  it('loses its invoice when it is canceled', async () => {
    const { app, node } = await openLightning();
    const { id } = await app.order(eur);
    const { body } = await app.post(`/orders/${id}/cancel`);
    expect(body.lightning).toBeNull();
    expect(node.invoices[0]?.isCanceled).toBe(true);
  });

  it('has no invoice that ends long after its quote', async () => {
    const { app, node, world } = await openLightning();
    node.aheadMs = 2 * minute;
    const order = await app.order(eur);
    expect(order.lightning.expires_at).toBe(world.now() / 1000 + 900);
    node.aheadMs += 1;
    expect((await app.order(eur)).lightning).toBeNull();
    node.aheadMs = -15 * minute;
    expect((await app.order(eur)).lightning).toBeNull();
  });
});

describe('a node that is away', () => {
  it('holds up no order for more than two seconds, and its invoice is shown later', async () => {
    const { app, node, world, until } = await openLightning();
    node.set('slow');
    const made = app.order(eur);
    let isMade = false;
    void made.then(() => {
      isMade = true;
    });
    await world.advance(1_900);
    expect(isMade).toBe(false);
    await world.advance(100);
    const { id, lightning } = await made;
    expect(lightning).toBeNull();
    node.set('up');
    const order = await until(id, (each) => each.lightning !== null);
    expect(order.lightning.invoice).toBe('lnbcrt1');
  });

  it('is a finding after a minute, and costs no order any time', async () => {
    const { app, node, world, findings, until } = await openLightning();
    const { id } = await app.order(eur);
    node.pay(1, { settledAt: world.now() });
    await until(id, ({ status }) => status === 'paid');
    const second = await app.order(eur);
    node.set('down');
    await world.until(() => world.logs.some(({ message }) => message.includes('node is down')));
    expect(findings()).toEqual([]);
    node.pay(2);
    expect((await app.order(eur)).lightning).toBeNull();
    await world.advance(minute);
    expect(findings()).toEqual([
      expect.stringMatching(/^store 1 "Shop": its Lightning node .* is down: it refuses conn/),
    ]);
    node.set('up');
    await world.advance(minute);
    await until(second.id, ({ status }) => status === 'paid');
    expect(findings()).toEqual([]);
    expect((await app.order(eur)).lightning).not.toBeNull();
  });

  it('gives orders that were made meanwhile an invoice when it is back', async () => {
    const { app, node, world, until } = await openLightning();
    node.set('down');
    await world.until(() => world.logs.some(({ message }) => message.includes('node is down')));
    const lapsing = await app.order({ ...eur, quote_seconds: 300 });
    const orders = [await app.order(eur), await app.order({ amount_sat: 7_000, expires_in: 900 })];
    expect([lapsing, ...orders].map(({ lightning }) => lightning)).toEqual([null, null, null]);
    await world.advance(6 * minute);
    node.set('up');
    await world.advance(minute);
    for (const { id, missing_sat } of orders) {
      const { lightning } = await until(id, (each) => each.lightning !== null);
      expect(lightning).toMatchObject({ amount_sat: missing_sat });
    }
    expect(node.invoices).toHaveLength(2);
  });

  it('is asked again for an invoice that it failed to make, five times', async () => {
    const { app, node, world, until } = await openLightning();
    const make = node.createInvoice.bind(node);
    const asked: string[] = [];
    node.createInvoice = async ({ externalId }) => {
      asked.push(externalId);
      throw new PaygateError('unavailable', 'it is late');
    };
    const { id, lightning } = await app.order({ ...eur, quote_seconds: 3_600 });
    expect(lightning).toBeNull();
    for (let reports = 0; reports < 9; reports += 1) {
      node.set('up');
      await world.turn();
    }
    expect(asked).toEqual(Array(5).fill(id));
    const next = await app.order(eur);
    node.createInvoice = make;
    node.set('up');
    await until(next.id, (each) => each.lightning !== null);
    expect(node.invoices).toHaveLength(1);
    node.set('up');
    await world.turn();
    expect(node.invoices).toHaveLength(1);
  });

  it('gives a new node invoices for the orders of its store that can be paid', async () => {
    const { app, node, set, notice, until } = await openLightning();
    await set(false);
    await notice();
    const { id } = await app.order(eur);
    await app.post(`/orders/${(await app.order(eur)).id}/cancel`);
    await set(true);
    await notice();
    await until(id, ({ lightning }) => lightning !== null);
    expect(node.invoices).toHaveLength(1);
  });

  it('ends the invoice of an order that a command cancels, also while paygate is stopped', async () => {
    const { app, node, world } = await openLightning();
    for (const isRunning of [true, false]) {
      const { id, lightning } = await app.order(eur);
      if (!isRunning) await app.stop();
      await app.withStore(({ database, orders, orderView }) =>
        database.write((tx) => orders.cancel(tx, world.now(), orderView.byPublicId(id)?.id ?? 0)),
      );
      if (!isRunning) await app.start();
      await world.advance(1_000);
      const number = Number(lightning.invoice.slice('lnbcrt'.length));
      await world.until(() => node.invoices[number - 1]?.isCanceled === true, 'the end');
    }
  });

  it('keeps no invoice open of an order that ends meanwhile', async () => {
    const { app, node, world } = await openLightning();
    const { id } = await app.order(eur);
    node.set('down');
    await world.until(() => world.logs.some(({ message }) => message.includes('node is down')));
    await app.post(`/orders/${id}/cancel`);
    const open = () => app.withStore(async ({ lightningInvoices }) => lightningInvoices.open(1));
    for (let turns = 0; turns < 200 && (await open()) !== undefined; turns += 1) await world.turn();
    expect(await open()).toBeUndefined();
  });

  it('tells paygate what was paid while paygate was away, from where it was', async () => {
    const { app, node, until } = await openLightning();
    const [first, second] = [await app.order(eur), await app.order(eur)];
    node.pay(1);
    await until(first.id, ({ status }) => status === 'paid');
    await app.stop();
    node.pay(2);
    await app.start();
    await until(second.id, ({ status }) => status === 'paid');
    expect(node.asked).toEqual(['0', '1']);
  });

  it('reports late money that was paid long ago, and it counts at the price of now', async () => {
    const { app, node, world, until } = await openLightning();
    const { id } = await app.order({ ...eur, quote_seconds: 300 });
    await app.stop();
    await world.advance(8 * minute);
    node.pay(1);
    await world.advance(11 * minute);
    app.market.rates = { EUR: 40_000 };
    await app.start();
    const order = await until(id, ({ payments }) => payments[0]?.rate);
    expect(order.payments).toMatchObject([{ late: true, rate: '40000.00' }]);
  });

  it('tells a restored copy what that does not know, once', async () => {
    const { app, node, until } = await openLightning();
    const { id } = await app.order(eur);
    await loseByRestore(app, async () => {
      node.pay(1);
      await until(id, ({ status }) => status === 'paid');
    });
    await app.start();
    const order = await until(id, ({ status }) => status === 'paid');
    expect(order.received_sat).toBe(25_000);
    expect(node.asked.at(-1)).toBe('0');
  });

  it('tells a copy from before an invoice which order was paid', async () => {
    const { app, node, until, world } = await openLightning();
    const { id } = await app.order(eur);
    const isReceived = (order: { received_sat: number }) => order.received_sat > 0;
    await loseByRestore(app, async () => {
      await world.advance(16 * minute);
      await app.post(`/orders/${id}/quote`);
      node.pay(2);
      await until(id, isReceived);
    });
    await app.start();
    const order = await until(id, isReceived);
    expect(order.payments).toMatchObject([{ kind: 'lightning', value_sat: 25_000 }]);
  });
});

it('a report that cannot be right is a finding, and no payment', async () => {
  const { app, node, read, findings, world } = await openLightning();
  const { id } = await app.order(eur);
  node.pay(1, { valueSat: 24_999 });
  await world.until(() => findings().length > 0, 'the finding');
  expect(findings()).toEqual([expect.stringMatching(/as paid, but its amount is 24999 sat/)]);
  expect((await read(id)).status).toBe('open');
});

it('a store whose node is taken away has no invoices, and asks nothing', async () => {
  const { app, set, notice, read, node } = await openLightning();
  const { id } = await app.order(eur);
  await set(false);
  await notice();
  expect((await read(id)).lightning).toBeNull();
  expect((await app.order(eur)).lightning).toBeNull();
  expect(node.invoices).toHaveLength(1);
  await set(true, '02bb');
  await notice();
  expect((await app.order(eur)).lightning).not.toBeNull();
});
