// Real headers of every public chain under the rules of their network.

import { describe, expect, it } from 'vitest';
import {
  bitsToTarget,
  expectedBits,
  type Header,
  parseHeader,
} from '../../../src/bitcoin/header.ts';
import { type Network, type NetworkName, networks } from '../../../src/bitcoin/network.ts';
import type { ChainView } from '../../../src/domain/payment/chain.ts';
import { connectHeaders } from '../../../src/domain/payment/chain.ts';
import { firstBlocks, lateBlock, mainnetBlocks } from '../../bitcoin/vectors/headers.ts';
import { storeHeaders } from '../../support/headers.ts';

const parse = (hex: string): Header => parseHeader(Buffer.from(hex, 'hex'));

/** A chain that is verified from its first block. */
function fromGenesis(name: NetworkName): Network {
  const { checkpoint: _, ...network } = networks[name];
  return network;
}

/** A header with one of its numbers changed. */
function changed(header: Header, offset: 68 | 72 | 76, by: number): Header {
  const raw = Buffer.from(header.raw);
  raw.writeUInt32LE(raw.readUInt32LE(offset) + by, offset);
  return parseHeader(raw);
}

describe.each(Object.entries(firstBlocks))('the first blocks of %s', (name, blocks) => {
  const network = fromGenesis(name as NetworkName);
  const genesis = parseHeader(network.genesisHeader);
  const headers = blocks.map(parse);
  const last = headers.length - 1;
  const before = headers.slice(0, last);

  it('connect, at once and one by one', () => {
    const atOnce = storeHeaders(network, [genesis]);
    expect(atOnce.feed(headers)).toMatchObject({ kind: 'best', forkHeight: 0 });
    const oneByOne = storeHeaders(network, [genesis]);
    for (const header of headers) expect(oneByOne.feed([header])).toMatchObject({ kind: 'best' });
    expect(oneByOne.hashes()).toEqual([genesis, ...headers].map(({ hash }) => hash));
    expect(atOnce.tip()).toMatchObject({ height: headers.length, work: oneByOne.tip().work });
  });

  it.each([
    ['another nonce', 76, 1, 'its hash does not meet its target'],
    ['another time', 68, 1, 'its hash does not meet its target'],
    ['a harder target', 72, -1, 'bits'],
    ['an easier target', 72, 1, 'bits'],
    ['a time long ago', 68, -1_000_000, 'its '],
  ] as const)('do not with %s', (_what, offset, by, reason) => {
    const chain = storeHeaders(network, [genesis, ...before]);
    expect(chain.feed([changed(headers[last] as Header, offset, by)])).toEqual({
      kind: 'reject',
      reason: expect.stringContaining(`header ${headers.length}: ${reason}`),
    });
  });

  it('are those of no other network', () => {
    for (const other of Object.values(networks)) {
      if (other.name === name) continue;
      const chain = storeHeaders(fromGenesis(other.name), [parseHeader(other.genesisHeader)]);
      expect(chain.feed(headers)).toEqual({ kind: 'unlinked' });
    }
  });
});

describe("mainnet's first changes of difficulty", () => {
  const header = (height: keyof typeof mainnetBlocks): Header => parse(mainnetBlocks[height]);

  /** The chain ends in the last block of a period and has only the first of its other blocks. */
  function endOf(first: 30240 | 32256, last: 32255 | 34271): ChainView {
    const held = storeHeaders(fromGenesis('mainnet'), [header(last)], last);
    const base = { header: header(first), height: first, work: 0n };
    const bestAt: ChainView['bestAt'] = (at) => (at === first ? base : held.view.bestAt(at));
    return { ...held.view, tip: held.tip(), bestAt };
  }

  it.each([
    [30240, 32255, 32256, 0x1d00d86a],
    [32256, 34271, 34272, 0x1d00c428],
  ] as const)('%i to %i, then block %i', (first, last, next, bits) => {
    const view = endOf(first, last);
    expect(header(next)).toMatchObject({ previous: header(last).hash, bits });
    expect(connectHeaders(view, [header(next)])).toMatchObject({ kind: 'best' });
    const old = header(next).raw.slice();
    new DataView(old.buffer).setUint32(72, header(last).bits, true);
    expect(connectHeaders(view, [parseHeader(old)])).toEqual({
      kind: 'reject',
      reason: `header ${next}: bits ${header(last).bits.toString(16)} where ${bits.toString(16)} is due`,
    });
  });
});

describe('bits that the chains have', () => {
  const genesis = parseHeader(networks.mainnet.genesisHeader);
  const stub = (time: number, bits: number): Header => ({ ...genesis, time, bits });

  it.each([
    [2016, 1_598_918_400, 1_599_332_177, 503_543_726, 503_394_215],
    [4032, 1_599_332_844, 1_600_591_200, 503_394_215, 503_397_348],
  ])('signet %i', (height, firstTime, lastTime, bits, due) => {
    const at = () => stub(firstTime, bits);
    expect(expectedBits(networks.signet, height, stub(lastTime, bits), 0, at)).toBe(due);
  });

  it('testnet3 2132556 is easy, 1,221 seconds after a hard one', () => {
    const [before, late] = [parse(lateBlock.before), parse(lateBlock.late)];
    expect(late.previous).toBe(before.hash);
    expect(BigInt(`0x${before.hash}`)).toBeLessThan(bitsToTarget(0x1a00ffff));
    const chain = storeHeaders(fromGenesis('testnet3'), [before], 2_132_555);
    expect(chain.feed([late])).toMatchObject({ kind: 'best' });
    // On mainnet it would have to be as hard as the one before.
    expect(storeHeaders(fromGenesis('mainnet'), [before], 2_132_555).feed([late])).toEqual({
      kind: 'reject',
      reason: 'header 2132556: bits 1d00ffff where 1a00ffff is due',
    });
  });
});
