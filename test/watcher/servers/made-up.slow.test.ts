// Servers that invent what costs them nothing: transactions that no node has, and their histories.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { sha256x2 } from '@scure/btc-signer/utils.js';
import { afterEach, describe, expect, test } from 'vitest';
import { displayHex, type Scripthash, type Txid } from '../../../src/bitcoin/ids.ts';
import { deriveAddress } from '../../../src/bitcoin/keychain.ts';
import { collectGarbage } from '../../../src/cli/service/run-until-stopped.ts';
import { chunks } from '../../../src/lib/chunk.ts';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { merchantKey, spendFromWallet } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import type { Liar, Lie, Message } from '../../support/liar.ts';
import { type Lying, prepareLying } from '../../support/lying.ts';
import {
  emptyOutputs,
  getHistory,
  getTransaction,
  idOf,
  payingTo,
  tellOf,
} from '../../support/made-up.ts';
import { prepareWatching } from '../../support/watching.ts';

afterEach(cleanUp);

/** Ever smaller ones, down to nearly nothing. */
const halves = (bytes: number): number[] => (bytes < 2 ? [1] : [bytes, ...halves(bytes >> 1)]);

describe('transactions that a server invented', () => {
  test('P-149 cost little memory, however large they are after parsing', async () => {
    const app = await prepareLying();
    await app.start();
    const issued = await app.issue();
    const raws = Array.from({ length: 12 }, (_, number) => emptyOutputs(number, 110_000));
    tellOf(app.inUse(), issued, raws);
    const bytes = () => {
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const before = bytes();
    app.chain.pay([{ address: issued.address, valueSat: 7_000 }]);
    await app.watcher.idle();
    expect(app.payments(issued)).toHaveLength(1);
    // In parsed form, each of them takes 28.7 MiB.
    expect(bytes() - before).toBeLessThan(100 * 2 ** 20);
  });

  test('P-145 are no payments if they are too heavy for nodes to relay', async () => {
    const app = await prepareLying();
    await app.start();
    const issued = await app.issue();
    const script = app.records.addresses.scriptOf(issued.id);
    const heavy = [1, 2, 3].map((number) => payingTo(script, number, 100_000));
    tellOf(app.inUse(), issued, [...heavy, payingTo(script, 4, 99_000)]);
    const txid = app.chain.pay([{ address: issued.address, valueSat: 7_000 }]);
    await app.watcher.idle();
    expect(app.payments(issued)).toMatchObject([{ txid }, { valueSat: 1 }]);
  });
});

describe('payments that a server invented', () => {
  /** A little more than fits in memory, the smallest last: nothing else fits then. */
  const madeUp = (script: Uint8Array): Buffer[] => {
    const large = Array.from({ length: Math.floor(32_000_000 / 95_000) }, () => 95_000);
    const small = Array.from({ length: 1_000 }, () => 1);
    return [...large, ...small].map((bytes, at) => payingTo(script, at, bytes));
  };

  test('P-149 delay no true one, however slowly the server sends the rest', async () => {
    const app = await prepareLying();
    const { world, records, chain } = app;
    const pass = async (seconds: number) => {
      for (let gone = 0; gone < seconds; gone += 1) {
        await world.advance(1_000);
        for (let turns = 0; turns < 3; turns += 1) await world.turn();
      }
    };
    const pay = (address: string) => chain.pay([{ address, valueSat: 7_000 }]);
    await app.start();
    const [flooded, other] = [await app.issue(), await app.issue()];
    const liar = app.inUse();
    tellOf(liar, flooded, madeUp(records.addresses.scriptOf(flooded.id)));
    const slow = Array.from({ length: 500 }, () => {
      return { tx_hash: pay(chain.faucet.address), height: 0, fee: 1 };
    });
    const { lie } = liar;
    liar.lie = (asked, message) => {
      const response = lie?.(asked, message);
      const isOfFlooded = asked.method === getHistory && asked.params[0] === flooded.scripthash;
      if (isOfFlooded) return { ...response, result: [...response.result, ...slow] };
      if (!slow.some(({ tx_hash }) => tx_hash === asked.params[0])) return response;
      world.after(8_000, () => liar.say(response));
      return undefined;
    };
    pay(flooded.address);
    await pass(10);
    pay(other.address);
    // It is checked again in a minute.
    await pass(90);
    expect(app.payments(other)).toMatchObject([{ state: 'unconfirmed' }]);
  });

  test('P-150 fill no disk by their bytes', async () => {
    const app = await prepareLying();
    const { world, records } = app;
    await app.start();
    const flooded = await app.issue();
    const script = records.addresses.scriptOf(flooded.id);
    // The largest size that nodes relay.
    const raws = (from: number) =>
      Array.from({ length: 170 }, (_, at) => payingTo(script, from + at, 98_000));
    const recordedMb = () => {
      const sizes = app
        .payments(flooded)
        .map(({ txid }) => records.ledger.rawOf(txid)?.length ?? 0);
      return sizes.reduce((sum, bytes) => sum + bytes, 0) / 1e6;
    };
    const tell = async (shown: readonly Buffer[]) => {
      tellOf(app.inUse(), flooded, shown);
      app.chain.pay([{ address: flooded.address, valueSat: 7_000 }]);
      await app.watcher.idle();
    };
    await tell(raws(0));
    expect(recordedMb()).toBeCloseTo(16.7, 1);
    const all = [...raws(0), ...raws(170)];
    await tell(all);
    expect(app.payments(flooded)).toHaveLength(342);
    expect(recordedMb()).toBeCloseTo(32, 0);
    expect(recordedMb()).toBeLessThanOrEqual(32);

    await world.advance(3_600_000);
    await tell([...all, ...raws(340)]);
    expect(app.payments(flooded)).toHaveLength(513);
    expect(recordedMb()).toBeCloseTo(44, 0);
    expect(recordedMb()).toBeLessThanOrEqual(44);
  });

  test('P-150 do not hide the replacement of a true one, though its bytes are not stored', async () => {
    const app = await prepareLying();
    const { chain, records } = app;
    await app.start();
    const [flooded, issued] = [await app.issue(), await app.issue()];
    const large = Array.from({ length: 170 }, () => 98_000);
    const all: Buffer[] = [];
    const txid = chain.pay([{ address: issued.address, valueSat: 7_000 }]);
    await app.watcher.idle();
    const script = records.addresses.scriptOf(flooded.id);
    // Up to the last hundred bytes of the memory limit.
    for (const sizes of [large, large, halves(98_000), halves(98_000)]) {
      all.push(...sizes.map((bytes, at) => payingTo(script, all.length + at, bytes)));
      tellOf(app.inUse(), flooded, all);
      chain.pay([{ address: flooded.address, valueSat: 7_000 }]);
      await app.watcher.idle();
    }
    const fresh = chain.replace(txid, [{ address: issued.address, valueSat: 8_000 }]);
    await app.watcher.idle();
    expect(records.ledger.rawOf(fresh)).toBeUndefined();
    expect(app.payments(issued)).toMatchObject([
      { txid, state: 'dropped', replacedBy: fresh },
      { txid: fresh, state: 'unconfirmed' },
    ]);
  });

  test('P-157 do not spend the budget of another server when they are broadcast', async () => {
    const app = await prepareLying({ own: false, software: 'ElectrumX 1.20.0' });
    const { world, records, chain, watcher, labels, servers } = app;
    const pass = async (minutes: number) => {
      for (let gone = 0; gone < 12 * minutes; gone += 1) {
        await world.advance(5_000);
        await world.turn();
      }
    };
    watcher.start();
    await pass(1);
    const hidden = await app.issue();
    for (let count = 0; count < 10; count += 1) await app.issue();
    const flooded = await app.issue();
    const script = records.addresses.scriptOf(flooded.id);
    const liar = app.inUse();
    const honest = servers[1 - labels.indexOf(watcher.status().server ?? '')];
    tellOf(
      liar,
      flooded,
      Array.from({ length: 150 }, (_, at) => payingTo(script as Buffer, at, 1)),
    );
    chain.pay([{ address: flooded.address, valueSat: 7_000 }]);
    await pass(10);
    expect(app.payments(flooded)).toHaveLength(151);
    world.jumpWallClock(6 * 3_600_000);
    await pass(20);

    // Only the other server reports it, and the sweeps ask that one.
    const { lie } = liar;
    liar.lieUnasked = (response) =>
      response.params[0] === hidden.scripthash ? undefined : response;
    liar.lie = (asked, message) =>
      asked.params[0] === hidden.scripthash
        ? { ...message, result: asked.method === getHistory ? [] : null }
        : lie?.(asked, message);
    chain.pay([{ address: hidden.address, valueSat: 7_000 }]);
    await pass(12);
    expect(app.payments(hidden)).toMatchObject([{ state: 'unconfirmed' }]);
    // One of them is true.
    expect(honest?.count('blockchain.transaction.broadcast')).toBeLessThanOrEqual(11);
  });
});

test('P-149 a response that arrives after its request has failed delays no true payment', async () => {
  const app = await prepareLying({ servers: 1 });
  const { world, chain, records } = app;
  await app.start();
  const liar = app.inUse();
  const other = await app.issue();
  // A little more than fits in memory, the smallest last: nothing else fits then.
  const sizes = [...Array.from({ length: 336 }, () => 95_000), ...halves(95_000)];
  for (const each of chunks(sizes, 23)) {
    const issued = await app.issue();
    const script = records.addresses.scriptOf(issued.id);
    const raws = each.map((bytes, at) => payingTo(script, at, bytes));
    await tellLate(app, liar, issued, raws);
    expect(app.payments(issued)).toHaveLength(1);
  }
  chain.pay([{ address: other.address, valueSat: 7_000 }]);
  await world.turn();
  await app.watcher.idle();
  expect(app.payments(other)).toMatchObject([{ state: 'unconfirmed' }]);
});

/**
 * A false transaction ends the check of a paid address; the others of its history are shown a
 * second later.
 */
async function tellLate(
  { world, chain, watcher, payments }: Lying,
  liar: Liar,
  issued: IssuedAddress,
  raws: readonly Buffer[],
): Promise<void> {
  const late: Message[] = [];
  tellOf(liar, issued, [emptyOutputs(0, 1), ...raws]);
  const { lie } = liar;
  const [falsified, ...named] = [emptyOutputs(0, 1), ...raws].map(idOf);
  liar.lie = (asked, message) => {
    const response = lie?.(asked, message);
    const [of] = asked.params;
    if (asked.method !== getTransaction || ![falsified, ...named].includes(of)) return response;
    if (of === falsified) return { ...response, result: emptyOutputs(1, 1).toString('hex') };
    late.push(response);
    // The next check finds only true transactions.
    if (late.length === named.length) liar.lie = undefined;
    return undefined;
  };
  chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  await world.until(() => payments(issued).length > 0, 'the next check');
  await world.advance(1_000);
  for (const response of late) liar.say(response);
  await world.turn();
  await watcher.idle();
}

describe('the scan of a new wallet', () => {
  /** Adds a wallet, and issues its first address. */
  async function scanned({ records, world, watcher, issue }: Lying): Promise<number> {
    await records.addWallet({ key: merchantKey(), startIndex: undefined });
    await records.addStore();
    watcher.catalogChanged();
    await world.until(() => records.catalog.wallet(1).scannedAt !== null, 'the scan');
    await watcher.idle();
    return (await issue()).derivationIndex;
  }

  const bothLive = ({ world, watcher }: Lying) =>
    world.until(() => watcher.status().servers.every(({ state }) => state === 'live'), 'both');

  /** The funds of the wallet's fourth address are spent. */
  function useAndSpend({ chain }: Lying): void {
    const { address = '' } = deriveAddress(merchantKey(), 0, 3) ?? {};
    const txid = chain.pay([{ address, valueSat: 50_000 }]);
    chain.mine();
    spendFromWallet(chain, txid, 3);
    chain.mine();
  }

  test.each([1, 2])(
    'P-146 is not extended by histories without payments, %i server(s)',
    async (servers) => {
      const app = await prepareLying({ wallet: false, servers });
      await app.start();
      await bothLive(app);
      app.inUse().lie = ({ method, params: [of] }, message) =>
        method === getHistory ? { ...message, result: [{ tx_hash: of, height: 5 }] } : message;
      expect(await scanned(app)).toBe(0);
    },
  );

  test('P-146 is not extended by payments that a second server does not report', async () => {
    const app = await prepareLying({ wallet: false });
    await app.start();
    await bothLive(app);
    const scripts = Array.from({ length: 60 }, (_, at) => deriveAddress(merchantKey(), 0, at));
    const made = new Map(
      scripts.flatMap((each) =>
        each === undefined ? [] : [[each.scripthash, payingTo(each.script, 1, 1_000)] as const],
      ),
    );
    const raws = new Map([...made.values()].map((raw) => [displayHex<Txid>(sha256x2(raw)), raw]));
    app.inUse().lie = ({ method, params: [of = ''] }, message) => {
      const raw = made.get(of as Scripthash);
      if (method === getHistory && raw !== undefined) {
        const tx_hash = displayHex<Txid>(sha256x2(raw));
        return { ...message, result: [{ tx_hash, height: 0, fee: 1 }] };
      }
      const shown = method === getTransaction ? raws.get(of as Txid) : undefined;
      return shown === undefined ? message : { id: message.id ?? 0, result: shown.toString('hex') };
    };
    await app.records.addWallet({ key: merchantKey(), startIndex: undefined });
    app.watcher.catalogChanged();
    const wallet = () => app.records.catalog.wallet(1);
    await app.world.until(() => wallet().scannedAt !== null, 'the scan');
    expect(wallet().nextIndex).toBe(0);
  });

  test.each([1, 2])(
    'P-146 finds addresses that were spent long ago, %i server(s)',
    async (servers) => {
      const app = await prepareLying({ wallet: false, servers });
      useAndSpend(app);
      await app.start();
      await bothLive(app);
      expect(await scanned(app)).toBe(4);
    },
  );

  test('P-146 finds proven payments, whatever a second server omits', async () => {
    const app = await prepareLying({ wallet: false });
    useAndSpend(app);
    await app.start();
    await bothLive(app);
    for (const proxy of app.liars.filter((each) => each !== app.inUse())) {
      proxy.lie = ({ method }, message) =>
        method === getHistory ? { ...message, result: [] } : message;
    }
    expect(await scanned(app)).toBe(4);
  });
});

describe('histories without payments', () => {
  /** Every address has a transaction of its own, which no server has. */
  const everywhere: Lie = ({ method, params: [of = ''] }, message) => {
    if (method === 'blockchain.scripthash.subscribe') {
      return { ...message, result: bytesToHex(sha256(utf8ToBytes(`${of}:0:`))) };
    }
    if (method !== getHistory) return message;
    return { ...message, result: [{ tx_hash: of, height: 0, fee: 1 }] };
  };

  test('P-148 do not end the warning of unpaid addresses if a second server reports them', async () => {
    const app = await prepareLying();
    const { world, watcher, records } = app;
    await app.start();
    await world.until(
      () => watcher.status().servers.every(({ state }) => state === 'live'),
      'both',
    );
    const issued = await Promise.all(Array.from({ length: 30 }, () => app.issue()));
    await app.minutes(2);
    const gaps = () => ({
      unpaid: records.addresses.unpaidRun(1),
      widest: records.addresses.widestStep(1),
    });
    expect(gaps()).toEqual({ unpaid: 30, widest: 0 });
    for (const proxy of app.liars) if (proxy !== app.inUse()) proxy.lie = everywhere;
    await app.minutes(12);
    expect(gaps()).toEqual({ unpaid: 30, widest: 0 });
    const [, , third] = issued;
    app.chain.pay([{ address: third?.address ?? '', valueSat: 7_000 }]);
    await watcher.idle();
    expect(gaps()).toEqual({ unpaid: 27, widest: 3 });
  });

  test('P-148 do not hide how many indexes a server has skipped', async () => {
    const app = await prepareLying({ servers: 1 });
    const { records } = app;
    await app.start();
    await app.issue();
    app.inUse().lie = everywhere;
    app.inUse().disconnectAll();
    await app.world.until(() => !app.watcher.status().caughtUp, 'the end of a session');
    await app.world.advance(5_000 - (app.world.now() % 1_000));
    await app.world.until(() => app.watcher.status().caughtUp, 'to catch up');
    await app.watcher.idle();
    const { derivationIndex } = await app.issue();
    expect(derivationIndex).toBe(6);
    expect(records.addresses.unpaidRun(1)).toBe(derivationIndex + 1);
  });
});

test('P-151 statuses of unpaid addresses do not drive the counter beyond the usual gap', async () => {
  const watching = await prepareWatching({ servers: 2, own: false, mayLie: true });
  const { records, watcher, world, liars } = watching;
  const isSubscribed = (method: string) => method === 'blockchain.scripthash.subscribe';
  const [liar] = liars;
  if (liar === undefined) throw new Error('no server may lie');
  liar.lie = ({ method }, answer) =>
    isSubscribed(method) && answer.result === null
      ? { ...answer, result: 'ab'.repeat(32) }
      : answer;
  await watching.start();
  const indexes: number[] = [];
  for (let order = 0; order < 30; order += 1) {
    const issued = await records.write((tx) =>
      records.addresses.issue(tx, world.now(), 1, 1, (each) => watcher.isPending(each)),
    );
    watcher.issued(issued.scripthash);
    indexes.push(issued.derivationIndex);
    await world.advance(60_000);
  }
  expect(indexes[0]).toBe(20);
  expect(indexes.at(-1)).toBe(49);
});
