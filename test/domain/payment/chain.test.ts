import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Header, parseHeader, workOfBits } from '../../../src/bitcoin/header.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import { connectHeaders } from '../../../src/domain/payment/chain.ts';
import type { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { chainOf } from '../../sandbox/support.ts';
import {
  branch,
  easyBits,
  firstHeader,
  hardBits,
  ruledBy,
  startTime,
  storeHeaders,
} from '../../support/headers.ts';

const regtest = ruledBy('none');

/** A stored chain of `count` easy headers, and the headers. */
function easy(count: number) {
  const first = firstHeader();
  const headers = [first, ...branch(first, count - 1)];
  return { headers, chain: storeHeaders(regtest, headers) };
}

function at(headers: readonly Header[], index: number): Header {
  const header = headers.at(index);
  if (header === undefined) throw new Error(`no header ${index}`);
  return header;
}

const headersOf = (chain: SimulatedChain, from = 0): Header[] =>
  Array.from({ length: chain.tipHeight - from + 1 }, (_, offset) =>
    parseHeader(chain.header(from + offset) ?? new Uint8Array()),
  );

describe('real headers of regtest', () => {
  it('extend the genesis block, one by one and all at once', () => {
    const headers = headersOf(chainOf(20));
    const oneByOne = storeHeaders(networks.regtest, headers.slice(0, 1));
    for (const header of headers.slice(1)) expect(oneByOne.feed([header]).kind).toBe('best');
    const atOnce = storeHeaders(networks.regtest, headers.slice(0, 1));
    expect(atOnce.feed(headers.slice(1))).toMatchObject({ kind: 'best', forkHeight: 0 });
    for (const chain of [oneByOne, atOnce]) {
      expect(chain.hashes()).toEqual(headers.map(({ hash }) => hash));
      expect(chain.tip().work).toBe(21n * workOfBits(easyBits));
    }
  });

  it('follow a reorganisation, and name the fork', () => {
    const chain = chainOf(20);
    const ours = storeHeaders(networks.regtest, headersOf(chain));
    chain.reorganise(3, { transactions: 'mempool' });
    const result = ours.feed(headersOf(chain, 18));
    expect(result).toMatchObject({ kind: 'best', forkHeight: 17 });
    expect(ours.hashes()).toEqual(headersOf(chain).map(({ hash }) => hash));
  });

  it('may begin with known headers: only the new ones are added', () => {
    const chain = chainOf(20);
    const ours = storeHeaders(networks.regtest, headersOf(chain));
    chain.mine(2);
    const result = ours.feed(headersOf(chain, 5));
    expect(result).toMatchObject({ kind: 'best', forkHeight: 20 });
    expect(result.kind === 'best' && result.added.map(({ height }) => height)).toEqual([21, 22]);
  });
});

describe('headers that add nothing', () => {
  it('known headers, on any branch, and an empty list', () => {
    const { headers, chain } = easy(10);
    const side = branch(at(headers, 6), 2);
    chain.feed(side);
    for (const known of [headers, headers.slice(4, 5), side, []]) {
      expect(chain.feed(known)).toEqual({ kind: 'known' });
    }
  });

  it('a header whose parent is unknown', () => {
    const { chain, headers } = easy(5);
    const further = branch(at(headers, -1), 3);
    expect(chain.feed(further.slice(1))).toEqual({ kind: 'unlinked' });
    expect(chain.feed(branch(firstHeader(), 1))).toEqual({ kind: 'unlinked' });
  });
});

describe('most work wins', () => {
  it('a branch with less work becomes a side branch', () => {
    const { headers, chain } = easy(10);
    const side = branch(at(headers, 5), 3);
    const before = chain.hashes();
    expect(chain.feed(side)).toMatchObject({ kind: 'side' });
    expect(chain.hashes()).toEqual(before);
    expect(chain.view.byHash(at(side, 2).hash)).toMatchObject({ height: 8 });
  });

  it('equal work stays: the first one seen wins', () => {
    const { headers, chain } = easy(10);
    expect(chain.feed(branch(at(headers, 6), 3))).toMatchObject({ kind: 'side' });
    expect(chain.tip().header.hash).toBe(at(headers, 9).hash);
  });

  it('one header more wins', () => {
    const { headers, chain } = easy(10);
    const longer = branch(at(headers, 6), 4);
    expect(chain.feed(longer)).toMatchObject({ kind: 'best', forkHeight: 6 });
    expect(chain.tip()).toMatchObject({ height: 10, work: 11n * workOfBits(easyBits) });
  });

  it('a side branch wins when it grows', () => {
    const { headers, chain } = easy(10);
    const side = branch(at(headers, 5), 4);
    expect(chain.feed(side)).toMatchObject({ kind: 'side' });
    const more = branch(at(side, -1), 1);
    const result = chain.feed(more);
    expect(result).toMatchObject({ kind: 'best', forkHeight: 5 });
    expect(result.kind === 'best' && result.added).toHaveLength(1);
    const whole = [...headers.slice(0, 6), ...side, ...more];
    expect(chain.hashes()).toEqual(whole.map(({ hash }) => hash));
  });

  it('the chain that lost comes back when it grows', () => {
    const { headers, chain } = easy(10);
    chain.feed(branch(at(headers, 6), 4));
    const back = branch(at(headers, -1), 2);
    expect(chain.feed(back)).toMatchObject({ kind: 'best', forkHeight: 6 });
    expect(chain.hashes()).toEqual([...headers, ...back].map(({ hash }) => hash));
  });

  it('a fork of a fork leaves the best chain at the first fork', () => {
    const { headers, chain } = easy(10);
    const side = branch(at(headers, 5), 3);
    chain.feed(side);
    const fork = branch(at(side, 0), 5);
    expect(chain.feed(fork)).toMatchObject({ kind: 'best', forkHeight: 5 });
    expect(chain.hashes()).toHaveLength(12);
  });

  // Testnet3's rule: easy when 20 minutes late, else as hard as the first of the period.
  const testnet3 = ruledBy('testnet3');
  const late = (parent: Header, count: number): Header[] => {
    const grown: Header[] = [];
    for (let tip = parent; grown.length < count; grown.push(tip)) {
      [tip = parent] = branch(tip, 1, { bits: easyBits, time: tip.time + 1201 });
    }
    return grown;
  };

  it('fewer blocks with more work win over many easy ones', () => {
    const first = firstHeader({ bits: hardBits });
    const [second = first] = branch(first, 1);
    const chain = storeHeaders(testnet3, [first, second, ...late(second, 30)]);
    const [hard] = branch(second, 1);
    const result = chain.feed(hard ? [hard] : []);
    expect(result).toMatchObject({ kind: 'best', forkHeight: 1 });
    expect(chain.tip().height).toBe(2);
    expect(chain.hashes()).toHaveLength(3);
    expect(chain.view.bestAt(3)).toBeUndefined();
  });

  it('many easy blocks lose against fewer with more work', () => {
    const first = firstHeader({ bits: hardBits });
    const chain = storeHeaders(testnet3, [first, ...branch(first, 3)]);
    expect(chain.feed(late(first, 40))).toMatchObject({ kind: 'side' });
    expect(chain.tip().height).toBe(3);
  });
});

describe('forks that are too deep', () => {
  it('144 blocks are followed, 145 are not', () => {
    const { headers, chain } = easy(160);
    const tooDeep = chain.feed(branch(at(headers, 159 - 145), 146));
    expect(tooDeep).toMatchObject({ kind: 'deep', depth: 145 });
    expect(chain.tip().header.hash).toBe(at(headers, -1).hash);
    const deep = chain.feed(branch(at(headers, 159 - 144), 145));
    expect(deep).toMatchObject({ kind: 'best', forkHeight: 15 });
  });

  it('this also holds if most of the branch came earlier, in parts', () => {
    const { headers, chain } = easy(160);
    const parts = branch(at(headers, 5), 155);
    expect(chain.feed(parts.slice(0, 100))).toMatchObject({ kind: 'side' });
    expect(chain.feed(parts.slice(100, 154))).toMatchObject({ kind: 'side' });
    expect(chain.feed(parts.slice(154))).toMatchObject({ kind: 'deep', depth: 154 });
  });

  it('no branch forks below the checkpoint', () => {
    const { headers } = easy(10);
    const checkpoint = { height: 8, hash: at(headers, 8).hash };
    const chain = storeHeaders({ ...regtest, checkpoint }, headers);
    expect(chain.feed(branch(at(headers, 7), 3))).toMatchObject({
      kind: 'reject',
      reason: expect.stringContaining('checkpoint'),
    });
    expect(chain.feed(branch(at(headers, 8), 2))).toMatchObject({ kind: 'best', forkHeight: 8 });
  });
});

/** Laws for every order in which a tree of headers may arrive. */
describe('law', () => {
  it('the best chain is the first one seen with the most work, whatever the order', () => {
    const first = firstHeader();
    // Each number chooses the parent of the next header.
    const tree = fc.array(fc.nat(30), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(tree, fc.array(fc.nat(40), { maxLength: 60 }), (parents, order) => {
        const headers = [first];
        for (const parent of parents) {
          const on = at(headers, headers.length - 1 - (parent % Math.min(headers.length, 4)));
          headers.push(...branch(on, 1));
        }
        const chain = storeHeaders(regtest, [first]);
        const heights = new Map([[first.hash, 0]]);
        let best = first;
        for (const index of order) {
          const header = at(headers, index % headers.length);
          const below = heights.get(header.previous);
          const known = heights.has(header.hash);
          const result = chain.feed([header]);
          if (known) expect(result.kind).toBe('known');
          else if (below === undefined) expect(result.kind).toBe('unlinked');
          if (known || below === undefined) continue;
          heights.set(header.hash, below + 1);
          const wins = below + 1 > (heights.get(best.hash) ?? 0);
          if (wins) best = header;
          expect(result.kind).toBe(wins ? 'best' : 'side');
          expect(chain.tip().header.hash).toBe(best.hash);
        }
        const hashes = chain.hashes();
        expect(hashes).toHaveLength((heights.get(best.hash) ?? 0) + 1);
        for (const [height, hash] of hashes.entries()) {
          const held = headers.find((each) => each.hash === hash);
          if (height > 0) expect(held?.previous).toBe(hashes[height - 1]);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('connecting changes nothing by itself', () => {
    const { headers, chain } = easy(5);
    const more = branch(at(headers, -1), 2);
    expect(connectHeaders(chain.view, more)).toEqual(connectHeaders(chain.view, more));
    expect(chain.tip().header.time).toBe(startTime + 4 * 600);
  });
});
