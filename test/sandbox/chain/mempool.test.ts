import { Transaction } from '@scure/btc-signer';
import { describe, expect, it } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { parseTransaction } from '../../../src/bitcoin/transaction.ts';
import type { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import type { SimulatedTransaction } from '../../../src/sandbox/chain/simulated-transaction.ts';
import { chainOf, merchant, transaction } from '../support.ts';

describe('the mempool', () => {
  const { script, scripthash } = merchant();

  it('is mined in whole, in part or not at all', () => {
    const chain = chainOf(103);
    const [a, b] = [1_000, 2_000].map((valueSat) => chain.pay([{ script, valueSat }])) as [
      Txid,
      Txid,
    ];
    const child = chain.pay([{ script, valueSat: 3_000 }], { inputs: 'unconfirmed' });
    expect(chain.mine(1, { include: 'none' })[0]?.txids).toHaveLength(1);
    expect(() => chain.mine(1, { include: [child] })).toThrow('its parent is unconfirmed');
    expect(chain.mine(1, { include: [a] })[0]?.txids.slice(1)).toEqual([a]);
    expect(() => chain.mine(1, { include: [a] })).toThrow('not in the mempool');
    chain.mine();
    expect(chain.tip.txids.slice(1)).toEqual([b, child]);
    expect([chain.heightOf(a), chain.heightOf(b)]).toEqual([105, 106]);
    expect(chain.mempool()).toEqual([]);
  });

  it('leaves transactions for the next block when one is full', () => {
    const chain = chainOf(105);
    const outputs = Array.from({ length: 15_000 }, () => ({ script, valueSat: 1_000 }));
    const txids = [0, 1, 2].map(() => chain.pay(outputs, { feeRate: 1 }));
    const late = chain.pay([{ script, valueSat: 1_000 }]);
    const [first, second] = chain.mine(2);
    expect(first?.txids.slice(1)).toEqual(txids.slice(0, 2));
    expect(second?.txids.slice(1)).toEqual([txids[2], late]);
  });

  it('replaces with the same inputs and a higher fee, also for other outputs', () => {
    const chain = chainOf(101);
    const first = chain.pay([{ script, valueSat: 40_000 }]);
    const inputs = transaction(chain, first).inputs;
    const child = chain.pay([{ script, valueSat: 1_000 }], { inputs: 'unconfirmed' });
    const firstFee = transaction(chain, first).feeSat + transaction(chain, child).feeSat;

    const second = chain.replace(first);
    expect(chain.transaction(first)).toBeUndefined();
    expect(chain.transaction(child)).toBeUndefined();
    expect(transaction(chain, second).inputs).toEqual(inputs);
    expect(transaction(chain, second).feeSat).toBeGreaterThan(firstFee);
    expect(transaction(chain, second).outputs[0]?.valueSat).toBe(40_000);

    const third = chain.replace(second, [{ script: merchant(2).script, valueSat: 40_000 }]);
    expect(chain.history(scripthash)).toEqual([]);
    const cancelled = chain.replace(third, []);
    expect(chain.mempool().map(({ txid }) => txid)).toEqual([cancelled]);
    expect(() => chain.replace(first)).toThrow('nothing to replace');
  });

  it('replaces with further inputs if the old ones do not suffice', () => {
    const chain = chainOf(101);
    chain.stock(2, 50_000);
    chain.mine();
    const outpoint = { txid: chain.block(102)?.txids[1] as Txid, vout: 0 };
    const first = chain.pay([{ script, valueSat: 48_000 }], { inputs: [outpoint], feeRate: 2 });
    const second = chain.replace(first, undefined, { feeRate: 200 });
    const { inputs, feeSat, vsize } = transaction(chain, second);
    expect(inputs[0]).toEqual(outpoint);
    expect(inputs.length).toBeGreaterThan(1);
    expect(feeSat / vsize).toBeGreaterThanOrEqual(200);
  });

  it('removes an evicted transaction with its descendants, and accepts it again', () => {
    const chain = chainOf(101);
    const first = chain.pay([{ script, valueSat: 40_000 }]);
    const child = chain.pay([{ script, valueSat: 1_000 }], { inputs: 'unconfirmed' });
    chain.evict(first);
    expect(chain.mempool()).toEqual([]);
    expect(chain.history(scripthash)).toEqual([]);
    expect(() => chain.evict(first)).toThrow('not in the mempool');
    expect(() => chain.rebroadcast(child)).toThrow('bad-txns-inputs-missingorspent');
    chain.rebroadcast(first);
    chain.rebroadcast(child);
    expect(chain.history(scripthash).map(({ txid }) => txid)).toEqual([first, child]);
  });

  it('ignores a known transaction without an error', () => {
    const chain = chainOf(101);
    const txid = chain.pay([{ script, valueSat: 40_000 }]);
    expect(chain.rebroadcast(txid)).toBe(txid);
    expect(chain.mempool()).toHaveLength(1);
  });

  it('accepts a transaction that another chain of the same seed signed, and no forged signature', () => {
    const chain = chainOf(101);
    const other = chainOf(101);
    const { raw, txid } = transaction(other, other.pay([{ script, valueSat: 40_000 }]));
    const forged = raw.slice();
    // Within the first signature of the witness, far behind the only input's 41 bytes.
    const at = forged.length - 60;
    forged.set([(forged[at] ?? 0) ^ 1], at);
    expect(parseTransaction(forged).txid).toBe(txid);
    expect(() => chain.broadcast(forged)).toThrow('script-verify');
    expect(chain.broadcast(raw)).toBe(txid);
  });

  it.each([
    ['is no transaction', () => Uint8Array.of(1, 2, 3), 'TX decode failed'],
    ['is a coinbase', (chain: SimulatedChain) => chain.tip.transactions[0]?.raw, 'coinbase'],
    [
      'is mined already',
      (chain: SimulatedChain) => {
        const raw = chain.mempool()[0]?.raw;
        chain.mine();
        return raw;
      },
      'already in utxo set',
    ],
    [
      'spends what another one spends, for no more',
      () => {
        const twin = chainOf(101);
        twin.pay([{ script, valueSat: 41_000 }]);
        return twin.mempool()[0]?.raw;
      },
      'insufficient fee',
    ],
  ])('refuses what %s', (_, raw, reason) => {
    const chain = chainOf(101);
    chain.pay([{ script, valueSat: 40_000 }]);
    expect(() => chain.broadcast(raw(chain) as Uint8Array)).toThrow(reason);
  });

  it.each([
    ['spends too early', 'premature-spend', 0, 5_000],
    ['pays less than the relay fee', 'min relay fee not met', 1, 100],
    ['pays more than it spends', 'bad-txns-in-belowout', 1, -1],
    ['pays the relay fee', undefined, 1, 200],
  ])('judges what %s: %s', (_, reason, height, feeSat) => {
    const { privateKey, script: mine } = merchant(8);
    const chain = chainOf(0);
    chain.mine(1, { to: mine });
    chain.mine(98 + height, { to: script });
    const coin = chain.block(1)?.transactions[0] as SimulatedTransaction;
    const hand = new Transaction({ allowLegacyWitnessUtxo: true });
    const valueSat = coin.outputs[0]?.valueSat ?? 0;
    const witnessUtxo = { amount: BigInt(valueSat), script: mine };
    // The library itself refuses to sign away more than there is.
    if (feeSat < 0) witnessUtxo.amount *= 2n;
    hand.addInput({ txid: coin.txid, index: 0, witnessUtxo });
    hand.addOutput({ script, amount: BigInt(valueSat - feeSat) });
    hand.sign(privateKey);
    hand.finalize();
    if (reason) expect(() => chain.broadcast(hand.extract())).toThrow(reason);
    else expect(chain.broadcast(hand.extract())).toBe(hand.id);
  });

  it('replaces a transaction by one of another wallet with a higher fee', () => {
    const chain = chainOf(101);
    const rival = chainOf(101);
    const lost = chain.pay([{ script, valueSat: 40_000 }]);
    const winner = rival.pay([{ script: merchant(2).script, valueSat: 40_000 }], { feeRate: 30 });
    chain.broadcast(transaction(rival, winner).raw);
    expect(chain.transaction(lost)).toBeUndefined();
    expect(chain.transaction(winner)).toBeDefined();
  });
});
