// Lightning invoices of orders in the file: what a node reports of them is a payment of the order,
// with its event, in one commit.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { asc } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import type { SettledInvoice } from '../../../src/domain/order/lightning-invoice.ts';
import type { OrderJson } from '../../../src/domain/order/order-json.ts';
import type { NewOrder } from '../../../src/store/orders/orders.ts';
import { deliveries, eventColumns, isOf } from '../../../src/store/schema/delivery-schema.ts';
import { cleanUp } from '../../support/files.ts';
import { openShop } from '../../support/ledger.ts';
import { now } from '../../support/store.ts';

afterEach(cleanUp);

const minute = 60_000;
const hourMs = 60 * minute;
const publicId = 'ord_3yQ8tZr6WmB1nK5vXc2dLp';

const lnd = {
  kind: 'lnd',
  ...{ url: 'https://umbrel.local:8080', credential: '0201', certificate: null },
} as const;

const preimageOf = (byte: number): string => bytesToHex(new Uint8Array(32).fill(byte));
const hashOf = (byte: number): string => bytesToHex(sha256(new Uint8Array(32).fill(byte)));

/** 12.50 EUR at 50,000 EUR a bitcoin: 25,000 sat. */
const priced: Omit<NewOrder, 'addressId' | 'storeId' | 'publicId'> = {
  price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
  rateCents: 5_000_000,
  toleranceBasisPoints: 50,
  latePolicy: 'worth',
  quoteSeconds: 900,
  expiresAt: now + 60 * minute,
  reference: '1007',
  description: null,
  metadata: {},
  returnUrl: null,
  language: null,
};

/** An order with an invoice of this preimage. */
async function invoiced(changes: Partial<NewOrder> = {}) {
  const shop = await openShop({
    webhookUrl: 'https://shop.example/hook',
    webhookEvents: 'order,payment',
  });
  const issued = await shop.issue();
  const order = { ...priced, publicId, storeId: 1, addressId: issued.id, ...changes };
  const { id } = await shop.write((tx) => shop.orders.create(tx, now, order));
  const { lightningInvoices } = shop;
  const add = (byte: number, amountSat: number, at = now) =>
    shop.write((tx) =>
      lightningInvoices.add(tx, at, id, {
        ...{ paymentHash: hashOf(byte), invoice: `lnbcrt${byte}`, amountSat },
        expiresAt: now + 15 * minute,
      }),
    );
  await add(1, 25_000);
  const json = (at = now): OrderJson => {
    const row = shop.orderView.byPublicId(publicId);
    if (row === undefined) throw new Error('there is no order');
    return shop.orderView.json(row, at);
  };
  const report = (settled: readonly SettledInvoice[], at = now, cursor = '7', storeId = 1) =>
    shop.write((tx) => lightningInvoices.record(tx, at, storeId, { settled, cursor }));
  const events = () =>
    shop.database.orm
      .select(eventColumns)
      .from(deliveries)
      .where(isOf('webhook'))
      .orderBy(asc(deliveries.id))
      .all();
  return { shop, issued, id, add, json, report, events };
}

const paid = (byte: number, valueSat = 25_000, settledAt = now): SettledInvoice => ({
  ...{ paymentHash: hashOf(byte), preimage: preimageOf(byte), valueSat, settledAt },
  externalId: '',
});

/** An invoice that a restored file does not know. */
const named = (byte: number, changes: Partial<SettledInvoice> = {}): SettledInvoice => ({
  ...paid(byte),
  externalId: publicId,
  ...changes,
});

type Scene = Awaited<ReturnType<typeof invoiced>>;
type Shop = Scene['shop'];

/** @param publicKey empty for a store without a node */
const cursorIn = ({ state }: Shop, storeId = 1, publicKey = ''): string =>
  state.lightningCursor(storeId, publicKey).read();

