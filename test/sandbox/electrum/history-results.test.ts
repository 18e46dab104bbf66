import { describe, expect, it } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { canonicalOrder, statusOf } from '../../../src/sandbox/electrum/history-results.ts';
import { chainOf, merchant, outputTo } from '../support.ts';

describe('the status', () => {
  // https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#status
  const mined = [
    {
      txid: 'a6c9c361bd0bc536d6a22648efbf8f9b200e425ef6c3a7a9669dc444c532a347' as Txid,
      height: 2472,
    },
    {
      txid: '9c42f84b2fcdaff676ba25d9d4941741cc0d1a01cce0c23fdc4c0b2afa38431c' as Txid,
      height: 2473,
    },
    {
      txid: '770f2d4371b3fabb902dd9a103e2dd005fcd3971181078fca4a2a1d6ff127b30' as Txid,
      height: 2473,
    },
  ];
  const waiting = [
    { txid: '80b19848aed792565ab7c5a79b7c2a00fbf985741579396ebe0ab6098e607311' as Txid, height: 0 },
    { txid: 'e02a1dadfa83b996b24175df807b271ea5d02937ef5b35c195fac1e1bdc3198f' as Txid, height: 0 },
    {
      txid: 'bb4c8ab438c13b89ca80d1d5bee25b0b6b7f55673f4d801998ba97db161d9e85' as Txid,
      height: -1,
    },
  ];

  it('is that of the example in the protocol', () => {
    const shuffled = [2, 0, 1].flatMap((at) => waiting[at] ?? []);
    expect(shuffled.sort(canonicalOrder)).toEqual(waiting);
    expect(statusOf([...mined, ...waiting])).toBe(
      '78e96c6562cafa71c115503b9411fdfdc595a45031e2ab76ff75162fe1b0590d',
    );
  });

  it('is null without a history', () => {
    expect(statusOf([])).toBeNull();
  });
});

describe('the history of a script', () => {
  it('is ordered by height and position, then by the rule of the mempool', () => {
    const chain = chainOf(105);
    const { script, scripthash, privateKey } = merchant();
    const pay = (valueSat: number) => chain.pay([{ script, valueSat }], { inputs: 'confirmed' });
    const early = pay(50_000);
    const late = [pay(60_000), pay(70_000)];
    chain.mine(1, { include: [early] });
    chain.mine();
    const waiting = [pay(80_000), pay(90_000)].sort();
    const child = chain.pay([{ script, valueSat: 1_000 }], { inputs: 'unconfirmed' });
    const spent = chain.spend([outputTo(chain, early, script)], { privateKey });
    const history = chain.history(scripthash);
    expect(history.slice(0, 3)).toEqual([
      { txid: early, height: 106 },
      ...late.map((txid) => ({ txid, height: 107 })),
    ]);
    expect(history.slice(3).map(({ txid }) => txid)).toEqual([
      ...[...waiting, spent].sort(),
      child,
    ]);
    for (const { txid, height, feeSat } of history.slice(3)) {
      expect(height).toBe(txid === child ? -1 : 0);
      expect(feeSat).toBe(chain.transaction(txid)?.feeSat);
    }
  });

  it('has its unspent outputs and its balance', () => {
    const chain = chainOf(105);
    const { script, scripthash, privateKey } = merchant();
    const a = chain.pay([
      { script, valueSat: 50_000 },
      { script, valueSat: 7_000 },
    ]);
    chain.mine();
    expect(chain.coins(scripthash)).toMatchObject({ confirmedSat: 57_000, unconfirmedSat: 0 });
    const b = chain.spend([{ txid: a, vout: 0 }], { privateKey, change: script });
    const c = chain.spend([{ txid: b, vout: 0 }], { privateKey, change: script });
    const left = chain.transaction(c)?.outputs[0]?.valueSat ?? 0;
    const { unspent, confirmedSat, unconfirmedSat } = chain.coins(scripthash);
    expect(unspent.map(({ key, height }) => [key, height])).toEqual([
      [`${a}:1`, 106],
      [`${c}:0`, undefined],
    ]);
    expect([confirmedSat, unconfirmedSat]).toEqual([57_000, left - 50_000]);
  });
});
