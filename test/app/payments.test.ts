// Every course of a payment. docs/payments.md names these tests.

import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript } from '../../src/bitcoin/address.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { writeBands } from '../../src/domain/payment/confirmation-policy.ts';
import type { StoreChange } from '../../src/store/wallets/catalog.ts';
import { minBacklog, minRestMs } from '../../src/watcher/backlog.ts';
import { closeApps, openReady, spendFromWallet, type TestApp, untilReady } from '../support/app.ts';
import { recorded } from '../support/recorded.ts';

afterEach(closeApps);

async function pay(app: TestApp, valueSat = 50_000): Promise<{ address: string; txid: Txid }> {
  const address = await app.newAddress();
  const txid = app.pay(address, valueSat) as Txid;
  await app.settle();
  return { address, txid };
}

/** A payment that the server in use never shows, found at the second one. */
async function payHidden(app: TestApp): Promise<{ address: string; txid: Txid }> {
  const address = await app.newAddress();
  const { scripthash } = await app.withStore(async ({ addresses }) => {
    const [row] = addresses.notAhead(Number.MAX_SAFE_INTEGER, 10);
    if (row === undefined) throw new Error('nothing was issued');
    return row;
  });
  app.inUse().inject({ kind: 'omit', scripthashes: [scripthash], deny: true });
  // The day's round and that of hot addresses do not come to it in the same minute.
  for (let others = 0; others < 20; others += 1) await app.newAddress();
  const txid = app.pay(address, 7_000) as Txid;
  await app.settle();
  expect(app.callbacks()).toEqual([]);
  for (let minute = 0; minute < 11 && app.callbacks().length === 0; minute += 1) {
    await passMinutes(app, 1);
  }
  return { address, txid };
}

async function passMinutes(app: TestApp, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await app.world.advance(60_000);
    await app.settle();
  }
}

async function mine(app: TestApp, blocks: number): Promise<void> {
  for (let count = 0; count < blocks; count += 1) {
    app.chain.mine();
    await app.settle();
  }
}

const script = (address: string) => addressToScript(address, networks.regtest);

const payments = (app: TestApp, address: string) =>
  app.withStore(async (records) => {
    const pages = records.addresses.notAhead(Number.MAX_SAFE_INTEGER, 10_000);
    const rows = pages.map(({ scripthash }) => records.addresses.byScripthash(scripthash));
    const row = rows.find((each) => each?.address === address);
    return row === undefined ? [] : recorded(records, row.id);
  });

const change = (app: TestApp, fields: StoreChange): Promise<unknown> =>
  app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, fields)),
  );

const logged = (app: TestApp): string[] => app.world.logs.map(({ message }) => message);

