// Every way that a payment can go (docs/payments.md names these tests).

import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript } from '../../src/bitcoin/address.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { writeBands } from '../../src/domain/confirmation-policy.ts';
import type { StoreChange } from '../../src/store/records/catalog.ts';
import { minBacklog, minRestMs } from '../../src/watcher/backlog.ts';
import { closeApps, openReady, spendFromWallet, type TestApp, untilReady } from '../support/app.ts';
import { recorded } from '../support/recorded.ts';

afterEach(closeApps);

async function pay(house: TestApp, valueSat = 50_000): Promise<{ address: string; txid: Txid }> {
  const address = await house.newAddress();
  const txid = house.pay(address, valueSat) as Txid;
  await house.settle();
  return { address, txid };
}

/** A payment that the server in use never shows, found at the second one. */
async function payHidden(house: TestApp): Promise<{ address: string; txid: Txid }> {
  const address = await house.newAddress();
  const { scripthash } = await house.withStore(async ({ addresses }) => {
    const [row] = addresses.given(Number.MAX_SAFE_INTEGER, 10);
    if (row === undefined) throw new Error('nothing was issued');
    return row;
  });
  house.inUse().inject({ kind: 'omit', scripthashes: [scripthash], deny: true });
  // The day's round and that of hot addresses do not come to it in the same minute.
  for (let others = 0; others < 20; others += 1) await house.newAddress();
  const txid = house.pay(address, 7_000) as Txid;
  await house.settle();
  expect(house.callbacks()).toEqual([]);
  for (let minute = 0; minute < 11 && house.callbacks().length === 0; minute += 1) {
    await passMinutes(house, 1);
  }
  return { address, txid };
}

async function passMinutes(house: TestApp, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await house.world.advance(60_000);
    await house.settle();
  }
}

async function mine(house: TestApp, blocks: number): Promise<void> {
  for (let count = 0; count < blocks; count += 1) {
    house.chain.mine();
    await house.settle();
  }
}

const script = (address: string) => addressToScript(address, networks.regtest);

const payments = (house: TestApp, address: string) =>
  house.withStore(async (store) => {
    const pages = store.addresses.given(Number.MAX_SAFE_INTEGER, 10_000);
    const rows = pages.map(({ scripthash }) => store.addresses.byScripthash(scripthash));
    const row = rows.find((each) => each?.address === address);
    return row === undefined ? [] : recorded(store, row.id);
  });

const change = (house: TestApp, fields: StoreChange): Promise<unknown> =>
  house.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, fields)),
  );

const logged = (house: TestApp): string[] => house.world.logs.map(({ message }) => message);

