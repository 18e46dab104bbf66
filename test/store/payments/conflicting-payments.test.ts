// What replaced a payment, where it pays another of our addresses: whichever of the two was seen,
// or found to be gone, first.

import { eq } from 'drizzle-orm';
import { afterEach, describe, expect, it, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import type { SeenPayment } from '../../../src/store/payments/observation.ts';
import { payments, transactions } from '../../../src/store/schema/schema.ts';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { cleanUp } from '../../support/files.ts';
import { openShop, type Shop } from '../../support/ledger.ts';
import { idOf, payingTo, spending } from '../../support/made-up.ts';
import { costOf } from '../../support/plans.ts';
import { now } from '../../support/store.ts';

afterEach(cleanUp);

const output = { valueSat: 5_000, signalsRbf: true, coinbase: false };

const seenOf = (shop: Shop, txid: Txid): SeenPayment => {
  const raw = shop.chain.transaction(txid)?.raw ?? new Uint8Array();
  return { txid, block: null, output, raw };
};

const see = (shop: Shop, issued: IssuedAddress, txid: Txid) =>
  shop.observe(issued, { seen: [seenOf(shop, txid)], gone: [] });

const drop = (shop: Shop, issued: IssuedAddress, txid: Txid) =>
  shop.observe(issued, { seen: [], gone: [{ txid, replacedBy: null }] });

const replacedBy = (shop: Shop, issued: IssuedAddress) =>
  shop.payments(issued).map((payment) => payment.replacedBy);

/**
 * Two addresses, of two stores; a payment to the first one, and its replacement, which pays the
 * second.
 */
async function replaced() {
  const shop = await openShop();
  await shop.addStore({ name: 'Second' });
  const [first, second] = [await shop.issue(), await shop.issue(1, 2)];
  const old = shop.chain.pay([{ address: first.address, valueSat: 5_000 }]);
  await see(shop, first, old);
  const fresh = shop.chain.replace(old, [{ address: second.address, valueSat: 5_000 }]);
  return { shop, first, second, old, fresh };
}

it('P-111 is named once the payment is gone, if it was seen before', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await see(shop, second, fresh);
  await drop(shop, first, old);
  expect(replacedBy(shop, first)).toEqual([fresh]);
  expect(replacedBy(shop, second)).toEqual([null]);
});

it('P-111 is named once it is seen, if the payment was gone before', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await drop(shop, first, old);
  expect(replacedBy(shop, first)).toEqual([null]);
  await see(shop, second, fresh);
  expect(replacedBy(shop, first)).toEqual([fresh]);
});

it('P-111 is named of each address that the payment paid', async () => {
  const shop = await openShop();
  const [first, second, third] = [await shop.issue(), await shop.issue(), await shop.issue()];
  const to = [first, second].map(({ address }) => ({ address, valueSat: 5_000 }));
  const old = shop.chain.pay(to);
  await see(shop, first, old);
  await see(shop, second, old);
  const fresh = shop.chain.replace(old, [{ address: third.address, valueSat: 5_000 }]);
  await drop(shop, first, old);
  await see(shop, third, fresh);
  await drop(shop, second, old);
  expect([replacedBy(shop, first), replacedBy(shop, second)]).toEqual([[fresh], [fresh]]);
});

it('P-111 that pays none of our addresses is named of each, if a server names it of one', async () => {
  const shop = await openShop();
  const [first, second] = [await shop.issue(), await shop.issue()];
  const to = [first, second].map(({ address }) => ({ address, valueSat: 5_000 }));
  const old = shop.chain.pay(to);
  for (const issued of [first, second]) await see(shop, issued, old);
  const elsewhere = shop.chain.replace(old, []);
  await shop.observe(first, { seen: [], gone: [{ txid: old, replacedBy: elsewhere }] });
  await drop(shop, second, old);
  expect([replacedBy(shop, first), replacedBy(shop, second)]).toEqual([[elsewhere], [elsewhere]]);
});

it('that is seen later announces a change of the dropped payment', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await drop(shop, first, old);
  const { id } = shop.payment(first);
  const moves: unknown[] = [];
  shop.events.on('paymentChanged', (paymentId, move) => {
    if (paymentId === id) moves.push(move);
  });
  await see(shop, second, fresh);
  expect(moves).toEqual([{ before: 'dropped', after: 'dropped' }]);
});

it('is exchanged when a block confirms the replaced payment', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await see(shop, second, fresh);
  await drop(shop, first, old);
  await drop(shop, second, fresh);
  await see(shop, first, old);
  expect([replacedBy(shop, first), replacedBy(shop, second)]).toEqual([[null], [old]]);
});

it('is not a payment that spends other inputs', async () => {
  const { shop, first, second, old } = await replaced();
  const another = shop.chain.pay([{ address: second.address, valueSat: 5_000 }]);
  await see(shop, second, another);
  await drop(shop, first, old);
  expect(replacedBy(shop, first)).toEqual([null]);
});

