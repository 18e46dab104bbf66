// The difficulty rules over whole periods, on chains that are mined here at the easiest targets.

import { describe, expect, it } from 'vitest';
import { expectedBits, type Header } from '../../../src/bitcoin/header.ts';
import type { Network } from '../../../src/bitcoin/network.ts';
import { minAncestorHeight } from '../../../src/domain/payment/chain.ts';
import {
  branch,
  child,
  easyBits,
  firstHeader,
  ruledBy,
  storeHeaders,
} from '../../support/headers.ts';

const period = 2016;
/** A quarter of the maximum target, and four times that in the precision of compact bits. */
const quarterBits = 0x201fffff;
const fourTimesBits = 0x207ffffc;

const last = (headers: readonly Header[]): Header => headers.at(-1) as Header;

/** `count` headers, each `seconds` after the one before. */
function run(parent: Header, count: number, seconds: number, bits: number): Header[] {
  const grown: Header[] = [];
  for (let tip = parent; grown.length < count; grown.push(tip)) {
    tip = child(tip, { time: tip.time + seconds, bits });
  }
  return grown;
}

const rejected = (reason: string) => ({ kind: 'reject', reason: expect.stringContaining(reason) });

const first = firstHeader();
/** A period of blocks that came six times too fast: the next one must be four times harder. */
const fast = [first, ...run(first, period - 1, 100, easyBits)];
/** The first block of the second period. */
const harder = child(last(fast), { time: last(fast).time + 100, bits: quarterBits });

describe.each(['bitcoin', 'testnet3', 'testnet4'] as const)('%s', (retarget) => {
  const network = ruledBy(retarget);

  it('gets four times harder at most, from the first block of a period on', () => {
    const chain = storeHeaders(network, [first]);
    expect(chain.feed(fast)).toMatchObject({ kind: 'best' });
    const tip = last(fast);
    const reason = 'header 2016: bits 207fffff where 201fffff is due';
    expect(chain.feed([child(tip, { time: tip.time + 100 })])).toEqual(rejected(reason));
    // Not even when it is late: the first one of a period must be a real one.
    expect(chain.feed([child(tip, { time: tip.time + 5000 })])).toEqual(rejected(reason));
    for (const bits of [0x200fffff, 0x2020_0000, 0x201ffffe]) {
      expect(chain.feed([child(tip, { bits })])).toEqual(rejected('where 201fffff is due'));
    }
    expect(chain.feed([harder])).toMatchObject({ kind: 'best' });
  });

  it('gets four times easier at most, and no easier than the limit', () => {
    const chain = storeHeaders(network, [...fast, harder]);
    // Nine weeks between two of them, the others in time.
    const quick = run(harder, period - 2, 600, quarterBits);
    const gap = 9 * 7 * 24 * 3600;
    const slow = child(last(quick), {
      time: last(quick).time + gap,
      bits: retarget === 'bitcoin' ? quarterBits : easyBits,
    });
    expect(chain.feed([...quick, slow])).toMatchObject({ kind: 'best' });
    // Testnet3 goes on from the easy last block; testnet4 from the first, as mainnet from any.
    const due = retarget === 'testnet3' ? easyBits : fourTimesBits;
    const wrong = retarget === 'testnet3' ? fourTimesBits : easyBits;
    expect(chain.feed([child(slow, { bits: wrong })])).toEqual(rejected('header 4032: bits'));
    expect(chain.feed([child(slow, { bits: due })])).toMatchObject({ kind: 'best' });
  });
});

describe('both ends of the clamp', () => {
  const hard = 0x1c05a3f4;
  const due = (seconds: number): number => {
    const at = () => ({ ...first, time: 1_000_000, bits: hard });
    const end = { ...first, time: 1_000_000 + seconds, bits: hard };
    return expectedBits({ ...ruledBy('bitcoin'), powLimitBits: 0x1d00ffff }, period, end, 0, at);
  };

  it.each([
    [1_209_600, hard],
    [0, 0x1c0168fd],
    [302_399, 0x1c0168fd],
    [302_400, 0x1c0168fd],
    [302_404, 0x1c0168fe],
    [4_838_396, 0x1c168fce],
    [4_838_400, 0x1c168fd0],
    [4_838_401, 0x1c168fd0],
    [9_999_999, 0x1c168fd0],
  ])('%i seconds', (seconds, bits) => {
    expect(due(seconds)).toBe(bits);
  });
});

describe('easy blocks on the testnets', () => {
  it.each(['testnet3', 'testnet4'] as const)('%s: as long as each one is late', (retarget) => {
    const chain = storeHeaders(ruledBy(retarget), [...fast, harder]);
    const easy = run(harder, 5, 1201, easyBits);
    expect(chain.feed(easy)).toMatchObject({ kind: 'best' });
    const tip = last(easy);
    // Twenty minutes to the second are in time: back to what the period began with.
    const time = tip.time + 1200;
    expect(chain.feed([child(tip, { time, bits: easyBits })])).toEqual(
      rejected('header 2022: bits 207fffff where 201fffff is due'),
    );
    const real = child(tip, { time, bits: quarterBits });
    expect(chain.feed([real])).toMatchObject({ kind: 'best' });
    expect(chain.feed([child(real, { bits: easyBits })])).toEqual(rejected('header 2023: bits'));
  });

  it.each(['bitcoin', 'none'] as const)('%s has no such rule', (retarget) => {
    const bits = retarget === 'none' ? easyBits : 0x1f7fffff;
    const start = firstHeader({ bits });
    const late = { time: start.time + 100_000, bits: retarget === 'none' ? 0x1f7fffff : easyBits };
    expect(storeHeaders(ruledBy(retarget), [start]).feed([child(start, late)])).toEqual(
      rejected('bits'),
    );
  });
});

