// A simulated Bitcoin chain (regtest): headers with valid proof of work, merkle trees, signed
// transactions, a mempool, reorganisations. Time and seed come from the caller, so the same calls
// give the same chain, byte for byte. It uses no network; electrum/simulated-server.ts does.

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
  /** Seed of everything that would be random. */
  readonly seed: string;
  /** Epoch seconds, for the headers. */
  now(): number;
}

export interface MineOptions {
  /** Transactions of the first block; 'all' (the default) is as many as fit, oldest first. */
  readonly include?: 'all' | 'none' | readonly Txid[];
  /** Script that the coinbases pay, by default the faucet's. */
  readonly to?: Uint8Array;
}

export interface ChainChange {
  readonly tip: SimulatedBlock;
  /** Scripts whose history may have changed. */
  readonly scripthashes: ReadonlySet<Scripthash>;
}

/** Block of a transaction: none in the mempool, 0 confirmations in a disconnected block. */
export interface TransactionLocation {
  readonly blockhash?: BlockHash | undefined;
  readonly confirmations?: number;
}

export interface IndexedTransaction {
  readonly raw: Uint8Array;
  readonly location: TransactionLocation;
}

/** Virtual bytes of a block's transactions: 1,000,000 less header and coinbase. */
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

  /** The faucet's script. Coinbases pay it by default. */
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

  header(height: number): Uint8Array | undefined {
    return this.block(height)?.header;
  }

  /** A transaction of the best chain or the mempool. */
  transaction(txid: Txid): SimulatedTransaction | undefined {
    const { confirmed, mempool, known } = this.#state;
    return confirmed.positionOf(txid) || mempool.has(txid) ? known.get(txid) : undefined;
  }

  /** Bytes and block, as a node with a transaction index has them; undefined if unknown. */
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

  /** Sum of all confirmed unspent outputs: coins created by blocks, less those burnt. */
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

  /** Calls the listener after each change. @returns unsubscribes */
  onChange(listener: (change: ChainChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Mines blocks on the tip. The listeners are called once, at the end.
   * @throws PaygateError invalid when a transaction is not in the mempool or its parent comes later
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

  /**
   * A competing block of another miner, of the height of the next block. A server may serve it. The
   * chain does not connect it.
   */
  rival(include: 'all' | 'none', to: Uint8Array = this.#wallet.script): SimulatedBlock {
    return this.#state.assembleBlock(include === 'all' ? this.#transactionsThatFit() : [], to);
  }

  /**
   * Pays from the faucet and adds the transaction to the mempool.
   * @throws PaygateError invalid when the coins do not suffice
   */
  pay(outputs: readonly Recipient[], options: PayOptions = {}): Txid {
    return this.#notifying(() => this.#spender.pay(outputs, options));
  }

  /** Spends the outputs with their owner's key, which is stored for a replacement. */
  spend(outpoints: readonly Outpoint[], options: SpendOptions): Txid {
    return this.#notifying(() => this.#spender.spend(outpoints, options));
  }

  /**
   * Replaces a transaction of the mempool by one with the same inputs and a higher fee. It pays the
   * same outputs by default. With [], all of it returns to the sender. Descendants are evicted.
   * @throws PaygateError not_found unless pay, spend or replace made it and it is unconfirmed
   */
  replace(txid: Txid, outputs?: readonly Recipient[], options: FeeOptions = {}): Txid {
    return this.#notifying(() => this.#spender.replace(txid, outputs, options));
  }

  evict(txid: Txid): void {
    const transaction = this.#state.mempool.get(txid);
    if (!transaction) throw new PaygateError('not_found', `not in the mempool: ${txid}`);
    this.#notifying(() => this.#state.evict([transaction]));
  }

  /**
   * Adds a raw transaction to the mempool, by Bitcoin Core's rules.
   * @throws PaygateError invalid, with Bitcoin Core's text
   */
  broadcast(raw: Uint8Array): Txid {
    return this.#notifying(() => this.#state.accept(raw).txid);
  }

  rebroadcast(txid: Txid): Txid {
    const transaction = this.#state.known.get(txid);
    if (!transaction) throw new PaygateError('not_found', `never seen: ${txid}`);
    return this.broadcast(transaction.raw);
  }

  /** Replaces the top `depth` blocks by another branch. The listeners are called once. */
  reorganise(depth: number, options: ReorganiseOptions): Reorganisation {
    return this.#notifying(() => reorganise(this.#state, this.#wallet, depth, options));
  }

  /** Gives the faucet `count` more confirmed coins, so that as many payments need no change. */
  stock(count: number, valueSat: number): void {
    for (let left = count; left > 0; left -= stockOutputs) {
      const output = { script: this.#wallet.script, valueSat };
      this.pay(new Array(Math.min(left, stockOutputs)).fill(output));
    }
    this.mine();
  }

  #notifying<T>(change: () => T): T {
    const result = change();
    const notification = { tip: this.tip, scripthashes: this.#state.takeTouchedScripts() };
    for (const listener of [...this.#listeners]) listener(notification);
    return result;
  }

  /** Oldest transactions of the mempool that fit into a block, up to the first that does not. */
  #transactionsThatFit(): SimulatedTransaction[] {
    let freeVsize = blockVsize;
    const chosen: SimulatedTransaction[] = [];
    for (const transaction of this.#state.mempool.values()) {
      freeVsize -= transaction.vsize;
      if (freeVsize < 0) break;
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