it('P-111 is named of each address, although it pays none of ours', async () => {
  const shop = await openShop();
  const [first, second] = [await shop.issue(), await shop.issue()];
  const to = [first, second].map(({ address }) => ({ address, valueSat: 5_000 }));
  const old = shop.chain.pay(to);
  await see(shop, first, old);
  await see(shop, second, old);
  const foreign = 'f'.repeat(64) as Txid;
  await shop.observe(first, { seen: [], gone: [{ txid: old, replacedBy: foreign }] });
  await drop(shop, second, old);
  expect([replacedBy(shop, first), replacedBy(shop, second)]).toEqual([[foreign], [foreign]]);
});

it('is none of the payments that are gone with it', async () => {
  const shop = await openShop();
  const first = await shop.issue();
  const to = [{ address: first.address, valueSat: 5_000 }];
  const old = shop.chain.pay(to);
  await see(shop, first, old);
  const again = shop.chain.replace(old, to);
  await see(shop, first, again);
  const gone = [old, again].map((txid) => ({ txid, replacedBy: null }));
  await shop.observe(first, { seen: [], gone });
  expect(replacedBy(shop, first)).toEqual([null, null]);
});

it('is the first of two that are seen at once', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await drop(shop, first, old);
  const one = seenOf(shop, fresh);
  const other = shop.chain.replace(fresh, [{ address: second.address, valueSat: 6_000 }]);
  await shop.observe(second, { seen: [one, seenOf(shop, other)], gone: [] });
  expect(replacedBy(shop, first)).toEqual([fresh]);
});

it('is not itself, when it is seen again', async () => {
  const { shop, first, old } = await replaced();
  await drop(shop, first, old);
  await see(shop, first, old);
  expect(replacedBy(shop, first)).toEqual([null]);
  expect(shop.payment(first).state).toBe('unconfirmed');
});

it('is not itself, when it is seen again with another payment', async () => {
  const { shop, first, old } = await replaced();
  await drop(shop, first, old);
  const another = shop.chain.pay([{ address: first.address, valueSat: 7_000 }]);
  const seen = [another, old].map((txid) => seenOf(shop, txid));
  await shop.observe(first, { seen, gone: [] });
  expect(replacedBy(shop, first)).toEqual([null, null]);
});

it('stays the first one, if that is replaced too', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await see(shop, second, fresh);
  await drop(shop, first, old);
  await see(shop, second, shop.chain.replace(fresh, [{ address: second.address, valueSat: 600 }]));
  expect(replacedBy(shop, first)).toEqual([fresh]);
});

/** Writes invented payments to an address, with their bytes. @returns their txids */
function invent(shop: Shop, addressId: number, from: number, count: number): Promise<Txid[]> {
  const { orm } = shop.database;
  return shop.write(() =>
    Array.from({ length: count }, (_, place) => {
      const raw = payingTo(new Uint8Array(22), from + place, 0);
      const txid = idOf(raw);
      const seen = { state: 'unconfirmed', firstSeenAt: now, changedAt: now } as const;
      orm
        .insert(payments)
        .values({ addressId, txid, valueSat: 1_000, ...seen })
        .run();
      orm.insert(transactions).values({ txid, raw, firstSeenAt: now, broadcastAt: now }).run();
      return txid;
    }),
  );
}

describe('of four times as many payments', () => {
  /** Less than this is not the square. */
  const maxRatio = 6;

  test('that are gone at once, no more than four times as much is read', async () => {
    const read = async (count: number) => {
      const shop = await openShop();
      const [first, second] = [await shop.issue(), await shop.issue()];
      await invent(shop, second.id, 5_000, count);
      const txids = await invent(shop, first.id, 0, count);
      const gone = txids.map((txid) => ({ txid, replacedBy: null }));
      const { rows } = await costOf(() => shop.observe(first, { seen: [], gone }));
      expect(shop.payments(first).map(({ state }) => state)).toEqual(gone.map(() => 'dropped'));
      return rows;
    };
    expect((await read(160)) / (await read(40))).toBeLessThan(maxRatio);
  });

  test('that are new, no more than four times as much is read', async () => {
    const read = async (count: number) => {
      const shop = await openShop();
      const [first, second] = [await shop.issue(), await shop.issue()];
      const old = await invent(shop, second.id, 5_000, count);
      const gone = old.map((txid) => ({ txid, replacedBy: null }));
      await shop.observe(second, { seen: [], gone });
      const seen = Array.from({ length: count }, (_, place) => {
        const raw = payingTo(new Uint8Array(22), place, 0);
        return { txid: idOf(raw), block: null, output, raw };
      });
      const { rows } = await costOf(() => shop.observe(first, { seen, gone: [] }));
      expect(shop.payments(first)).toHaveLength(count);
      return rows;
    };
    expect((await read(160)) / (await read(40))).toBeLessThan(maxRatio);
  });

  test('that are unconfirmed, each is compared no more often', async () => {
    const steps = async (count: number) => {
      const shop = await openShop();
      const { id } = await shop.issue();
      const txids = await invent(shop, id, 0, count);
      let reads = 0;
      const listed = txids.map((txid) => ({
        get txid() {
          reads += 1;
          return txid;
        },
        state: 'unconfirmed' as const,
        replacedBy: null,
      }));
      expect(shop.conflicts.withoutReplaced(listed)).toEqual(listed);
      return reads;
    };
    expect((await steps(160)) / (await steps(40))).toBeLessThan(maxRatio);
  });
});