describe('BIP94: the first block of a period is not more than 600 seconds early', () => {
  // The last block's time is far ahead of the median, so that the next one can step back.
  const ahead = child(last(fast.slice(0, -1)), { time: last(fast).time + 3000, bits: easyBits });
  const chainOf = (network: Network) => storeHeaders(network, [...fast.slice(0, -1), ahead]);

  it.each([
    ['testnet4', 600, true],
    ['testnet4', 601, false],
    ['testnet3', 601, true],
    ['bitcoin', 601, true],
  ] as const)('%s, %i seconds', (retarget, seconds, allowed) => {
    const stepping = child(ahead, { time: ahead.time - seconds, bits: quarterBits });
    const result = chainOf(ruledBy(retarget)).feed([stepping]);
    expect(result).toEqual(allowed ? expect.objectContaining({ kind: 'best' }) : rejected('BIP94'));
  });

  it('any other block may be, above the median', () => {
    const chain = chainOf(ruledBy('testnet4'));
    const start = child(ahead, { time: ahead.time - 600, bits: quarterBits });
    const second = child(start, { time: start.time - 2000, bits: quarterBits });
    expect(chain.feed([start, second])).toMatchObject({ kind: 'best' });
  });
});

describe('a fork across a change of difficulty', () => {
  const shared = fast.slice(0, -1);
  // One branch ends the period in time for an easy next one, the other stays on the fast pace.
  const slow = child(last(shared), { time: last(shared).time + 1_209_600, bits: easyBits });
  const slowOn = branch(slow, 4);
  const fastOn = (count: number) => run(harder, count, 100, quarterBits);

  it('each branch has its own difficulty', () => {
    const chain = storeHeaders(ruledBy('bitcoin'), [...shared, slow, ...slowOn]);
    expect(chain.feed([last(fast), child(last(fast))])).toEqual(rejected('where 201fffff is due'));
    const other = storeHeaders(ruledBy('bitcoin'), [...fast, harder]);
    expect(other.feed([slow, child(slow, { bits: quarterBits })])).toEqual(
      rejected('where 207fffff is due'),
    );
  });

  it('the heavier branch wins, though it is shorter; with equal work what we have stays', () => {
    // Each easy block is worth 2, each hard one 8: five times 2 against 2 and 8.
    const chain = storeHeaders(ruledBy('bitcoin'), [...shared, slow, ...slowOn]);
    expect(chain.feed([last(fast), harder])).toMatchObject({ kind: 'side' });
    expect(chain.tip()).toMatchObject({ height: 2019, header: { hash: last(slowOn).hash } });
    expect(chain.feed(fastOn(1))).toMatchObject({ kind: 'best', forkHeight: 2014 });
    expect(chain.tip().height).toBe(2017);
    expect(chain.view.bestAt(2018)).toBeUndefined();
    // And back, block by block, as soon as the easy ones outweigh it: 18 against 18, then 20.
    const more = branch(last(slowOn), 5);
    expect(chain.feed(more.slice(0, 4))).toMatchObject({ kind: 'side' });
    expect(chain.feed(more.slice(4))).toMatchObject({ kind: 'best', forkHeight: 2014 });
  });

  it('no branch wins from deeper than 144, with any work', () => {
    const network = ruledBy('testnet3');
    const easy = run(harder, 145, 1201, easyBits);
    // 40 hard ones outweigh 145 easy ones.
    const heavy = fastOn(40);
    const tooDeep = storeHeaders(network, [...fast, harder, ...easy]);
    expect(tooDeep.feed(heavy)).toMatchObject({ kind: 'deep', depth: 145 });
    expect(tooDeep.tip().height).toBe(2016 + 145);
    const deep = storeHeaders(network, [...fast, harder, ...easy.slice(0, 144)]);
    expect(deep.feed(heavy)).toMatchObject({ kind: 'best', forkHeight: 2016 });
    expect(deep.tip().height).toBe(2016 + 40);
  });
});

describe('where headers must begin for a checkpoint', () => {
  it.each([
    [0, 0],
    [5, 0],
    [10, 0],
    [2015, 0],
    [2016, 2006],
    [2025, 2015],
    [2026, 2016],
    [4031, 2016],
    [963_647, 961_632],
  ])('at %i: %i', (checkpoint, lowest) => {
    expect(minAncestorHeight(checkpoint)).toBe(lowest);
  });

  /** A chain by the rules, whose times run ahead and step back again. */
  function wobbling(network: Network): Header[] {
    const headers = [first];
    while (headers.length < 2 * period + 20) {
      const height = headers.length;
      const time = first.time + height * 300 + (height % 7 === 0 ? 2000 : 0);
      const at = (wanted: number) => headers[wanted] as Header;
      const bits = expectedBits(network, height, last(headers), time, at);
      headers.push(child(last(headers), { time, bits }));
    }
    return headers;
  }

  describe.each(['bitcoin', 'testnet3', 'testnet4', 'none'] as const)('%s', (retarget) => {
    const network = ruledBy(retarget);
    const headers = wobbling(network);

    it.each([0, 1, 7, 14, 2014, 2015, 2016, 2017, 2023, 2026, 2030, 3000, 4031, 4032])(
      'at %i everything that follows connects',
      (height) => {
        const checkpoint = { height, hash: (headers[height] as Header).hash };
        const lowest = minAncestorHeight(height);
        const base = headers.slice(lowest, height + 1);
        const chain = storeHeaders({ ...network, checkpoint }, base, lowest);
        expect(chain.feed(headers.slice(height + 1))).toMatchObject({ kind: 'best' });
        expect(chain.tip().header.hash).toBe(last(headers).hash);
      },
    );
  });
});
