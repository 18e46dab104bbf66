// Servers that make up what costs them nothing: transactions that no node has, and histories of them.

import { sha256x2 } from '@scure/btc-signer/utils.js';
import { afterEach, describe, expect, test } from 'vitest';
import { display, type Txid } from '../../src/bitcoin/ids.ts';
import { collect } from '../../src/cli/heap.ts';
import type { Issued } from '../../src/store/addresses.ts';
import { cleanUp } from '../support/files.ts';
import { type LyingProxy, prepare } from '../support/lying.ts';

afterEach(cleanUp);

const getHistory = 'blockchain.scripthash.get_history';
const getTransaction = 'blockchain.transaction.get';

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const long = (count: number): Buffer => Buffer.concat([Buffer.of(0xfe), uint32(count)]);

/** Spends the output of nothing at a place, with a script of so many bytes. */
const input = (place: number, scriptBytes: number): Buffer =>
  Buffer.concat([
    ...[Buffer.of(1), Buffer.alloc(32, 7), uint32(place), long(scriptBytes)],
    ...[Buffer.alloc(scriptBytes), uint32(0xffffffff)],
  ]);

/** So many outputs of nothing to nobody. */
const emptyOutputs = (number: number, count: number): Buffer =>
  Buffer.concat([
    ...[uint32(2), Buffer.of(1), Buffer.alloc(32, 7), uint32(number), Buffer.of(0), uint32(0)],
    ...[long(count), Buffer.alloc(9 * count), uint32(0)],
  ]);

/** Pays one satoshi to a script, and is as long as its input's own script makes it. */
const payingTo = (script: Uint8Array, number: number, scriptBytes: number): Buffer =>
  Buffer.concat([
    ...[uint32(2), input(number, scriptBytes), Buffer.of(1)],
    ...[Buffer.of(1, 0, 0, 0, 0, 0, 0, 0, script.length), script, uint32(0)],
  ]);

/** Has a server name these, in no block, beside what is true, and show them. */
function tellOf(liar: LyingProxy, { scripthash }: Issued, raws: readonly Buffer[]): void {
  const made = new Map(raws.map((raw) => [display<Txid>(sha256x2(raw)), raw.toString('hex')]));
  const items = [...made.keys()].map((tx_hash) => ({ tx_hash, height: 0, fee: 1 }));
  liar.lie = ({ method, params: [of = ''] }, message) => {
    if (method === getHistory && of === scripthash) {
      return { ...message, result: [...(message.result as object[]), ...items] };
    }
    const raw = method === getTransaction ? made.get(of as Txid) : undefined;
    return raw === undefined ? message : { id: message.id ?? 0, result: raw };
  };
}

describe('transactions that a server made up', () => {
  test('cost little memory, however large they are once read', async () => {
    const house = await prepare();
    await house.start();
    const issued = await house.issue();
    const raws = Array.from({ length: 12 }, (_, number) => emptyOutputs(number, 110_000));
    tellOf(house.inUse(), issued, raws);
    const bytes = () => {
      collect('regular');
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const before = bytes();
    house.chain.pay([{ address: issued.address, valueSat: 7_000 }]);
    await house.watcher.idle();
    expect(house.payments(issued)).toHaveLength(1);
    // Kept as they are read, these take 28.7 MiB each.
    expect(bytes() - before).toBeLessThan(100 * 2 ** 20);
  });

  test('are no payments where no node relays what weighs so much', async () => {
    const house = await prepare();
    await house.start();
    const issued = await house.issue();
    const script = house.store.addresses.byScripthash(issued.scripthash)?.script ?? Buffer.alloc(0);
    const heavy = [1, 2, 3].map((number) => payingTo(script, number, 100_000));
    tellOf(house.inUse(), issued, [...heavy, payingTo(script, 4, 99_000)]);
    const txid = house.chain.pay([{ address: issued.address, valueSat: 7_000 }]);
    await house.watcher.idle();
    expect(house.payments(issued)).toMatchObject([{ txid }, { valueSat: 1 }]);
  });
});