describe.each([1, 2])('with %i server(s)', (servers) => {
  test('P-110 a replacement that still pays us is a new payment; the old one is dropped', async () => {
    const app = await openReady({ servers });
    const { address, txid } = await pay(app);
    const next = app.chain.replace(txid);
    await app.settle();
    expect(app.callbacks().map(({ txid, status }) => [txid, status])).toEqual([
      [txid, '0'],
      [next, '0'],
    ]);
    await mine(app, 2);
    expect(app.callbacks().slice(2)).toMatchObject([
      { txid: next, status: '1' },
      { txid: next, status: '2' },
    ]);
    expect(await payments(app, address)).toMatchObject([
      { txid, state: 'dropped', replacedBy: next },
      { txid: next, state: 'confirmed' },
    ]);
  });

  test('P-112 a replacement that no longer pays us drops the payment, without a callback', async () => {
    const app = await openReady({ servers });
    const { address, txid } = await pay(app);
    app.chain.replace(txid, []);
    await app.outlastAbsence();
    await mine(app, 2);
    expect(app.statuses(address)).toEqual(['0']);
    expect(await payments(app, address)).toMatchObject([{ state: 'dropped', replacedBy: null }]);
    expect(logged(app)).toContain('a payment is gone');
  });

  test('P-113 an evicted payment that comes back is the same one: no second 0', async () => {
    const app = await openReady({ servers });
    const { address, txid } = await pay(app);
    const raw = app.chain.transaction(txid)?.raw ?? new Uint8Array();
    app.chain.evict(txid);
    await app.outlastAbsence();
    expect(await payments(app, address)).toMatchObject([{ state: 'dropped' }]);
    app.chain.broadcast(raw);
    await app.settle();
    expect(await payments(app, address)).toMatchObject([{ state: 'unconfirmed' }]);
    await mine(app, 2);
    expect(app.statuses(address)).toEqual(['0', '1', '2']);
  });

  test('P-59 P-125 a payment that a reorganisation double-spends is dropped', async () => {
    const app = await openReady({ servers });
    const { address } = await pay(app);
    await mine(app, 1);
    app.chain.reorganise(1, { transactions: 'drop' });
    await app.outlastAbsence();
    await mine(app, 1);
    expect(app.statuses(address)).toEqual(['0', '1']);
    expect(await payments(app, address)).toMatchObject([{ state: 'dropped', height: null }]);
    expect(logged(app)).toContain('a payment was reversed by the chain');
  });

  test('P-59 if the store opted in, a reversal sends -1, and the return of the payment sends 0', async () => {
    const app = await openReady({ servers });
    await change(app, { reversalCallback: true });
    const { address, txid } = await pay(app);
    const raw = app.chain.transaction(txid)?.raw ?? new Uint8Array();
    await mine(app, 2);
    app.chain.reorganise(2, { transactions: 'mempool' });
    await app.settle();
    app.chain.evict(txid);
    await app.outlastAbsence();
    app.chain.broadcast(raw);
    await app.settle();
    expect(app.statuses(address)).toEqual(['0', '1', '2', '0', '-1', '0']);
    const ids = app.receiver.requests.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(6);
  });

  test('P-124 a payment between a block that left and the mempool is not gone', async () => {
    const app = await openReady({ servers });
    await change(app, { reversalCallback: true });
    const { address, txid } = await pay(app);
    await mine(app, 2);
    // Each server follows the chain first, and then its node's mempool.
    const ends = app.servers.map((server) =>
      server.inject({ kind: 'omit', txids: [txid], deny: true }),
    );
    app.chain.reorganise(2, { transactions: 'mempool' });
    await app.settle();
    for (const end of ends) end();
    for (const server of app.servers) server.notifyAll();
    await app.settle();
    await mine(app, 2);
    expect(logged(app)).not.toContain('a payment is gone');
    expect(app.statuses(address)).toEqual(['0', '1', '2', '0', '1', '2']);
  });

  test('P-124 an absence begins anew once a server has reported the payment', async () => {
    const app = await openReady({ servers });
    const { address, txid } = await pay(app);
    for (let times = 0; times < 3; times += 1) {
      const ends = app.servers.map((server) =>
        server.inject({ kind: 'omit', txids: [txid], deny: true }),
      );
      for (const server of app.servers) server.notifyAll();
      await app.settle();
      await app.world.advance(20_000);
      for (const end of ends) end();
      for (const server of app.servers) server.notifyAll();
      await app.settle();
    }
    expect(await payments(app, address)).toMatchObject([{ state: 'unconfirmed' }]);
    expect(logged(app)).not.toContain('a payment is gone');
  });

  test('P-59 a payment that vanishes unconfirmed never sends -1', async () => {
    const app = await openReady({ servers });
    await change(app, { reversalCallback: true });
    const { address, txid } = await pay(app);
    app.chain.evict(txid);
    await app.outlastAbsence();
    expect(app.statuses(address)).toEqual(['0']);
    expect(await payments(app, address)).toMatchObject([{ state: 'dropped' }]);
  });
});