describe('an invoice', () => {
  it('is shown while it is for what is missing', async () => {
    const { add, json, shop, issued } = await invoiced();
    const expires_at = (now + 15 * minute) / 1000;
    expect(json().lightning).toEqual({ invoice: 'lnbcrt1', amount_sat: 25_000, expires_at });
    expect(json(now + 15 * minute).lightning).toBeNull();
    shop.chain.pay([{ address: issued.address, valueSat: 10_000 }]);
    await shop.observe(issued);
    expect(json()).toMatchObject({ missing_sat: 15_000, lightning: null });
    expect(await add(2, 15_000)).toBe(hashOf(1));
    expect(json().lightning).toMatchObject({ invoice: 'lnbcrt2', amount_sat: 15_000 });
    expect(shop.lightningInvoices.open(1)).toMatchObject({ paymentHash: hashOf(2) });
  });

  it('ends with its order, and all of a store with its node', async () => {
    const { shop, id, json } = await invoiced();
    const changed: number[] = [];
    shop.events.on('orderChanged', (orderId) => changed.push(orderId));
    const { lightningInvoices } = shop;
    expect(await shop.write((tx) => lightningInvoices.end(tx, now, id))).toBe(hashOf(1));
    expect(changed).toEqual([id]);
    expect(json().lightning).toBeNull();
    expect(await shop.write((tx) => lightningInvoices.end(tx, now, id))).toBeUndefined();
    expect(changed).toEqual([id]);
  });

  it('ends when its store gets another node, or none', async () => {
    const { shop, add, json } = await invoiced();
    const set = (key: string | undefined, cursor: string, storeId = 1) =>
      shop.write((tx) => {
        const node = key === undefined ? undefined : { ...lnd, publicKey: key };
        shop.lightningInvoices.setNode(tx, now, storeId, node, cursor);
      });
    const cursor = (key = '02aa') => cursorIn(shop, 1, key);
    await set('02aa', '5');
    expect([json().lightning, cursor()]).toEqual([null, '5']);
    await add(2, 25_000);
    // The same one, with another macaroon: what it reports meanwhile is not lost.
    await set('02aa', '9');
    await set('02bb', '3', 2);
    expect(json().lightning?.invoice).toBe('lnbcrt2');
    expect(cursor()).toBe('5');
    await set(undefined, '');
    expect(json().lightning).toBeNull();
    expect(shop.state.lightningNode(1).read()).toBeUndefined();
    await set('02aa', '9');
    expect(cursor()).toBe('5');
    await set('02cc', '2');
    expect(cursor('02cc')).toBe('2');
    expect(shop.state.lightningNode(1).read()).toEqual({ ...lnd, publicKey: '02cc' });
  });
});

describe('the text of an invoice, which has texts of the order', () => {
  const textsIn = ({ database }: Shop): unknown[] =>
    database.orm.$client.prepare('select invoice from lightning_invoices').pluck().all();

  it.each([
    ['is replaced', ({ add }: Scene) => add(2, 25_000)],
    ['is paid', ({ report }: Scene) => report([paid(1)])],
    [
      'is of a node that goes',
      ({ shop }: Scene) =>
        shop.write((tx) => {
          shop.lightningInvoices.setNode(tx, now, 1, { ...lnd, publicKey: '02aa' });
        }),
    ],
  ])('goes when that %s', async (_name, act) => {
    const scene = await invoiced();
    expect(textsIn(scene.shop)).toEqual(['lnbcrt1']);
    await act(scene);
    expect(textsIn(scene.shop)[0]).toBe('');
  });

  it('is forgotten with the order, also if the order ended unseen by its node', async () => {
    const { shop, id } = await invoiced();
    const forget = (before = now + 1, after = 0, to = 9) =>
      shop.write((tx) => shop.lightningInvoices.forget(tx, before, after, to));
    await forget();
    expect(textsIn(shop)).toEqual(['lnbcrt1']);
    await shop.write((tx) => shop.orders.cancel(tx, now, id));
    await forget(now);
    await forget(now + 1, id);
    await forget(now + 1, 0, id - 1);
    expect(textsIn(shop)).toEqual(['lnbcrt1']);
    await forget();
    expect(textsIn(shop)).toEqual(['']);
  });
});

