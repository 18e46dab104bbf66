// The search over orders and payments, and the index of its texts.

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idBytes, idOf } from '../../../src/domain/order/order-id.ts';
import { formatShort } from '../../../src/domain/text/format.ts';
import { dayMs } from '../../../src/lib/time-units.ts';
import { maxRowsRead } from '../../../src/store/db/searched-list.ts';
import type { NewOrder } from '../../../src/store/orders/orders.ts';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { cleanUp } from '../../support/files.ts';
import { openShop, type Shop } from '../../support/ledger.ts';
import { now } from '../../support/store.ts';

afterEach(cleanUp);

let shop: Shop;
let anna: IssuedAddress;
let yen: IssuedAddress;
let satoshis: IssuedAddress;
let plain: IssuedAddress;
let txid: string;
let plainTxid: string;

const eur = (minor: bigint): NewOrder['price'] => ({ kind: 'fiat', currency: 'EUR', minor });

/** @param id of the order, from 1 on */
async function order(id: number, changes: Partial<NewOrder>): Promise<IssuedAddress> {
  const issued = await shop.issue();
  const made: NewOrder = {
    publicId: idOf('ord', new Uint8Array(idBytes).fill(id)),
    storeId: 1,
    addressId: issued.id,
    price: eur(1_250n),
    rateCents: 5_000_000,
    toleranceBasisPoints: 50,
    latePolicy: 'worth',
    quoteSeconds: 900,
    expiresAt: now + 3_600_000,
    reference: null,
    description: null,
    metadata: {},
    returnUrl: null,
    language: null,
  };
  await shop.write((tx) => shop.orders.create(tx, now + id, Object.assign(made, changes)));
  return issued;
}

beforeEach(async () => {
  shop = await openShop({ currency: 'EUR' });
  anna = await order(1, {
    reference: 'A-100777',
    description: 'Order 100777: Crème brûlée',
    metadata: { email: 'Anna.Meyer77@Example.com', gift: 'yes' },
  });
  yen = await order(2, {
    reference: '7x',
    price: { kind: 'fiat', currency: 'JPY', minor: 1_250n },
    rateCents: 800_000_000,
    customerEmail: 'Dora.Kay@mail.test',
  });
  satoshis = await order(3, {
    price: { kind: 'sat', amountSat: 25_000 },
    rateCents: null,
    invoice: {
      invoice: null,
      invoiceMetadata: '{"buyerEmail":"bert@shop.test","buyerName":"Bért","posData":"secret"}',
    },
  });
  plain = await shop.issue();
  txid = shop.chain.pay([{ address: anna.address, valueSat: 25_000 }]);
  plainTxid = shop.chain.pay([{ address: plain.address, valueSat: 31_000 }]);
  await shop.observe(anna);
  await shop.observe(plain);
});

const orderIds = (text: string, filter = {}): number[] =>
  shop.saleSearch.orders(text, filter, { beforeId: undefined, limit: 10 }).rows.map(({ id }) => id);
const paymentIds = (text: string): readonly number[] => shop.saleSearch.payments(text).ids;

