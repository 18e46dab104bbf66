import { ScriptNum } from '@scure/btc-signer';
import { sha256x2 } from '@scure/btc-signer/utils.js';
import { describe, expect, it } from 'vitest';
import { medianTimePast, meetsTarget, parseHeader } from '../../../src/bitcoin/header.ts';
import { type BlockHash, displayHex, type Txid } from '../../../src/bitcoin/ids.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import { parseTransaction } from '../../../src/bitcoin/transaction.ts';
import { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { merkleRoot, rootFromBranch } from '../../support/merkle.ts';
import { chainOf, merchant, outputTo, startTime, transaction } from '../support.ts';

const block = (chain: SimulatedChain, height: number) => {
  const found = chain.block(height);
  if (!found) throw new Error(`no block ${height}`);
  return found;
};

describe('headers', () => {
  it('start at the genesis of regtest', () => {
    const chain = new SimulatedChain({ seed: '', now: () => startTime });
    expect(chain.tipHeight).toBe(0);
    expect(chain.tip.hash).toBe(networks.regtest.genesisHash);
  });

  it('are linked, with proof of work and a time above the median of 11', () => {
    // A clock that stands still is the hard case.
    const chain = new SimulatedChain({ seed: 'headers', now: () => startTime });
    chain.mine(40);
    const headers = Array.from({ length: 41 }, (_, height) =>
      parseHeader(block(chain, height).header),
    );
    for (const [height, header] of headers.entries()) {
      expect(header.hash).toBe(block(chain, height).hash);
      expect(header.bits).toBe(networks.regtest.powLimitBits);
      expect(meetsTarget(header)).toBe(true);
      if (height === 0) continue;
      const before = headers.slice(Math.max(0, height - 11), height);
      expect(header.previous).toBe(before.at(-1)?.hash);
      expect(header.time).toBeGreaterThan(medianTimePast(before.map(({ time }) => time)));
      expect(header.time).toBeGreaterThanOrEqual(before.at(-1)?.time ?? 0);
    }
  });

  it('take the time of the clock', () => {
    expect(chainOf(1).tip.time).toBe(startTime);
  });
});

describe('coinbases', () => {
  it('begin with the height (BIP34)', () => {
    const chain = chainOf(200);
    for (const height of [1, 16, 17, 127, 128, 200]) {
      const { raw } = transaction(chain, block(chain, height).txids[0] as Txid);
      // Version 4, count 1, outpoint 36, length of the script 1.
      const script = raw.slice(42);
      if (height <= 16) expect(script[0]).toBe(0x50 + height);
      else {
        const length = script[0] ?? 0;
        expect(ScriptNum().decode(script.slice(1, 1 + length))).toBe(BigInt(height));
      }
    }
  });

  it('create the subsidy, halved every 150 blocks, and the fees', () => {
    const chain = chainOf(149);
    const value = (height: number) => block(chain, height).transactions[0]?.outputs[0]?.valueSat;
    const txid = chain.pay([{ script: merchant().script, valueSat: 1_000 }]);
    chain.mine();
    expect(value(149)).toBe(50_0000_0000);
    expect(value(150)).toBe(25_0000_0000 + transaction(chain, txid).feeSat);
  });

  it('commit to the witnesses if there are any (BIP141), otherwise not', () => {
    const chain = chainOf(101);
    const { tip: plain } = chain;
    chain.pay([{ script: merchant().script, valueSat: 1_000 }]);
    chain.pay([{ script: merchant().script, valueSat: 2_000 }], { inputs: 'unconfirmed' });
    const [mined] = chain.mine();
    expect(plain.transactions[0]?.outputs).toHaveLength(1);
    expect(plain.transactions[0]?.segwit).toBe(false);

    const [coinbase, ...others] = mined?.transactions ?? [];
    const wtxids = others.map(({ raw }) => displayHex<Txid>(sha256x2(raw)));
    const root = merkleRoot(['00'.repeat(32) as Txid, ...wtxids]);
    const commitment = sha256x2(root, new Uint8Array(32));
    expect(coinbase?.segwit).toBe(true);
    expect(coinbase?.outputs[1]?.valueSat).toBe(0);
    expect(Buffer.from(coinbase?.outputs[1]?.script ?? []).toString('hex')).toBe(
      `6a24aa21a9ed${Buffer.from(commitment).toString('hex')}`,
    );
  });

  it('pay a given script', () => {
    const chain = chainOf(3);
    const { script, scripthash } = merchant();
    const [mined] = chain.mine(1, { to: script });
    expect(chain.history(scripthash)).toEqual([{ txid: mined?.txids[0], height: 4 }]);
  });

  it('are all different', () => {
    const chain = chainOf(60);
    const txids = Array.from({ length: 60 }, (_, at) => block(chain, at + 1).txids[0]);
    expect(new Set(txids).size).toBe(60);
  });
});

describe('merkle branches', () => {
  it('lead every transaction to the root of its header', () => {
    const chain = chainOf(110);
    chain.stock(16, 100_000);
    for (let count = 0; count <= 8; count++) {
      for (let at = 0; at < count; at++) {
        chain.pay([{ script: merchant().script, valueSat: 1_000 + at }]);
      }
      const [mined] = chain.mine();
      expect(mined?.txids).toHaveLength(count + 1);
    }
    for (let height = 1; height <= chain.tipHeight; height++) {
      const { merkleRoot: root } = parseHeader(block(chain, height).header);
      for (const [position, txid] of block(chain, height).txids.entries()) {
        const proof = chain.branch(txid, height);
        expect(proof?.position).toBe(position);
        expect(rootFromBranch(txid, proof?.branch ?? [], position)).toEqual(root);
      }
    }
  });

  it('exist only for the right height', () => {
    const chain = chainOf(5);
    const txid = chain.tip.txids[0] as Txid;
    expect(chain.branch(txid, 4)).toBeUndefined();
    expect(chain.branch(txid, 6)).toBeUndefined();
  });
});

describe('payments', () => {
  it('pay addresses and scripts, keep the change, and take the fee rate asked for', () => {
    const chain = chainOf(101);
    const { script } = merchant();
    const { address } = chain.faucet;
    const outputs = [
      { script, valueSat: 70_000 },
      { address, valueSat: 80_000 },
    ];
    const paid = transaction(chain, chain.pay(outputs, { feeRate: 3 }));
    expect(paid.outputs.map(({ valueSat }) => valueSat).slice(0, 2)).toEqual([70_000, 80_000]);
    expect(paid.outputs[2]?.scripthash).toBe(chain.faucet.scripthash);
    expect(paid.feeSat / paid.vsize).toBeGreaterThanOrEqual(3);
    expect(paid.feeSat / paid.vsize).toBeLessThan(3.2);
  });

  it('can have thousands of outputs', () => {
    const chain = chainOf(101);
    const { script, scripthash } = merchant();
    chain.pay(Array.from({ length: 2_000 }, () => ({ script, valueSat: 1_000 })));
    chain.mine();
    expect(chain.history(scripthash)).toHaveLength(1);
    const { unspent, confirmedSat } = chain.coins(scripthash);
    expect([unspent.length, confirmedSat]).toEqual([2_000, 2_000_000]);
  });

  it('signal replaceability by default', () => {
    const chain = chainOf(102);
    const signals = (rbf?: boolean) => {
      const options = rbf === undefined ? {} : { rbf };
      const txid = chain.pay([{ script: merchant().script, valueSat: 1_000 }], options);
      return parseTransaction(transaction(chain, txid).raw).signalsRbf;
    };
    expect([signals(), signals(true), signals(false)]).toEqual([true, true, false]);
  });

  it('refuse to spend immature coinbases', () => {
    const chain = chainOf(99);
    const pay = () => chain.pay([{ script: merchant().script, valueSat: 1_000 }]);
    expect(pay).toThrow('do not suffice');
    chain.mine();
    expect(pay()).toBeTruthy();
  });

  it('choose confirmed, unconfirmed or named inputs', () => {
    const chain = chainOf(101);
    const output = [{ script: merchant().script, valueSat: 1_000 }];
    const height = (txid: Txid) =>
      chain.history(merchant().scripthash).find((item) => item.txid === txid)?.height;
    const first = chain.pay(output, { inputs: 'confirmed' });
    const second = chain.pay(output, { inputs: 'unconfirmed' });
    expect([height(first), height(second)]).toEqual([0, -1]);
    const named = chain.pay(output, { inputs: [{ txid: second, vout: 1 }] });
    expect(transaction(chain, named).inputs).toEqual([{ txid: second, vout: 1 }]);
    expect(() => chain.pay(output, { inputs: [{ txid: named, vout: 9 }] })).toThrow(
      'no such output',
    );
    expect(() => chain.pay(output, { inputs: [{ txid: second, vout: 0 }] })).toThrow('no key for');
  });

  it('spend confirmed coins as long as the faucet has some', () => {
    const chain = chainOf(101);
    chain.stock(20, 50_000);
    for (let at = 0; at < 20; at++)
      chain.pay([{ script: merchant().script, valueSat: 1_000 + at }]);
    const heights = chain.history(merchant().scripthash).map(({ height }) => height);
    expect(heights).toEqual(new Array(20).fill(0));
  });

  it.each(['p2wpkh', 'p2pkh', 'p2sh-p2wpkh', 'p2tr'] as const)(
    'are spent from a %s output',
    (type) => {
      const chain = chainOf(101);
      const { privateKey, script, scripthash } = merchant(5, type);
      const txid = chain.pay([{ script, valueSat: 100_000 }]);
      chain.mine();
      const outputs = [{ script: merchant(6).script, valueSat: 30_000 }];
      const spend = { privateKey, outputs, change: script };
      const spent = chain.spend([outputTo(chain, txid, script)], spend);
      const { feeSat, vsize, outputs: made } = transaction(chain, spent);
      expect(made.map(({ valueSat }) => valueSat)).toEqual([30_000, 70_000 - feeSat]);
      expect(feeSat / vsize).toBeLessThan(11);
      expect(chain.history(scripthash)).toEqual([
        { txid, height: 102 },
        { txid: spent, height: 0, feeSat },
      ]);
      expect(() =>
        chain.spend([outputTo(chain, spent, script)], { privateKey: merchant(9).privateKey }),
      ).toThrow('does not own');
    },
  );
});

describe('the chain', () => {
  it('is the same, byte for byte, after the same calls on the same seed', () => {
    const run = (seed: string) => {
      const chain = chainOf(105, seed);
      const txid = chain.pay([{ script: merchant().script, valueSat: 12_345 }]);
      chain.replace(txid);
      chain.mine();
      chain.reorganise(2, { transactions: 'drop' });
      return chain.tip.hash;
    };
    expect(run('one')).toBe(run('one'));
    expect(run('one')).not.toBe(run('two'));
  });

  it('shares its past with another one of its seed, and can fork from it', () => {
    const [chain, rival] = [chainOf(110), chainOf(110)];
    expect(rival.tip.hash).toBe(chain.tip.hash);
    rival.mine(2);
    chain.pay([{ script: merchant().script, valueSat: 1_000 }]);
    chain.mine(2);
    expect(rival.block(110)?.hash).toBe(chain.block(110)?.hash);
    expect(rival.block(111)?.hash).not.toBe(chain.block(111)?.hash);
  });

  it('notifies its listeners of each change once, with the affected scripts', () => {
    const chain = chainOf(101);
    const { script, scripthash } = merchant();
    const heard: { height: number; hash: BlockHash; touched: boolean }[] = [];
    const stop = chain.onChange(({ tip, scripthashes }) => {
      heard.push({ height: tip.height, hash: tip.hash, touched: scripthashes.has(scripthash) });
    });
    chain.pay([{ script, valueSat: 1_000 }]);
    chain.mine(3);
    chain.mine();
    chain.reorganise(4, { transactions: 'mempool' });
    stop();
    chain.mine();
    expect(heard.map(({ height, touched }) => [height, touched])).toEqual([
      [101, true],
      [104, true],
      [105, false],
      [106, true],
    ]);
  });

  it('affects a child whose parent is mined: its Electrum height changes', () => {
    const chain = chainOf(101);
    const { script, scripthash } = merchant();
    const parent = chain.pay([{ script: merchant(2).script, valueSat: 1_000 }]);
    chain.pay([{ script, valueSat: 1_000 }], { inputs: 'unconfirmed' });
    expect(chain.history(scripthash)[0]?.height).toBe(-1);
    const touched: boolean[] = [];
    chain.onChange(({ scripthashes }) => touched.push(scripthashes.has(scripthash)));
    chain.mine(1, { include: [parent] });
    expect(touched).toEqual([true]);
    expect(chain.history(scripthash)[0]?.height).toBe(0);
  });
});