describe.each([1, 2])('with %i server(s)', (servers) => {
  test('P-110 a replacement that still pays us is a new payment; the old one is dropped', async () => {
    const house = await openReady({ servers });
    const { address, txid } = await pay(house);
    const next = house.chain.replace(txid);
    await house.settle();
    expect(house.callbacks().map(({ txid, status }) => [txid, status])).toEqual([
      [txid, '0'],
      [next, '0'],
    ]);
    await mine(house, 2);
    expect(house.callbacks().slice(2)).toMatchObject([
      { txid: next, status: '1' },
      { txid: next, status: '2' },
    ]);
    expect(await payments(house, address)).toMatchObject([
      { txid, state: 'dropped', replacedBy: next },
      { txid: next, state: 'confirmed' },
    ]);
  });

  test('P-112 a replacement that pays us no more drops the payment, and tells nobody', async () => {
    const house = await openReady({ servers });
    const { address, txid } = await pay(house);
    house.chain.replace(txid, []);
    await house.outlastAbsence();
    await mine(house, 2);
    expect(house.statuses(address)).toEqual(['0']);
    expect(await payments(house, address)).toMatchObject([{ state: 'dropped', replacedBy: null }]);
    expect(logged(house)).toContain('a payment is gone');
  });

  test('P-113 an evicted payment that comes back is the same one: no second 0', async () => {
    const house = await openReady({ servers });
    const { address, txid } = await pay(house);
    const raw = house.chain.transaction(txid)?.raw ?? new Uint8Array();
    house.chain.evict(txid);
    await house.outlastAbsence();
    expect(await payments(house, address)).toMatchObject([{ state: 'dropped' }]);
    house.chain.broadcast(raw);
    await house.settle();
    expect(await payments(house, address)).toMatchObject([{ state: 'unconfirmed' }]);
    await mine(house, 2);
    expect(house.statuses(address)).toEqual(['0', '1', '2']);
  });

  test('P-59 P-125 a payment that a reorganisation double-spends is dropped', async () => {
    const house = await openReady({ servers });
    const { address } = await pay(house);
    await mine(house, 1);
    house.chain.reorganise(1, { transactions: 'drop' });
    await house.outlastAbsence();
    await mine(house, 1);
    expect(house.statuses(address)).toEqual(['0', '1']);
    expect(await payments(house, address)).toMatchObject([{ state: 'dropped', height: null }]);
    expect(logged(house)).toContain('a payment was taken back by the chain');
  });

  test('P-59 where the store wants to hear it, that is told as -1, and its return as 0', async () => {
    const house = await openReady({ servers });
    await change(house, { reversalCallback: true });
    const { address, txid } = await pay(house);
    const raw = house.chain.transaction(txid)?.raw ?? new Uint8Array();
    await mine(house, 2);
    house.chain.reorganise(2, { transactions: 'mempool' });
    await house.settle();
    house.chain.evict(txid);
    await house.outlastAbsence();
    house.chain.broadcast(raw);
    await house.settle();
    expect(house.statuses(address)).toEqual(['0', '1', '2', '0', '-1', '0']);
    const ids = house.receiver.requests.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(6);
  });

  test('P-124 a payment between a block that left and the mempool is not gone', async () => {
    const house = await openReady({ servers });
    await change(house, { reversalCallback: true });
    const { address, txid } = await pay(house);
    await mine(house, 2);
    // Each server follows the chain first, and then its node's mempool.
    const ends = house.servers.map((server) =>
      server.inject({ kind: 'omit', txids: [txid], deny: true }),
    );
    house.chain.reorganise(2, { transactions: 'mempool' });
    await house.settle();
    for (const end of ends) end();
    for (const server of house.servers) server.announce();
    await house.settle();
    await mine(house, 2);
    expect(logged(house)).not.toContain('a payment is gone');
    expect(house.statuses(address)).toEqual(['0', '1', '2', '0', '1', '2']);
  });

  test('P-124 silence is counted anew once the payment was named again', async () => {
    const house = await openReady({ servers });
    const { address, txid } = await pay(house);
    for (let times = 0; times < 3; times += 1) {
      const ends = house.servers.map((server) =>
        server.inject({ kind: 'omit', txids: [txid], deny: true }),
      );
      for (const server of house.servers) server.announce();
      await house.settle();
      await house.world.advance(20_000);
      for (const end of ends) end();
      for (const server of house.servers) server.announce();
      await house.settle();
    }
    expect(await payments(house, address)).toMatchObject([{ state: 'unconfirmed' }]);
    expect(logged(house)).not.toContain('a payment is gone');
  });

  test('P-59 a payment that vanished unconfirmed is never told as -1', async () => {
    const house = await openReady({ servers });
    await change(house, { reversalCallback: true });
    const { address, txid } = await pay(house);
    house.chain.evict(txid);
    await house.outlastAbsence();
    expect(house.statuses(address)).toEqual(['0']);
    expect(await payments(house, address)).toMatchObject([{ state: 'dropped' }]);
  });
});

