// Effects of the chain on a recorded payment: reorganisations, maturity, absence.

import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { eventId } from '../../src/domain/delivery/callback.ts';
import { depthOf } from '../../src/domain/payment/payment.ts';
import type { Fate } from '../../src/sandbox/chain/reorganise.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import { chainOf, startTime } from '../sandbox/support.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop, shopOn } from '../support/ledger.ts';
import { accountKey, openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const valueSat = 50_000;

/** A shop with a payment in so many blocks, observed. */
async function confirmed(confirmations: number, requiredConfirmations = 2) {
  const shop = await openShop({ requiredConfirmations });
  const issued = await shop.issue();
  const txid = shop.chain.pay([{ address: issued.address, valueSat }]);
  await shop.mine();
  await shop.observe(issued);
  if (confirmations > 1) await shop.mine(confirmations - 1);
  return { shop, issued, txid };
}

const reorganise = async (shop: Shop, depth: number, transactions: Fate, blocks = depth + 1) => {
  shop.chain.reorganise(depth, { transactions, blocks });
  return shop.follow();
};

describe('a reorganisation', () => {
  it('reverts no status by itself: it only names the addresses to check', async () => {
    const { shop, issued } = await confirmed(2);
    expect(shop.ledger.offChain()).toEqual([]);
    const before = shop.payment(issued);
    expect(await reorganise(shop, 2, 'mempool')).toBe(0);
    expect(shop.ledger.offChain()).toEqual([issued.scripthash]);
    expect(shop.payment(issued)).toEqual(before);
    expect(await shop.mine(3)).toBe(0);
    expect(shop.ledger.offChain()).toEqual([issued.scripthash]);
  });

  it('back to the mempool sends 0, and then 1 and 2 again, as new events', async () => {
    const { shop, issued, txid } = await confirmed(2);
    await reorganise(shop, 2, 'mempool');
    await shop.observe(issued);
    expect(shop.payment(issued)).toMatchObject({
      ...{ state: 'unconfirmed', status: 0, cycle: 1, height: null, blockHash: null },
    });
    expect(shop.ledger.offChain()).toEqual([]);
    await shop.mine();
    await shop.observe(issued);
    await shop.mine();
    expect(shop.told()).toEqual([1, 2, 0, 1, 2]);
    const ids = shop.outbox.list({ limit: 9 }).map((row) => row.eventId);
    const events = ([0, 1, 2] as const).map((status) =>
      eventId({ address: issued.address, txid, status, cycle: 1 }),
    );
    expect(ids.slice(0, 3).reverse()).toEqual(events);
    expect(new Set(ids).size).toBe(5);
  });

  it('into another block of the same height sends nothing if the status stays', async () => {
    const { shop, issued } = await confirmed(1);
    const before = shop.payment(issued);
    await reorganise(shop, 1, 'remine-same-height', 2);
    // Two confirmations by now, but the new block has no proof yet.
    expect(shop.told()).toEqual([1]);
    await shop.observe(issued);
    expect(shop.payment(issued)).toMatchObject({ height: before.height, state: 'confirmed' });
    expect(shop.payment(issued).blockHash).not.toBe(before.blockHash);
    expect(shop.told()).toEqual([1, 2]);
    expect(shop.ledger.offChain()).toEqual([]);
  });

  it('of a confirmed payment into a block of the same depth sends nothing', async () => {
    const { shop, issued } = await confirmed(2);
    await reorganise(shop, 2, 'remine-same-height');
    await shop.observe(issued);
    expect(shop.payment(issued)).toMatchObject({ state: 'confirmed', cycle: 0 });
    expect(shop.told()).toEqual([1, 2]);
  });

  it('of a confirmed payment into a shallower block sends 1 again', async () => {
    const { shop, issued } = await confirmed(3, 3);
    await reorganise(shop, 3, { height: 113 }, 4);
    await shop.observe(issued);
    expect(shop.payment(issued)).toMatchObject({ state: 'confirming', height: 113, cycle: 1 });
    expect(shop.told()).toEqual([1, 2, 1]);
    expect(await shop.mine()).toBe(1);
    expect(shop.told()).toEqual([1, 2, 1, 2]);
  });

  it('that only ties changes nothing', async () => {
    const { shop, issued } = await confirmed(2);
    await reorganise(shop, 2, 'mempool', 2);
    expect(shop.ledger.offChain()).toEqual([]);
    expect(shop.payment(issued)).toMatchObject({ state: 'confirmed' });
    // A server that follows the other branch has it in its mempool: its word against a proof.
    expect(await shop.observe(issued)).toEqual({ callbacks: 0, reversed: [] });
  });

  it('above the payment’s block leaves it alone', async () => {
    const { shop, issued } = await confirmed(3);
    await reorganise(shop, 2, 'mempool');
    expect(shop.ledger.offChain()).toEqual([]);
    expect(await shop.observe(issued)).toEqual({ callbacks: 0, reversed: [] });
  });

  it('there and back again leaves the payment where it was', async () => {
    const { shop, issued } = await confirmed(2);
    const before = shop.payment(issued);
    // The same chain up to the payment, and another one from there on.
    const other = chainOf(110);
    other.mine(3);
    await shopOn(shop, other).follow();
    expect(shop.headers.tip()?.header.hash).toBe(other.tip.hash);
    expect(shop.ledger.offChain()).toEqual([issued.scripthash]);
    await shop.mine(2);
    expect(shop.headers.tip()?.header.hash).toBe(shop.chain.tip.hash);
    expect(shop.ledger.offChain()).toEqual([]);
    expect(await shop.observe(issued)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.payment(issued)).toEqual(before);
    expect(shop.told()).toEqual([1, 2]);
  });
});

describe('a fact that a server does not report', () => {
  it('leaves the payment as it is', async () => {
    for (const confirmations of [1, 2]) {
      const { shop, issued } = await confirmed(confirmations);
      const before = shop.payment(issued);
      const silent = { seen: [], statusHash: null };
      expect(await shop.observe(issued, silent)).toEqual({ callbacks: 0, reversed: [] });
      expect(shop.payment(issued)).toEqual(before);
    }
  });

  it('leaves an unconfirmed payment as well, which returns without a callback', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    const txid = shop.chain.pay([{ address: issued.address, valueSat }]);
    await shop.observe(issued);
    shop.chain.evict(txid);
    await shop.observe(issued);
    expect(shop.payment(issued)).toMatchObject({ state: 'unconfirmed', status: 0 });
    shop.chain.rebroadcast(txid);
    await shop.observe(issued);
    expect(shop.told()).toEqual([0]);
  });

  it('or reports late: a payment in the mempool that is proven in a block', async () => {
    const { shop, issued, txid } = await confirmed(1);
    const output = { valueSat, signalsRbf: true, coinbase: false };
    const late = { seen: [{ txid, block: null, output }] };
    expect(await shop.observe(issued, late)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.payment(issued)).toMatchObject({ state: 'confirming' });
  });

  it('or reports twice: in a block and still in the mempool, as electrs does for a moment', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    shop.chain.pay([{ address: issued.address, valueSat }]);
    await shop.mine();
    const seen = shop.observation(issued).seen.flatMap((each) => [each, { ...each, block: null }]);
    expect(await shop.observe(issued, { seen })).toEqual({ callbacks: 1, reversed: [] });
    expect(shop.told(issued)).toEqual([1]);
    expect(shop.payment(issued)).toMatchObject({ state: 'confirming', height: 111 });
  });

  it('no tip at all: nothing is promoted, and nothing fails', async () => {
    const records = await openTestStore();
    expect(
      await records.write((tx) => records.ledger.promote(tx, 0, records.ledger.maturing())),
    ).toBe(0);
    expect(records.ledger.offChain()).toEqual([]);
  });
});

