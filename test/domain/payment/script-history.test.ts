import { describe, expect, it } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import {
  type HistoryItem,
  type Position,
  statusHash,
} from '../../../src/domain/payment/script-history.ts';
import { statusOf } from '../../../src/sandbox/electrum/history-results.ts';
import { chainOf, merchant } from '../../sandbox/support.ts';

const item = (digits: string, position: Position): HistoryItem => ({
  txid: digits.repeat(32) as Txid,
  position,
});
const mined = (height: number): Position => ({ kind: 'mined', height });
const waiting = (unconfirmedParents: boolean): Position => ({
  kind: 'mempool',
  unconfirmedParents,
});

// Each by `printf '<txid>:<height>:…' | sha256sum`, which is the protocol's text.
describe('the status of a history', () => {
  it('is null for an empty history', () => {
    expect(statusHash([])).toBeNull();
  });

  it.each([
    [
      'mined',
      [item('a1', mined(963_648))],
      '88b3a058745893c1b2ae0af3b92b88f7330746b4a8f4d85d04f3f43e15bc828e',
    ],
    [
      'in the mempool: height 0',
      [item('a1', waiting(false))],
      '8de649d76e7f8ee207e131204a2c33558d0744abfd2ddeae5e6863681814332e',
    ],
    [
      'with unconfirmed parents: height -1',
      [item('a1', waiting(true))],
      '8d89a9567941b8506a605e89a1fa232bb2ca4827d4df76d64d43eef977aa5ac2',
    ],
    [
      'several, mined and not',
      [
        item('a1', mined(100)),
        item('b2', mined(100)),
        item('c3', waiting(false)),
        item('d4', waiting(true)),
      ],
      '33e96a932d6e3ac0ac7d853718aad3c5651c8e637c9d2897002dfe6498a79c5c',
    ],
  ])('%s', (_what, history, status) => {
    expect(statusHash(history)).toBe(status);
  });

  it('depends on the order, which is the server’s own', () => {
    const history = [item('a1', mined(100)), item('b2', mined(100))];
    expect(statusHash(history)).not.toBe(statusHash(history.toReversed()));
  });

  it('holds heights, not blocks: a transaction mined again at its height changes nothing', () => {
    const shop = merchant();
    const chain = chainOf(102);
    const txid = chain.pay([{ script: shop.script, valueSat: 5_000 }]);
    chain.mine();
    const before = chain.history(shop.scripthash);
    const blockBefore = chain.block(103)?.hash;
    chain.reorganise(1, { transactions: 'remine-same-height' });
    expect(chain.block(103)?.hash).not.toBe(blockBefore);
    const history = [item('', mined(103))].map((each) => ({ ...each, txid }));
    expect(statusHash(history)).toBe(statusOf(before));
    expect(statusOf(chain.history(shop.scripthash))).toBe(statusOf(before));
  });
});
