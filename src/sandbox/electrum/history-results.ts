// History, mempool, unspent outputs and status of a script, as an Electrum server computes them.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#status

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { ChainState } from '../chain/chain-state.ts';
import {
  type Coin,
  coinAt,
  outpointKey,
  type SimulatedTransaction,
} from '../chain/simulated-transaction.ts';

export interface HistoryEntry {
  readonly txid: Txid;
  /** Height of its block; 0 in the mempool, -1 there with an unconfirmed input. */
  readonly height: number;
  /** Set in the mempool. */
  readonly feeSat?: number;
}

/** The order of protocol 1.6 in the mempool: height 0 before -1, then by txid. */
export function canonicalOrder(a: HistoryEntry, b: HistoryEntry): number {
  return b.height - a.height || (a.txid < b.txid ? -1 : 1);
}

/** Mined transactions by (height, position), then the mempool in canonical order. */
export function historyOf(
  { confirmed, mempool }: ChainState,
  scripthash: Scripthash,
): HistoryEntry[] {
  const mined = confirmed.history(scripthash).map(({ txid, height }) => ({ txid, height }));
  const waiting = Array.from(mempool.touching(scripthash), (transaction) => ({
    txid: transaction.txid,
    height: mempool.hasUnconfirmedInput(transaction) ? -1 : 0,
    feeSat: transaction.feeSat,
  }));
  return [...mined, ...waiting.sort(canonicalOrder)];
}

/** Status of a history as an Electrum server hashes it; null when there is none. */
export function statusOf(history: readonly HistoryEntry[]): string | null {
  if (history.length === 0) return null;
  const text = history.map(({ txid, height }) => `${txid}:${height}:`).join('');
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** Unspent outputs and balance of a script. */
export interface ScriptCoins {
  /** Outputs that no transaction of the history spends, in its order: mined ones first. */
  readonly unspent: Coin[];
  readonly confirmedSat: number;
  /** Change of the balance by the mempool; may be negative. */
  readonly unconfirmedSat: number;
}

/**
 * Coins and balance of a script. Its history suffices, because it includes every transaction that
 * spends an output of the script.
 * @param transactionOf returns a transaction of the history
 */
export function coinsIn(
  history: readonly HistoryEntry[],
  scripthash: Scripthash,
  transactionOf: (txid: Txid) => SimulatedTransaction | undefined,
): ScriptCoins {
  const unspent = new Map<string, Coin>();
  let confirmedSat = 0;
  let unconfirmedSat = 0;
  const spends: { readonly key: string; readonly mined: boolean }[] = [];
  for (const { txid, height } of history) {
    const transaction = transactionOf(txid);
    if (transaction === undefined) continue;
    const mined = height > 0;
    for (const input of transaction.inputs) spends.push({ key: outpointKey(input), mined });
    for (const vout of transaction.outputs.keys()) {
      const coin = coinAt(transaction, vout, mined ? height : undefined);
      if (coin?.scripthash !== scripthash) continue;
      unspent.set(coin.key, coin);
      if (mined) confirmedSat += coin.valueSat;
      else unconfirmedSat += coin.valueSat;
    }
  }
  // Spends come last, because in canonical order a child may come before its parent.
  for (const { key, mined } of spends) {
    const valueSat = unspent.get(key)?.valueSat ?? 0;
    unspent.delete(key);
    if (mined) confirmedSat -= valueSat;
    else unconfirmedSat -= valueSat;
  }
  return { unspent: [...unspent.values()], confirmedSat, unconfirmedSat };
}