describe('orders are found by', () => {
  test.each([
    ['a part of a reference', '0077', [1]],
    ['a part of a reference, any case', 'a-100', [1]],
    ['a whole reference of two characters', '7x', [2]],
    ['a part of a description, without its accents', 'creme BRU', [1]],
    ['a word of three letters', 'Ann', [1]],
    ['the mail of a customer', 'anna.meyer77@example.COM', [1]],
    ['the mail of the order', 'dora.KAY@MAIL', [2]],
    ['the mail that a plugin sends', 'BERT@shop', [3]],
    ['the name that a plugin sends', 'bert', [3]],
    ['an amount', '12.50', [1]],
    ['an amount with a comma', '12,50', [1]],
    ['an amount in a currency without decimals', '1250', [2]],
    ['an amount with its currency', '12.50 EUR', [1]],
    ['an amount in satoshis', '25000 sat', [3, 1]],
    ['an amount as lists show it', '25,000 sat', [3, 1]],
    ['the beginning of an id', idOf('ord', new Uint8Array(idBytes).fill(2)).slice(0, 8), [2]],
  ])('%s', (_, text, expected) => expect(orderIds(text)).toEqual(expected));

  test.each([
    ['another currency', '12.50 USD'],
    ['a part of an amount', '2.50'],
    ['a key of the metadata', 'email'],
    ['metadata that is no mail and no name', 'secret'],
    ['two characters that are no reference', 'nn'],
    ['trigrams of one order in another order of letters', 'meyer.anna'],
    ['quotes', '"anna" OR "bert"'],
    ['a character that ends texts', 'ann\0a'],
    ['an empty text', ''],
  ])('not by %s', (_, text) => expect(orderIds(text)).toEqual([]));

  test('an address, its short form and its end', () => {
    const { address } = anna;
    const texts = [address, address.toUpperCase(), `bitcoin:${address}?amount=1`];
    for (const text of [...texts, formatShort(address), address.slice(-4), address.slice(-9)]) {
      expect([text, orderIds(text)]).toEqual([text, [1]]);
    }
    expect(orderIds(`bc1qxxx…${address.slice(-4)}`)).toEqual([]);
    expect(orderIds(plain.address)).toEqual([]);
  });

  test('a txid, its beginning and its short form', () => {
    for (const text of [txid, txid.toUpperCase(), txid.slice(0, 6), formatShort(txid)]) {
      expect([text, orderIds(text)]).toEqual([text, [1]]);
    }
    expect(orderIds(`${txid.slice(0, 7)}…${txid.endsWith('0000') ? '1111' : '0000'}`)).toEqual([]);
    expect(orderIds(plainTxid)).toEqual([]);
  });

  test('the txid of a refund, and its short form', async () => {
    const refund = `ab${'0'.repeat(58)}cdef`;
    const sent = { txid: refund, currency: null, priceCents: null };
    await shop.write((tx) => {
      const amount = { choice: 'all', amountSat: 1_000, feeSat: 0 } as const;
      shop.refunds.prepare(tx, now, { ...amount, orderId: 2, address: plain.address });
      shop.refunds.finish(tx, now, 2, sent);
    });
    for (const text of [refund, refund.slice(0, 6), formatShort(refund)]) {
      expect([text, orderIds(text)]).toEqual([text, [2]]);
    }
    expect(orderIds(`${refund.slice(0, 7)}…cde0`)).toEqual([]);
    expect(orderIds(`ab${'0'.repeat(61)}1`)).toEqual([]);
  });

  test('the beginning of a txid, whatever follows it', async () => {
    const txids = ['0', '9', 'a', 'f'].map((next) => `abcdef${next}${'1'.repeat(57)}`);
    await shop.write(() =>
      txids.map((each) =>
        shop.database.orm.$client
          .prepare(
            `insert into payments (address_id, txid, value_sat, state, first_seen_at, changed_at)
              values (?, ?, 1, 'settled', 1, 1)`,
          )
          .run(plain.id, each),
      ),
    );
    expect(paymentIds('abcdef')).toHaveLength(4);
    for (const each of txids) expect(paymentIds(each)).toHaveLength(1);
  });

  test('no address, and no payment to it, that was not given out', async () => {
    await shop.write(() => {
      const { $client } = shop.database.orm;
      $client.prepare("update addresses set origin = 'foreign' where id = ?").run(plain.id);
    });
    for (const text of [plain.address, plainTxid, plainTxid.slice(0, 9)]) {
      expect([text, paymentIds(text)]).toEqual([text, []]);
    }
  });

  test('an amount and a text at once, each order once', async () => {
    await order(4, { reference: '12.50 off' });
    expect(orderIds('12.50')).toEqual([4, 1]);
  });

  test('the whole id, and within the filters of the list', () => {
    const { publicId } = shop.orderView.byAddressId(yen.id) ?? { publicId: '' };
    expect(orderIds(publicId)).toEqual([2]);
    const both = '25000 sat';
    expect(orderIds(both, { storeId: 1, createdAfter: now + 1, createdBefore: now + 4 })).toEqual([
      3, 1,
    ]);
    expect(orderIds(both, { storeId: 2 })).toEqual([]);
    expect(orderIds(both, { linkId: 1 })).toEqual([]);
    expect(orderIds(both, { status: 'open' })).toEqual([3]);
    expect(orderIds(both, { createdAfter: now + 2 })).toEqual([3]);
    expect(orderIds(both, { createdAfter: now + 3 })).toEqual([3]);
    expect(orderIds(both, { createdBefore: now + 3 })).toEqual([1]);
  });
});

test('payments are found by all that finds their order, and by their own', async () => {
  const texts = ['anna', '12,50', anna.address, txid, txid.slice(0, 9), formatShort(anna.address)];
  for (const text of texts) expect([text, paymentIds(text)]).toEqual([text, [1]]);
  const { publicId } = shop.orderView.byAddressId(anna.id) ?? { publicId: '' };
  expect(paymentIds(publicId)).toEqual([1]);
  for (const text of [plain.address, plainTxid, '31000 sat', formatShort(plainTxid), '0.00031']) {
    expect([text, paymentIds(text)]).toEqual([text, [2]]);
  }
  // An amount in a currency is none in satoshis.
  shop.chain.pay([{ address: plain.address, valueSat: 1_250 }]);
  await shop.observe(plain);
  expect([paymentIds('12.50 EUR'), paymentIds('1250 sat')]).toEqual([[1], [3]]);
  for (const text of ['bert', '30999 sat', 'ff'.repeat(32), satoshis.address]) {
    expect([text, paymentIds(text)]).toEqual([text, []]);
  }
  expect(shop.saleSearch.payments('anna').isCut).toBe(false);
  const page = shop.paymentView.page({ ids: [1, 2], limit: 10 });
  expect(page.rows.map(({ id }) => id)).toEqual([2, 1]);
  const older = shop.paymentView.page({ ids: [1, 2], beforeId: 2, limit: 10 });
  expect(older.rows.map(({ id }) => id)).toEqual([1]);
  expect(shop.paymentView.page({ ids: [1, 2], states: ['dropped'], limit: 10 }).rows).toEqual([]);
});

