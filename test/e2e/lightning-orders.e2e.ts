// Orders that are paid by Lightning, at a real LND of the merchant, with kill -9 between the steps.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { hasLnd } from '../../scripts/regtest/lnd.mjs';
import { type Lightning, type Lnd, type LndAnswer, startLightning } from './lnd.ts';
import { type OrderShop, openOrderShop } from './orders.ts';
import { waitLimit } from './slowness.ts';
import { type Stage, test } from './stage.ts';

const title = hasLnd() ? 'orders by Lightning' : 'orders by Lightning (skipped, 4 tests: no LND)';
/** At 50,000 EUR: 25,000 sat. */
const poster = { amount: '12.50', currency: 'EUR', reference: '1007', quote_seconds: 900 };

describe.skipIf(!hasLnd())(title, () => {
  let lightning: Lightning;

  beforeAll(async () => {
    lightning = await startLightning(2);
  }, waitLimit(180_000));

  afterAll(() => lightning?.close());

  /** Gives a store one of the nodes. */
  async function setNode(stage: Stage, id: number, merchant: Lnd | undefined): Promise<void> {
    const macaroon = await merchant?.bake('invoices:read', 'invoices:write');
    const file = join(stage.folder, '..', `macaroon-${id}-${Date.now()}`);
    writeFileSync(file, macaroon ?? '', { mode: 0o600 });
    const options = ['--kind', 'lnd', '--url', merchant?.url ?? '', '--credential-file', file];
    const command = ['store', 'lightning', String(id), ...options, '--db', stage.db];
    const { code, stderr } = await stage.run(command);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  }

  /** A store with the first node. The clock of paygate is right: a node has a clock. */
  const open = (stage: Stage, more = async (): Promise<void> => {}): Promise<OrderShop> =>
    openOrderShop(stage, {
      behind: 0,
      async prepare({ id }) {
        await setNode(stage, id, lightning.merchants[0]);
        await more();
      },
    });

  test('an order is paid, and no reorganisation touches it', async ({ stage }) => {
    const shop = await open(stage);
    const order = await shop.create(poster);
    const { lightning: shown } = order.made;
    expect(shown).toMatchObject({ amount_sat: 25_000, invoice: expect.stringMatching(/^lnbcrt/) });
    await lightning.pay(shown?.invoice ?? '');
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
    await shop.killAndStart(() => lightning.pay(invoice));
    await order.becomes({ status: 'paid', received_sat: 25_000 });
    const second = await shop.create(poster);
    const paying = lightning.pay(second.made.lightning?.invoice ?? '');
    // Killed at any moment between the payment and its commit.
    await shop.killAndStart(() => paying);
    await second.becomes({ status: 'paid', received_sat: 25_000 });
    for (const each of [order, second]) expect((await each.get()).payments).toHaveLength(1);
    await shop.finish();
  });

  test('half on-chain, and the rest by an invoice for it', async ({ stage }) => {
    const shop = await open(stage);
    const order = await shop.create(poster);
    const first = order.made.lightning?.invoice ?? '';
    await order.pay(15_000);
    await order.becomes({ missing_sat: 10_000, lightning: { amount_sat: 10_000 } });
    // LND has canceled the invoice for all of it.
    await expect(lightning.pay(first)).rejects.toThrow('incorrect_payment_details');
    await lightning.pay((await order.get()).lightning?.invoice ?? '');
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
    const shop = await open(stage, async () => {
      const callbackUrl = 'http://127.0.0.1:9/never?secret=s3cr3t';
      ({ id: secondStore } = await stage.addStore('p2tr', callbackUrl));
      await setNode(stage, secondStore, lightning.merchants[1]);
    });
    const orders = [
      await shop.create({ ...poster, store_id: 1 }),
      await shop.create({ ...poster, store_id: secondStore }),
    ];
    for (const [place, order] of orders.entries()) {
      await lightning.pay(order.made.lightning?.invoice ?? '');
      await order.becomes({ status: 'paid', received_sat: 25_000 });
      const lists = await Promise.all(
        lightning.merchants.map((each) => each.ask('/v1/invoices?num_max_invoices=1000')),
      );
      const settled = lists.map(({ invoices }) =>
        invoices.filter(
          ({ state, memo }: LndAnswer) => state === 'SETTLED' && memo.endsWith(order.id),
        ),
      );
      expect(settled.map(({ length }) => length)).toEqual(place === 0 ? [1, 0] : [0, 1]);
    }
    for (const order of orders) expect((await order.get()).payments).toHaveLength(1);
    await shop.finish();
  });
});
