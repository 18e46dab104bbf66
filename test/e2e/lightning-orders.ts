// Orders that are paid by Lightning, at a real LND of the merchant, with kill -9 between the steps.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Lightning, Lnd, LndAnswer } from './lnd.ts';
import { type OrderShop, type OrderShopOptions, openOrderShop } from './orders.ts';
import { runPaygate } from './paygate.ts';
import { waitLimit } from './slowness.ts';
import { type Stage, test } from './stage.ts';

/** At 50,000 EUR: 25,000 sat. */
const poster = { amount: '12.50', currency: 'EUR', reference: '1007', quote_seconds: 900 };

const manyOrders = 500;
/** Two seconds for an invoice, and what a busy machine needs for 500 requests. */
const answerLimitMs = waitLimit(30_000);

/** @param nodes two of merchants */
export function testOrders(nodes: () => Lightning): void {
  /** Gives a store one of the nodes. */
  async function setNode(stage: Stage, id: number, merchant: Lnd | undefined): Promise<void> {
    const macaroon = await merchant?.bake('invoices:read', 'invoices:write');
    const file = join(stage.folder, '..', `macaroon-${id}-${Date.now()}`);
    writeFileSync(file, macaroon ?? '', { mode: 0o600 });
    const options = ['--kind', 'lnd', '--url', merchant?.url ?? '', '--credential-file', file];
    const command = ['store', 'lightning', String(id), ...options, '--db', stage.db];
    // The right clock, which paygate compares with the node's.
    const { code, stderr } = await runPaygate(command);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  }

  /** A store with the first node. The clock of paygate is right: a node has a clock. */
  const open = (stage: Stage, options: OrderShopOptions = {}): Promise<OrderShop> =>
    openOrderShop(stage, {
      behind: 0,
      ...options,
      async prepare(store) {
        await setNode(stage, store.id, nodes().merchants[0]);
        await options.prepare?.(store);
      },
    });

  /** All invoices of a node, the oldest first. */
  async function invoicesOf(place: 0 | 1): Promise<LndAnswer[]> {
    const path = '/v1/invoices?num_max_invoices=10000';
    const { invoices } = await (nodes().merchants[place] as Lnd).ask(path);
    return invoices;
  }

  const isOf =
    ({ id }: { readonly id: string }) =>
    ({ memo }: LndAnswer): boolean =>
      memo.endsWith(id);

  test('an order is paid, and no reorganisation touches it', async ({ stage }) => {
    const shop = await open(stage);
    const order = await shop.create(poster);
    const { lightning: shown } = order.made;
    expect(shown).toMatchObject({ amount_sat: 25_000, invoice: expect.stringMatching(/^lnbcrt/) });
    await nodes().pay(shown?.invoice ?? '');
    await order.becomes({ status: 'paid', received_sat: 25_000, missing_sat: 0, lightning: null });
    const paid = await order.get();
    await stage.network.mine(2);
    await stage.network.reorganise(2, 'left out');
    await shop.killAndStart();
    expect(await order.get()).toEqual(paid);
    await shop.finish('reorganised');
  });

  test('paygate is killed before the payment, and finds it at the next start', async ({
    stage,
  }) => {
    const shop = await open(stage);
    const order = await shop.create(poster);
    const invoice = order.made.lightning?.invoice ?? '';
    await shop.killAndStart(() => nodes().pay(invoice));
    await order.becomes({ status: 'paid', received_sat: 25_000 });
    expect((await order.get()).payments).toHaveLength(1);
    await order.expectEvents('order.paid');
    await shop.finish();
  });

  test('paygate is killed between the settlement at the node and its commit', async ({ stage }) => {
    const shop = await open(stage);
    const order = await shop.create(poster);
    // It follows the node. Stopped, it reads nothing of what the node reports.
    shop.suspend();
    await nodes().pay(order.made.lightning?.invoice ?? '');
    expect((await invoicesOf(0)).find(isOf(order)).state).toBe('SETTLED');
    await shop.killAndStart();
    await order.becomes({ status: 'paid', received_sat: 25_000 });
    expect((await order.get()).payments).toHaveLength(1);
    await order.expectEvents('order.paid');
    await shop.finish();
  });

  test('paygate is killed between its commit and the webhook', async ({ stage }) => {
    const shop = await open(stage);
    const order = await shop.create(poster);
    shop.webhooks.isDown = true;
    await nodes().pay(order.made.lightning?.invoice ?? '');
    await order.becomes({ status: 'paid', received_sat: 25_000 });
    await shop.killAndStart(async () => {
      expect(shop.webhooks.acceptedOf(order.id)).toEqual([]);
      shop.webhooks.isDown = false;
      // The next attempt is due at once.
      shop.clock.advance(60);
    });
    expect((await order.get()).payments).toHaveLength(1);
    await order.expectEvents('order.paid');
    await shop.finish();
  });

  test('a quote lapses: its invoice counts until the next one, and is canceled then', async ({
    stage,
  }) => {
    // A node is asked while both clocks differ by less than 2 minutes: at -110 s and at +100 s.
    // Then the first quote is over for more than 2 minutes.
    const shop = await open(stage, { behind: 330 });
    const brief = { ...poster, quote_seconds: 300 };
    const [kept, renewed] = [await shop.create(brief), await shop.create(brief)];
    for (const { made } of [kept, renewed]) expect(made.lightning).toBeNull();
    await shop.passTime(220);
    for (const each of [kept, renewed]) await each.pay(5_000);
    const rest = { missing_sat: 20_000, lightning: { amount_sat: 20_000 } };
    for (const each of [kept, renewed]) await each.becomes(rest);
    const [first = '', second = ''] = await Promise.all(
      [kept, renewed].map(async (each) => (await each.get()).lightning?.invoice),
    );
    shop.market.eur = 40_000;
    await shop.passTime(210);
    for (const each of [kept, renewed]) await each.becomes({ quote: null, lightning: null });
    await nodes().pay(first);
    await kept.becomes({ status: 'processing', received_sat: 25_000, missing_sat: 0 });
    // 10 EUR are missing.
    const { lightning: next } = await renewed.post('quote');
    expect(next).toMatchObject({ amount_sat: 25_000 });
    // paygate refused the oldest, because of its time. No customer saw it.
    const states = async () =>
      (await invoicesOf(0)).filter(isOf(renewed)).map(({ state }) => state);
    await expect.poll(states).toEqual(['OPEN', 'CANCELED', 'OPEN']);
    await expect(nodes().pay(second)).rejects.toThrow('incorrect_payment_details');
    await nodes().pay(next?.invoice ?? '');
    await renewed.becomes({ status: 'processing', received_sat: 30_000, missing_sat: 0 });
    await stage.network.mine(2);
    for (const each of [kept, renewed]) {
      await each.becomes({ status: 'paid' });
      expect((await each.get()).payments).toHaveLength(2);
    }
    await shop.finish();
  });

  test(`${manyOrders} orders at once: each is answered in time, and sums are right`, async ({
    stage,
  }) => {
    const shop = await open(stage, { serve: ['--limit-new-address', '1000:1000'] });
    const begunAt = performance.now();
    const orders = await Promise.all(
      Array.from({ length: manyOrders }, async (_, place) => {
        const order = await shop.create({ ...poster, reference: `${place}` });
        return { ...order, afterMs: performance.now() - begunAt };
      }),
    );
    const slowest = Math.max(...orders.map(({ afterMs }) => afterMs));
    const early = orders.filter(({ made }) => made.lightning !== null).length;
    const withInvoice = (await shop.list()).filter(({ lightning }) => lightning !== null);
    process.stdout.write(
      `with an invoice: ${early} of ${manyOrders} at once, ${withInvoice.length} a moment later; ` +
        `the slowest answer after ${Math.round(slowest)} ms\n`,
    );
    expect(slowest).toBeLessThan(answerLimitMs);
    for (const what of ['id', 'address'] as const) {
      expect(new Set(orders.map((order) => order[what])).size).toBe(manyOrders);
    }
    const invoices = withInvoice.map(({ lightning }) => lightning?.invoice ?? '');
    expect(new Set(invoices).size).toBe(invoices.length);
    expect(invoices.length).toBeGreaterThan(0);
    const [onChain, ...sample] = withInvoice
      .slice(0, 4)
      .flatMap(({ id }) => orders.find((order) => order.id === id) ?? []);
    await onChain?.pay(25_000);
    for (const invoice of invoices.slice(1, 4)) await nodes().pay(invoice);
    for (const order of sample) await order.becomes({ status: 'paid', received_sat: 25_000 });
    await onChain?.becomes({ status: 'processing', received_sat: 25_000 });
    await stage.network.mine(2);
    await onChain?.becomes({ status: 'paid', confirmed_sat: 25_000 });
    const ids = new Set(orders.map(({ id }) => id));
    const settled = (await invoicesOf(0)).filter(
      ({ state, memo }) => state === 'SETTLED' && ids.has(memo.split(' ').at(-1)),
    );
    expect(settled.map(({ memo }) => memo.split(' ').at(-1)).sort()).toEqual(
      sample.map(({ id }) => id).sort(),
    );
    expect(settled.reduce((sum, { amt_paid_sat: sat }) => sum + Number(sat), 0)).toBe(3 * 25_000);
    const received = (await shop.list()).reduce((sum, order) => sum + order.received_sat, 0);
    expect(received).toBe(4 * 25_000);
    await shop.finish();
  });

  test('half on-chain, and the rest by an invoice for it', async ({ stage }) => {
    const shop = await open(stage);
    const order = await shop.create(poster);
    const first = order.made.lightning?.invoice ?? '';
    await order.pay(15_000);
    await order.becomes({ missing_sat: 10_000, lightning: { amount_sat: 10_000 } });
    // LND has canceled the invoice for all of it.
    await expect(nodes().pay(first)).rejects.toThrow('incorrect_payment_details');
    await nodes().pay((await order.get()).lightning?.invoice ?? '');
    await order.becomes({ status: 'processing', received_sat: 25_000, missing_sat: 0 });
    await stage.network.mine(2);
    await order.becomes({ status: 'paid', confirmed_sat: 25_000 });
    const kinds = (await order.get()).payments.map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['lightning', 'onchain']);
    await shop.finish();
  });

  test('two stores have two nodes, and an order is paid at that of its store', async ({
    stage,
  }) => {
    let secondStore = 0;
    const shop = await open(stage, {
      async prepare() {
        const callbackUrl = 'http://127.0.0.1:9/never?secret=s3cr3t';
        ({ id: secondStore } = await stage.addStore('p2tr', callbackUrl));
        await setNode(stage, secondStore, nodes().merchants[1]);
      },
    });
    const orders = [
      await shop.create({ ...poster, store_id: 1 }),
      await shop.create({ ...poster, store_id: secondStore }),
    ];
    for (const [place, order] of orders.entries()) {
      await nodes().pay(order.made.lightning?.invoice ?? '');
      await order.becomes({ status: 'paid', received_sat: 25_000 });
      const lists = await Promise.all([invoicesOf(0), invoicesOf(1)]);
      const settled = lists.map((invoices) =>
        invoices.filter(({ state, memo }) => state === 'SETTLED' && isOf(order)({ memo })),
      );
      expect(settled.map(({ length }) => length)).toEqual(place === 0 ? [1, 0] : [0, 1]);
    }
    for (const order of orders) expect((await order.get()).payments).toHaveLength(1);
    await shop.finish();
  });
}
