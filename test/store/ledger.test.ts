// From the chain to the callbacks of a shop.

import { eq } from 'drizzle-orm';
import { afterEach, describe, expect, it } from 'vitest';
import type { Scripthash } from '../../src/bitcoin/ids.ts';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { Ledger } from '../../src/store/ledger.ts';
import { deliveries, isOf } from '../../src/store/schema/delivery-schema.ts';
import { addresses, payments, stores } from '../../src/store/schema/schema.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop, shopOn } from '../support/ledger.ts';
import { accountKey, now, openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const valueSat = 50_000;

/** A shop with one address that is paid, unconfirmed. */
async function paid(changes: Parameters<typeof openShop>[0] = {}) {
  const shop = await openShop(changes);
  const issued = await shop.issue();
  const txid = shop.chain.pay([{ address: issued.address, valueSat }]);
  return { shop, issued, txid };
}

const queries = ({ outbox }: Shop) =>
  outbox
    .list({ limit: 100 })
    .map(({ query }) => query)
    .reverse();

describe('a payment', () => {
  it('sends 0, 1 and 2', async () => {
    const { shop, issued, txid } = await paid({ requiredConfirmations: 3 });
    expect(await shop.observe(issued)).toEqual({ callbacks: 1, reversed: [] });
    expect(await shop.mine()).toBe(0);
    expect(await shop.observe(issued)).toEqual({ callbacks: 1, reversed: [] });
    expect(await shop.mine()).toBe(0);
    expect(await shop.mine()).toBe(1);
    expect(await shop.mine()).toBe(0);
    const said = `addr=${issued.address}&value=${valueSat}&txid=${txid}`;
    // The faucet's transactions signal that they may be replaced.
    expect(queries(shop)).toEqual([
      `status=0&${said}&rbf=1`,
      `status=1&${said}`,
      `status=2&${said}`,
    ]);
    expect(shop.payment(issued)).toMatchObject({
      ...{ txid, valueSat, state: 'confirmed', status: 2, cycle: 0, height: 111 },
      ...{ coinbase: false, signalsRbf: true, blockHash: shop.chain.block(111)?.hash },
    });
  });

  it('first seen with enough confirmations sends only 2', async () => {
    const { shop, issued } = await paid();
    await shop.mine(5);
    await shop.observe(issued);
    expect(shop.told()).toEqual([2]);
  });

  it('first seen in a block sends 1', async () => {
    const { shop, issued } = await paid();
    await shop.mine();
    await shop.observe(issued);
    expect(shop.told()).toEqual([1]);
  });

  it('sends each status once, however often it is seen, and after a restart', async () => {
    const { shop, issued } = await paid();
    for (let times = 0; times < 3; times += 1) await shop.observe(issued);
    await shop.database.close();
    const again = shopOn(await openTestStore({ path: shop.path }), shop.chain);
    expect(await again.observe(issued)).toEqual({ callbacks: 0, reversed: [] });
    expect(await again.mine()).toBe(0);
    for (let times = 0; times < 3; times += 1) await again.observe(issued);
    expect(again.told()).toEqual([0, 1]);
  });

  it('is one of several that one transaction makes', async () => {
    const shop = await openShop();
    const [one, two] = [await shop.issue(), await shop.issue()];
    shop.chain.pay([
      { address: one.address, valueSat: 1_000 },
      { address: two.address, valueSat: 2_000 },
    ]);
    await Promise.all([shop.observe(one), shop.observe(two)]);
    expect([shop.payment(one).valueSat, shop.payment(two).valueSat]).toEqual([1_000, 2_000]);
    expect(shop.payment(one).txid).toBe(shop.payment(two).txid);
    expect(shop.told()).toEqual([0, 0]);
  });

  it('is the sum of what a transaction pays to the address', async () => {
    const { shop, issued } = await paid();
    shop.chain.pay([
      { address: issued.address, valueSat: 600 },
      { address: issued.address, valueSat: 700 },
    ]);
    expect(await shop.observe(issued)).toEqual({ callbacks: 2, reversed: [] });
    const values = shop.payments(issued).map((row) => row.valueSat);
    expect(new Set(values)).toEqual(new Set([valueSat, 1_300]));
    expect(shop.told()).toEqual([0, 0]);
  });

  it('is separate from another one to the same address', async () => {
    const { shop, issued } = await paid();
    await shop.mine();
    shop.chain.pay([{ address: issued.address, valueSat: 600 }]);
    await shop.observe(issued);
    const statuses = () => shop.payments(issued).map(({ status }) => status);
    expect(statuses().toSorted()).toEqual([0, 1]);
    await shop.mine();
    await shop.observe(issued);
    expect(statuses().toSorted()).toEqual([1, 2]);
    expect(shop.told().toSorted()).toEqual([0, 1, 1, 2]);
  });

  it('is replaceable only while it is unconfirmed and signals it', async () => {
    const shop = await openShop();
    const issued = await shop.issue();
    const outputs = [{ address: issued.address, valueSat }];
    shop.chain.pay(outputs, { rbf: false });
    await shop.observe(issued);
    expect(queries(shop)[0]).not.toContain('rbf');
  });

  it('of all 21 million coins has its exact value', async () => {
    const { shop, issued, txid } = await paid();
    const most = 2_100_000_000_000_000;
    const output = { valueSat: most, signalsRbf: false, coinbase: false };
    await shop.observe(issued, { seen: [{ txid, block: null, output }] });
    expect(shop.payment(issued).valueSat).toBe(most);
    expect(queries(shop)[0]).toContain('value=2100000000000000&');
  });
});

describe('payment, callback and status hash', () => {
  const state = ({ database }: Shop) => ({
    payments: database.orm.select().from(payments).all(),
    callbacks: database.orm.select().from(deliveries).where(isOf('callback')).all(),
    statusHash: database.orm.select({ statusHash: addresses.statusHash }).from(addresses).all(),
  });

  it('commit together', async () => {
    const { shop, issued } = await paid();
    const { statusHash } = shop.observation(issued);
    expect(shop.row(issued).statusHash).toBeNull();
    await shop.observe(issued);
    expect(shop.row(issued).statusHash).toBe(statusHash);
    expect(state(shop)).toMatchObject({ payments: [{ status: 0 }], callbacks: [{ status: 0 }] });
  });

  it('are all rolled back when the write fails later', async () => {
    const { shop, issued } = await paid();
    const before = state(shop);
    const failed = shop.write((tx) => {
      expect(shop.ledger.apply(tx, now, shop.observation(issued)).callbacks).toBe(1);
      throw new Error('the process had enough');
    });
    await expect(failed).rejects.toThrow('had enough');
    expect(state(shop)).toEqual(before);
    await shop.observe(issued);
    expect(shop.told()).toEqual([0]);
  });

  it('are all rolled back when the callback cannot be written', async () => {
    const { shop, issued } = await paid();
    const two = await shop.issue();
    shop.chain.pay([{ address: two.address, valueSat }]);
    await shop.observe(two);
    const [row] = shop.database.orm.select().from(deliveries).where(isOf('callback')).all();
    const outbox = {
      ...shop.outbox,
      enqueue() {
        // The file itself refuses an event that it has.
        shop.database.orm
          .insert(deliveries)
          .values({ ...row, id: 99, version: 9 } as never)
          .run();
      },
    };
    const ledger = new Ledger({ ...shop, orm: shop.database.orm, outbox });
    const before = state(shop);
    const failed = shop.write((tx) => ledger.apply(tx, now, shop.observation(issued)));
    await expect(failed).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_UNIQUE' });
    expect(state(shop)).toEqual(before);
  });

  it('of a promotion are rolled back with the headers that caused it', async () => {
    const { shop, issued } = await paid();
    await shop.mine();
    await shop.observe(issued);
    const before = { ...state(shop), tip: shop.headers.tip() };
    shop.chain.mine();
    const failed = shop.write((tx) => {
      const result = shop.connect();
      if (result.kind === 'best') shop.headers.setBest(tx, result.added, result.forkHeight);
      expect(shop.ledger.promote(tx, now, shop.ledger.maturing())).toBe(1);
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect({ ...state(shop), tip: shop.headers.tip() }).toEqual(before);
    expect(await shop.follow()).toBe(1);
  });

  it('the status is not stored while a part of the history is unprocessed', async () => {
    const { shop, issued } = await paid();
    await shop.observe(issued, { statusHash: undefined });
    expect(shop.row(issued).statusHash).toBe('unfinished');
    expect(shop.told()).toEqual([0]);
  });

  it('an empty history is saved as such', async () => {
    const { shop, issued } = await paid();
    await shop.observe(issued);
    await shop.observe(issued, { seen: [], statusHash: null });
    expect(shop.row(issued).statusHash).toBeNull();
  });

  it('a proof in a block that left the chain meanwhile is ignored, with its history', async () => {
    const { shop, issued } = await paid();
    await shop.mine();
    const old = shop.observation(issued);
    shop.chain.reorganise(1, { transactions: 'mempool' });
    await shop.follow();
    expect(await shop.observe(issued, old)).toEqual({ callbacks: 0, reversed: [], again: true });
    expect(shop.payments(issued)).toEqual([]);
    expect(shop.row(issued).statusHash).toBe('unfinished');
    await shop.observe(issued);
    expect(shop.told()).toEqual([0]);
  });

  it('a proof in a block without a known header is ignored too', async () => {
    const { shop, issued } = await paid();
    shop.chain.mine();
    await shop.observe(issued);
    expect(shop.payments(issued)).toEqual([]);
    expect(shop.row(issued).statusHash).toBe('unfinished');
    await shop.follow();
    await shop.observe(issued);
    expect(shop.told()).toEqual([1]);
  });
});

describe('an address', () => {
  const ahead = async (shop: Shop): Promise<IssuedAddress> => {
    const [scripthash] = await shop.write((tx) => shop.addresses.deriveAhead(tx, 1, 1));
    const row = scripthash && shop.addresses.byScripthash(scripthash);
    if (!row) throw new Error('nothing was derived');
    return { ...row, account: '', issuedAt: 0 };
  };

  it('that was not issued is foreign when it is used: reported once, no payment, never issued', async () => {
    const shop = await openShop();
    const foreign = await ahead(shop);
    expect(await shop.observe(foreign)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.row(foreign).origin).toBe('ahead');
    shop.chain.pay([{ address: foreign.address, valueSat }]);
    expect(await shop.observe(foreign)).toEqual({
      callbacks: 0,
      reversed: [],
      foreignUse: { walletId: 1, derivationIndex: 0 },
    });
    expect(shop.row(foreign).origin).toBe('foreign');
    await shop.mine();
    expect(await shop.observe(foreign)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.row(foreign).statusHash).toBe(shop.observation(foreign).statusHash);
    expect(shop.payments(foreign)).toEqual([]);
    expect(shop.told()).toEqual([]);
    expect((await shop.issue()).derivationIndex).toBe(1);
  });

  it('that only one server reports as used stays in the look-ahead until a proof, and is checked again once issued', async () => {
    const shop = await openShop();
    const claimed = await ahead(shop);
    shop.chain.pay([{ address: claimed.address, valueSat }]);
    const told = { walletId: 1, derivationIndex: 0 };
    expect(await shop.observe(claimed, { isUnproven: true })).toMatchObject({ claimedUse: told });
    expect(await shop.observe(claimed, { isUnproven: true })).toEqual({
      callbacks: 0,
      reversed: [],
    });
    expect(shop.row(claimed)).toMatchObject({ origin: 'ahead' });
    expect(await shop.observe(claimed)).toMatchObject({ foreignUse: told });
    expect(shop.row(claimed).origin).toBe('foreign');
    await shop.write((tx) => shop.addresses.deriveAhead(tx, 1, 9));
    const status = shop.observation(claimed).statusHash;
    for (let index = 1; index < 9; index += 1) {
      const address = deriveAddress(accountKey(), 0, index)?.scripthash ?? ('' as Scripthash);
      const { id = 0 } = shop.addresses.byScripthash(address) ?? {};
      await shop.write((tx) =>
        shop.ledger.apply(tx, now, {
          ...{ addressId: id, origin: 'ahead', seen: [], gone: [] },
          ...{ statusHash: status, isUnproven: true },
        }),
      );
    }
    const issued = await shop.issue();
    expect(issued.derivationIndex).toBe(6);
    expect(shop.row(issued).statusHash).toBe('unfinished');
  });

  it('whose history is incomplete is not foreign yet', async () => {
    const shop = await openShop();
    const foreign = await ahead(shop);
    shop.chain.pay([{ address: foreign.address, valueSat }]);
    expect(await shop.observe(foreign, { statusHash: undefined })).toEqual({
      callbacks: 0,
      reversed: [],
    });
    expect(shop.row(foreign).origin).toBe('ahead');
  });

  it('that a copy skipped sends callbacks to the only store', async () => {
    const shop = await openShop();
    const skipped = await ahead(shop);
    await shop.write((tx) => shop.addresses.skip(tx, now, 1, 1));
    shop.chain.pay([{ address: skipped.address, valueSat }]);
    await shop.observe(skipped);
    await shop.mine(2);
    await shop.observe(skipped);
    expect(shop.told()).toEqual([0, 2]);
  });

  it('that belongs to no store is recorded, without callbacks', async () => {
    const shop = await openShop();
    await shop.addStore({ name: 'Second' });
    const skipped = await ahead(shop);
    await shop.write((tx) => shop.addresses.skip(tx, now, 1, 1));
    shop.chain.pay([{ address: skipped.address, valueSat }]);
    expect(await shop.observe(skipped)).toEqual({ callbacks: 0, reversed: [] });
    await shop.mine(3);
    expect(await shop.observe(skipped)).toEqual({ callbacks: 0, reversed: [] });
    expect(shop.payment(skipped)).toMatchObject({ state: 'confirmed', valueSat });
    expect(shop.told()).toEqual([]);
  });

  it('that is not ours changes nothing', async () => {
    const { shop, issued } = await paid();
    const observation = { ...shop.observation(issued), addressId: 99 };
    expect(await shop.write((tx) => shop.ledger.apply(tx, now, observation))).toEqual({
      callbacks: 0,
      reversed: [],
    });
    expect(shop.told()).toEqual([]);
  });
});

describe('a store', () => {
  it('that was removed still gets callbacks', async () => {
    const { shop, issued } = await paid();
    await shop.write((tx) => shop.catalog.archiveStore(tx, now, 1, false));
    await shop.observe(issued);
    await shop.mine(2);
    await shop.observe(issued);
    expect(shop.told()).toEqual([0, 2]);
    const claimed = await shop.write((tx) =>
      shop.outbox.claim(tx, now, { limit: 9, perReceiver: 9, leaseMs: 1000, afterReceiverId: 0 }),
    );
    expect(claimed).toHaveLength(1);
  });

  it('whose callbacks were stopped has its payments recorded, and none is sent', async () => {
    const { shop, issued } = await paid();
    await shop.write((tx) => shop.catalog.archiveStore(tx, now, 1, true));
    await shop.observe(issued);
    expect(shop.payment(issued)).toMatchObject({ state: 'unconfirmed' });
    const claimed = await shop.write((tx) =>
      shop.outbox.claim(tx, now, { limit: 9, perReceiver: 9, leaseMs: 1000, afterReceiverId: 0 }),
    );
    expect(claimed).toEqual([]);
  });

  const require = ({ database, write }: Shop, requiredConfirmations: number) =>
    write(
      () =>
        void database.orm
          .update(stores)
          .set({ requiredConfirmations })
          .where(eq(stores.id, 1))
          .run(),
    );

  it('that requires more confirmations later reverts no 2, and requires them of new payments', async () => {
    const { shop, issued } = await paid();
    await shop.mine(2);
    await shop.observe(issued);
    await require(shop, 50);
    await shop.mine();
    await shop.observe(issued);
    expect(shop.told()).toEqual([2]);
    const later = await shop.issue();
    shop.chain.pay([{ address: later.address, valueSat }]);
    await shop.mine(3);
    await shop.observe(later);
    expect(shop.told(later)).toEqual([1]);
  });

  it('that requires fewer confirmations later gets its 2 with the next block', async () => {
    const { shop, issued } = await paid({ requiredConfirmations: 6 });
    await shop.mine(3);
    await shop.observe(issued);
    await require(shop, 2);
    expect(await shop.mine()).toBe(1);
    expect(shop.told()).toEqual([1, 2]);
  });

  it('has its own number of confirmations, beside another one of the same wallet', async () => {
    const { shop, issued } = await paid({ requiredConfirmations: 1 });
    await shop.addStore({ requiredConfirmations: 3 });
    const second = await shop.issue(1, 2);
    shop.chain.pay([{ address: second.address, valueSat }]);
    await shop.mine();
    await Promise.all([shop.observe(issued), shop.observe(second)]);
    expect([shop.told(issued), shop.told(second)]).toEqual([[2], [1]]);
    await shop.mine(2);
    expect([shop.told(issued), shop.told(second)]).toEqual([[2], [1, 2]]);
  });
});

it('evidence from before an address was issued is collected again afterwards', async () => {
  const shop = await openShop();
  const issued = await shop.issue();
  shop.chain.pay([{ address: issued.address, valueSat }]);
  const early = await shop.observe(issued, { origin: 'ahead', seen: [] });
  expect(early).toEqual({ callbacks: 0, reversed: [], again: true });
  expect(shop.row(issued).statusHash).toBe('unfinished');
  expect(await shop.observe(issued)).toMatchObject({ callbacks: 1 });
});

it('enqueues no callback for a store without a Callback URL', async () => {
  const shop = await openShop({ callbackUrl: '', webhookUrl: 'https://shop.example/hook' });
  const issued = await shop.issue();
  shop.chain.pay([{ address: issued.address, valueSat: 5_000 }]);
  await shop.observe(issued);
  expect(shop.paymentCounts.byState()).toEqual([['unconfirmed', 1]]);
  expect(shop.outbox.list({ limit: 1 })).toEqual([]);
});
