// A simulated Bitcoin chain (regtest): real headers with their work done, real merkle trees, signed
// transactions, a mempool, reorganisations. Time and seed come from the caller, so that the same
// calls give the same chain, byte for byte. It talks to no network; server.ts does.

import { scriptToAddress } from '../../bitcoin/address.ts';
import type { BlockHash, Scripthash, Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import {
  coinsIn,
  type HistoryEntry,
  historyOf,
  type ScriptCoins,
} from '../electrum/history-results.ts';
import { ChainState } from './chain-state.ts';
import { type Reorganisation, type ReorganiseOptions, reorganise } from './reorganise.ts';
import { genesisBlock, merkleBranch, type SimulatedBlock } from './simulated-block.ts';
import type { Outpoint, SimulatedTransaction } from './simulated-transaction.ts';
import { SimulatedWallet } from './simulated-wallet.ts';
import {
  type FeeOptions,
  type PayOptions,
  type Recipient,
  Spender,
  type SpendOptions,
} from './spender.ts';

export interface ChainOptions {
  /** Everything that would be chance follows from it. */
  readonly seed: string;
  /** Epoch seconds, for the headers. */
  now(): number;
}

export interface MineOptions {
  /** What the first of the blocks takes in; 'all' (the default) is as much as fits, oldest first. */
  readonly include?: 'all' | 'none' | readonly Txid[];
  /** Script that the coinbases pay; the faucet's unless given. */
  readonly to?: Uint8Array;
}

export interface ChainChange {
  readonly tip: SimulatedBlock;
  /** Scripts whose history may have changed. */
  readonly scripthashes: ReadonlySet<Scripthash>;
}

/** Where a node has a transaction: nothing of it in the mempool, no confirmations in a block that left. */
export interface TransactionLocation {
  readonly blockhash?: BlockHash | undefined;
  readonly confirmations?: number;
}

export interface IndexedTransaction {
  readonly raw: Uint8Array;
  readonly location: TransactionLocation;
}

/** Virtual bytes that a block takes in; 1,000,000 less room for header and coinbase. */
const blockVsize = 990_000;
/** Outputs of one transaction that stocks the faucet. */
const stockOutputs = 2_000;

export class SimulatedChain {
  readonly #state: ChainState;
  readonly #wallet: SimulatedWallet;
  readonly #spender: Spender;
  readonly #listeners = new Set<(change: ChainChange) => void>();

  constructor({ seed, now }: ChainOptions) {
    this.#state = new ChainState(genesisBlock(networks.regtest.genesisHeader), now);
    this.#wallet = new SimulatedWallet(seed);
    this.#spender = new Spender(this.#state, this.#wallet);
  }

  get tipHeight(): number {
    return this.tip.height;
  }

  get tip(): SimulatedBlock {
    return this.#state.confirmed.tip;
  }

  /** Where the faucet keeps its coins; coinbases go there unless told otherwise. */
  get faucet(): {
    readonly script: Uint8Array;
    readonly address: string;
    readonly scripthash: Scripthash;
  } {
    const { script, scripthash } = this.#wallet;
    return { script, scripthash, address: scriptToAddress(script, networks.regtest) };
  }

  block(height: number): SimulatedBlock | undefined {
    return this.#state.confirmed.block(height);
  }

  /** The 80 bytes of a header on the best chain. */
  header(height: number): Uint8Array | undefined {
    return this.block(height)?.header;
  }

  /** A transaction of the best chain or the mempool. */
  transaction(txid: Txid): SimulatedTransaction | undefined {
    const { confirmed, mempool, known } = this.#state;
    return confirmed.positionOf(txid) || mempool.has(txid) ? known.get(txid) : undefined;
  }

  /** Bytes and place as a node with an index of transactions shows them; undefined where it knows none. */
  indexed(txid: Txid): IndexedTransaction | undefined {
    const { confirmed, mempool, known, disconnectedBlocks } = this.#state;
    const transaction = known.get(txid);
    const height = confirmed.positionOf(txid)?.height;
    if (transaction === undefined) return undefined;
    const { raw } = transaction;
    if (height !== undefined) {
      const blockhash = this.block(height)?.hash;
      return { raw, location: { blockhash, confirmations: this.tipHeight - height + 1 } };
    }
    if (mempool.has(txid)) return { raw, location: {} };
    const blockhash = disconnectedBlocks.get(txid);
    return blockhash && { raw, location: { blockhash, confirmations: 0 } };
  }

  /** Height of the block that has the transaction; undefined when none has it. */
  heightOf(txid: Txid): number | undefined {
    return this.#state.confirmed.positionOf(txid)?.height;
  }

  /** In order of arrival. */
  mempool(): SimulatedTransaction[] {
    return [...this.#state.mempool.values()];
  }

  history(scripthash: Scripthash): HistoryEntry[] {
    return historyOf(this.#state, scripthash);
  }

  /** Unspent outputs and balance of a script, the mempool taken into account. */
  coins(scripthash: Scripthash): ScriptCoins {
    return coinsIn(this.history(scripthash), scripthash, (txid) => this.transaction(txid));
  }

  /** Sum of all confirmed unspent outputs: what the blocks created, less what was burnt. */
  supplySat(): number {
    return this.#state.confirmed.totalSat();
  }

  /** Merkle branch of a transaction of that block, deepest pairing first. */
  branch(txid: Txid, height: number): { branch: string[]; position: number } | undefined {
    const place = this.#state.confirmed.positionOf(txid);
    const block = this.block(height);
    if (block === undefined || place?.height !== height) return undefined;
    return { branch: merkleBranch(block, place.position), position: place.position };
  }

  /** Tells of each change after it is complete. @returns stops it */
  onChange(listener: (change: ChainChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Mines blocks on the tip; the listeners hear of them once, at the end.
   * @throws PaygateError invalid when a named transaction or its parent is not there to be mined
   */
  mine(
    count = 1,
    { include = 'all', to = this.#wallet.script }: MineOptions = {},
  ): SimulatedBlock[] {
    const first = typeof include === 'string' ? [] : this.#findInMempool(include);
    return this.#notifying(() =>
      Array.from({ length: count }, (_, at) => {
        if (include === 'all') return this.#state.mineBlock(this.#transactionsThatFit(), to);
        return this.#state.mineBlock(at === 0 ? first : [], to);
      }),
    );
  }

  /** What another miner finds beside the next block: a side of a race for a server to show. The chain does not take it. */
  rival(include: 'all' | 'none', to: Uint8Array = this.#wallet.script): SimulatedBlock {
    return this.#state.assembleBlock(include === 'all' ? this.#transactionsThatFit() : [], to);
  }

  /**
   * Pays out of the faucet; the transaction is in the mempool then.
   * @throws PaygateError invalid when the coins do not suffice
   */
  pay(outputs: readonly Recipient[], options: PayOptions = {}): Txid {
    return this.#notifying(() => this.#spender.pay(outputs, options));
  }

  /** Spends all of the outputs with their owner's key, which is kept for a replacement. */
  spend(outpoints: readonly Outpoint[], options: SpendOptions): Txid {
    return this.#notifying(() => this.#spender.spend(outpoints, options));
  }

  /**
   * Replaces a transaction of the mempool by one with the same inputs and a higher fee, which pays
   * the same outputs unless told others; [] takes everything back. Its descendants leave with it.
   * @throws PaygateError not_found unless pay, spend or replace made it and it is unconfirmed
   */
  replace(txid: Txid, outputs?: readonly Recipient[], options: FeeOptions = {}): Txid {
    return this.#notifying(() => this.#spender.replace(txid, outputs, options));
  }

  /** Takes a transaction and its descendants out of the mempool. */
  evict(txid: Txid): void {
    const transaction = this.#state.mempool.get(txid);
    if (!transaction) throw new PaygateError('not_found', `not in the mempool: ${txid}`);
    this.#notifying(() => this.#state.evict([transaction]));
  }

  /**
   * Takes raw bytes into the mempool, by Bitcoin Core's rules.
   * @throws PaygateError invalid, with Bitcoin Core's words
   */
  broadcast(raw: Uint8Array): Txid {
    return this.#notifying(() => this.#state.accept(raw).txid);
  }

  /** Takes a transaction that was evicted or dropped into the mempool again. */
  rebroadcast(txid: Txid): Txid {
    const transaction = this.#state.known.get(txid);
    if (!transaction) throw new PaygateError('not_found', `never seen: ${txid}`);
    return this.broadcast(transaction.raw);
  }

  /** Replaces the top `depth` blocks by another branch; the listeners hear of it once. */
  reorganise(depth: number, options: ReorganiseOptions): Reorganisation {
    return this.#notifying(() => reorganise(this.#state, this.#wallet, depth, options));
  }

  /** Splits the faucet into `count` more confirmed coins, so that as many payments need no change. */
  stock(count: number, valueSat: number): void {
    for (let left = count; left > 0; left -= stockOutputs) {
      const output = { script: this.#wallet.script, valueSat };
      this.pay(new Array(Math.min(left, stockOutputs)).fill(output));
    }
    this.mine();
  }

  /** Makes a change and tells the listeners, once it is complete. */
  #notifying<T>(change: () => T): T {
    const result = change();
    const notification = { tip: this.tip, scripthashes: this.#state.takeTouchedScripts() };
    for (const listener of [...this.#listeners]) listener(notification);
    return result;
  }

  /** As much of the mempool as fits into a block; what does not fit holds back what came later. */
  #transactionsThatFit(): SimulatedTransaction[] {
    let room = blockVsize;
    const chosen: SimulatedTransaction[] = [];
    for (const transaction of this.#state.mempool.values()) {
      room -= transaction.vsize;
      if (room < 0) break;
      chosen.push(transaction);
    }
    return chosen;
  }

  #findInMempool(txids: readonly Txid[]): SimulatedTransaction[] {
    const wanted = new Set(txids);
    const chosen = this.mempool().filter(({ txid }) => wanted.delete(txid));
    const [missing] = wanted;
    if (missing) throw new PaygateError('invalid', `not in the mempool: ${missing}`);
    const before = new Set<Txid>();
    for (const transaction of chosen) {
      if (!this.#state.isMinable(transaction, before)) {
        throw new PaygateError('invalid', `its parent is unconfirmed: ${transaction.txid}`);
      }
      before.add(transaction.txid);
    }
    return chosen;
  }
}
