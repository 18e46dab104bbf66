// Makes the transactions of the simulated chain: payments out of the faucet, spends with a key that
// a test lends, replacements. It finds the coins; simulated-wallet.ts does the sums and signs.

import { addressToScript } from '../../bitcoin/address.ts';
import type { Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { ChainState } from './chain-state.ts';
import {
  type Coin,
  type Outpoint,
  type TransactionOutput,
  totalFeeSat,
} from './simulated-transaction.ts';
import type { SimulatedWallet, Spending } from './simulated-wallet.ts';

export type Recipient = TransactionOutput | { readonly address: string; readonly valueSat: number };

export interface FeeOptions {
  /** Satoshi for each virtual byte. */
  readonly feeRate?: number;
  /** Whether it signals that it can be replaced (BIP125); it does unless false. */
  readonly rbf?: boolean;
}

export interface PayOptions extends FeeOptions {
  /**
   * Which coins it spends: confirmed ones alone, unconfirmed ones alone, exactly those named, or
   * (unless given) confirmed ones and, if they do not suffice, unconfirmed ones too.
   */
  readonly inputs?: 'confirmed' | 'unconfirmed' | readonly Outpoint[];
}

export interface SpendOptions extends FeeOptions {
  /** Owns every output that is spent. */
  readonly privateKey: Uint8Array;
  /** What it pays; nothing unless given. */
  readonly outputs?: readonly Recipient[];
  /** Script that the rest goes to; the faucet's unless given. */
  readonly change?: Uint8Array;
}

const defaultFeeRate = 10;

function toOutput(payment: Recipient): TransactionOutput {
  if ('script' in payment) return payment;
  const { address, valueSat } = payment;
  return { script: addressToScript(address, networks.regtest), valueSat };
}

export class Spender {
  readonly #state: ChainState;
  readonly #wallet: SimulatedWallet;
  /** What each transaction made here pays besides its change, for replacements. */
  readonly #made = new Map<Txid, Pick<Spending, 'recipients' | 'change'>>();

  constructor(state: ChainState, wallet: SimulatedWallet) {
    this.#state = state;
    this.#wallet = wallet;
  }

  /** Pays out of the faucet, 10 sat a virtual byte unless told otherwise. */
  pay(outputs: readonly Recipient[], { inputs, feeRate, rbf = true }: PayOptions): Txid {
    const coins = typeof inputs === 'object' ? this.#coins(inputs) : this.#faucetCoins(inputs);
    return this.#send({
      coins,
      mustSpend: Array.isArray(coins) ? coins.length : 0,
      recipients: outputs.map(toOutput),
      change: this.#wallet.script,
      feeRate: feeRate ?? defaultFeeRate,
      replacedFeeSat: 0,
      replaceable: rbf,
    });
  }

  /** Spends all of the outputs with their owner's key, and keeps the key for replacements. */
  spend(outpoints: readonly Outpoint[], options: SpendOptions): Txid {
    const coins = this.#coins(outpoints);
    for (const { script } of coins) this.#wallet.addKey(options.privateKey, script);
    return this.#send({
      coins,
      mustSpend: coins.length,
      recipients: (options.outputs ?? []).map(toOutput),
      change: options.change ?? this.#wallet.script,
      feeRate: options.feeRate ?? defaultFeeRate,
      replacedFeeSat: 0,
      replaceable: options.rbf ?? true,
    });
  }

  /** The same inputs, more of the faucet's if they do not cover it, and a fee that is high enough. */
  replace(txid: Txid, outputs: readonly Recipient[] | undefined, options: FeeOptions): Txid {
    const { mempool } = this.#state;
    const old = mempool.get(txid);
    const made = this.#made.get(txid);
    if (!old || !made) throw new PaygateError('not_found', `nothing to replace: ${txid}`);
    return this.#send({
      coins: [...this.#coins(old.inputs), ...this.#faucetCoins('confirmed')],
      mustSpend: old.inputs.length,
      recipients: outputs?.map(toOutput) ?? made.recipients,
      change: made.change,
      feeRate: Math.max(options.feeRate ?? 0, old.feeSat / old.vsize + 1),
      replacedFeeSat: totalFeeSat(mempool.withDescendants([old])),
      replaceable: options.rbf ?? true,
    });
  }

  #send(spending: Spending): Txid {
    const { txid } = this.#state.accept(this.#wallet.spend(spending), true);
    const { recipients, change } = spending;
    this.#made.set(txid, { recipients, change });
    return txid;
  }

  #coins(outpoints: readonly Outpoint[]): Coin[] {
    return outpoints.map((outpoint) => {
      const coin = this.#state.coin(outpoint);
      if (coin) return coin;
      throw new PaygateError('not_found', `no such output: ${outpoint.txid}:${outpoint.vout}`);
    });
  }

  *#faucetCoins(from: 'confirmed' | 'unconfirmed' | undefined): Iterable<Coin> {
    const { confirmed, mempool } = this.#state;
    const { scripthash } = this.#wallet;
    if (from !== 'unconfirmed') {
      for (const coin of confirmed.coins(scripthash)) {
        if (!mempool.spends(coin) && this.#state.isMature(coin)) yield coin;
      }
    }
    if (from === 'confirmed') return;
    for (const { txid, outputs } of mempool.touching(scripthash)) {
      for (const vout of outputs.keys()) {
        const coin = mempool.coin({ txid, vout });
        if (coin?.scripthash === scripthash && !mempool.spends(coin)) yield coin;
      }
    }
  }
}