describe('the cursor of a node', () => {
  const scene = async () => {
    const { shop, report } = await invoiced();
    const set = (publicKey: string, cursor: string) =>
      shop.write((tx) => shop.lightningInvoices.setNode(tx, now, 1, { ...lnd, publicKey }, cursor));
    return { shop, report, set };
  };

  it('waits while another node takes its place, since its invoices may be paid meanwhile', async () => {
    const { shop, report, set } = await scene();
    await set('02aa', '5.9');
    await report([], now, '7.9');
    await set('02bb', '3.1');
    await report([], now, '4.1');
    await set('02aa', '8.9');
    expect(cursorIn(shop, 1, '02aa')).toBe('7.9');
    expect(cursorIn(shop, 1, '02bb')).toBe('4.1');
  });

  it('begins anew if the node does: rebuilt from its seed, it counts from 1 again', async () => {
    const { shop, report, set } = await scene();
    await set('02aa', '5.9');
    await report([], now, '57.9');
    await set('02aa', '57.120');
    expect(cursorIn(shop, 1, '02aa')).toBe('57.9');
    await set('02aa', '6.3');
    expect(cursorIn(shop, 1, '02aa')).toBe('0');
  });
});

describe('a paid invoice', () => {
  it('makes its order paid at once, with its events', async () => {
    const { shop, issued, json, report, events } = await invoiced();
    const moved: unknown[] = [];
    shop.events.on('paymentChanged', (...change) => moved.push(change));
    await report([paid(1, 25_000, now - 5)], now + minute);
    expect(json(now + minute)).toMatchObject({
      ...{ status: 'paid', version: 2, received_sat: 25_000, confirmed_sat: 25_000 },
      ...{ missing_sat: 0, uri: null, lightning: null, paid_at: (now + minute) / 1000 },
    });
    const payment = {
      ...{ kind: 'lightning', payment_hash: hashOf(1), preimage: preimageOf(1) },
      // Its node's clock is behind ours: no invoice is paid before it is made.
      ...{ value_sat: 25_000, rate: '50000.00', late: false, settled_at: now / 1000 },
    };
    expect(json().payments).toEqual([payment]);
    expect(events().map(({ type }) => type)).toEqual(['payment.confirmed', 'order.paid']);
    const [ofPayment] = events();
    expect(JSON.parse(ofPayment?.body ?? '').data).toEqual({
      payment: { ...payment, address: issued.address },
      order_id: publicId,
    });
    expect(moved).toEqual([
      [
        1,
        { before: undefined, after: 'settled' },
        { storeId: 1, address: issued.address, valueSat: 25_000, txid: hashOf(1), status: null },
      ],
    ]);
    expect(cursorIn(shop)).toBe('7');
    expect(shop.lightningInvoices.open(1)).toBeUndefined();
  });

  it('counts once, however often its node reports it', async () => {
    const { shop, json, report } = await invoiced();
    await report([paid(1), paid(1)]);
    await report([paid(1)], now, '8');
    expect(json()).toMatchObject({ version: 2, received_sat: 25_000 });
    expect(cursorIn(shop)).toBe('8');
  });

  it('counts with payments of the chain, in parts', async () => {
    const { shop, issued, add, json, report, events } = await invoiced();
    shop.chain.pay([{ address: issued.address, valueSat: 10_000 }]);
    await shop.observe(issued);
    await add(2, 15_000);
    await report([paid(2, 15_000)]);
    expect(json()).toMatchObject({ status: 'processing', received_sat: 25_000 });
    expect(json()).toMatchObject({ confirmed_sat: 15_000 });
    await shop.mine(6);
    await shop.observe(issued);
    expect(json().status).toBe('paid');
    expect(events().map(({ type }) => type)).toContain('order.paid');
    expect(json().payments.map(({ kind }) => kind)).toEqual(['lightning', 'onchain']);
  });

  it('counts after another invoice took its place, and is an excess if the order is paid', async () => {
    const { add, json, report } = await invoiced();
    await add(2, 25_000);
    await report([paid(2)]);
    await report([paid(1)]);
    expect(json()).toMatchObject({ status: 'paid', received_sat: 50_000, excess_sat: 25_000 });
  });

  it('counts what was received if that is more than it asked for', async () => {
    const { json, report } = await invoiced();
    await report([paid(1, 26_000)]);
    expect(json()).toMatchObject({ received_sat: 26_000, excess_sat: 1_000 });
  });

  it('is in time by the clock of its node, also if we learn of it later', async () => {
    const { json, report } = await invoiced();
    await report([paid(1, 25_000, now + 5 * minute)], now + 50 * minute);
    expect(json(now + 50 * minute).payments).toMatchObject([{ late: false, rate: '50000.00' }]);
  });

  it('is late after its quote, and counts at the price of then once that is known', async () => {
    const { shop, json, report } = await invoiced();
    const late = now + 20 * minute;
    await report([paid(1, 25_000, late + hourMs)], late);
    expect(json(late)).toMatchObject({ status: 'open', late: true, received_sat: 25_000 });
    const price = { currency: 'EUR', priceCents: 4_000_000, sources: ['a'] };
    await shop.write((tx) => shop.receiptPrices.put(tx, late, late - minute, price, 9));
    expect(json(late).payments).toMatchObject([
      { late: true, rate: '40000.00', settled_at: late / 1000 },
    ]);
  });

  it('is unknown to servers, to the live socket and to pages of transactions', async () => {
    const { shop, issued, report } = await invoiced();
    await report([paid(1)]);
    const { receipts, ledger } = shop;
    expect(receipts.byScripthash(issued.scripthash)).toEqual([]);
    expect(receipts.byTxid(hashOf(1) as never)).toEqual([]);
    expect(receipts.byPlace(issued.scripthash, hashOf(1) as never)).toBeUndefined();
    expect(receipts.byId(1)).toBeUndefined();
    expect(ledger.paymentsOf(issued.id)).toEqual([]);
    expect(shop.told()).toEqual([]);
  });

  it('leaves its address unpaid for the gap limit of the wallet', async () => {
    const { shop, report } = await invoiced();
    const before = [shop.addresses.unpaidRun(1), shop.addresses.unpaidSinceBlock(1)];
    await report([paid(1)]);
    expect([shop.addresses.unpaidRun(1), shop.addresses.unpaidSinceBlock(1)]).toEqual(before);
    expect(before).toEqual([1, 1]);
  });

  it('of another program, or of another store, changes nothing but the cursor', async () => {
    const { shop, json, report } = await invoiced();
    await report([paid(9)]);
    await report([paid(1)], now, '8', 2);
    expect(json().payments).toEqual([]);
    expect(shop.lightningInvoices.faults(0)).toEqual([]);
    expect(cursorIn(shop)).toBe('7');
    expect(cursorIn(shop, 2)).toBe('8');
  });
});

