import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LinkBody, parseLinkInput } from '../../../src/domain/order/link-input.ts';
import { LinkRefusal } from '../../../src/domain/order/link-refusal.ts';
import { idOf } from '../../../src/domain/order/order-id.ts';
import { maxEmailsOfNetwork } from '../../../src/domain/order/payer-input.ts';
import { maxQuotes } from '../../../src/domain/order/quote.ts';
import { scanGap, unpaidLimitOf } from '../../../src/domain/store/allocation.ts';
import { hourMs } from '../../../src/lib/time-units.ts';
import type { LinkRow } from '../../../src/store/orders/link-view.ts';
import type { OrderRow } from '../../../src/store/orders/order-view.ts';
import { orders, quotes } from '../../../src/store/schema/order-schema.ts';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import type { NewStore } from '../../../src/store/wallets/catalog.ts';
import { openShop, type Shop } from '../../support/ledger.ts';
import { costOf } from '../../support/plans.ts';
import { recount } from '../../support/recount.ts';
import { now } from '../../support/store.ts';

let ids = 0;
const newId = (prefix: 'ord' | 'lnk'): string => {
  ids += 1;
  return idOf(prefix, new Uint8Array(16).fill(ids % 256, ids >> 8));
};

const addLink = (shop: Shop, body: LinkBody = {}): Promise<LinkRow> => {
  const link = parseLinkInput({ title: 'Tips', amount_sat: 5_000, ...body });
  return shop.write((tx) =>
    shop.links.create(tx, now, { ...link, publicId: newId('lnk'), storeId: 1 }),
  );
};

const linkGap = unpaidLimitOf(scanGap);

const sat = (amountSat: number) => ({ kind: 'sat', amountSat }) as const;

const orderBy = (shop: Shop, link: LinkRow, changes: object = {}) =>
  shop.write((tx) =>
    shop.links.order(
      tx,
      now,
      link.id,
      {
        ...{ publicId: newId('ord'), price: sat(5_000), rateCents: null, note: null },
        ...{ customerEmail: null, language: null, ...changes },
      },
      { walletGap: scanGap },
    ),
  );

async function payBy(shop: Shop, { issued }: { readonly issued: IssuedAddress }): Promise<void> {
  shop.chain.pay([{ address: issued.address, valueSat: 5_000 }]);
  shop.chain.mine(2);
  await shop.follow();
  await shop.observe(issued);
}

const reasonOf = (ordered: Promise<unknown>): Promise<unknown> =>
  ordered.then(
    () => 'ordered',
    (error: unknown) => (error instanceof LinkRefusal ? error.reason : error),
  );

