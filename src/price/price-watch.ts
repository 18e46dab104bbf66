// Which currencies have no price although orders need one. Prices are requested on demand, so an
// outage shows when an order is refused. From then on the price is requested each minute, so its
// end shows too. The currencies of stores and links are requested every ten minutes.

import { reasonOf } from '../lib/errors.ts';
import { dayMs, minuteMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { Cancel, World } from '../world/world.ts';
import type { Prices } from './prices.ts';

export interface PriceWatchParts {
  readonly world: Pick<World, 'schedule' | 'now' | 'log'>;
  readonly records: Pick<Records, 'catalog' | 'linkView'>;
  /** Undefined if prices are off. */
  readonly prices: Pick<Prices, 'price' | 'rateCents' | 'refusals'> | undefined;
}

export interface MissingPrice {
  readonly currency: string;
  readonly reason: string;
}

const everyMinute = '0 * * * * *';
const everyTenMinutes = '0 */10 * * * *';
/** For other currencies, an order that was refused counts for this time. */
const refusedShownMs = dayMs;

/** The currencies of active links of running stores, and, with prices, of these stores. */
export function neededCurrencies({
  records: { catalog, linkView },
  prices,
}: Pick<PriceWatchParts, 'records'> & { readonly prices: unknown }): Set<string> {
  const running = catalog.stores();
  const ids = new Set(running.map(({ id }) => id));
  const linked = linkView.activeCurrencies().filter(({ storeId }) => ids.has(storeId));
  const own = prices === undefined ? [] : running;
  return new Set([...own, ...linked].flatMap(({ currency }) => currency ?? []));
}

export class PriceWatch {
  readonly #parts: PriceWatchParts;
  #cancels: readonly Cancel[] = [];

  constructor(parts: PriceWatchParts) {
    this.#parts = parts;
  }

  start(): void {
    const { world, prices } = this.#parts;
    if (prices === undefined) return;
    const askMissing = () =>
      void this.#ask(prices, () => this.missing().map(({ currency }) => currency));
    const askNeeded = () => void this.#ask(prices, () => neededCurrencies(this.#parts));
    this.#cancels = [
      world.schedule(everyMinute, askMissing),
      world.schedule(everyTenMinutes, askNeeded),
    ];
    askNeeded();
  }

  /** `Prices.stop` ends the requests. */
  stop(): void {
    for (const cancel of this.#cancels) cancel();
  }

  /** What orders lack at this moment, by currency. Sends no request. */
  missing(): readonly MissingPrice[] {
    const { prices, world } = this.#parts;
    const needed = neededCurrencies(this.#parts);
    if (prices === undefined) {
      const reason = 'prices are switched off (--price off), and a link has this currency';
      return [...needed].map((currency) => ({ currency, reason }));
    }
    return prices
      .refusals()
      .filter(
        ({ currency, isUnknown, at }) =>
          needed.has(currency) || (!isUnknown && world.now() - at < refusedShownMs),
      );
  }

  /** Never rejects. prices.ts logs why a source is left out. */
  async #ask(
    prices: Pick<Prices, 'price' | 'rateCents'>,
    choose: () => Iterable<string>,
  ): Promise<void> {
    const { world } = this.#parts;
    try {
      const needed = neededCurrencies(this.#parts);
      const requests = [...choose()].map((currency) =>
        needed.has(currency) ? prices.rateCents(currency) : prices.price(currency, minuteMs),
      );
      await Promise.allSettled(requests);
    } catch (error) {
      world.log.warn('missing prices could not be requested', { reason: reasonOf(error) });
    }
  }
}