/** A file that was found to be a copy of this time. */
async function restored(at = now) {
  const scene = await invoiced();
  const { shop } = scene;
  await shop.write((tx) => shop.state.copied.write(tx, { at, text: '' }));
  return scene;
}

describe('a paid invoice that only names its order', () => {
  it('is no payment in a file that was never a copy, nor a day after it was found to be one', async () => {
    const { json, report } = await invoiced();
    await report([named(9)]);
    expect(json().payments).toEqual([]);
    const copy = await restored(now - 24 * hourMs);
    await copy.report([named(9, { settledAt: now + 1 })], now + 1);
    expect(copy.json().payments).toEqual([]);
    await copy.report([named(9)]);
    expect(copy.json().received_sat).toBe(25_000);
  });

  it('is a payment in a file that was put in its place by a restore', async () => {
    const { shop, json, report } = await invoiced();
    await shop.write((tx) => shop.state.versionsRaisedAt.write(tx, now));
    await report([named(9)]);
    expect(json().received_sat).toBe(25_000);
  });

  it('is a payment of it, once', async () => {
    const { shop, json, report, events } = await restored();
    await report([named(9), named(9)], now + minute);
    await report([named(9)], now + minute, '8');
    expect(json(now + minute)).toMatchObject({
      ...{ status: 'paid', received_sat: 25_000, lightning: null },
      payments: [{ payment_hash: hashOf(9), preimage: preimageOf(9), settled_at: now / 1000 }],
    });
    expect(events().map(({ type }) => type)).toEqual(['payment.confirmed', 'order.paid']);
    expect(shop.lightningInvoices.faults(0)).toEqual([]);
  });

  it('counts what was received, and not before its order was made', async () => {
    const { json, report } = await restored();
    await report([named(9, { valueSat: 1, settledAt: now - hourMs })]);
    expect(json().payments).toMatchObject([{ value_sat: 1, settled_at: now / 1000 }]);
    // An order with its invoice still has it, if that is not for too much.
    expect(json()).toMatchObject({ status: 'open', missing_sat: 24_999 });
  });

  it('belongs to the order whose invoice it is, whatever it names', async () => {
    const { shop, json, report } = await restored();
    const other = await shop.issue();
    const second = { ...priced, publicId: 'ord_2', storeId: 1, addressId: other.id };
    await shop.write((tx) => shop.orders.create(tx, now, second));
    await report([named(1, { externalId: 'ord_2' })]);
    expect(json().received_sat).toBe(25_000);
    await report([named(9)]);
    await report([named(9, { externalId: 'ord_2' })]);
    expect(json().received_sat).toBe(50_000);
    const row = shop.orderView.byPublicId('ord_2');
    expect(row && shop.orderView.json(row, now).received_sat).toBe(0);
  });

  it.each([
    ['another preimage', named(9, { preimage: preimageOf(2) }), 1],
    ['no money', named(9, { valueSat: 0 }), 1],
    ['more than all bitcoins', named(9, { valueSat: 21e14 + 1 }), 1],
    ['an order that is not known', named(9, { externalId: `${publicId}x` }), 1],
    ['an order of another store', named(9), 2],
  ])('is no payment: %s', async (_name, settled, storeId) => {
    const { json, report, shop } = await restored();
    await report([settled], now, '8', storeId);
    expect(json()).toMatchObject({ status: 'open', payments: [] });
    expect(json().lightning).not.toBeNull();
    expect(cursorIn(shop, storeId)).toBe('8');
  });
});

