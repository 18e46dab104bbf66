// Asks what a bitcoin costs when a payment was first seen, and writes it beside the payment. The ledger has
// noted the currency in the very commit that recorded the payment, so a restart forgets nothing; a payment for
// which no price could be had within ten minutes stays without one. Nobody waits for it: payments and
// callbacks are committed before, and no transaction is open while a source is asked.

import { reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Database } from '../store/db/database.ts';
import { type ReceiptPrices, receiptPriceMs } from '../store/records/receipt-prices.ts';
import type { Cancel, World } from '../world/world.ts';
import type { Prices } from './prices.ts';

export interface ReceiptPricerParts {
  readonly world: Pick<World, 'now' | 'schedule' | 'log'>;
  readonly database: Pick<Database, 'write'>;
  readonly receiptPrices: ReceiptPrices;
  readonly prices: Pick<Prices, 'price'>;
  /** Some have their price now; after the commit. */
  readonly onPriced: () => void;
}

/** Sources that failed are asked again once a minute (prices.ts); this is only how soon that is noticed. */
const everyQuarterMinute = '*/15 * * * * *';
const maxRowsPerWrite = 500;

export class ReceiptPricer {
  readonly #parts: ReceiptPricerParts;
  #cancelTick: Cancel = () => {};
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(parts: ReceiptPricerParts) {
    this.#parts = parts;
  }

  /** Also looks for what an earlier process left. */
  start(): void {
    this.#cancelTick = this.#parts.world.schedule(everyQuarterMinute, () => this.wake());
    this.wake();
  }

  /** There may be a payment that waits for a price. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Waits for what is being written. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTick();
    await this.#running;
  }

  async #run(): Promise<void> {
    // A commit may wake it a thousand times, and callbacks go out first: one look is enough for all.
    await nextTurn();
    while (this.#again && !this.#stopped) {
      this.#again = false;
      await this.#priceWaiting();
    }
    this.#running = undefined;
  }

  /** Never rejects: what has no price now is asked about again. */
  async #priceWaiting(): Promise<void> {
    const { world, receiptPrices } = this.#parts;
    try {
      const waiting = receiptPrices.waiting(this.#seenAfter());
      await Promise.all(waiting.map((currency) => this.#priceAll(currency)));
    } catch (error) {
      world.log.warn('prices of payments could not be kept', { reason: reasonOf(error) });
    }
  }

  async #priceAll(currency: string): Promise<void> {
    const { prices } = this.#parts;
    // Why a source is left out stands in the log by itself.
    const price = await prices.price(currency).catch(() => null);
    if (price !== null) await this.#write(currency, Math.round(price * 100));
  }

  async #write(currency: string, priceCents: number): Promise<void> {
    const { database, receiptPrices, onPriced } = this.#parts;
    const price = { currency, priceCents };
    for (let count = maxRowsPerWrite; count === maxRowsPerWrite && !this.#stopped; ) {
      count = await database.write((tx) =>
        receiptPrices.put(tx, this.#seenAfter(), price, maxRowsPerWrite),
      );
      if (count > 0) onPriced();
    }
  }

  #seenAfter(): number {
    return this.#parts.world.now() - receiptPriceMs;
  }
}