describe('an order by a link', () => {
  test('has the terms of the store, and the words of link and payer', async () => {
    const terms: Partial<NewStore> = {
      ...{ orderSeconds: 600, quoteSeconds: 300, toleranceBasisPoints: 20, latePolicy: 'ask' },
      ...{ returnUrl: 'https://shop.example/', language: 'de' },
    };
    const shop = await openShop(terms);
    const link = await addLink(shop, { title: 'Poster', description: 'A2' });
    const { row } = await orderBy(shop, link, { note: 'Table 4' });
    expect(shop.orderView.json(row, now)).toMatchObject({
      ...{ link_id: link.publicId, status: 'open', amount_sat: 5_000, currency: null },
      ...{ reference: 'Table 4', description: 'Poster\nA2', metadata: {} },
      ...{ return_url: 'https://shop.example/', language: 'de' },
      expires_at: now / 1000 + 600,
    });
    expect(row).toMatchObject({ quoteSeconds: 300, toleranceBasisPoints: 20, latePolicy: 'ask' });
    const { row: other } = await orderBy(shop, link, { language: 'ar' });
    expect(other).toMatchObject({ language: 'ar', reference: null });
  });

  test('holds the rate of a price in a currency', async () => {
    const shop = await openShop();
    const link = await addLink(shop, { amount_sat: null, currency: 'EUR', amount: '12.50' });
    const price = { kind: 'fiat', currency: 'EUR', minor: 1_250n };
    const { row } = await orderBy(shop, link, { price, rateCents: 5_000_000 });
    expect(shop.orderView.json(row, now)).toMatchObject({ amount: '12.50', amount_sat: 25_000 });
  });

  test('is counted, and again once it is paid', async () => {
    const shop = await openShop();
    const link = await addLink(shop);
    const [other] = [await addLink(shop), await orderBy(shop, link)];
    await payBy(shop, await orderBy(shop, link));
    expect(shop.linkView.counts(link.id)).toEqual({ orders: 2, paid: 1 });
    expect(shop.linkView.counts(other.id)).toEqual({ orders: 0, paid: 0 });
    expect(shop.linkView.json(link)).toMatchObject({ order_count: 2, paid_count: 1 });
  });

  test('is refused when the link is switched off, or its store was removed', async () => {
    const shop = await openShop();
    const link = await addLink(shop, { active: false });
    expect(await reasonOf(orderBy(shop, link))).toBe('inactive');
    await shop.write((tx) => shop.links.change(tx, link.id, { ...link, isActive: true }));
    expect(await reasonOf(orderBy(shop, link))).toBe('ordered');
    await shop.write((tx) => shop.catalog.archiveStore(tx, now, 1, false));
    expect(await reasonOf(orderBy(shop, link))).toBe('inactive');
    expect(await reasonOf(orderBy(shop, { ...link, id: 99 }))).toBe('inactive');
    const other = await openShop();
    const ofNoWallet = await addLink(other);
    other.database.orm.run(sql`update stores set wallet_id = null`);
    expect(await reasonOf(orderBy(other, ofNoWallet))).toBe('inactive');
  });

  test('is refused once as many as allowed are paid', async () => {
    const shop = await openShop();
    const link = await addLink(shop, { most_orders: 2 });
    const ordered = [
      await orderBy(shop, link),
      await orderBy(shop, link),
      await orderBy(shop, link),
    ];
    for (const order of ordered.slice(0, 2)) {
      expect(await reasonOf(orderBy(shop, link))).toBe('ordered');
      await payBy(shop, order);
    }
    expect(await reasonOf(orderBy(shop, link))).toBe('used-up');
    await shop.write((tx) => shop.links.change(tx, link.id, { ...link, maxOrders: 3 }));
    expect(await reasonOf(orderBy(shop, link))).toBe('ordered');
  });
});

describe('a change of an order', () => {
  const changed = (row: OrderRow, amountSat = 7_000) => ({
    ...{ publicId: row.publicId, price: sat(amountSat), rateCents: null, note: null },
    ...{ customerEmail: null, language: null },
  });

  test('is refused once its link is switched off, or its store was removed', async () => {
    const shop = await openShop();
    const link = await addLink(shop);
    const { row } = await orderBy(shop, link);
    const amend = () => shop.write((tx) => shop.links.amend(tx, now, row, changed(row)));
    expect((await amend()).amountSat).toBe(7_000);
    await shop.write((tx) => shop.links.change(tx, link.id, { ...link, isActive: false }));
    expect(await reasonOf(amend())).toBe('inactive');
    await shop.write((tx) => shop.links.change(tx, link.id, link));
    await shop.write((tx) => shop.catalog.archiveStore(tx, now, 1, false));
    expect(await reasonOf(amend())).toBe('inactive');
  });

  test('is for its own link, its currency, and fewer than 500 quotes', async () => {
    const shop = await openShop();
    const fiat = { amount_sat: null, currency: 'EUR', amount: '12.50' };
    const [link, other] = [await addLink(shop, fiat), await addLink(shop, fiat)];
    const price = { kind: 'fiat', currency: 'EUR', minor: 1_250n };
    const { row } = await orderBy(shop, link, { price, rateCents: 5_000_000 });
    const mayAmend = (of: LinkRow) => shop.links.mayAmend(of, row, () => false);
    expect([mayAmend(link), mayAmend(other)]).toEqual([true, false]);
    expect(mayAmend({ ...link, currency: 'USD' })).toBe(false);
    expect(shop.links.mayAmend(link, row, () => true)).toBe(false);
    const values = { rateCents: 5_000_000, amountSat: 25_000, createdAt: now, expiresAt: now };
    const addQuotes = (count: number) =>
      shop.write(() => {
        const rows = Array.from({ length: count }, () => ({ ...values, orderId: row.id }));
        shop.database.orm.insert(quotes).values(rows).run();
      });
    await addQuotes(maxQuotes - 2);
    expect(mayAmend(link)).toBe(true);
    await addQuotes(1);
    expect(mayAmend(link)).toBe(false);
  });
});

