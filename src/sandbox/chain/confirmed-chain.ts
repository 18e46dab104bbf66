// The blocks of the simulated chain from the genesis to the tip, their unspent coins, and the
// transactions that touch each script. It validates nothing: callers pass valid blocks.

import { medianTimePast } from '../../bitcoin/header.ts';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { medianTimeBlocks } from '../../domain/payment/chain.ts';
import type { SimulatedBlock } from './simulated-block.ts';
import { type Coin, coinAt, type Outpoint, outpointKey } from './simulated-transaction.ts';

/** The block of a mined transaction, and its position there. */
interface BlockPosition {
  readonly txid: Txid;
  readonly height: number;
  readonly position: number;
}

export class ConfirmedChain {
  readonly #blocks: SimulatedBlock[];
  /** Coins that each block spent, to restore them when it is disconnected. */
  readonly #spent: Coin[][] = [[]];
  readonly #coins = new Map<string, Coin>();
  readonly #coinsOf = new Map<Scripthash, Map<string, Coin>>();
  readonly #places = new Map<Txid, BlockPosition>();
  readonly #histories = new Map<Scripthash, BlockPosition[]>();

  constructor(genesis: SimulatedBlock) {
    this.#blocks = [genesis];
  }

  get tip(): SimulatedBlock {
    return this.#blocks.at(-1) as SimulatedBlock;
  }

  block(height: number): SimulatedBlock | undefined {
    return this.#blocks[height];
  }

  positionOf(txid: Txid): BlockPosition | undefined {
    return this.#places.get(txid);
  }

  /** Mined transactions that touch the script, oldest first. */
  history(scripthash: Scripthash): readonly BlockPosition[] {
    return this.#histories.get(scripthash) ?? [];
  }

  coin(outpoint: Outpoint): Coin | undefined {
    return this.#coins.get(outpointKey(outpoint));
  }

  /** Unspent outputs of a script, oldest first unless a reorganisation restored some. */
  coins(scripthash: Scripthash): Iterable<Coin> {
    return this.#coinsOf.get(scripthash)?.values() ?? [];
  }

  totalSat(): number {
    let total = 0;
    for (const coin of this.#coins.values()) total += coin.valueSat;
    return total;
  }

  /** Median of the last 11 block times; the next block must be later. */
  medianTime(): number {
    return medianTimePast(this.#blocks.slice(-medianTimeBlocks).map(({ time }) => time));
  }

  connect(block: SimulatedBlock): void {
    const spent: Coin[] = [];
    for (const [position, transaction] of block.transactions.entries()) {
      for (const input of transaction.inputs) {
        const coin = this.#coins.get(outpointKey(input));
        if (coin === undefined) throw new Error(`block spends what is not there: ${input.txid}`);
        this.#removeCoin(coin);
        spent.push(coin);
      }
      for (const vout of transaction.outputs.keys()) {
        const coin = coinAt(transaction, vout, block.height);
        if (coin !== undefined) this.#addCoin(coin);
      }
      const place = { txid: transaction.txid, height: block.height, position };
      this.#places.set(transaction.txid, place);
      for (const scripthash of transaction.touches) {
        const history = this.#histories.get(scripthash);
        if (history === undefined) this.#histories.set(scripthash, [place]);
        else history.push(place);
      }
    }
    this.#blocks.push(block);
    this.#spent.push(spent);
  }

  disconnect(): SimulatedBlock {
    const block = this.#blocks.pop() as SimulatedBlock;
    for (const transaction of block.transactions.toReversed()) {
      this.#places.delete(transaction.txid);
      for (const scripthash of transaction.touches) {
        const history = this.#histories.get(scripthash);
        history?.pop();
        if (history?.length === 0) this.#histories.delete(scripthash);
      }
      for (const vout of transaction.outputs.keys()) {
        const coin = this.#coins.get(outpointKey({ txid: transaction.txid, vout }));
        if (coin !== undefined) this.#removeCoin(coin);
      }
    }
    for (const coin of this.#spent.pop() ?? []) {
      // A coin that the block itself created ends with it.
      if (coin.height !== block.height) this.#addCoin(coin);
    }
    return block;
  }

  #addCoin(coin: Coin): void {
    const { key } = coin;
    this.#coins.set(key, coin);
    const coins = this.#coinsOf.get(coin.scripthash);
    if (coins === undefined) this.#coinsOf.set(coin.scripthash, new Map([[key, coin]]));
    else coins.set(key, coin);
  }

  #removeCoin(coin: Coin): void {
    const { key } = coin;
    this.#coins.delete(key);
    const coins = this.#coinsOf.get(coin.scripthash);
    coins?.delete(key);
    if (coins?.size === 0) this.#coinsOf.delete(coin.scripthash);
  }
}
