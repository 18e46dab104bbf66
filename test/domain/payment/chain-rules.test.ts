// The rules for each header, on any branch.

import { describe, expect, it } from 'vitest';
import { type Header, parseHeader, targetToBits } from '../../../src/bitcoin/header.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import { connectHeaders } from '../../../src/domain/payment/chain.ts';
import { block1, block170 } from '../../bitcoin/vectors/blocks.ts';
import {
  branch,
  child,
  easyBits,
  firstHeader,
  hardBits,
  ruledBy,
  storeHeaders,
} from '../../support/headers.ts';

const regtest = ruledBy('none');

function at(headers: readonly Header[], index: number): Header {
  const header = headers.at(index);
  if (header === undefined) throw new Error(`no header ${index}`);
  return header;
}

function easy(count: number) {
  const first = firstHeader();
  const headers = [first, ...branch(first, count - 1)];
  return { headers, tip: at(headers, -1), chain: storeHeaders(regtest, headers) };
}

const rejected = (reason: string | RegExp) => ({
  kind: 'reject',
  reason: expect.stringMatching(reason),
});

/** The same header with another nonce, whose hash is too large for its bits. */
function withoutWork(header: Header): Header {
  const raw = header.raw.slice();
  for (let nonce = 0; ; nonce += 1) {
    new DataView(raw.buffer).setUint32(76, nonce, true);
    const tried = parseHeader(raw);
    if (BigInt(`0x${tried.hash}`) >> 255n === 1n) return tried;
  }
}

describe('S-112 work', () => {
  it('a header without it', () => {
    const { tip, chain } = easy(5);
    expect(chain.feed([withoutWork(child(tip))])).toEqual(rejected('^header 5: its hash does not'));
  });

  it('a header of mainnet with another nonce', () => {
    const genesis = parseHeader(networks.mainnet.genesisHeader);
    const { checkpoint: _, ...mainnet } = networks.mainnet;
    const raw = Buffer.from(block1.header, 'hex');
    expect(storeHeaders(mainnet, [genesis]).feed([parseHeader(raw)])).toMatchObject({
      kind: 'best',
    });
    raw.writeUInt32LE(raw.readUInt32LE(76) + 1, 76);
    expect(storeHeaders(mainnet, [genesis]).feed([parseHeader(raw)])).toEqual(rejected('its hash'));
    expect(
      storeHeaders(mainnet, [genesis]).feed([parseHeader(Buffer.from(block170.header, 'hex'))]),
    ).toEqual({ kind: 'unlinked' });
  });

  it.each([
    ['harder than due', hardBits],
    ['the same target in another form', 0x21007fff],
  ])('bits that are %s', (_what, bits) => {
    const { tip, chain } = easy(5);
    const reason = `^header 5: bits ${bits.toString(16)} where 207fffff is due`;
    expect(chain.feed([child(tip, { bits })])).toEqual(rejected(reason));
  });

  it('bits that encode no target', () => {
    const { tip, chain } = easy(5);
    for (const bits of [0, 0x01800001, 0xff7fffff]) {
      const raw = child(tip).raw.slice();
      new DataView(raw.buffer).setUint32(72, bits, true);
      expect(chain.feed([parseHeader(raw)])).toEqual(rejected('bits .* where 207fffff is due'));
    }
  });
});

describe('time', () => {
  const medianOf = (headers: readonly Header[]) => at(headers, -6).time;

  it('must be after the median of the 11 before', () => {
    const { headers, tip, chain } = easy(15);
    const median = medianOf(headers);
    for (const time of [median, median - 1, 0]) {
      expect(chain.feed([child(tip, { time })])).toEqual(rejected('^header 15: its time is not'));
    }
    expect(chain.feed([child(tip, { time: median + 1 })])).toMatchObject({ kind: 'best' });
  });

  it('does not count the 12th, though it is the latest of them', () => {
    const { tip: before, chain } = easy(15);
    const late = child(before, { time: before.time + 1_000_000 });
    const since: Header[] = [];
    for (let tip = late; since.length < 11; since.push(tip)) {
      tip = child(tip, { time: before.time + 1 + since.length });
    }
    expect(chain.feed([late, ...since])).toMatchObject({ kind: 'best' });
    const median = medianOf(since);
    const tip = at(since, -1);
    expect(chain.feed([child(tip, { time: median })])).toEqual(rejected('^header 27: its time'));
    expect(chain.feed([child(tip, { time: median + 1 })])).toMatchObject({ kind: 'best' });
  });

  it('may be the largest value of the field', () => {
    const { tip, chain } = easy(15);
    expect(chain.feed([child(tip, { time: 0xffffffff })])).toMatchObject({ kind: 'best' });
  });

  it('counts the times of its own branch, also stored ones', () => {
    const { headers, chain } = easy(20);
    // A side branch with later times, long enough to fill the whole median.
    const ahead = branch(at(headers, 6), 11).map((header) => header.hash);
    expect(ahead).toHaveLength(11);
    const fast: Header[] = [];
    for (let tip = at(headers, 6); fast.length < 11; fast.push(tip)) {
      tip = child(tip, { time: tip.time + 100_000 });
    }
    expect(chain.feed(fast)).toMatchObject({ kind: 'side' });
    const median = medianOf(fast);
    const tip = at(fast, -1);
    expect(chain.feed([child(tip, { time: median })])).toEqual(rejected('^header 18: its time'));
    expect(chain.feed([child(tip, { time: median + 1 })])).toMatchObject({ kind: 'side' });
  });

  it('counts as many as there are below our first header', () => {
    const { headers, tip, chain } = easy(4);
    // The median of four is the later middle one.
    const median = at(headers, 2).time;
    expect(chain.feed([child(tip, { time: median })])).toEqual(rejected('its time'));
    expect(chain.feed([child(tip, { time: median + 1 })])).toMatchObject({ kind: 'best' });
  });
});

