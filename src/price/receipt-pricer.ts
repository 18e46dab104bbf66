// Adds the price of a bitcoin at receipt to each payment, after its commit. The ledger stores the
// currency with the payment, so a restart forgets none. After ten minutes without an answer, a
// payment stays without a price. A payment that was found after a downtime has the price of then.
// Payments and callbacks never wait for it, and no transaction is open during a request.

import { priceCentsOf } from '../domain/payment/money.ts';
import { reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { StoreEvents } from '../store/db/store-events.ts';
import type { Database } from '../store/file/database.ts';
import {
  type ReceiptPrice,
  type ReceiptPrices,
  receiptPriceMs,
} from '../store/orders/receipt-prices.ts';
import type { Cancel, World } from '../world/world.ts';
import type { Prices, SourcedPrice } from './prices.ts';

export interface ReceiptPricerParts {
  readonly world: Pick<World, 'now' | 'schedule' | 'log'>;
  readonly database: Pick<Database, 'write'>;
  readonly receiptPrices: ReceiptPrices;
  readonly prices: Pick<Prices, 'sourcedPrice'>;
  readonly events: StoreEvents;
}

/** prices.ts limits requests to failed sources to one a minute. */
const everyQuarterMinute = '*/15 * * * * *';
const maxRowsPerWrite = 500;
const noPrice: SourcedPrice = { price: null, sources: [] };

export class ReceiptPricer {
  readonly #parts: ReceiptPricerParts;
  #cancelTick: Cancel = () => {};
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(parts: ReceiptPricerParts) {
    this.#parts = parts;
  }

  /** Also prices the payments that an earlier process left. */
  start(): void {
    this.#cancelTick = this.#parts.world.schedule(everyQuarterMinute, () => this.wake());
    this.wake();
  }

  /** A payment may wait for a price. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Waits for the current write. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTick();
    await this.#running;
  }

  async #run(): Promise<void> {
    // A commit may wake it a thousand times: one query serves all. Callbacks go out first.
    await nextTurn();
    while (this.#again && !this.#stopped) {
      this.#again = false;
      await this.#priceWaiting();
    }
    this.#running = undefined;
  }

  /** Never rejects: the next tick repeats what failed. */
  async #priceWaiting(): Promise<void> {
    const { world, receiptPrices } = this.#parts;
    try {
      const waiting = receiptPrices.waiting(this.#recordedAfter());
      await Promise.all(waiting.map((currency) => this.#priceAll(currency)));
    } catch (error) {
      world.log.warn('prices of payments could not be stored', { reason: reasonOf(error) });
    }
  }

  async #priceAll(currency: string): Promise<void> {
    const { prices } = this.#parts;
    // prices.ts logs why a source is excluded.
    const { price, sources } = await prices.sourcedPrice(currency).catch(() => noPrice);
    if (price !== null) await this.#write({ currency, priceCents: priceCentsOf(price), sources });
  }

  async #write(price: ReceiptPrice): Promise<void> {
    const { database, receiptPrices, events, world } = this.#parts;
    for (let count = maxRowsPerWrite; count === maxRowsPerWrite && !this.#stopped; ) {
      count = await database.write((tx) =>
        receiptPrices.put(tx, world.now(), this.#recordedAfter(), price, maxRowsPerWrite),
      );
      if (count > 0) events.emit('pricesStored');
    }
  }

  #recordedAfter(): number {
    return this.#parts.world.now() - receiptPriceMs;
  }
}
