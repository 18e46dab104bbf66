// `paygate orders …`, `paygate payments …` and `paygate addresses list`, each a process of its own
// beside an open file.

import { asc } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import { idBytes, idOf } from '../../src/domain/order/order-id.ts';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import type { Records } from '../../src/store/open-records.ts';
import type { NewOrder } from '../../src/store/orders/orders.ts';
import { deliveries, eventColumns, isOf } from '../../src/store/schema/delivery-schema.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import { closeApps, openReady } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop } from '../support/ledger.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const now = Date.now();
const hour = 3_600_000;
const publicUrl = 'https://pay.example.com';

const idNumber = (number: number): string => idOf('ord', new Uint8Array(idBytes).fill(number));

/** 12.50 EUR at 50,000 EUR a bitcoin: 25,000 sat. */
const priced: Omit<NewOrder, 'addressId' | 'publicId'> = {
  storeId: 1,
  price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
  rateCents: 5_000_000,
  toleranceBasisPoints: 50,
  latePolicy: 'worth',
  quoteSeconds: 900,
  expiresAt: now + 2 * hour,
  reference: null,
  description: '2 posters',
  metadata: { cart: '7f' },
  returnUrl: null,
  language: null,
};

interface TestOrder {
  readonly id: string;
  readonly issued: IssuedAddress;
}

let orders = 0;

async function order(
  shop: Shop,
  changes: Partial<NewOrder> = {},
  createdAt = now,
): Promise<TestOrder> {
  const issued = await shop.issue(1, changes.storeId);
  orders += 1;
  const publicId = idNumber(orders);
  await shop.write((tx) =>
    shop.orders.create(tx, createdAt, { ...priced, publicId, addressId: issued.id, ...changes }),
  );
  return { id: publicId, issued };
}

async function pay(shop: Shop, { issued }: TestOrder, valueSat: number): Promise<string> {
  const txid = shop.chain.pay([{ address: issued.address, valueSat }]);
  await shop.write((tx) => shop.ledger.apply(tx, Date.now(), shop.observation(issued)));
  return txid;
}

/** A shop whose server had a public URL. */
async function open(terms: Parameters<typeof openShop>[0] = {}): Promise<Shop> {
  const shop = await openShop(terms);
  await shop.write((tx) => shop.state.baseUrl.write(tx, publicUrl));
  return shop;
}

const run = (shop: Pick<Shop, 'path'>, ...args: string[]) => runCli([...args, '--db', shop.path]);

