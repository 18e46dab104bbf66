// The confirmed chain and the mempool of the simulated node, changed together.
// It validates transactions. Rejections have Bitcoin Core's texts, because Electrum clients see
// them.

import type { BlockHash, Scripthash, Txid } from '../../bitcoin/ids.ts';
import { parseTransaction } from '../../bitcoin/transaction.ts';
import { coinbaseMaturity } from '../../domain/payment/payment.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { ConfirmedChain } from './confirmed-chain.ts';
import { Mempool } from './mempool.ts';
import { hasValidSignatures } from './signing.ts';
import { assembleBlock, type SimulatedBlock } from './simulated-block.ts';
import {
  type Coin,
  type Outpoint,
  readTransaction,
  type SimulatedTransaction,
  totalFeeSat,
} from './simulated-transaction.ts';

/** Lowest fee of each virtual byte, in satoshis, for relay and for a replacement. */
export const relayFeeRate = 1;

const reject = (reason: string): never => {
  throw new PaygateError('invalid', reason);
};

export class ChainState {
  readonly confirmed: ConfirmedChain;
  readonly mempool = new Mempool();
  /** Every transaction ever seen, also the replaced and dropped ones. */
  readonly known = new Map<Txid, SimulatedTransaction>();
  /** The disconnected block of each transaction: a node's transaction index never deletes it. */
  readonly disconnectedBlocks = new Map<Txid, BlockHash>();
  /** Scripts whose history changed since the last call of takeTouchedScripts. */
  #touched = new Set<Scripthash>();
  #extraNonce = 0;
  readonly #now: () => number;

  /** @param now epoch seconds */
  constructor(genesis: SimulatedBlock, now: () => number) {
    this.confirmed = new ConfirmedChain(genesis);
    this.#now = now;
  }

  takeTouchedScripts(): ReadonlySet<Scripthash> {
    const touched = this.#touched;
    this.#touched = new Set();
    return touched;
  }

  /** An output that exists, whether or not something in the mempool spends it. */
  coin(outpoint: Outpoint): Coin | undefined {
    return this.confirmed.coin(outpoint) ?? this.mempool.coin(outpoint);
  }

  isMature({ coinbase, height }: Coin): boolean {
    const next = this.confirmed.tip.height + 1;
    return !coinbase || (height !== undefined && next - height >= coinbaseMaturity);
  }