describe('a report that cannot be right', () => {
  const wrong: readonly (readonly [string, SettledInvoice, RegExp])[] = [
    ['another preimage', { ...paid(1), preimage: preimageOf(2) }, /does not hash/],
    ['a preimage that is no hex', { ...paid(1), preimage: 'x'.repeat(64) }, /does not hash/],
    ['too little', paid(1, 24_999), /24999 sat where 25000 sat were asked for/],
    ['more than all bitcoins', paid(1, 21e14 + 1), /2100000000000001 sat/],
    ['a fraction', paid(1, 25_000.5), /25000.5 sat/],
  ];
  it.each(wrong)('is no payment: %s', async (_name, settled, fault) => {
    const { shop, json, report } = await invoiced();
    await report([settled]);
    expect(json()).toMatchObject({ status: 'open', payments: [], lightning: null });
    expect(shop.lightningInvoices.faults(now - 1)).toMatchObject([
      { paymentHash: hashOf(1), storeId: 1, publicId, fault: expect.stringMatching(fault) },
    ]);
    expect(shop.lightningInvoices.faults(now)).toEqual([]);
    // The node mends it.
    await report([paid(1)]);
    expect(json().status).toBe('paid');
    expect(shop.lightningInvoices.faults(0)).toEqual([]);
  });
});

it('is all lost or none if the process ends before the commit', async () => {
  const { shop, json, events } = await invoiced();
  const lost = shop.write((tx) => {
    shop.lightningInvoices.record(tx, now, 1, { settled: [paid(1)], cursor: '7' });
    throw new Error('killed');
  });
  await expect(lost).rejects.toThrow('killed');
  expect(json()).toMatchObject({ status: 'open', payments: [] });
  expect(events()).toEqual([]);
  expect(cursorIn(shop)).toBe('');
  await shop.write((tx) => {
    shop.lightningInvoices.record(tx, now, 1, { settled: [paid(1)], cursor: '7' });
  });
  expect(json().status).toBe('paid');
});
