// The doctor's check of prices: it requests the price in each currency of stores and active links,
// and names the sources that are left out.

import { neededCurrencies } from '../price/price-watch.ts';
import type { Prices } from '../price/prices.ts';
import type { Records } from '../store/open-records.ts';
import { type Check, type CheckResult, fail, ok, warn } from './doctor-check.ts';

export interface PriceChecksInput {
  /** Undefined if prices are off. */
  readonly prices: Prices | undefined;
  readonly records: Pick<Records, 'catalog' | 'linkView'> | undefined;
}

/** None without such a currency: no source is asked then. */
export function priceChecks({ prices, records }: PriceChecksInput): Check[] {
  if (records === undefined) return [];
  return [...neededCurrencies({ records, prices })].map((currency) => ({
    name: 'price',
    run: () =>
      prices === undefined
        ? fail(`prices are off (--price off), and links in ${currency} make no order`)
        : priceCheck(prices, currency),
  }));
}

async function priceCheck(prices: Prices, currency: string): Promise<CheckResult> {
  const { price, sources } = await prices.sourcedPrice(currency).catch(() => none);
  const faults = prices.faultsIn(currency);
  if (price === null) {
    const reason = faults === '' ? 'too few sources have it' : faults;
    return fail(
      `no price in ${currency}: ${reason}; name another source with --price-source, or ask for satoshis`,
    );
  }
  const text = `1 BTC is ${price.toFixed(2)} ${currency}, by ${sources.join(', ')}`;
  return faults === '' ? ok(text) : warn(`${text}; left out: ${faults}`);
}

const none = { price: null, sources: [] };
