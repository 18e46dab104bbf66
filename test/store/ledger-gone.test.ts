// Payments that two servers agree are gone.

import { afterEach, describe, expect, it } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { eventId } from '../../src/domain/delivery/callback.ts';
import { payments } from '../../src/store/schema/schema.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop } from '../support/ledger.ts';
import { now } from '../support/store.ts';

afterEach(cleanUp);

const valueSat = 50_000;
const replacedBy = 'cd'.repeat(32) as Txid;

/** A shop with a payment in so many blocks (0: in the mempool), observed. */
async function paid(confirmations: number, reversalCallback = false) {
  const shop = await openShop();
  await shop.write((tx) => shop.catalog.changeStore(tx, 1, { reversalCallback }));
  const issued = await shop.issue();
  const txid = shop.chain.pay([{ address: issued.address, valueSat }]);
  await shop.observe(issued);
  if (confirmations > 0) {
    await shop.mine();
    await shop.observe(issued);
    await shop.mine(confirmations - 1);
  }
  return { shop, issued, txid };
}

const gone = (shop: Shop, issued: IssuedAddress, txid: Txid, by: Txid | null = null) =>
  shop.observe(issued, { seen: [], gone: [{ txid, replacedBy: by }], statusHash: null });

/** Takes the payment's blocks off, and the payment with them. */
async function doubleSpend(shop: Shop, depth: number): Promise<void> {
  shop.chain.reorganise(depth, { transactions: 'drop' });
  await shop.follow();
}

describe('a payment that is gone', () => {
  it('unconfirmed is dropped without a callback, and names its replacement', async () => {
    const { shop, issued, txid } = await paid(0, true);
    expect(await gone(shop, issued, txid, replacedBy)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.payment(issued)).toMatchObject({ state: 'dropped', status: 0, replacedBy });
    expect(shop.told()).toEqual([0]);
  });

  it('is not gone while its block is on our chain, whatever servers report', async () => {
    for (const confirmations of [1, 2]) {
      const { shop, issued, txid } = await paid(confirmations, true);
      const before = shop.payment(issued);
      expect(await gone(shop, issued, txid)).toEqual({ callbacks: 0, reversed: [] });
      expect(shop.payment(issued)).toEqual(before);
    }
  });

  it.each([
    [1, [0, 1]],
    [2, [0, 1, 2]],
  ])(
    'after %i confirmations is dropped and reported, and the shop gets no callback',
    async (deep, told) => {
      const { shop, issued, txid } = await paid(deep);
      await doubleSpend(shop, deep);
      expect(shop.ledger.offChain()).toEqual([issued.scripthash]);
      expect(await gone(shop, issued, txid)).toEqual({ callbacks: 0, reversed: [txid] });
      expect(shop.payment(issued)).toMatchObject({
        state: 'dropped',
        height: null,
        blockHash: null,
      });
      expect(shop.ledger.offChain()).toEqual([]);
      expect(shop.told()).toEqual(told);
    },
  );

  it.each([
    [1, [0, 1, -1]],
    [2, [0, 1, 2, -1]],
  ])('after %i confirmations sends -1, once, if the store opted in', async (deep, told) => {
    const { shop, issued, txid } = await paid(deep, true);
    await doubleSpend(shop, deep);
    expect(await gone(shop, issued, txid)).toEqual({ callbacks: 1, reversed: [txid] });
    expect(await gone(shop, issued, txid)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.told()).toEqual(told);
    const [newest] = shop.outbox.list({ limit: 1 });
    const event = { address: issued.address, txid, status: -1, cycle: 1 } as const;
    expect(newest).toMatchObject({ state: 'owed', eventId: eventId(event) });
    expect(newest?.query).toBe(`status=-1&addr=${issued.address}&value=${valueSat}&txid=${txid}`);
  });

  it('P-119 holds its callback, which is owed again once the payment is back', async () => {
    const { shop, issued, txid } = await paid(0);
    const states = () => shop.outbox.list({ limit: 2 }).map(({ state }) => state);
    await gone(shop, issued, txid);
    expect(states()).toEqual(['held']);
    await shop.observe(issued);
    expect(states()).toEqual(['owed']);
  });

  it('comes back as the same one, and sends a callback if its status changed', async () => {
    const { shop, issued, txid } = await paid(0);
    await gone(shop, issued, txid, replacedBy);
    expect(await shop.observe(issued)).toMatchObject({ callbacks: 0 });
    expect(shop.payment(issued)).toMatchObject({
      ...{ state: 'unconfirmed', status: 0, replacedBy: null },
    });
    await shop.mine();
    await shop.observe(issued);
    expect(shop.told()).toEqual([0, 1]);
  });

  it('is counted at once, and all gone payments are scanned at most once a minute', async () => {
    const { shop, issued, txid } = await paid(1);
    const { paymentCounts, database } = shop;
    expect(paymentCounts.reversals(now - 1)).toEqual({ count: 0, firstAt: undefined });
    await doubleSpend(shop, 1);
    await gone(shop, issued, txid);
    expect(paymentCounts.reversals(now - 1)).toEqual({ count: 1, firstAt: now });
    database.orm
      .update(payments)
      .set({ changedAt: now - 1 })
      .run();
    expect(paymentCounts.reversals(now + 59_998).count).toBe(1);
    expect(paymentCounts.reversals(now + 59_999).count).toBe(0);
    // A clock that was set back.
    expect(paymentCounts.reversals(now - 2).count).toBe(1);
  });

  it('that was never recorded changes nothing', async () => {
    const { shop, issued } = await paid(0);
    const before = shop.payments(issued);
    expect(await gone(shop, issued, replacedBy)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.payments(issued)).toEqual(before);
  });

  it('does not affect another one to the same address', async () => {
    const { shop, issued, txid } = await paid(0);
    const second = shop.chain.pay([{ address: issued.address, valueSat: 700 }]);
    await shop.observe(issued);
    await gone(shop, issued, txid);
    const states = shop.payments(issued).map((each) => [each.txid, each.state]);
    expect(new Map(states as [string, string][])).toEqual(
      new Map([
        [txid, 'dropped'],
        [second, 'unconfirmed'],
      ]),
    );
  });
});