/** The answer as JSON; the command must succeed and print no error. */
// biome-ignore lint/suspicious/noExplicitAny: the test checks the shape of an answer.
async function ask(shop: Pick<Shop, 'path'>, ...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await run(shop, ...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

const eventsOf = ({ database }: Pick<Records, 'database'>) =>
  database.orm
    .select(eventColumns)
    .from(deliveries)
    .where(isOf('webhook'))
    .orderBy(asc(deliveries.id))
    .all()
    .map(({ type, state, body }) => ({ type, state, order: JSON.parse(body).data.order }));

/** The order as the API answers it now. */
function jsonOf(shop: Shop, { id }: TestOrder): OrderJson {
  const row = shop.orderView.byPublicId(id);
  if (row === undefined) throw new Error(`there is no order ${id}`);
  const json = shop.orderView.json(row, Date.now());
  return { ...json, page_url: `${publicUrl}${json.page_url}` };
}

describe('orders list', () => {
  it('filters by store, status, reference and time, page by page', async () => {
    const shop = await open();
    await shop.addStore({ name: 'Second', callbackUrl: 'https://second.example/cb' });
    const old = await order(shop, { reference: '1007' }, now - 5 * hour);
    const second = await order(shop, { storeId: 2, reference: '1007' });
    const paid = await order(shop);
    await pay(shop, paid, 25_000);
    const ids = async (...filter: string[]) =>
      (await ask(shop, 'orders', 'list', ...filter)).map(({ id }: OrderJson) => id);
    expect(await ids()).toEqual([paid.id, second.id, old.id]);
    expect(await ids('--store', '1', '--reference', '1007')).toEqual([old.id]);
    expect(await ids('--status', 'processing')).toEqual([paid.id]);
    expect(await ids('--created-before', '2h')).toEqual([old.id]);
    const since = new Date(now - hour).toISOString().slice(0, 19);
    expect(await ids('--created-after', since, '--limit', '1')).toEqual([paid.id]);
    expect(await ids('--after', paid.id, '--limit', '1')).toEqual([second.id]);
    const text = (await run(shop, 'orders', 'list', '--limit', '2')).stdout;
    expect(text).toMatch(/ Processing +12\.50 EUR +25000 +25000\n/);
    expect(text).toMatch(/ Open +12\.50 EUR +25000 +0 +1007\n/);
    expect(text).toContain(`There are more: --after ${second.id} shows the next page.`);
  });

  it('refuses a time, a status and an id that make no sense', async () => {
    const shop = await open();
    for (const [option, value] of [
      ['--created-after', '2026-02-31'],
      ['--created-before', 'soon'],
      ['--status', 'late'],
      ['--after', '7'],
    ] as const) {
      expect(await run(shop, 'orders', 'list', option, value)).toMatchObject({ code: 2 });
    }
    const none = await run(shop, 'orders', 'list', '--after', idNumber(99));
    expect(none).toMatchObject({
      code: 1,
      stderr: `paygate: there is no order ${idNumber(99)}\n`,
    });
    expect((await run(shop, 'orders', 'list')).stdout).toBe('No order matches.\n');
  });
});

describe('orders show', () => {
  it('prints the JSON of the API, or all facts with the payments', async () => {
    const shop = await open();
    const shown = await order(shop, { reference: '1007' });
    const txid = await pay(shop, shown, 10_000);
    expect(await ask(shop, 'orders', 'show', shown.id)).toEqual(jsonOf(shop, shown));
    const { stdout } = await run(shop, 'orders', 'show', shown.id);
    expect(stdout).toMatch(/^status +Open\nprice +12\.50 EUR, 25000 sat\n/);
    expect(stdout).toMatch(/\nmissing +15000 sat\n/);
    expect(stdout).toMatch(/\nquote +50000\.00 EUR a bitcoin until 20\d\d-/);
    expect(stdout).toContain(`${publicUrl}/o/${shown.id}\n`);
    expect(stdout).toMatch(/\n20\d\d-.* UTC +10000 +50000\.00 +Seen \(0\) +0 +[0-9a-f]{64}\n$/);
    expect(stdout).toContain(txid);
  });

  it.each([
    [-500, '11.88 EUR, 5 % discount', 23_750],
    [250, '12.82 EUR, 2.5 % surcharge', 25_625],
  ])('says what is due with %d hundredths of a percent', async (adjustBasisPoints, due, sat) => {
    const shop = await open();
    const price = { kind: 'fiat', currency: 'EUR', minor: 1_250n, adjustBasisPoints } as const;
    const shown = await order(shop, { price });
    const { stdout } = await run(shop, 'orders', 'show', shown.id);
    expect(stdout).toContain(`12.50 EUR, ${sat} sat\n`);
    expect(stdout.replaceAll(/ +/g, ' ')).toContain(`\ndue ${due}\n`);
  });

  it('names an order that does not exist', async () => {
    const shop = await open();
    expect(await run(shop, 'orders', 'show', idNumber(99))).toMatchObject({
      code: 1,
      stderr: `paygate: there is no order ${idNumber(99)}\n`,
    });
    const typo = await run(shop, 'orders', 'show', '17');
    expect(typo).toMatchObject({ code: 2, stderr: expect.stringContaining('such as ord_') });
  });
});

describe('orders cancel and accept', () => {
  it('change an order with its event and an audit entry, once', async () => {
    const shop = await open({ webhookUrl: 'https://shop.example/hook' });
    const changed = await order(shop);
    const nothing = await run(shop, 'orders', 'accept', changed.id);
    expect(nothing).toMatchObject({
      code: 1,
      stderr: 'paygate: the order has received nothing that can be accepted\n',
    });
    const canceled = await ask(shop, 'orders', 'cancel', changed.id);
    expect(canceled).toMatchObject({ status: 'canceled', version: 2 });
    expect(canceled).toEqual(jsonOf(shop, changed));
    const again = await run(shop, 'orders', 'cancel', changed.id);
    expect(again.stdout).toBe('Nothing changed: the status of the order is already canceled.\n');
    await pay(shop, changed, 9_000);
    const accepted = await run(shop, 'orders', 'accept', changed.id);
    expect(accepted.stdout).toBe('The order is accepted. Its status is processing.\n');
    const refused = await run(shop, 'orders', 'cancel', changed.id);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('processing') });
    expect(eventsOf(shop)).toEqual([
      { type: 'order.canceled', state: 'owed', order: canceled },
      expect.objectContaining({ type: 'order.updated' }),
      { type: 'order.processing', state: 'owed', order: jsonOf(shop, changed) },
    ]);
    const detail = { order: changed.id, client: 'command' };
    const entries = shop.audit.list(10).map((row) => [row.action, JSON.parse(row.detail)]);
    expect(entries).toEqual([
      ['order.accept', detail],
      ['order.cancel', detail],
    ]);
  });
});