describe('while promotions are held', () => {
  const held = async (confirmations: number) => {
    const { shop, issued } = await confirmed(confirmations);
    const reason = { kind: 'branch', server: 'tcp://x:1', text: 'another branch' } as const;
    await shop.write((tx) => shop.state.hold.write(tx, [reason]));
    return { shop, issued };
  };

  it('a final payment stays final in another block of the same depth', async () => {
    const { shop, issued } = await held(6);
    await reorganise(shop, 6, 'remine-same-height', 8);
    expect(await shop.observe(issued)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.told()).toEqual([1, 2]);
    expect(shop.payment(issued)).toMatchObject({ state: 'confirmed', height: 111 });
    expect(shop.ledger.offChain()).toEqual([]);
  });

  it('a payment with too few confirmations is still reverted, and not promoted again', async () => {
    const { shop, issued } = await held(2);
    shop.chain.reorganise(2, { transactions: () => ({ height: 113 }), blocks: 3 });
    await shop.follow();
    await shop.observe(issued);
    expect(shop.told()).toEqual([1, 2, 1]);
    await shop.mine(5);
    expect(shop.told()).toEqual([1, 2, 1]);
  });
});

describe('depth', () => {
  it('of 145 settles a payment without a callback, and reorganisations are no longer checked', async () => {
    const { shop, issued } = await confirmed(2);
    await shop.mine(142);
    expect(shop.payment(issued).state).toBe('confirmed');
    expect(await shop.mine()).toBe(0);
    expect(shop.payment(issued)).toMatchObject({ state: 'settled', status: 2 });
    expect(shop.told()).toEqual([1, 2]);
  });

  it('of 145 at first sight settles at once, and sends 2', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    shop.chain.pay([{ address: issued.address, valueSat }]);
    await shop.mine(145);
    await shop.observe(issued);
    expect(shop.payment(issued).state).toBe('settled');
    expect(shop.told()).toEqual([2]);
  });

  it('of a coinbase counts as final from 100 on, whatever the store requires', async () => {
    const shop = await openShop({ requiredConfirmations: 1 });
    const issued = await shop.issue();
    shop.chain.mine(1, { to: shop.addresses.scriptOf(issued.id) });
    await shop.follow();
    await shop.observe(issued);
    expect(shop.payment(issued)).toMatchObject({ coinbase: true, state: 'confirming' });
    await shop.mine(98);
    expect(shop.told()).toEqual([1]);
    expect(await shop.mine()).toBe(1);
    expect(shop.told()).toEqual([1, 2]);
  });
});