describe('a second server', () => {
  test('P-123 preserves a payment that the first one omits, until it is final', async () => {
    const app = await openReady({ servers: 2 });
    const { address, txid } = await pay(app);
    app.inUse().inject({ kind: 'omit', txids: [txid], deny: true });
    app.inUse().notifyAll();
    await app.settle();
    expect(await payments(app, address)).toMatchObject([{ state: 'unconfirmed' }]);
    await mine(app, 2);
    expect(app.statuses(address)).toEqual(['0', '1', '2']);
  });

  test('P-127 finds a payment that the first one never showed, within ten minutes', async () => {
    const app = await openReady({ servers: 2 });
    const { address } = await payHidden(app);
    expect(app.statuses(address)).toEqual(['0']);
  });

  test('P-128 detects that a payment is gone which it alone had reported for a short while', async () => {
    const app = await openReady({ servers: 2 });
    const { address, txid } = await payHidden(app);
    app.chain.evict(txid);
    await passMinutes(app, 12);
    expect(await payments(app, address)).toMatchObject([{ txid, state: 'dropped' }]);
  });

  test('P-128 detects this also if paygate was down meanwhile', async () => {
    const app = await openReady({ servers: 2 });
    const { address, txid } = await payHidden(app);
    await app.stop();
    app.chain.evict(txid);
    await app.start();
    await untilReady(app);
    await passMinutes(app, 2);
    expect(await payments(app, address)).toMatchObject([{ txid, state: 'dropped' }]);
  });

  test('P-161 takes over when the first one ends', async () => {
    const app = await openReady({ servers: 2 });
    const address = await app.newAddress();
    const first = app.running.health().electrum.server;
    app.inUse().inject({ kind: 'refuse' });
    app.inUse().disconnectAll();
    await app.world.until(() => {
      const { server } = app.running.health().electrum;
      return server !== null && server !== first;
    }, 'the second server');
    await untilReady(app);
    app.pay(address, 5_000);
    await app.settle();
    expect(app.statuses(address)).toEqual(['0']);
  });
});

describe('amounts and addresses', () => {
  test('P-102 two transactions to one address are two payments', async () => {
    const app = await openReady();
    const { address } = await pay(app, 1_000);
    app.pay(address, 2_000);
    await app.settle();
    expect(app.callbacks().map(({ value, status }) => [value, status])).toEqual([
      ['1000', '0'],
      ['2000', '0'],
    ]);
  });

  test('P-103 a transaction that spends from an address and pays to it counts what it pays', async () => {
    const app = await openReady({ servers: 1 });
    const { address, txid: before } = await pay(app, 40_000);
    await mine(app, 1);
    const txid = spendFromWallet(app.chain, before, 0, [
      { script: script(address), valueSat: 3_000 },
    ]);
    await app.settle();
    expect(app.callbacks().at(-1)).toMatchObject({ txid, value: '3000', status: '0' });
  });

  test('P-58 a payment first seen with enough confirmations sends only 2', async () => {
    const app = await openReady();
    const address = await app.newAddress();
    await app.stop();
    app.pay(address, 8_000);
    app.chain.mine(7);
    await app.start();
    await untilReady(app);
    expect(app.statuses(address)).toEqual(['2']);
  });

  test('P-109 a flood of dust to one address does not delay another', async () => {
    const app = await openReady({ before: (chain) => chain.stock(120, 20_000) });
    const [flooded, other] = [await app.newAddress(), await app.newAddress()];
    for (let count = 0; count < 100; count += 1) {
      app.chain.pay([{ address: flooded, valueSat: 600 }]);
    }
    app.pay(other, 5_000);
    await app.settle();
    expect(app.statuses(flooded)).toHaveLength(100);
    const place = app.callbacks().findIndex(({ addr }) => addr === other);
    expect(place).toBeLessThan(60);
  });

  test('P-109 a flood that takes several commits is recorded to its end', async () => {
    const app = await openReady({ before: (chain) => chain.stock(460, 20_000) });
    const address = await app.newAddress();
    for (let count = 0; count < 450; count += 1) app.chain.pay([{ address, valueSat: 600 }]);
    await app.settle();
    expect(await payments(app, address)).toHaveLength(450);
    expect(app.statuses(address)).toHaveLength(450);
    const asked = app.server.count('blockchain.scripthash.get_history');
    app.server.disconnectAll();
    await app.world.until(() => !app.running.health().electrum.caught_up);
    await app.world.advance(5_000);
    await untilReady(app);
    await app.settle();
    // Its status is that of the whole history.
    expect(app.server.count('blockchain.scripthash.get_history')).toBe(asked);
  });

  test('P-109 a flood of replacements sends one callback after another', async () => {
    const app = await openReady({ before: (chain) => chain.stock(120, 20_000) });
    const address = await app.newAddress();
    const first = Array.from({ length: 100 }, () => app.pay(address, 600) as Txid);
    await app.settle();
    const second = first.map((txid) => app.chain.replace(txid));
    await app.settle();
    const rows = await payments(app, address);
    const replacedBy = new Map(rows.map((row) => [row.txid, row.replacedBy]));
    expect(first.map((txid) => replacedBy.get(txid))).toEqual(second);
    expect(app.statuses(address)).toHaveLength(200);
  });

  test('P-57 a coinbase output waits for 100 blocks', async () => {
    const app = await openReady();
    const address = await app.newAddress();
    app.chain.mine(1, { to: script(address) });
    await app.settle();
    app.chain.mine(98);
    await app.settle();
    expect(app.statuses(address)).toEqual(['1']);
    app.chain.mine();
    await app.settle();
    expect(app.statuses(address)).toEqual(['1', '2']);
  });
});

