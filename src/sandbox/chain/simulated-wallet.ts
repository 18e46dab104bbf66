// The keys of the simulated chain, and coin selection, fee and change of a transaction.
// The faucet's own key is p2wpkh and derived from the seed; tests add further keys.

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { pubECDSA } from '@scure/btc-signer/utils.js';
import { scriptForKey, scripthash } from '../../bitcoin/address.ts';
import type { Scripthash } from '../../bitcoin/ids.ts';
import { PaygateError } from '../../lib/errors.ts';
import { relayFeeRate } from './chain-state.ts';
import { estimateVsize, type Signer, signerOf, signTransaction } from './signing.ts';
import { type Coin, type TransactionOutput, totalSat } from './simulated-transaction.ts';

/** Inputs, fee and change of a transaction follow from these. */
export interface Spending {
  /** Candidates in order of use; only as many as needed are spent. */
  readonly coins: Iterable<Coin>;
  readonly mustSpend: number;
  readonly recipients: readonly TransactionOutput[];
  readonly change: Uint8Array;
  /** Satoshi for each virtual byte. */
  readonly feeRate: number;
  /** Fees of the transactions that it replaces: it pays at least these plus its own relay fee. */
  readonly replacedFeeSat: number;
  /** Whether it signals that it can be replaced (BIP125). */
  readonly replaceable: boolean;
}

/** Change below this goes to the miner. */
const dustSat = 330;

export class SimulatedWallet {
  readonly script: Uint8Array;
  readonly scripthash: Scripthash;
  readonly #signers = new Map<Scripthash, Signer>();

  constructor(seed: string) {
    const privateKey = sha256(utf8ToBytes(`paygate sandbox faucet ${seed}`));
    this.script = scriptForKey(pubECDSA(privateKey), 'p2wpkh');
    this.scripthash = scripthash(this.script);
    this.addKey(privateKey, this.script);
  }

  /**
   * Adds a key for the script, so that the chain can spend, replace and double-spend with it.
   *
   * @throws PaygateError invalid when the key does not own the script
   */
  addKey(privateKey: Uint8Array, script: Uint8Array): void {
    this.#signers.set(scripthash(script), signerOf(privateKey, script));
  }

  /**
   * Raw bytes of the signed transaction.
   * @throws PaygateError invalid when the coins do not suffice or a key is missing
   */
  spend(spending: Spending): Uint8Array {
    const coins: Coin[] = [];
    const signers: Signer[] = [];
    for (const coin of spending.coins) {
      const signer = this.#signers.get(coin.scripthash);
      if (!signer) throw new PaygateError('invalid', `no key for ${coin.key}`);
      coins.push(coin);
      signers.push(signer);
      if (coins.length < spending.mustSpend) continue;
      const outputs = balance(spending, totalSat(coins), signers);
      if (outputs) return signTransaction(coins, signers, outputs, spending.replaceable);
    }
    throw new PaygateError('invalid', 'the coins do not suffice: mine until more are mature');
  }
}

/** Outputs with the change last, or undefined when the inputs cover no output and the fee. */
function balance(
  { recipients, change, feeRate, replacedFeeSat }: Spending,
  inputsSat: number,
  signers: readonly Signer[],
): readonly TransactionOutput[] | undefined {
  const feeSat = (outputs: readonly TransactionOutput[]): number => {
    const vsize = estimateVsize(signers, outputs);
    return Math.max(Math.ceil(vsize * feeRate), replacedFeeSat + vsize * relayFeeRate);
  };
  const leftSat = inputsSat - totalSat(recipients);
  const changeSat = leftSat - feeSat([...recipients, { script: change, valueSat: 0 }]);
  if (changeSat >= dustSat) return [...recipients, { script: change, valueSat: changeSat }];
  return recipients.length > 0 && leftSat >= feeSat(recipients) ? recipients : undefined;
}