describe('many orders', () => {
  const place = { beforeId: undefined, limit: 9 };

  /** Orders from 4 on, each with a text and a payment. */
  const many = (text: string, last = 1_203) =>
    shop.write(() => {
      const { $client } = shop.database.orm;
      $client.exec(`create temp table n as
        with recursive n(i) as (select 4 union all select i + 1 from n where i < ${last}) select i from n;
        insert into addresses (id, wallet_id, branch, derivation_index, address, script, scripthash,
          origin, store_id) select i + 9000, 1, 0, i + 9000, 'made-' || i, x'00', 'h' || i, 'issued', 1
          from n;
        insert into orders (id, public_id, store_id, address_id, amount_sat, tolerance_basis_points,
          late_policy, quote_seconds, created_at, status, version, fingerprint, description)
          select i, 'ord_made' || i, 1, i + 9000, 1, 0, 'worth', 9, ${now}, 'open', 1, '', '${text}' || i
          from n;
        insert into payments (address_id, txid, value_sat, state, first_seen_at, changed_at)
          select i + 9000, 'm' || i, 77, 'settled', 1, 1 from n`);
    });

  test('come page by page, each once', async () => {
    await many('coffee ');
    const found: number[] = [];
    for (let beforeId: number | undefined; ; ) {
      const { rows, goesOnAt } = shop.saleSearch.orders('Coffee', {}, { beforeId, limit: 100 });
      found.push(...rows.map(({ id }) => id));
      beforeId = rows.length < 100 ? goesOnAt : rows.at(-1)?.id;
      if (beforeId === undefined) break;
    }
    expect(found).toEqual(Array.from({ length: 1_200 }, (_, at) => 1_203 - at));
    // An order that two meanings find comes once.
    const twice = shop.saleSearch.orders('1', {}, { beforeId: undefined, limit: 2_000 });
    expect(twice.rows).toHaveLength(1_200);
  });

  test('are more than those whose payments are looked up', async () => {
    await many('coffee ');
    const { ids, isCut } = shop.saleSearch.payments('coffee');
    expect([ids.length > 500, isCut]).toEqual([true, true]);
    expect(shop.saleSearch.payments('coffee 12').isCut).toBe(false);
    // So many payments of one amount, too.
    expect(shop.saleSearch.payments('77 sat').isCut).toBe(true);
  });

  test('with the trigrams of a text, but without the text, are compared up to a limit', async () => {
    await many('abcdef xyzabc ');
    expect(shop.saleSearch.orders('xyzdef', {}, place)).toEqual({
      rows: [],
      goesOnAt: undefined,
    });
    expect(shop.saleSearch.payments('xyzdef').isCut).toBe(false);
  });

  test('with the trigrams of a text are compared up to a limit, and the next page goes on', async () => {
    await many('abcdef xyzabc ', 6_003);
    const { rows, goesOnAt } = shop.saleSearch.orders('xyzdef', {}, place);
    expect([rows, goesOnAt]).toEqual([[], 6_003 - maxRowsRead + 1]);
    expect(shop.saleSearch.payments('xyzdef')).toEqual({ ids: [], isCut: true });
    // The last characters of a text narrow it, too.
    expect(shop.saleSearch.payments('abcdefq').isCut).toBe(false);
    const next = shop.saleSearch.orders('xyzdef', {}, { beforeId: goesOnAt, limit: 9 });
    expect(next).toEqual({ rows: [], goesOnAt: undefined });
  });
});

test('`orders forget` leaves no text in the file, nor in its index', async () => {
  await shop.write((tx) => shop.orders.cancel(tx, now, 3));
  await shop.write((tx) =>
    shop.orders.changeInvoice(tx, 3, { invoiceMetadata: '{"buyerEmail":"carla@shop.test"}' }),
  );
  expect(orderIds('bert@')).toEqual([]);
  expect(orderIds('carla@')).toEqual([3]);
  await shop.write((tx) => shop.orders.cancel(tx, now, 2));
  expect(orderIds('7x')).toEqual([2]);
  expect(await shop.write((tx) => shop.orders.forget(tx, now + dayMs, 0, 9))).toBe(2);
  for (const text of ['carla@', '7x']) expect([text, orderIds(text)]).toEqual([text, []]);
  expect(orderIds('anna')).toEqual([1]);
  await shop.write(() =>
    shop.database.orm.$client.exec(
      "insert into order_texts(order_texts) values('integrity-check')",
    ),
  );
  shop.database.checkpoint();
  const file = readFileSync(shop.path).toString('latin1');
  for (const text of ['carla@', 'bert@shop', 'arl', 'rla@']) {
    expect([text, file.includes(text)]).toEqual([text, false]);
  }
  expect(file.includes('Anna.Meyer77')).toBe(true);
});
