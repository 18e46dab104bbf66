import { describe, expect, it } from 'vitest';
import { meetsTarget, parseHeader } from '../../../src/bitcoin/header.ts';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import type { Fate } from '../../../src/sandbox/chain/reorganise.ts';
import type { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { rootFromBranch } from '../../support/merkle.ts';
import { chainOf, merchant, outputTo } from '../support.ts';

const { script, scripthash, privateKey } = merchant();

/** Two payments in the blocks 102 and 103, and an empty block 104 on top. */
function paidChain() {
  const chain = chainOf(101);
  const pay = (valueSat: number) => {
    const txid = chain.pay([{ script, valueSat }], { inputs: 'confirmed' });
    chain.mine();
    return txid;
  };
  const a = pay(10_000);
  const b = pay(20_000);
  chain.mine();
  return { chain, a, b };
}

/** Links, work and merkle proofs of the whole chain. */
function expectSound(chain: SimulatedChain): void {
  for (let height = 1; height <= chain.tipHeight; height++) {
    const block = chain.block(height);
    const header = parseHeader(block?.header ?? new Uint8Array());
    expect(header.previous).toBe(chain.block(height - 1)?.hash);
    expect(meetsTarget(header)).toBe(true);
    for (const txid of block?.txids ?? []) {
      const proof = chain.branch(txid, height);
      expect(rootFromBranch(txid, proof?.branch ?? [], proof?.position ?? 0)).toEqual(
        header.merkleRoot,
      );
    }
  }
}

const places = (chain: SimulatedChain) =>
  chain.history(scripthash).map(({ txid, height }) => [txid, height] as const);

describe('a reorganisation', () => {
  it('grows another branch with one block more', () => {
    const { chain } = paidChain();
    const old = [102, 103, 104].map((height) => chain.block(height)?.hash);
    const { disconnected, connected } = chain.reorganise(3, { transactions: 'mempool' });
    expect(disconnected.map(({ hash }) => hash)).toEqual(old);
    expect(connected.map(({ height }) => height)).toEqual([102, 103, 104, 105]);
    expect(connected.some(({ hash }) => old.includes(hash))).toBe(false);
    expect(chain.tip).toBe(connected.at(-1));
    expectSound(chain);
  });

  it('can be a tie, much heavier, lighter, or only a loss of blocks', () => {
    for (const [blocks, tip] of [
      [3, 104],
      [10, 111],
      [1, 102],
      [0, 101],
    ] as const) {
      const { chain } = paidChain();
      const { connected } = chain.reorganise(3, { blocks, transactions: 'mempool' });
      expect(connected).toHaveLength(blocks);
      expect(chain.tipHeight).toBe(tip);
      expect(chain.mempool()).toHaveLength(2);
      expectSound(chain);
    }
  });

  it('is refused below the genesis block', () => {
    const chain = chainOf(3);
    expect(() => chain.reorganise(4, { transactions: 'drop' })).toThrow('cannot take 4 of 3');
    expect(() => chain.reorganise(0, { transactions: 'drop' })).toThrow('cannot take 0 of 3');
    chain.reorganise(3, { transactions: 'drop' });
    expect(chain.tipHeight).toBe(4);
  });

  it('gives transactions back to the mempool', () => {
    const { chain, a, b } = paidChain();
    const { dropped } = chain.reorganise(3, { transactions: 'mempool' });
    expect(new Map(places(chain))).toEqual(
      new Map([
        [a, 0],
        [b, 0],
      ]),
    );
    expect(dropped.size).toBe(0);
    chain.mine();
    expect(places(chain)).toEqual([
      [a, 106],
      [b, 106],
    ]);
    expectSound(chain);
  });

  it('drops transactions for double spends in the first block', () => {
    const { chain, a, b } = paidChain();
    const { dropped, connected } = chain.reorganise(3, { transactions: 'drop' });
    expect(places(chain)).toEqual([]);
    expect([...dropped.keys()]).toEqual([a, b]);
    for (const [victim, rival] of dropped) {
      expect(chain.transaction(victim)).toBeUndefined();
      expect(connected[0]?.txids).toContain(rival);
      expect(() => chain.rebroadcast(victim)).toThrow('missingorspent');
    }
    expectSound(chain);
  });

  it('drops them for double spends in the mempool if there is no block', () => {
    const { chain, a } = paidChain();
    const { dropped } = chain.reorganise(3, { blocks: 0, transactions: 'drop' });
    expect(chain.mempool().map(({ txid }) => txid)).toContain(dropped.get(a));
  });

  it('can have them at the same heights in other blocks: no history changes', () => {
    const { chain, a, b } = paidChain();
    const before = chain.history(scripthash);
    chain.reorganise(3, { transactions: 'remine-same-height' });
    expect(chain.history(scripthash)).toEqual(before);
    expect([a, b].map((txid) => chain.heightOf(txid))).toEqual([102, 103]);
    expectSound(chain);
  });

  it('can place each transaction as the caller decides', () => {
    const { chain, a, b } = paidChain();
    const asked: [Txid, number][] = [];
    const fates = new Map<Txid, Fate>([
      [a, { height: 105 }],
      [b, 'mempool'],
    ]);
    chain.reorganise(3, {
      transactions(txid, height) {
        asked.push([txid, height]);
        return fates.get(txid) ?? 'drop';
      },
    });
    expect(asked).toEqual([
      [a, 102],
      [b, 103],
    ]);
    expect(places(chain)).toEqual([
      [a, 105],
      [b, 0],
    ]);
    expectSound(chain);
  });

  it('returns transactions without a place on the new branch to the mempool', () => {
    const { chain, a, b } = paidChain();
    chain.reorganise(3, { blocks: 1, transactions: 'remine-same-height' });
    expect(places(chain)).toEqual([
      [a, 102],
      [b, 0],
    ]);
    const { chain: other, a: low } = paidChain();
    other.reorganise(3, { transactions: { height: 50 } });
    expect(other.heightOf(low)).toBeUndefined();
    expect(places(other).map(([, height]) => height)).toEqual([0, 0]);
  });

  it('places parents before children, whatever the caller requests', () => {
    const chain = chainOf(101);
    const parent = chain.pay([{ script, valueSat: 10_000 }]);
    chain.mine();
    const child = chain.spend([outputTo(chain, parent, script)], { privateKey, change: script });
    chain.mine();
    chain.reorganise(2, {
      transactions: (txid) => ({ height: txid === parent ? 103 : 102 }),
    });
    expect(places(chain)).toEqual([
      [parent, 103],
      [child, 0],
    ]);
    chain.reorganise(2, { transactions: 'mempool' });
    expect(places(chain)).toEqual([
      [parent, 0],
      [child, -1],
    ]);
  });

  it('returns parents before children, even if some were meant for a block', () => {
    const chain = chainOf(101);
    const first = chain.pay([{ script, valueSat: 50_000 }]);
    chain.mine();
    const change = { privateKey, change: script };
    const second = chain.spend([outputTo(chain, first, script)], change);
    chain.mine();
    const third = chain.spend([outputTo(chain, second, script)], change);
    chain.mine();
    const { dropped } = chain.reorganise(3, {
      transactions: (txid) => (txid === second ? { height: 102 } : 'mempool'),
    });
    expect(dropped.size).toBe(0);
    expect(chain.mempool().map(({ txid }) => txid)).toEqual([first, second, third]);
  });

  it('drops the children of dropped transactions, also from the mempool', () => {
    const chain = chainOf(101);
    const parent = chain.pay([{ script, valueSat: 50_000 }]);
    chain.mine();
    const child = chain.spend([outputTo(chain, parent, script)], { privateKey, change: script });
    chain.mine();
    const waiting = chain.spend([outputTo(chain, child, script)], { privateKey, change: script });
    const { dropped } = chain.reorganise(2, {
      transactions: (txid) => (txid === parent ? 'drop' : 'remine-same-height'),
    });
    expect(new Set(dropped.keys())).toEqual(new Set([parent, child, waiting]));
    expect(dropped.get(parent)).toBeDefined();
    expect(chain.history(scripthash)).toEqual([]);
  });

  it('drops a child by a double spend although its parent comes back late', () => {
    const chain = chainOf(101);
    const parent = chain.pay([{ script, valueSat: 50_000 }]);
    chain.mine();
    const child = chain.spend([outputTo(chain, parent, script)], { privateKey, change: script });
    chain.mine();
    const { dropped } = chain.reorganise(2, {
      transactions: (txid) => (txid === parent ? { height: 104 } : 'drop'),
    });
    const rival = dropped.get(child);
    expect(rival).toBeDefined();
    expect(places(chain)).toEqual([
      [parent, 104],
      [rival, 0],
    ]);
  });

  it('drops without a double spend if the key is unknown', () => {
    const chain = chainOf(101);
    const twin = chainOf(101);
    const foreign = chainOf(101, 'foreign');
    // The same coins, spent by a key that this chain was never lent.
    const funding = chain.pay([{ script, valueSat: 50_000 }]);
    twin.pay([{ script, valueSat: 50_000 }]);
    const spent = twin.spend([outputTo(twin, funding, script)], { privateKey, change: script });
    chain.mine();
    chain.broadcast(twin.transaction(spent)?.raw ?? new Uint8Array());
    chain.mine();
    const { dropped } = chain.reorganise(1, { transactions: 'drop' });
    expect(dropped).toEqual(new Map([[spent, undefined]]));
    expect(foreign.tip.hash).not.toBe(chain.tip.hash);
    expect(places(chain)).toEqual([[funding, 102]]);
  });

  it('drops coinbases with all their descendants', () => {
    const chain = chainOf(1);
    chain.mine(1, { to: script });
    chain.mine(100);
    const coinbase = chain.block(2)?.txids[0] as Txid;
    const spent = chain.spend([{ txid: coinbase, vout: 0 }], { privateKey, change: script });
    chain.mine();
    expect(chain.heightOf(spent)).toBe(103);
    // The coinbase stays in its block, but is immature afterwards.
    const { dropped } = chain.reorganise(3, { blocks: 0, transactions: 'mempool' });
    expect(dropped).toEqual(new Map([[spent, undefined]]));
    expect(places(chain)).toEqual([[coinbase, 2]]);
    chain.reorganise(chain.tipHeight, { transactions: 'mempool' });
    expect(chain.history(scripthash)).toEqual([]);
    expectSound(chain);
  });

  it('leaves the transactions of the mempool there', () => {
    const { chain, a, b } = paidChain();
    const waiting = chain.pay([{ script, valueSat: 30_000 }], { inputs: 'confirmed' });
    chain.reorganise(2, { transactions: 'remine-same-height' });
    expect(places(chain)).toEqual([
      [a, 102],
      [b, 103],
      [waiting, 0],
    ]);
  });

  it('pays its coinbases to a given script', () => {
    const chain = chainOf(3);
    chain.reorganise(1, { transactions: 'drop', to: script });
    expect(places(chain).map(([, height]) => height)).toEqual([3, 4]);
  });
});