test('a payment that was seen before is compared with none that is gone', async () => {
  const read = async (count: number) => {
    const shop = await openShop();
    const [first, second] = [await shop.issue(), await shop.issue()];
    const txids = await invent(shop, second.id, 0, count);
    const gone = txids.map((txid) => ({ txid, replacedBy: null }));
    await shop.observe(second, { seen: [], gone });
    const txid = shop.chain.pay([{ address: first.address, valueSat: 5_000 }]);
    await shop.observe(first);
    await shop.mine();
    const { rows } = await costOf(() => shop.observe(first));
    expect(shop.payment(first)).toMatchObject({ txid, state: 'confirming' });
    return rows;
  };
  expect(await read(40)).toBe(await read(10));
});

describe('of payments that spend one output', () => {
  type Listed = Pick<(typeof payments)['$inferSelect'], 'state'> & { readonly inputs: number[] };

  /** Names what became of each: itself, or the place of what replaced it. */
  async function resultOf(...listed: Listed[]): Promise<(string | number)[]> {
    const { conflicts, database } = await openShop();
    const rows = listed.map(({ state, inputs }, place) => {
      const raw = spending(inputs, place);
      const txid = idOf(raw);
      const stored = { txid, raw, firstSeenAt: now, broadcastAt: now };
      database.orm.insert(transactions).values(stored).run();
      return { txid: txid as string, state, replacedBy: null };
    });
    const txids = rows.map(({ txid }) => txid);
    return conflicts
      .withoutReplaced(rows)
      .map(({ state, replacedBy }) =>
        state === 'dropped' && replacedBy !== null ? txids.indexOf(replacedBy) : state,
      );
  }

  const seen = (...inputs: number[]): Listed => ({ state: 'unconfirmed', inputs });
  const mined = (...inputs: number[]): Listed => ({ state: 'confirming', inputs });
  const gone = (...inputs: number[]): Listed => ({ state: 'dropped', inputs });
  const old = (...inputs: number[]): Listed => ({ state: 'settled', inputs });

  test.each<[string, Listed[], (string | number)[]]>([
    ['the last one counts', [seen(1), seen(1), seen(1)], [2, 2, 'unconfirmed']],
    ['one in a block counts', [seen(1), mined(1), seen(1)], [1, 'confirming', 1]],
    ['one in a block counts before later ones', [mined(1), seen(1)], ['confirming', 0]],
    ['each of several outputs is compared', [seen(1, 2), seen(3, 2)], [1, 'unconfirmed']],
    ['a chain of them has one end', [seen(1), seen(1, 2), seen(2)], [1, 2, 'unconfirmed']],
    ['what is gone takes nothing', [seen(1), gone(1)], ['unconfirmed', 'dropped']],
    ['what is settled has no bytes', [old(1), seen(1)], ['settled', 'unconfirmed']],
    ['other outputs do not matter', [seen(1), seen(2)], ['unconfirmed', 'unconfirmed']],
    ['two in blocks stay', [mined(1), mined(1)], ['confirming', 'confirming']],
  ])('%s', async (_what, listed, result) => {
    expect(await resultOf(...listed)).toEqual(result);
  });
});

describe('a replacement is found among many payments', () => {
  const minute = 60_000;

  /** A dropped payment of the first minute, its replacement, and 1,200 others. */
  async function amongMany(replacedAt: number) {
    const { shop, first, second, old, fresh } = await replaced();
    await see(shop, second, fresh);
    const { orm } = shop.database;
    orm.update(payments).set({ firstSeenAt: replacedAt }).where(eq(payments.txid, fresh)).run();
    const { id } = await shop.issue();
    for (const txid of await invent(shop, id, 0, 1_200)) {
      const at = { firstSeenAt: now + 10 * minute };
      orm.update(payments).set(at).where(eq(payments.txid, txid)).run();
    }
    await drop(shop, first, old);
    return { found: replacedBy(shop, first), fresh };
  }

  test('if it is as old as the payment', async () => {
    const { found, fresh } = await amongMany(now + minute);
    expect(found).toEqual([fresh]);
  });

  test('if it is new', async () => {
    const { found, fresh } = await amongMany(now + 20 * minute);
    expect(found).toEqual([fresh]);
  });
});
