// Random lives of orders with a Lightning node. Invoices are paid in time, late, or reported
// twice. The node goes away, paygate restarts and is restored, also from before an invoice that is
// paid. In the end, each order has received
// exactly what its customers paid, to invoices that they saw and on chain.

import { afterEach, expect, test } from 'vitest';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { sumSat } from '../../src/domain/payment/money.ts';
import { closeApps, loseByRestore, untilReady } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { giveNode, PlayedNode } from '../support/played-node.ts';
import { openPriced } from '../support/priced.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);
afterEach(closeApps);

const minute = 60_000;
const stepCount = 20;

interface Sale {
  readonly id: string;
  readonly address: string;
  /** Numbers of its invoices that a customer saw. */
  readonly seen: Set<number>;
  paidSat: number;
}

async function live(seed: number) {
  const world = createTestWorld({ seed });
  const node = new PlayedNode(() => world.now());
  const app = await openPriced({ world, openLightning: () => node });
  await giveNode(app, node);
  const sales: Sale[] = [];
  const paid = new Set<number>();
  const steps: string[] = [];
  const pick = <T>(items: readonly T[]): T | undefined =>
    items[Math.floor(world.random() * items.length)];

  const read = async ({ id }: Sale): Promise<OrderJson> => (await app.get(`/orders/${id}`)).body;
  async function look(sale: Sale): Promise<void> {
    const { lightning } = await read(sale);
    if (lightning !== null) sale.seen.add(Number(lightning.invoice.slice('lnbcrt'.length)));
  }
  const payable = () =>
    sales
      .flatMap((sale) => [...sale.seen].map((number) => ({ sale, number })))
      .filter(({ number }) => !paid.has(number));
  /** Makes an order with an invoice, unless a customer saw one that is not paid. */
  async function ready(): Promise<void> {
    if (payable().length > 0) return;
    node.set('up');
    await world.advance(minute);
    await actions.order?.();
  }
  /** A customer pays an invoice that they saw; a wallet pays none twice. */
  function payOne(): string {
    const { sale, number } = pick(payable()) ?? {};
    if (sale === undefined || number === undefined) throw new Error('nothing to pay');
    const valueSat = (node.invoices[number - 1]?.valueSat ?? 0) + (pick([0, 0, 0, 7]) ?? 0);
    node.pay(number, { valueSat });
    paid.add(number);
    sale.paidSat += valueSat;
    return `invoice ${number} is paid`;
  }
  const actions: Readonly<Record<string, () => Promise<string>>> = {
    async order() {
      const { id, address } = await app.order({ amount: '12.50', currency: 'EUR', expires_in: 0 });
      const sale = { id, address, seen: new Set<number>(), paidSat: 0 };
      sales.push(sale);
      await look(sale);
      return `${sales.length}`;
    },
    async pay() {
      await ready();
      return payOne();
    },
    // The node is away while a customer pays.
    async outage() {
      await ready();
      node.set('down');
      const what = payOne();
      await world.advance((pick([1, 5]) ?? 1) * minute);
      node.set('up');
      await world.advance(minute);
      return what;
    },
    async chain() {
      const sale = pick(sales);
      if (sale === undefined) return 'nothing';
      const valueSat = pick([5_000, 12_000, 25_000]) ?? 0;
      app.pay(sale.address, valueSat);
      sale.paidSat += valueSat;
      await app.settle();
      return String(valueSat);
    },
    async quote() {
      const sale = pick(sales);
      return sale === undefined
        ? 'none'
        : String((await app.post(`/orders/${sale.id}/quote`)).status);
    },
    async replay() {
      const [number] = paid;
      if (number !== undefined) node.pay(number);
      return `${number ?? 'nothing'} again`;
    },
    async other() {
      if (node.state !== 'up') return 'none';
      await node.createInvoice({ valueSat: 9_999, seconds: 60, text: 'x', externalId: 'x' });
      node.pay(node.invoices.length);
      return 'of another program';
    },
    async flip() {
      node.set(node.state === 'up' ? 'down' : 'up');
      return node.state;
    },
    async wait() {
      const minutes = pick([1, 5, 16]) ?? 1;
      await world.advance(minutes * minute);
      return String(minutes);
    },
    async restart() {
      await ready();
      await app.stop();
      const what = payOne();
      await app.start();
      await untilReady(app);
      return what;
    },
    async restore() {
      await ready();
      const what = await loseByRestore(app, async () => {
        // The copy does not know these invoices.
        await world.advance(16 * minute);
        for (const sale of sales) {
          await app.post(`/orders/${sale.id}/quote`);
          await look(sale);
        }
        return [payOne(), ...(payable().length > 0 ? [payOne()] : [])].join(' and ');
      });
      await app.start();
      await untilReady(app);
      return what;
    },
  };
  await actions.order?.();
  for (let count = 0; count < stepCount; count += 1) {
    for (const sale of sales) await look(sale);
    const name = pick(Object.keys(actions)) ?? '';
    steps.push(`${name}: ${await actions[name]?.()}`);
  }
  node.set('up');
  await world.advance(2 * minute);
  await app.settle();
  return { world, node, sales, paid, read, steps };
}

test.each([1, 2, 3, 4, 5, 6])('seed %i: each order has what was paid to it', async (seed) => {
  const { world, sales, read, steps } = await live(seed);
  for (const sale of sales) {
    let order = await read(sale);
    for (let turns = 0; order.received_sat !== sale.paidSat && turns < 50; turns += 1) {
      await world.turn();
      order = await read(sale);
    }
    expect([order.received_sat, steps]).toEqual([sale.paidSat, steps]);
    expect(sumSat(order.payments.map(({ value_sat }) => value_sat))).toBe(sale.paidSat);
    const hashes = order.payments.map((each) =>
      each.kind === 'onchain' ? each.txid : each.payment_hash,
    );
    expect(new Set(hashes).size).toBe(hashes.length);
  }
});