describe('mail addresses that strangers give', () => {
  const dayMs = 24 * hourMs;
  const typed = (network: string, at = 0) => ({
    ...{ payerNetwork: network, customerEmail: `victim${at}@other.example` },
  });
  const countOf = (shop: Shop, network: string, at = now) =>
    shop.typedEmails.countOf(at, network, at - dayMs, 0);

  test('are ten of 1,000 from one network that pays for each', async () => {
    const shop = await openShop();
    const link = await addLink(shop);
    const outcomes: unknown[] = [];
    for (let at = 0; at < 1_000; at += 1) {
      const ordered = orderBy(shop, link, typed('one', at));
      const outcome = await reasonOf(ordered);
      if (outcome === 'ordered') await payBy(shop, await ordered);
      outcomes.push(outcome);
    }
    expect(outcomes.filter((each) => each === 'ordered')).toHaveLength(maxEmailsOfNetwork);
    expect(outcomes.filter((each) => each === 'emails')).toHaveLength(990);
    expect(countOf(shop, 'one')).toBe(maxEmailsOfNetwork);
    // No address of the wallet is lost by a refusal.
    expect(shop.catalog.wallet(1).nextIndex).toBe(maxEmailsOfNetwork);
    expect(await reasonOf(orderBy(shop, link, typed('two')))).toBe('ordered');
    expect(await reasonOf(orderBy(shop, link, { payerNetwork: 'one' }))).toBe('ordered');
    expect(countOf(shop, 'one')).toBe(maxEmailsOfNetwork);
  });

  test('count for a day, on this side of a clock that was ahead', async () => {
    const shop = await openShop();
    const link = await addLink(shop);
    const { row } = await orderBy(shop, link, typed('one'));
    expect(
      [now - 1, now, now + dayMs - 1, now + dayMs].map((at) => countOf(shop, 'one', at)),
    ).toEqual([0, 1, 1, 0]);
    expect(countOf(shop, 'two')).toBe(0);
    expect(shop.typedEmails.countOf(now, 'one', now - dayMs, row.id)).toBe(0);
    await shop.write((tx) => shop.typedEmails.tidy(tx, now + dayMs - 1));
    expect(countOf(shop, 'one')).toBe(1);
    await shop.write((tx) => shop.typedEmails.tidy(tx, now + dayMs));
    expect(countOf(shop, 'one')).toBe(0);
  });

  test('count once for an order, in the network that gave the last one', async () => {
    const shop = await openShop();
    const link = await addLink(shop);
    const { row } = await orderBy(shop, link, typed('one'));
    const amend = (changes: object, at = now) =>
      shop.write((tx) =>
        shop.links.amend(tx, at, row, {
          ...{ publicId: row.publicId, price: sat(5_000), rateCents: null, note: null },
          ...{ customerEmail: null, language: null, ...changes },
        }),
      );
    expect((await amend(typed('one', 1))).customerEmail).toBe('victim1@other.example');
    expect(countOf(shop, 'one')).toBe(1);
    await amend(typed('two', 2), now + 5);
    expect([countOf(shop, 'one', now + 5), countOf(shop, 'two', now + 5)]).toEqual([0, 1]);
    expect(countOf(shop, 'two')).toBe(0);
    expect((await amend({ payerNetwork: 'two' }, now + 5)).customerEmail).toBeNull();
    expect(countOf(shop, 'two', now + 5)).toBe(1);
  });
});

