// The unconfirmed transactions of the simulated chain, in order of arrival: parents come before
// their children. It validates nothing: callers pass valid transactions.

import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import {
  type Coin,
  coinAt,
  type Outpoint,
  outpointKey,
  type SimulatedTransaction,
} from './simulated-transaction.ts';

export class Mempool {
  readonly #entries = new Map<Txid, SimulatedTransaction>();
  readonly #spenders = new Map<string, Txid>();
  readonly #touching = new Map<Scripthash, Set<Txid>>();

  /** In order of arrival. */
  values(): Iterable<SimulatedTransaction> {
    return this.#entries.values();
  }

  get(txid: Txid): SimulatedTransaction | undefined {
    return this.#entries.get(txid);
  }

  has(txid: Txid): boolean {
    return this.#entries.has(txid);
  }

  /** Transactions that touch the script, in order of arrival. */
  *touching(scripthash: Scripthash): Iterable<SimulatedTransaction> {
    for (const txid of this.#touching.get(scripthash) ?? []) {
      const transaction = this.#entries.get(txid);
      if (transaction !== undefined) yield transaction;
    }
  }

  spends(coin: Coin): boolean {
    return this.#spenders.has(coin.key);
  }

  /** An output of a mempool transaction, spent or unspent. */
  coin({ txid, vout }: Outpoint): Coin | undefined {
    const transaction = this.#entries.get(txid);
    return transaction && coinAt(transaction, vout, undefined);
  }

  hasUnconfirmedInput(transaction: SimulatedTransaction): boolean {
    return transaction.inputs.some(({ txid }) => this.#entries.has(txid));
  }

  /** Mempool transactions that spend an output of the transaction directly. */
  *children(transaction: SimulatedTransaction): Iterable<SimulatedTransaction> {
    for (const vout of transaction.outputs.keys()) {
      const spender = this.#spenders.get(outpointKey({ txid: transaction.txid, vout }));
      const child = spender && this.#entries.get(spender);
      if (child) yield child;
    }
  }

  withDescendants(roots: Iterable<SimulatedTransaction>): Set<SimulatedTransaction> {
    const found = new Set(roots);
    // An iteration over a Set also yields elements that are added meanwhile.
    for (const transaction of found) {
      for (const child of this.children(transaction)) found.add(child);
    }
    return found;
  }

  /** Mempool transactions that spend an outpoint of the inputs. */
  conflicts(inputs: readonly Outpoint[]): Set<SimulatedTransaction> {
    const found = new Set<SimulatedTransaction>();
    for (const input of inputs) {
      const spender = this.#spenders.get(outpointKey(input));
      const transaction = spender && this.#entries.get(spender);
      if (transaction) found.add(transaction);
    }
    return found;
  }

  add(transaction: SimulatedTransaction): void {
    this.#entries.set(transaction.txid, transaction);
    for (const input of transaction.inputs) {
      this.#spenders.set(outpointKey(input), transaction.txid);
    }
    for (const scripthash of transaction.touches) {
      const txids = this.#touching.get(scripthash);
      if (txids === undefined) this.#touching.set(scripthash, new Set([transaction.txid]));
      else txids.add(transaction.txid);
    }
  }

  /** Removes this transaction alone; the caller removes its descendants. */
  remove(transaction: SimulatedTransaction): void {
    this.#entries.delete(transaction.txid);
    for (const input of transaction.inputs) this.#spenders.delete(outpointKey(input));
    for (const scripthash of transaction.touches) {
      const txids = this.#touching.get(scripthash);
      txids?.delete(transaction.txid);
      if (txids?.size === 0) this.#touching.delete(scripthash);
    }
  }
}