describe('required confirmations', () => {
  test('P-57 larger amounts can require more confirmations', async () => {
    const app = await openReady();
    const bands = [{ aboveSat: 100_000, confirmations: 4 }];
    await change(app, { confirmationBands: writeBands(bands) });
    const [small, edge, large] = [
      await pay(app, 99_999),
      await pay(app, 100_000),
      await pay(app, 100_001),
    ];
    await mine(app, 3);
    expect(app.statuses(small.address)).toEqual(['0', '1', '2']);
    expect(app.statuses(edge.address)).toEqual(['0', '1', '2']);
    expect(app.statuses(large.address)).toEqual(['0', '1']);
    await mine(app, 1);
    expect(app.statuses(large.address)).toEqual(['0', '1', '2']);
  });

  test('P-57 raised confirmations apply to payments that are not final, and revert no status', async () => {
    const app = await openReady();
    const early = await pay(app);
    await mine(app, 2);
    const late = await pay(app);
    await change(app, { requiredConfirmations: 4 });
    await mine(app, 3);
    expect(app.statuses(early.address)).toEqual(['0', '1', '2']);
    expect(app.statuses(late.address)).toEqual(['0', '1']);
    await mine(app, 1);
    expect(app.statuses(late.address)).toEqual(['0', '1', '2']);
  });

  test('P-57 lowered confirmations take effect within a second', async () => {
    const app = await openReady({ store: { confirmations: 6 } });
    const { address } = await pay(app);
    await mine(app, 3);
    expect(app.statuses(address)).toEqual(['0', '1']);
    await change(app, { requiredConfirmations: 3 });
    await app.world.advance(1_000);
    await app.settle();
    expect(app.statuses(address)).toEqual(['0', '1', '2']);
  });
});