describe('the gap of the wallet', () => {
  test('is never widened by 50 strangers at once', async () => {
    const shop = await openShop();
    const links = [await addLink(shop), await addLink(shop)] as const;
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, at) => reasonOf(orderBy(shop, links[at % 2 === 0 ? 0 : 1]))),
    );
    expect(outcomes.filter((each) => each === 'ordered')).toHaveLength(linkGap);
    expect(outcomes.filter((each) => each === 'gap')).toHaveLength(50 - linkGap);
    expect(shop.catalog.wallet(1).nextIndex).toBe(linkGap);
  });

  test('counts the addresses of the shop, which gets more of them', async () => {
    const shop = await openShop();
    const link = await addLink(shop);
    const first = await shop.issue();
    for (let left = linkGap - 1; left > 0; left -= 1) await shop.issue();
    expect(await reasonOf(orderBy(shop, link))).toBe('gap');
    const last = await shop.issue();
    await payBy(shop, { issued: first });
    expect(await reasonOf(orderBy(shop, link))).toBe('gap');
    await payBy(shop, { issued: last });
    expect(await reasonOf(orderBy(shop, link))).toBe('ordered');
  });
});

type Step = 'issue' | 'link' | 'pay' | 'off' | 'on' | 'expire';

test('no address is in two orders, counts agree, and recounted orders agree', async () => {
  const step = fc.constantFrom<Step>('issue', 'link', 'link', 'link', 'pay', 'off', 'on', 'expire');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const shop = await openShop();
      const link = await addLink(shop);
      const unpaid: IssuedAddress[] = [];
      for (const each of steps) {
        if (each === 'issue') unpaid.push(await shop.issue());
        if (each === 'link') {
          const ordered = await orderBy(shop, link).catch((error) => {
            if (!(error instanceof LinkRefusal)) throw error;
          });
          if (ordered !== undefined) unpaid.push(ordered.issued);
        }
        if (each === 'pay') {
          const issued = unpaid.pop();
          if (issued !== undefined) await payBy(shop, { issued });
        }
        if (each === 'off' || each === 'on') {
          const isActive = each === 'on';
          await shop.write((tx) => shop.links.change(tx, link.id, { ...link, isActive }));
        }
        if (each === 'expire') {
          await shop.write((tx) => shop.orders.expire(tx, now + 2 * hourMs, () => false, 200));
        }
      }
      const rows = shop.database.orm.select().from(orders).all();
      expect(new Set(rows.map(({ addressId }) => addressId)).size).toBe(rows.length);
      expect(shop.linkView.counts(link.id)).toEqual({
        orders: rows.length,
        paid: rows.filter(({ status }) => status === 'paid').length,
      });
      for (const row of rows) {
        const { facts, quotes, payments } = shop.orderView.record(row);
        expect(shop.orderView.json(row, now).status).toBe(
          recount(facts, quotes, payments, now).status,
        );
      }
      await shop.database.close();
    }),
    { numRuns: 25 },
  );
});

test('links of a store, the newest first', async () => {
  const shop = await openShop();
  const made = [await addLink(shop), await addLink(shop), await addLink(shop)].reverse();
  const list = shop.linkView.list({ storeId: 1, limit: 2 });
  expect(list).toEqual(made.slice(0, 2));
  const next = shop.linkView.list({ storeId: 1, limit: 2, beforeId: list[1]?.id });
  expect(next).toEqual(made.slice(2));
  expect(shop.linkView.list({ storeId: 2, limit: 2 })).toEqual([]);
});

test('the currencies of active links are found by a step for each, however many links there are', async () => {
  const shop = await openShop();
  await shop.addStore({ callbackUrl: 'https://shop.example/two' });
  const euros = { currency: 'EUR', amount: '5.00' };
  for (let count = 0; count < 50; count += 1) {
    await addLink(shop);
    await addLink(shop, { amount_sat: undefined, ...euros });
  }
  const usd = await addLink(shop, { amount_sat: undefined, currency: 'USD', amount: '5.00' });
  const found = () => shop.linkView.activeCurrencies();
  const inUse = ['EUR', 'USD'].map((currency) => ({ storeId: 1, currency }));
  const { rows } = await costOf(() =>
    expect(found()).toEqual([{ storeId: 1, currency: null }, ...inUse]),
  );
  expect(rows).toBeLessThan(10);
  await shop.write((tx) => shop.links.change(tx, usd.id, { ...usd, isActive: false }));
  expect(found()).not.toContainEqual({ storeId: 1, currency: 'USD' });
  shop.database.orm.run(sql`update links set is_active = 0 where currency is null`);
  expect(found()).toEqual([{ storeId: 1, currency: 'EUR' }]);
});