describe('a second server', () => {
  test('P-123 keeps a payment that the first one hides, and sees it through', async () => {
    const house = await openReady({ servers: 2 });
    const { address, txid } = await pay(house);
    house.inUse().inject({ kind: 'omit', txids: [txid], deny: true });
    house.inUse().announce();
    await house.settle();
    expect(await payments(house, address)).toMatchObject([{ state: 'unconfirmed' }]);
    await mine(house, 2);
    expect(house.statuses(address)).toEqual(['0', '1', '2']);
  });

  test('P-127 finds a payment that the first one never showed, within ten minutes', async () => {
    const house = await openReady({ servers: 2 });
    const { address } = await payHidden(house);
    expect(house.statuses(address)).toEqual(['0']);
  });

  test('P-128 sees that a payment is gone which it alone had shown, and for a short while', async () => {
    const house = await openReady({ servers: 2 });
    const { address, txid } = await payHidden(house);
    house.chain.evict(txid);
    await passMinutes(house, 12);
    expect(await payments(house, address)).toMatchObject([{ txid, state: 'dropped' }]);
  });

  test('P-128 sees that also where paygate was down meanwhile', async () => {
    const house = await openReady({ servers: 2 });
    const { address, txid } = await payHidden(house);
    await house.stop();
    house.chain.evict(txid);
    await house.start();
    await untilReady(house);
    await passMinutes(house, 2);
    expect(await payments(house, address)).toMatchObject([{ txid, state: 'dropped' }]);
  });

  test('P-161 takes over when the first one ends', async () => {
    const house = await openReady({ servers: 2 });
    const address = await house.newAddress();
    const first = house.running.health().electrum.server;
    house.inUse().inject({ kind: 'refuse' });
    house.inUse().disconnectAll();
    await house.world.until(() => {
      const { server } = house.running.health().electrum;
      return server !== null && server !== first;
    }, 'the second server');
    await untilReady(house);
    house.pay(address, 5_000);
    await house.settle();
    expect(house.statuses(address)).toEqual(['0']);
  });
});

describe('amounts and addresses', () => {
  test('P-102 two transactions to one address are two payments', async () => {
    const house = await openReady();
    const { address } = await pay(house, 1_000);
    house.pay(address, 2_000);
    await house.settle();
    expect(house.callbacks().map(({ value, status }) => [value, status])).toEqual([
      ['1000', '0'],
      ['2000', '0'],
    ]);
  });

  test('P-103 a transaction that spends from an address and pays to it counts what it pays', async () => {
    const house = await openReady({ servers: 1 });
    const { address, txid: before } = await pay(house, 40_000);
    await mine(house, 1);
    const txid = spendFromWallet(house.chain, before, 0, [
      { script: script(address), valueSat: 3_000 },
    ]);
    await house.settle();
    expect(house.callbacks().at(-1)).toMatchObject({ txid, value: '3000', status: '0' });
  });

  test('P-58 a payment first seen deep is told as 2 alone', async () => {
    const house = await openReady();
    const address = await house.newAddress();
    await house.stop();
    house.pay(address, 8_000);
    house.chain.mine(7);
    await house.start();
    await untilReady(house);
    expect(house.statuses(address)).toEqual(['2']);
  });

  test('P-109 a flood of dust to one address does not hold up another', async () => {
    const house = await openReady({ before: (chain) => chain.stock(120, 20_000) });
    const [flooded, other] = [await house.newAddress(), await house.newAddress()];
    for (let count = 0; count < 100; count += 1) {
      house.chain.pay([{ address: flooded, valueSat: 600 }]);
    }
    house.pay(other, 5_000);
    await house.settle();
    expect(house.statuses(flooded)).toHaveLength(100);
    const place = house.callbacks().findIndex(({ addr }) => addr === other);
    expect(place).toBeLessThan(60);
  });

  test('P-109 a flood that takes several commits is recorded to its end', async () => {
    const house = await openReady({ before: (chain) => chain.stock(460, 20_000) });
    const address = await house.newAddress();
    for (let count = 0; count < 450; count += 1) house.chain.pay([{ address, valueSat: 600 }]);
    await house.settle();
    expect(await payments(house, address)).toHaveLength(450);
    expect(house.statuses(address)).toHaveLength(450);
    const asked = house.server.count('blockchain.scripthash.get_history');
    house.server.disconnectAll();
    await house.world.until(() => !house.running.health().electrum.caught_up);
    await house.world.advance(5_000);
    await untilReady(house);
    await house.settle();
    // Its status is that of the whole history.
    expect(house.server.count('blockchain.scripthash.get_history')).toBe(asked);
  });

  test('P-109 a flood of replacements, too, is told of one by one', async () => {
    const house = await openReady({ before: (chain) => chain.stock(120, 20_000) });
    const address = await house.newAddress();
    const first = Array.from({ length: 100 }, () => house.pay(address, 600) as Txid);
    await house.settle();
    const second = first.map((txid) => house.chain.replace(txid));
    await house.settle();
    const rows = await payments(house, address);
    const replacedBy = new Map(rows.map((row) => [row.txid, row.replacedBy]));
    expect(first.map((txid) => replacedBy.get(txid))).toEqual(second);
    expect(house.statuses(address)).toHaveLength(200);
  });

  test('P-57 a coinbase output waits for 100 blocks', async () => {
    const house = await openReady();
    const address = await house.newAddress();
    house.chain.mine(1, { to: script(address) });
    await house.settle();
    house.chain.mine(98);
    await house.settle();
    expect(house.statuses(address)).toEqual(['1']);
    house.chain.mine();
    await house.settle();
    expect(house.statuses(address)).toEqual(['1', '2']);
  });
});