describe('beside a running paygate', () => {
  it('a change has the event with the public URL of that paygate', async () => {
    const app = await openReady({ config: { publicUrl } });
    await app.newAddress();
    const publicId = idNumber(1);
    await app.withStore(async ({ database, orders, addressView }) => {
      const [address] = addressView.list({ limit: 1 }).rows;
      const addressId = address?.id ?? 0;
      await database.write((tx) => orders.create(tx, now, { ...priced, publicId, addressId }));
    });
    const canceled = await ask(app, 'orders', 'cancel', publicId);
    expect(canceled).toMatchObject({ page_url: `${publicUrl}/o/${publicId}` });
    await app.withStore(async (records) => {
      expect(eventsOf(records)).toEqual([
        { type: 'order.canceled', state: 'unsent', order: canceled },
      ]);
    });
  });
});

describe('payments', () => {
  it('are listed by state, address, transaction and time, with their order', async () => {
    const shop = await open({ currency: 'EUR' });
    const ordered = await order(shop);
    const first = await pay(shop, ordered, 10_000);
    const plain = { id: '', issued: await shop.issue() };
    const second = await pay(shop, plain, 7_000);
    const price = { currency: 'EUR', priceCents: 5_100_000, sources: ['a.example'] };
    await shop.write((tx) => shop.receiptPrices.put(tx, Date.now(), now - hour, price, 9));
    const listed = await ask(shop, 'payments', 'list');
    expect(listed).toMatchObject([
      { id: 2, txid: second, order_id: null, rate: null, address: plain.issued.address },
      { id: 1, txid: first, order_id: ordered.id, rate: '50000.00', value_sat: 10_000 },
    ]);
    expect(listed[1]).toMatchObject({ currency: 'EUR', worth_when_seen: '5.10' });
    const ids = async (...filter: string[]) =>
      (await ask(shop, 'payments', 'list', ...filter)).map(({ id }: { id: number }) => id);
    expect(await ids('--txid', first)).toEqual([1]);
    expect(await ids('--address', plain.issued.address)).toEqual([2]);
    expect(await ids('--state', 'confirmed')).toEqual([]);
    expect(await ids('--seen-after', '1h', '--after', '2')).toEqual([1]);
    const { stdout } = await run(shop, 'payments', 'list', '--limit', '1');
    expect(stdout).toMatch(/ +7000 +3\.57 EUR +Seen +0 +[0-9a-f]{64}\n/);
    expect(stdout).toContain('There are more: --after 2 shows the next page.');
  });

  it('are shown one by one, with their callbacks', async () => {
    const shop = await open();
    const ordered = await order(shop);
    await pay(shop, ordered, 10_000);
    expect(await ask(shop, 'payments', 'show', '1')).toMatchObject({
      ...{ id: 1, store_id: 1, order_id: ordered.id, state: 'unconfirmed', status: 0 },
      callbacks: [{ id: 1, status: 0, state: 'owed' }],
    });
    const { stdout } = await run(shop, 'payments', 'show', '1');
    expect(stdout).toMatch(/\nrate in order +50000\.00\n/);
    expect(await run(shop, 'payments', 'show', '2')).toMatchObject({
      code: 1,
      stderr: 'paygate: there is no payment 2\n',
    });
  });
});

describe('addresses list', () => {
  it('filters by store and payment, page by page, and is also named address list', async () => {
    const shop = await open();
    const ordered = await order(shop);
    await pay(shop, ordered, 10_000);
    const plain = await shop.issue();
    const listed = await ask(shop, 'addresses', 'list');
    expect(listed).toMatchObject([
      { address: plain.address, order_id: null, paid: false, index: 1 },
      { address: ordered.issued.address, order_id: ordered.id, paid: true, index: 0 },
    ]);
    expect(await ask(shop, 'address', 'list', '--state', 'paid', '--store', '1')).toEqual([
      listed[1],
    ]);
    expect(await ask(shop, 'addresses', 'list', '--after', String(listed[0].id))).toEqual([
      listed[1],
    ]);
    const { stdout } = await run(shop, 'addresses', 'list', '--limit', '1');
    expect(stdout).toMatch(new RegExp(` no +${plain.address}\n`));
    expect(stdout).toContain(`There are more: --after ${listed[0].id} shows`);
    const help = await runCli(['help', 'addresses', 'list']);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('address') });
  });
});