describe('reorganisations', () => {
  test.each([1, 2, 3, 6])(
    'P-116 of %i blocks: back to the mempool, then in again',
    async (depth) => {
      const app = await openReady();
      const { address } = await pay(app);
      await mine(app, depth);
      const before = app.statuses(address).at(-1);
      app.chain.reorganise(depth, { transactions: 'mempool' });
      await app.settle();
      expect(app.statuses(address).at(-1)).toBe('0');
      await mine(app, 2);
      expect(app.statuses(address).slice(-3)).toEqual(['0', '1', '2']);
      expect(before).toBe(depth === 1 ? '1' : '2');
    },
  );

  test('P-117 at another height: the status changes only where its number does', async () => {
    const app = await openReady();
    const { address } = await pay(app);
    await mine(app, 2);
    const height = app.chain.tipHeight;
    app.chain.reorganise(2, { transactions: () => ({ height }), blocks: 3 });
    await app.settle();
    expect(app.statuses(address)).toEqual(['0', '1', '2']);
    expect(await payments(app, address)).toMatchObject([{ state: 'confirmed', height }]);
  });

  test('P-58 at the tip of the new branch, a payment that was 2 sends 1', async () => {
    const app = await openReady();
    const { address } = await pay(app);
    await mine(app, 2);
    const height = app.chain.tipHeight + 1;
    app.chain.reorganise(2, { transactions: () => ({ height }) });
    await app.settle();
    expect(app.statuses(address)).toEqual(['0', '1', '2', '1']);
    await mine(app, 1);
    expect(app.statuses(address)).toEqual(['0', '1', '2', '1', '2']);
  });

  test.each([100, 144])(
    'P-120 %i deep: a payment that had long been final falls back',
    async (depth) => {
      const app = await openReady();
      const { address } = await pay(app);
      app.chain.mine(depth);
      await app.settle();
      app.chain.reorganise(depth, { transactions: 'mempool' });
      await app.settle();
      await mine(app, 2);
      expect(app.statuses(address)).toEqual(['0', '2', '0', '1', '2']);
    },
  );

  test('deeper than 144 are not followed', async () => {
    const app = await openReady();
    const { address } = await pay(app);
    app.chain.mine(150);
    await app.settle();
    const height = app.running.health().electrum.height;
    app.chain.reorganise(150, { transactions: 'mempool' });
    await app.world.until(() => app.running.health().electrum.server === null, 'the refusal');
    expect(app.statuses(address)).toEqual(['0', '2']);
    expect(app.running.health().electrum.height).toBe(height);
  });
});

test('P-114 an unconfirmed payment is broadcast again after six hours, as long as it is unconfirmed', async () => {
  const app = await openReady();
  const { txid } = await pay(app);
  // The wall clock alone: hours of ticks would only cost time.
  const later = (hours: number) => {
    app.world.jumpWallClock(hours * 3_600_000);
    return app.world.advance(61_000);
  };
  const broadcasts = () => app.server.count('blockchain.transaction.broadcast');
  await later(5);
  await app.settle();
  expect(broadcasts()).toBe(0);
  await later(2);
  await app.settle();
  expect(broadcasts()).toBe(1);
  app.chain.evict(txid);
  await app.outlastAbsence();
  await later(7);
  await app.settle();
  expect(broadcasts()).toBe(1);
});

test('P-114 an unconfirmed payment is broadcast for fourteen days, and no longer', async () => {
  const app = await openReady();
  await pay(app);
  const later = async (hours: number): Promise<number> => {
    app.world.jumpWallClock(hours * 3_600_000);
    await app.world.advance(61_000);
    await app.settle();
    return app.server.count('blockchain.transaction.broadcast');
  };
  expect(await later(14 * 24 - 1)).toBe(1);
  expect(await later(2)).toBe(1);
  expect(await later(48)).toBe(1);
});

test('all payments of a block are committed before the first callback', async () => {
  const count = 3 * minBacklog;
  let unwritten: number | undefined;
  const app = await openReady({
    receiver: {
      async answer({ url }) {
        if (url.includes('status=1') && unwritten === undefined) {
          unwritten = count;
          const states = await app.withStore(
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
    issued.push(...(await Promise.all(Array.from({ length: 50 }, () => app.newAddress()))));
  }
  await app.world.advance(1_000);
  app.chain.pay(issued.map((address, index) => ({ address, valueSat: 10_000 + index })));
  await app.settle();
  await app.world.advance(minRestMs);
  app.chain.mine();
  await app.settle();
  expect(unwritten).toBeLessThanOrEqual(minBacklog);
  const told = app.callbacks().map(({ addr, status }) => `${addr} ${status}`);
  expect(told.sort()).toEqual(issued.flatMap((addr) => [`${addr} 0`, `${addr} 1`]).sort());
});