  /**
   * Adds a transaction to the mempool by Bitcoin Core's rules with full replacement. A transaction
   * that is already there stays unchanged.
   *
   * @param own it was signed here, so its signatures need no check
   * @throws PaygateError invalid, with Bitcoin Core's text as the reason
   */
  accept(raw: Uint8Array, own = false): SimulatedTransaction {
    const transaction = this.#validate(raw, own);
    if (this.mempool.has(transaction.txid)) return transaction;
    this.evict(this.#replaceable(transaction));
    this.mempool.add(transaction);
    this.known.set(transaction.txid, transaction);
    this.#touch(transaction);
    return transaction;
  }

  evict(transactions: Iterable<SimulatedTransaction>): SimulatedTransaction[] {
    const leaving = [...this.mempool.withDescendants(transactions)];
    for (const transaction of leaving) {
      this.mempool.remove(transaction);
      this.#touch(transaction);
    }
    return leaving;
  }

  /** Whether the next block can include it, after the transactions `before` it. */
  isMinable(transaction: SimulatedTransaction, before: ReadonlySet<Txid>): boolean {
    return transaction.inputs.every((input) => {
      const coin = this.confirmed.coin(input);
      return coin === undefined ? before.has(input.txid) : this.isMature(coin);
    });
  }

  /** Builds a block on the tip, a different one each time. It does not connect it. */
  assembleBlock(transactions: readonly SimulatedTransaction[], to: Uint8Array): SimulatedBlock {
    const { tip } = this.confirmed;
    return assembleBlock({
      height: tip.height + 1,
      previous: tip.hash,
      bits: new DataView(tip.header.buffer, tip.header.byteOffset).getUint32(72, true),
      time: Math.max(Math.floor(this.#now()), tip.time, this.confirmed.medianTime() + 1),
      transactions,
      to,
      extraNonce: this.#extraNonce++,
    });
  }

  /**
   * Mines a block of the transactions on the tip.
   * @param transactions minable, parents first, in conflict with nothing in the mempool
   */
  mineBlock(transactions: readonly SimulatedTransaction[], to: Uint8Array): SimulatedBlock {
    const block = this.assembleBlock(transactions, to);
    for (const transaction of transactions) {
      if (this.mempool.has(transaction.txid)) this.mempool.remove(transaction);
    }
    for (const transaction of transactions) {
      // The height that Electrum gives a child depends on whether its parent is confirmed.
      for (const child of this.mempool.children(transaction)) this.#touch(child);
    }
    this.confirmed.connect(block);
    for (const transaction of block.transactions) {
      this.known.set(transaction.txid, transaction);
      this.#touch(transaction);
    }
    return block;
  }

  /** Disconnects the tip, with an empty mempool. Its transactions are in no block afterwards. */
  disconnectTip(): SimulatedBlock {
    const block = this.confirmed.disconnect();
    for (const transaction of block.transactions) {
      this.#touch(transaction);
      this.disconnectedBlocks.set(transaction.txid, block.hash);
    }
    return block;
  }

  #touch(transaction: SimulatedTransaction): void {
    for (const scripthash of transaction.touches) this.#touched.add(scripthash);
  }

  /** Checks every rule except those of replacement. */
  #validate(raw: Uint8Array, own: boolean): SimulatedTransaction {
    const { txid, inputs, isCoinbase: coinbase } = this.#parse(raw);
    if (coinbase) reject('coinbase');
    const waiting = this.mempool.get(txid);
    if (waiting) return waiting;
    if (this.confirmed.positionOf(txid) !== undefined)
      reject('Transaction outputs already in utxo set');
    const spent = inputs.map(
      (input) => this.coin(input) ?? reject('bad-txns-inputs-missingorspent'),
    );
    const keys = new Set(spent.map(({ key }) => key));
    if (keys.size !== spent.length) reject('bad-txns-inputs-duplicate');
    if (!spent.every((coin) => this.isMature(coin))) {
      reject('bad-txns-premature-spend-of-coinbase');
    }
    const known = this.known.get(txid);
    const transaction = known ?? readTransaction(raw, spent);
    if (transaction.feeSat < 0) reject('bad-txns-in-belowout');
    if (transaction.feeSat < transaction.vsize * relayFeeRate) reject('min relay fee not met');
    if (!own && known === undefined && !hasValidSignatures(raw, spent)) {
      reject('mempool-script-verify-flag-failed (Signature must be valid)');
    }
    return transaction;
  }

  #parse(raw: Uint8Array) {
    try {
      return parseTransaction(raw);
    } catch (thrown) {
      throw new PaygateError('invalid', `TX decode failed: ${reasonOf(thrown)}`);
    }
  }

  /** Transactions that it replaces, by Core's rules (BIP125 without the signal). */
  #replaceable(transaction: SimulatedTransaction): Set<SimulatedTransaction> {
    const direct = this.mempool.conflicts(transaction.inputs);
    const replaced = this.mempool.withDescendants(direct);
    for (const old of replaced) {
      if (transaction.inputs.some(({ txid }) => txid === old.txid)) {
        reject('bad-txns-spends-conflicting-tx');
      }
    }
    const rate = ({ feeSat, vsize }: SimulatedTransaction) => feeSat / vsize;
    const needed = totalFeeSat(replaced) + transaction.vsize * relayFeeRate;
    for (const old of direct) {
      if (rate(transaction) <= rate(old) || transaction.feeSat < needed) {
        reject(`insufficient fee, rejecting replacement ${transaction.txid}`);
      }
    }
    return replaced;
  }
}