it('an order that expired by a clock that was ahead is shown as its event says', async () => {
  const shop = await open();
  const early = await order(shop);
  await shop.write((tx) => shop.orders.expire(tx, now + 3 * hour, () => false, 10));
  expect(await ask(shop, 'orders', 'show', early.id)).toMatchObject({
    ...{ status: 'expired', version: 2, missing_sat: null },
  });
  expect(await ask(shop, 'orders', 'list')).toMatchObject([{ status: 'expired', version: 2 }]);
});

describe('orders forget', () => {
  const day = 86_400_000;
  const customerEmail = 'anna@customer.example';

  it('deletes the address of a customer if it is the only text', async () => {
    const shop = await open();
    const none = { reference: null, description: null, metadata: {}, returnUrl: null };
    const times = { expiresAt: now - 399 * day, customerEmail };
    const id = await order(shop, { ...none, ...times }, now - 400 * day);
    await shop.write((tx) => shop.orders.expire(tx, now, () => false, 10));
    expect(
      shop.saleSearch.orders('ANNA@', {}, { beforeId: undefined, limit: 9 }).rows,
    ).toHaveLength(1);
    expect(await ask(shop, 'orders', 'forget', '--older-than', '365d')).toEqual({ orders: 1 });
    expect(jsonOf(shop, id)).toMatchObject({ customer_email: null });
    expect(shop.saleSearch.orders('ANNA@', {}, { beforeId: undefined, limit: 9 }).rows).toEqual([]);
  });

  it('deletes the texts of old orders that have ended, and keeps their money', async () => {
    const shop = await open();
    const texts = { reference: '1007', returnUrl: 'https://shop.example/thanks', customerEmail };
    const ended = await order(shop, { ...texts, expiresAt: now - 399 * day }, now - 400 * day);
    const active = await order(shop, { ...texts, expiresAt: null }, now - 400 * day);
    const recent = await order(shop, { ...texts, expiresAt: now - 98 * day }, now - 99 * day);
    const made = { invoice: 'lnbcrt1', amountSat: 25_000, expiresAt: now };
    await shop.write((tx) => {
      for (const [id, paymentHash] of ['aa', 'bb', 'cc'].entries()) {
        shop.lightningInvoices.add(tx, now, id + 1, { ...made, paymentHash });
      }
      shop.orders.expire(tx, now, () => false, 10);
    });
    const invoices = () =>
      shop.database.orm.$client.prepare('select invoice from lightning_invoices').pluck().all();
    expect(await ask(shop, 'orders', 'forget', '--older-than', '365d')).toEqual({ orders: 1 });
    expect(jsonOf(shop, ended)).toMatchObject({
      ...{ reference: null, description: null, metadata: {}, return_url: null },
      customer_email: null,
      ...{ status: 'expired', amount: '12.50', currency: 'EUR' },
    });
    expect(invoices()).toEqual(['', 'lnbcrt1', 'lnbcrt1']);
    for (const kept of [active, recent]) {
      expect(jsonOf(shop, kept)).toMatchObject({ reference: '1007', metadata: { cart: '7f' } });
      expect(jsonOf(shop, kept)).toMatchObject({ customer_email: customerEmail });
    }
    expect((await run(shop, 'orders', 'forget', '--older-than', '365d')).stdout).toBe(
      'No order has texts that old.\n',
    );
  });

  it('deletes nothing by a clock that is ahead of the newest block', async () => {
    const shop = await open();
    const texts = { reference: '1007', expiresAt: now - 399 * day };
    await order(shop, texts, now - 400 * day);
    await shop.write((tx) => {
      shop.orders.expire(tx, now, () => false, 10);
      // The chain of the shop is years old, as it is for a clock that is years ahead.
      shop.state.network.write(tx, 'mainnet');
    });
    expect(await ask(shop, 'orders', 'forget', '--older-than', '365d')).toEqual({ orders: 0 });
    await shop.write((tx) => shop.state.network.write(tx, 'regtest'));
    expect(await ask(shop, 'orders', 'forget', '--older-than', '365d')).toEqual({ orders: 1 });
  });

  it('refuses an age at which events still hold the texts', async () => {
    const shop = await open();
    expect(await run(shop, 'orders', 'forget', '--older-than', '89d')).toMatchObject({
      code: 2,
      stderr: 'paygate: --older-than: at least 90d, because events hold the texts until then\n',
    });
  });
});