describe('over any history of the chain', () => {
  const fate = fc.constantFrom<Fate>('mempool', 'remine-same-height', { height: 113 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('pay' as const), to: fc.nat(1) }),
    fc.record({ kind: fc.constant('mine' as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({
      kind: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 1, max: 4 }),
      more: fc.integer({ min: -1, max: 2 }),
      fate,
    }),
    fc.constant({ kind: 'follow' as const }),
    fc.record({ kind: fc.constant('observe' as const), to: fc.nat(1) }),
  );

  it('every shop ends with the true status, and receives each event once and in order', async () => {
    const records = await openTestStore();
    let wallets = 0;
    const course = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      // One file for all courses: the chain of the first one goes on in the next.
      wallets += 1;
      const { id: walletId } = await records.addWallet({ key: accountKey(wallets), startIndex: 0 });
      const { id: storeId } = await records.addStore({ walletId, requiredConfirmations: 3 });
      const issued = [
        await records.issue(walletId, storeId),
        await records.issue(walletId, storeId),
      ];
      const at = (which: number): IssuedAddress => issued[which] ?? (issued[0] as IssuedAddress);
      for (const each of steps) {
        if (each.kind === 'pay') shop.chain.pay([{ address: at(each.to).address, valueSat }]);
        else if (each.kind === 'mine') shop.chain.mine(each.count);
        else if (each.kind === 'follow') await shop.follow();
        else if (each.kind === 'observe') await shop.observe(at(each.to));
        else {
          const blocks = Math.max(0, each.depth + each.more);
          const height = typeof each.fate === 'object' ? shop.chain.tipHeight : 0;
          const transactions = typeof each.fate === 'object' ? { height } : each.fate;
          shop.chain.reorganise(each.depth, { transactions, blocks });
        }
      }
      // A chain with less work than before is none that a client follows.
      shop.chain.mine(6, { include: 'none' });
      await shop.follow();
      expect(shop.headers.tip()?.header.hash).toBe(shop.chain.tip.hash);
      for (const one of issued) {
        await shop.observe(one);
        for (const payment of shop.payments(one)) expectTruth(shop, one, payment.txid);
      }
      const open = shop.ledger.offChain();
      expect(issued.filter(({ scripthash }) => open.includes(scripthash))).toEqual([]);
    });
    const shop = shopOn(records, chainWithCoins());
    await shop.follow();
    await fc.assert(course, { numRuns: 15 });
  });

  function chainWithCoins(): SimulatedChain {
    let seconds = startTime;
    const chain = new SimulatedChain({ seed: 'course', now: () => seconds });
    chain.onChange(() => {
      seconds += 600;
    });
    chain.mine(110);
    chain.stock(60, 1_000_000);
    return chain;
  }

  function expectTruth(shop: Shop, issued: IssuedAddress, txid: Txid): void {
    const payment = shop.payments(issued).find((each) => each.txid === txid);
    const height = shop.chain.heightOf(txid);
    const depth = height === undefined ? 0 : depthOf(height, shop.chain.tipHeight);
    const status = depth === 0 ? 0 : depth < 3 ? 1 : 2;
    const events = shop.outbox.list({ limit: 1000 }).filter((each) => each.txid === txid);
    expect(payment).toMatchObject({ status, height: height ?? null });
    expect(events[0]).toMatchObject({ status, state: 'owed' });
    expect(new Set(events.map((each) => each.eventId)).size).toBe(events.length);
    // No two in a row say the same.
    const statuses = events.map((each) => each.status);
    expect(statuses.filter((each, at) => each === statuses[at + 1])).toEqual([]);
  }
});
