// Payments of all bitcoins each, which a server can invent. Each sum of them is a whole number that
// JSON, a page and a file can show. No statement fails.

import { sql } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { maxMoneySat } from '../../src/bitcoin/transaction.ts';
import { total } from '../../src/dashboard/daily-sums.ts';
import { refundableOf } from '../../src/domain/order/refund.ts';
import { minorWorthOf } from '../../src/domain/payment/currency.ts';
import { cleanUp } from '../support/files.ts';
import { inEuros, openOrder } from '../support/order-scene.ts';
import { now } from '../support/store.ts';

afterEach(cleanUp);

/** 64 bits hold the sum of 4,392 of them. */
const count = 4_500;

/** Every number of a value, however deep. */
const numbersIn = (value: unknown): number[] =>
  typeof value === 'number'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(numbersIn)
      : [];

/** An order with so many payments of all bitcoins, at the highest price that is stored. */
async function openHostile(state: 'unconfirmed' | 'settled') {
  const scene = await openOrder(inEuros);
  const { shop } = scene;
  await shop.write(() => {
    shop.database.orm.run(sql`insert into payments (address_id, txid, value_sat, state,
        first_seen_at, changed_at, currency, price_cents)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      select address_id, printf('%064x', i), ${maxMoneySat}, ${state}, ${now}, ${now}, 'EUR',
        ${Number.MAX_SAFE_INTEGER} from n join orders on orders.id = 1`);
  });
  return scene;
}

test.each(['unconfirmed', 'settled'] as const)(
  'an order with payments that are %s has sums of whole numbers',
  async (state) => {
    const { shop, json, shown } = await openHostile(state);
    const order = json();
    const isFinal = state === 'settled';
    expect(order).toMatchObject({
      ...{ status: isFinal ? 'paid' : 'processing', received_sat: maxMoneySat, missing_sat: 0 },
      ...{ confirmed_sat: isFinal ? maxMoneySat : 0 },
    });
    for (const value of [order, shown()]) {
      expect(numbersIn(value).filter((number) => !Number.isSafeInteger(number))).toEqual([]);
    }
    expect(shop.receivedView.unconfirmed().valueSat).toBe(isFinal ? 0 : maxMoneySat);
    const span = { since: now, until: now + 1, currencies: ['EUR'] };
    const sums = shop.receivedView.received(span);
    const days = total([sums, sums]);
    expect(numbersIn([sums, days]).filter((number) => !Number.isSafeInteger(number))).toEqual([]);
    expect(days.valueSat).toBe(isFinal ? maxMoneySat : 0);
    expect(days.worths).toEqual(
      isFinal ? [{ currency: 'EUR', minor: Number.MAX_SAFE_INTEGER, valueSat: maxMoneySat }] : [],
    );
  },
);

test('the accounts add up exactly', async () => {
  const { shop } = await openHostile('settled');
  const { valueSat, worths } = await shop.accountView.sums({});
  expect(BigInt(valueSat)).toBe(BigInt(count) * BigInt(maxMoneySat));
  const worth = minorWorthOf(maxMoneySat, Number.MAX_SAFE_INTEGER, 'EUR');
  expect(worth).toBeGreaterThan(2n ** 63n);
  expect([...worths]).toEqual([['EUR', BigInt(count) * worth]]);
});

test('refunds of more than all bitcoins leave nothing to refund, and add up exactly', async () => {
  const { shop } = await openHostile('settled');
  shop.database.orm.run(sql`insert into refunds
      (order_id, address, choice, amount_sat, fee_sat, txid, created_at, done_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    select 1, 'x', 'all', ${maxMoneySat}, 0, ${'f'.repeat(64) as Txid}, ${now}, ${now} from n`);
  expect((await shop.accountView.sums({})).valueSat).toBe(0n);
  const sums = {
    status: 'paid',
    confirmedSat: maxMoneySat,
    confirmedExcessSat: maxMoneySat,
  } as const;
  expect(refundableOf(sums, shop.refunds.of(1))).toBeUndefined();
});