describe('the store’s demands', () => {
  test('P-57 more confirmations are asked above an amount', async () => {
    const house = await openReady();
    const bands = [{ aboveSat: 100_000, confirmations: 4 }];
    await change(house, { confirmationBands: writeBands(bands) });
    const [small, edge, large] = [
      await pay(house, 99_999),
      await pay(house, 100_000),
      await pay(house, 100_001),
    ];
    await mine(house, 3);
    expect(house.statuses(small.address)).toEqual(['0', '1', '2']);
    expect(house.statuses(edge.address)).toEqual(['0', '1', '2']);
    expect(house.statuses(large.address)).toEqual(['0', '1']);
    await mine(house, 1);
    expect(house.statuses(large.address)).toEqual(['0', '1', '2']);
  });

  test('P-57 raised demands apply to what is not final yet, and take nothing back', async () => {
    const house = await openReady();
    const early = await pay(house);
    await mine(house, 2);
    const late = await pay(house);
    await change(house, { requiredConfirmations: 4 });
    await mine(house, 3);
    expect(house.statuses(early.address)).toEqual(['0', '1', '2']);
    expect(house.statuses(late.address)).toEqual(['0', '1']);
    await mine(house, 1);
    expect(house.statuses(late.address)).toEqual(['0', '1', '2']);
  });

  test('P-57 lowered demands are met within a second', async () => {
    const house = await openReady({ store: { confirmations: 6 } });
    const { address } = await pay(house);
    await mine(house, 3);
    expect(house.statuses(address)).toEqual(['0', '1']);
    await change(house, { requiredConfirmations: 3 });
    await house.world.advance(1_000);
    await house.settle();
    expect(house.statuses(address)).toEqual(['0', '1', '2']);
  });
});