describe('order', () => {
  it('headers that do not follow one another', () => {
    const { tip, chain } = easy(5);
    const more = branch(tip, 4);
    const lists = [
      [at(more, 0), at(more, 2)],
      [at(more, 1), at(more, 0)].toReversed().concat(at(more, 3)),
      [at(more, 0), at(more, 0)],
      [at(more, 0), ...branch(tip, 1)],
    ];
    for (const list of lists) {
      expect(chain.feed(list)).toEqual(rejected(/^header [67]: does not follow/));
    }
  });

  it('one invalid header rejects the whole list', () => {
    const { tip, chain } = easy(5);
    const more = branch(tip, 3);
    const bad = [...more, withoutWork(child(at(more, -1)))];
    expect(chain.feed(bad)).toEqual(rejected('^header 8: '));
    expect(chain.tip().header.hash).toBe(tip.hash);
    expect(chain.view.byHash(at(more, 0).hash)).toBeUndefined();
  });
});

describe('the difficulty of a branch', () => {
  const period = 2016;
  const periodSeconds = 1_209_600;

  /** The first header of a period and its last ones up to a height, without those between. */
  function nearBoundary(retarget: 'bitcoin' | 'testnet4') {
    const network = ruledBy(retarget);
    const first = firstHeader({ bits: hardBits });
    const from = first.time + periodSeconds;
    const last = [child(first, { time: from, bits: hardBits })];
    while (last.length < 20) last.push(child(at(last, -1), { bits: hardBits }));
    const chain = storeHeaders(network, last, period - last.length);
    const { view } = chain;
    const withFirst = {
      ...chain,
      view: {
        ...view,
        bestAt: (height: number) =>
          height === 0 ? { header: first, height, work: 0n } : view.bestAt(height),
      },
    };
    return { first, last, network, chain: withFirst };
  }

  it('follows the times of its own headers, not those of the best chain', () => {
    const { first, last, network, chain } = nearBoundary('bitcoin');
    const view = { ...chain.view, network, tip: chain.tip() };
    const seconds = at(last, -1).time - first.time;
    const target = (0x7fffffn << 224n) as bigint;
    const due = (spent: number) => targetToBits((target * BigInt(spent)) / BigInt(periodSeconds));

    const onBest = child(at(last, -1), { bits: due(seconds) });
    expect(connectHeaders(view, [onBest])).toMatchObject({ kind: 'best' });

    const slow = child(at(last, -2), { bits: hardBits, time: at(last, -2).time + 400_000 });
    const slower = due(slow.time - first.time);
    expect(slower).not.toBe(due(seconds));
    const right = child(slow, { bits: slower });
    expect(connectHeaders(view, [slow, right])).toMatchObject({ kind: 'best' });
    const wrong = child(slow, { bits: due(seconds) });
    expect(connectHeaders(view, [slow, wrong])).toEqual(rejected(/^header 2016: bits/));
  });

  it('BIP94: the first of a period may not step back by more than ten minutes', () => {
    const { last, network, chain } = nearBoundary('testnet4');
    const view = { ...chain.view, network, tip: chain.tip() };
    const end = at(last, -1);
    const seconds = end.time - (at(last, 0).time - periodSeconds);
    const due = targetToBits(((0x7fffffn << 224n) * BigInt(seconds)) / BigInt(periodSeconds));
    const early = child(end, { bits: due, time: end.time - 601 });
    expect(connectHeaders(view, [early])).toEqual(rejected('BIP94'));
    const justInTime = child(end, { bits: due, time: end.time - 600 });
    expect(connectHeaders(view, [justInTime])).toMatchObject({ kind: 'best' });
  });

  it('testnet3: easy bits are due only when a block is 20 minutes late', () => {
    const first = firstHeader({ bits: hardBits });
    const feed = (time: number, bits: number) =>
      storeHeaders(ruledBy('testnet3'), [first]).feed([child(first, { time, bits })]);
    expect(feed(first.time + 1200, easyBits)).toEqual(rejected('where 1f7fffff is due'));
    expect(feed(first.time + 1200, hardBits)).toMatchObject({ kind: 'best' });
    expect(feed(first.time + 1201, easyBits)).toMatchObject({ kind: 'best' });
    expect(feed(first.time + 1201, hardBits)).toEqual(rejected('where 207fffff is due'));
  });
});
