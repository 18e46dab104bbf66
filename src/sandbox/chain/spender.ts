// Makes the transactions of the simulated chain: payments from the faucet, spends with a key that
// a test adds, replacements. It finds the coins; simulated-wallet.ts computes fees and signs.

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
  /** Whether it signals replaceability (BIP125), by default true. */
  readonly rbf?: boolean;
}

export interface PayOptions extends FeeOptions {
  /**
   * Coins to spend: confirmed ones, unconfirmed ones, or exactly these. The default is confirmed
   * coins, then unconfirmed ones if those do not suffice.
   */
  readonly inputs?: 'confirmed' | 'unconfirmed' | readonly Outpoint[];
}

export interface SpendOptions extends FeeOptions {
  /** Key of every output that is spent. */
  readonly privateKey: Uint8Array;
  /** Outputs besides the change, none by default. */
  readonly outputs?: readonly Recipient[];
  /** Script of the change, by default the faucet's. */
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
  /** Outputs and change script of each transaction, for replacements. */
  readonly #made = new Map<Txid, Pick<Spending, 'recipients' | 'change'>>();

  constructor(state: ChainState, wallet: SimulatedWallet) {
    this.#state = state;
    this.#wallet = wallet;
  }

  /** Pays from the faucet, by default with 10 sat/vB. */
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

  /** Spends the outputs with their owner's key, which is stored for replacements. */
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

  /** Same inputs, more of the faucet's if they do not suffice, and a sufficient fee. */
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