describe('reorganisations', () => {
  test.each([1, 2, 3, 6])(
    'P-116 of %i blocks: back to the mempool, then in again',
    async (depth) => {
      const house = await openReady();
      const { address } = await pay(house);
      await mine(house, depth);
      const before = house.statuses(address).at(-1);
      house.chain.reorganise(depth, { transactions: 'mempool' });
      await house.settle();
      expect(house.statuses(address).at(-1)).toBe('0');
      await mine(house, 2);
      expect(house.statuses(address).slice(-3)).toEqual(['0', '1', '2']);
      expect(before).toBe(depth === 1 ? '1' : '2');
    },
  );

  test('P-117 at another height: the status changes only where its number does', async () => {
    const house = await openReady();
    const { address } = await pay(house);
    await mine(house, 2);
    const height = house.chain.tipHeight;
    house.chain.reorganise(2, { transactions: () => ({ height }), blocks: 3 });
    await house.settle();
    expect(house.statuses(address)).toEqual(['0', '1', '2']);
    expect(await payments(house, address)).toMatchObject([{ state: 'confirmed', height }]);
  });

  test('P-58 at the tip of the new branch, a payment that was 2 is told as 1', async () => {
    const house = await openReady();
    const { address } = await pay(house);
    await mine(house, 2);
    const height = house.chain.tipHeight + 1;
    house.chain.reorganise(2, { transactions: () => ({ height }) });
    await house.settle();
    expect(house.statuses(address)).toEqual(['0', '1', '2', '1']);
    await mine(house, 1);
    expect(house.statuses(address)).toEqual(['0', '1', '2', '1', '2']);
  });

  test.each([100, 144])(
    'P-120 %i deep: a payment that had long been final falls back',
    async (depth) => {
      const house = await openReady();
      const { address } = await pay(house);
      house.chain.mine(depth);
      await house.settle();
      house.chain.reorganise(depth, { transactions: 'mempool' });
      await house.settle();
      await mine(house, 2);
      expect(house.statuses(address)).toEqual(['0', '2', '0', '1', '2']);
    },
  );

  test('deeper than 144 are not followed', async () => {
    const house = await openReady();
    const { address } = await pay(house);
    house.chain.mine(150);
    await house.settle();
    const height = house.running.health().electrum.height;
    house.chain.reorganise(150, { transactions: 'mempool' });
    await house.world.until(() => house.running.health().electrum.server === null, 'the refusal');
    expect(house.statuses(address)).toEqual(['0', '2']);
    expect(house.running.health().electrum.height).toBe(height);
  });
});

test('P-114 an unconfirmed payment is broadcast again after six hours, for as long as it is one', async () => {
  const house = await openReady();
  const { txid } = await pay(house);
  // The wall clock alone: hours of ticks would only cost time.
  const later = (hours: number) => {
    house.world.jumpWallClock(hours * 3_600_000);
    return house.world.advance(61_000);
  };
  const broadcasts = () => house.server.count('blockchain.transaction.broadcast');
  await later(5);
  await house.settle();
  expect(broadcasts()).toBe(0);
  await later(2);
  await house.settle();
  expect(broadcasts()).toBe(1);
  house.chain.evict(txid);
  await house.outlastAbsence();
  await later(7);
  await house.settle();
  expect(broadcasts()).toBe(1);
});

test('P-114 an unconfirmed payment is broadcast for fourteen days, and no longer', async () => {
  const house = await openReady();
  await pay(house);
  const later = async (hours: number): Promise<number> => {
    house.world.jumpWallClock(hours * 3_600_000);
    await house.world.advance(61_000);
    await house.settle();
    return house.server.count('blockchain.transaction.broadcast');
  };
  expect(await later(14 * 24 - 1)).toBe(1);
  expect(await later(2)).toBe(1);
  expect(await later(48)).toBe(1);
});

test('a block full of payments is written down before a shop hears of one', async () => {
  const count = 3 * minBacklog;
  let unwritten: number | undefined;
  const house = await openReady({
    receiver: {
      async answer({ url }) {
        if (url.includes('status=1') && unwritten === undefined) {
          unwritten = count;
          const states = await house.withStore(
            async ({ paymentCounts }) => new Map(paymentCounts.byState()),
          );
          unwritten = states.get('unconfirmed') ?? 0;
        }
        return { status: 200 };
      },
    },
  });
  const issued: string[] = [];
  while (issued.length < count) {
    issued.push(...(await Promise.all(Array.from({ length: 50 }, () => house.newAddress()))));
  }
  await house.world.advance(1_000);
  house.chain.pay(issued.map((address, index) => ({ address, valueSat: 10_000 + index })));
  await house.settle();
  await house.world.advance(minRestMs);
  house.chain.mine();
  await house.settle();
  expect(unwritten).toBeLessThanOrEqual(minBacklog);
  const told = house.callbacks().map(({ addr, status }) => `${addr} ${status}`);
  expect(told.sort()).toEqual(issued.flatMap((addr) => [`${addr} 0`, `${addr} 1`]).sort());
});
