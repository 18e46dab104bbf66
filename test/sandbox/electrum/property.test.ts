import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Header, meetsTarget, parseHeader } from '../../../src/bitcoin/header.ts';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { PaygateError } from '../../../src/lib/errors.ts';
import type { Fate } from '../../../src/sandbox/chain/reorganise.ts';
import { subsidySat } from '../../../src/sandbox/chain/simulated-block.ts';
import { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { rootFromBranch } from '../../support/merkle.ts';
import { merchant, startTime } from '../support.ts';

const merchants = [merchant(1), merchant(2, 'p2pkh'), merchant(3, 'p2tr')];

const fate = fc.oneof(
  fc.constantFrom<Fate>('mempool', 'drop', 'remine-same-height'),
  fc.integer({ min: 100, max: 120 }).map((height): Fate => ({ height })),
);

type Step =
  | { readonly kind: 'mine'; readonly count: number; readonly include: 'all' | 'none' }
  | { readonly kind: 'pay'; readonly to: number; readonly unconfirmed: boolean }
  | { readonly kind: 'spend' | 'replace' | 'evict' | 'rebroadcast'; readonly pick: number }
  | {
      readonly kind: 'reorganise';
      readonly depth: number;
      readonly blocks: number;
      readonly fates: readonly Fate[];
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('mine' as const),
    count: fc.integer({ min: 1, max: 3 }),
    include: fc.constantFrom('all' as const, 'none' as const),
  }),
  fc.record({ kind: fc.constant('pay' as const), to: fc.nat(2), unconfirmed: fc.boolean() }),
  fc.record({
    kind: fc.constantFrom(
      'spend' as const,
      'replace' as const,
      'evict' as const,
      'rebroadcast' as const,
    ),
    pick: fc.nat(50),
  }),
  fc.record({
    kind: fc.constant('reorganise' as const),
    depth: fc.integer({ min: 1, max: 6 }),
    blocks: fc.integer({ min: 0, max: 8 }),
    fates: fc.array(fate, { minLength: 1, maxLength: 4 }),
  }),
);

const pickOf = <T>(list: readonly T[], pick: number): T | undefined => list[pick % list.length];

function perform(chain: SimulatedChain, seen: Txid[], at: Step): void {
  switch (at.kind) {
    case 'mine':
      chain.mine(at.count, { include: at.include });
      return;
    case 'pay': {
      const to = merchants[at.to] ?? merchant(1);
      const inputs = at.unconfirmed ? ('unconfirmed' as const) : ('confirmed' as const);
      seen.push(chain.pay([{ script: to.script, valueSat: 100_000 }], { inputs }));
      return;
    }
    case 'spend': {
      const owner = merchants[at.pick % 3] ?? merchant(1);
      const coin = pickOf(chain.coins(owner.scripthash).unspent, at.pick);
      if (coin) seen.push(chain.spend([coin], { ...owner, change: owner.script }));
      return;
    }
    case 'replace': {
      const old = pickOf(chain.mempool(), at.pick);
      if (old) seen.push(chain.replace(old.txid));
      return;
    }
    case 'evict': {
      const old = pickOf(chain.mempool(), at.pick);
      if (old) chain.evict(old.txid);
      return;
    }
    case 'rebroadcast': {
      const old = pickOf(seen, at.pick);
      if (old) chain.rebroadcast(old);
      return;
    }
    case 'reorganise': {
      let asked = 0;
      chain.reorganise(at.depth, {
        blocks: at.blocks,
        transactions: () => pickOf(at.fates, asked++) ?? 'mempool',
      });
    }
  }
}

/** A chain after the steps; what the rules refuse is left out. */
function run(steps: readonly Step[]): SimulatedChain {
  let now = startTime;
  const chain = new SimulatedChain({ seed: 'property', now: () => now });
  chain.mine(108);
  const seen: Txid[] = [];
  for (const one of steps) {
    now += 60;
    try {
      perform(chain, seen, one);
    } catch (thrown) {
      if (!(thrown instanceof PaygateError)) throw thrown;
    }
  }
  return chain;
}

function expectSoundBlocks(chain: SimulatedChain): void {
  let createdSat = 0;
  let previous: Header | undefined;
  for (let height = 0; height <= chain.tipHeight; height++) {
    const block = chain.block(height);
    const header = parseHeader(block?.header ?? new Uint8Array());
    expect(meetsTarget(header)).toBe(true);
    if (previous) expect(header.previous).toBe(previous.hash);
    previous = header;
    for (const [position, txid] of (block?.txids ?? []).entries()) {
      if (height === 0) continue;
      expect(chain.heightOf(txid)).toBe(height);
      const branch = chain.branch(txid, height)?.branch ?? [];
      expect(rootFromBranch(txid, branch, position)).toEqual(header.merkleRoot);
    }
    const [coinbase, ...others] = block?.transactions ?? [];
    const feesSat = others.reduce((sum, { feeSat }) => sum + feeSat, 0);
    if (coinbase) expect(coinbase.outputs[0]?.valueSat).toBe(subsidySat(height) + feesSat);
    if (height > 0) createdSat += subsidySat(height);
  }
  // Fees go from coins to the coinbase: nothing is lost and nothing is made.
  expect(chain.supplySat()).toBe(createdSat);
}

/** Every transaction by a walk over blocks and mempool: the slow way to a history. */
function expectHistories(chain: SimulatedChain): void {
  const scripts = [...merchants.map(({ scripthash }) => scripthash), chain.faucet.scripthash];
  const mempool = new Set(chain.mempool().map(({ txid }) => txid));
  let unspentSat = 0;
  for (const scripthash of scripts) {
    const expected: { txid: Txid; height: number; feeSat?: number }[] = [];
    for (let height = 1; height <= chain.tipHeight; height++) {
      for (const { txid, touches } of chain.block(height)?.transactions ?? []) {
        if (touches.has(scripthash)) expected.push({ txid, height });
      }
    }
    const waiting = chain.mempool().filter(({ touches }) => touches.has(scripthash));
    for (const sign of [0, -1]) {
      const part = waiting.filter(
        ({ inputs }) => inputs.some(({ txid }) => mempool.has(txid)) === sign < 0,
      );
      part.sort((a, b) => (a.txid < b.txid ? -1 : 1));
      for (const { txid, feeSat } of part) expected.push({ txid, height: sign, feeSat });
    }
    expect(chain.history(scripthash)).toEqual(expected);
    const { unspent, confirmedSat, unconfirmedSat } = chain.coins(scripthash);
    const sumSat = unspent.reduce((sum, { valueSat }) => sum + valueSat, 0);
    expect(sumSat).toBe(confirmedSat + unconfirmedSat);
    unspentSat += sumSat;
  }
  // These scripts own everything; what is missing are the fees of the mempool.
  const feesSat = chain.mempool().reduce((sum, { feeSat }) => sum + feeSat, 0);
  expect(unspentSat).toBe(chain.supplySat() - feesSat);
}

describe('after any events', () => {
  it('the chain is sound, histories are true, and no satoshi is lost', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
        const chain = run(steps);
        expectSoundBlocks(chain);
        expectHistories(chain);
      }),
      { numRuns: 40 },
    );
  });

  it('the same seed gives the same events', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 15 }), (steps) => {
        const [first, second] = [run(steps), run(steps)];
        expect(first.tip.hash).toBe(second.tip.hash);
        expect(first.mempool().map(({ raw }) => raw)).toEqual(
          second.mempool().map(({ raw }) => raw),
        );
      }),
      { numRuns: 15 },
    );
  });
});
