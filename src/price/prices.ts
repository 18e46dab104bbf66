// The price of a bitcoin: the median of several sources, requested only on demand and cached for a
// minute. A source that is down, absurd or far from the others is excluded; the log says so when
// that changes. Without a new price, the last one is served until it is ten minutes old.

import { currencyCodes, isCurrency } from '../domain/payment/currency.ts';
import { priceCentsOf } from '../domain/payment/money.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import { minuteMs, secondMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';
import { agree, type SourceQuote } from './consensus.ts';
import {
  builtInSources,
  fetchJson,
  hasAllCurrencies,
  type PriceSource,
  readPrice,
  SourceFault,
  sourceUrl,
} from './sources.ts';

export interface Currency {
  /** ISO 4217. */
  readonly code: string;
  readonly name: string;
}

export interface SourcePrice {
  readonly currency: string;
  /** Undefined if the source has none. */
  readonly price: number | undefined;
  /** Why the source was excluded; undefined if it counted. */
  readonly fault: string | undefined;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface SourceStatus {
  readonly source: string;
  /** Sorted by currency. Empty before the first request. */
  readonly prices: readonly SourcePrice[];
}

export interface PricesOptions {
  readonly world: World;
  readonly sources: readonly PriceSource[];
}

/** A price is served from the cache for this time. */
const freshMs = minuteMs;
/** A price is served for this time when no new one can be had. */
const maxAgeMs = 10 * minuteMs;
/** The longest `Retry-After` that a source may ask for. */
const maxPauseMs = maxAgeMs;
/** A single source could answer anything. A merchant who configures only one trusts it. */
const maxQuorum = 2;

/** Takes 10 ms, so not at the start. */
const names = lazy(() => new Intl.DisplayNames('en', { type: 'currency' }));

const nameOf = (code: string): string => names().of(code) ?? code;

/** The cached answer of a source. Times are those of `createAge`. */
interface SourceAnswer {
  readonly at: number;
  /** The next request may go out then. */
  readonly until: number;
  readonly json?: unknown;
  readonly fault?: string;
}

/** The price of one bitcoin, to the cent. */
export interface SourcedPrice {
  /** Null if too few sources have the currency. */
  readonly price: number | null;
  /** Hosts of the sources behind the price, in the order of the alphabet. */
  readonly sources: readonly string[];
}

export interface PriceRefusal {
  readonly currency: string;
  /** The faults of the sources. */
  readonly reason: string;
  /** Too few sources have the currency, although enough answer. */
  readonly isUnknown: boolean;
  /** Epoch milliseconds. */
  readonly at: number;
}

interface CachedPrice extends SourcedPrice {
  /** The request time of the oldest answer behind this price. */
  readonly at: number;
}

export interface PriceChoice {
  /** `own` asks only the sources that are named. */
  readonly price?: 'on' | 'off' | 'own' | undefined;
  readonly priceSource?: readonly PriceSource[] | undefined;
}

/** Undefined if prices are off. @throws PaygateError invalid when no source is named */
export function pricesFor(
  { price = 'off', priceSource = [] }: PriceChoice,
  world: World,
): Prices | undefined {
  if (price === 'off') return undefined;
  if (price === 'own' && priceSource.length === 0) {
    throw new PaygateError('invalid', '--price own: name a source with --price-source');
  }
  const sources = price === 'own' ? priceSource : [...builtInSources, ...priceSource];
  return new Prices({ world, sources });
}

export class Prices {
  readonly #world: World;
  readonly #age: () => number;
  readonly #sources: readonly PriceSource[];
  readonly #quorum: number;
  readonly #stopping = new AbortController();
  /** By URL. Concurrent callers share one request. */
  readonly #answers = new Map<string, { until: number; answer: Promise<SourceAnswer> }>();
  /** By currency. */
  readonly #prices = new Map<string, CachedPrice>();
  #currencies: { readonly at: number; readonly list: Currency[] } | undefined;
  /** Why a source is excluded, by source and currency. */
  readonly #faults = new Map<string, string>();
  /** By currency. A price that is found ends its refusal. */
  readonly #refusals = new Map<string, Pick<PriceRefusal, 'isUnknown' | 'at'>>();
  /** By source and currency. Both are fixed lists, so the map is bounded. */
  readonly #sourcePrices = new Map<PriceSource, Map<string, SourcePrice>>();

  constructor({ world, sources }: PricesOptions) {
    this.#world = world;
    this.#age = createAge(world);
    this.#sources = sources;
    this.#quorum = Math.min(maxQuorum, countSources(sources));
  }

  /**
   * The price of one bitcoin, to the cent. Null for a currency that too few sources have.
   * @param text an ISO 4217 code, or BTC
   * @param maxMs the age up to which the last price is served when no new one can be had
   * @throws PaygateError unavailable without a fresh price
   */
  async price(text: string, maxMs = maxAgeMs): Promise<number | null> {
    return (await this.sourcedPrice(text, maxMs)).price;
  }

  /** As `price`, with the sources behind it. @throws PaygateError unavailable */
  async sourcedPrice(text: string, maxMs = maxAgeMs): Promise<SourcedPrice> {
    const currency = text.toUpperCase();
    if (currency === 'BTC') return { price: 1, sources: [] };
    if (!isCurrency(currency)) return { price: null, sources: [] };
    const cached = this.#prices.get(currency);
    if (cached !== undefined && this.#age() - cached.at < freshMs) return cached;
    const found = await this.#find(currency, this.#sources, true);
    if (typeof found === 'object') {
      this.#prices.set(currency, found);
      this.#refusals.delete(currency);
      return found;
    }
    if (cached !== undefined && this.#age() - cached.at < maxMs) return cached;
    // Everybody may ask for any currency, so a dispute about one is no news. An outage is.
    if (found === 'outage') this.#refuse(currency, false);
    throw unavailable();
  }

  /**
   * The price of one bitcoin for a promise: in hundredths of the currency, at most a minute old.
   * See docs/decisions/046.
   * Null for a currency that too few sources have.
   * @throws PaygateError unavailable without such a price
   */
  async rateCents(currency: string): Promise<number | null> {
    try {
      const price = await this.price(currency, freshMs);
      if (price !== null) return priceCentsOf(price);
    } catch (error) {
      this.#refuse(currency, false);
      throw error;
    }
    this.#refuse(currency, true);
    return null;
  }

  /** The currencies that have no price since an order was refused. Sends no request. */
  refusals(): PriceRefusal[] {
    return [...this.#refusals].map(([currency, refusal]) => ({
      currency,
      ...refusal,
      reason: refusal.isUnknown ? 'too few sources have it' : this.faultsIn(currency),
    }));
  }

  #refuse(currency: string, isUnknown: boolean): void {
    this.#refusals.set(currency, { isUnknown, at: this.#world.now() });
  }

  /** Why the first three sources without a price are left out. Empty if none is. */
  faultsIn(currency: string): string {
    const faults = this.status().flatMap(({ source, prices }) =>
      prices.flatMap((each) =>
        each.currency === currency && each.fault !== undefined ? `${source}: ${each.fault}` : [],
      ),
    );
    return faults.slice(0, 3).join('; ');
  }

  /** The currencies that have a price, cached like a price. @throws PaygateError unavailable */
  async currencies(): Promise<Currency[]> {
    const cached = this.#currencies;
    if (cached !== undefined && this.#age() - cached.at < freshMs) return cached.list;
    const found = await this.#findAll();
    if (found.length > 0) {
      const list = found.map(({ code }) => ({ code, name: nameOf(code) }));
      this.#currencies = { at: Math.min(...found.map(({ at }) => at)), list };
      return list;
    }
    if (cached !== undefined && this.#age() - cached.at < maxAgeMs) return cached.list;
    throw unavailable();
  }

  /** The currencies that have a price, and when it was requested. */
  async #findAll(): Promise<{ readonly code: string; readonly at: number }[]> {
    const sources = this.#sources.filter(hasAllCurrencies);
    const found = await Promise.all(
      currencyCodes.map(async (code) => ({ code, found: await this.#find(code, sources, false) })),
    );
    return found.flatMap(({ code, found }) =>
      typeof found === 'object' && found.price !== null ? [{ code, at: found.at }] : [],
    );
  }

  /** The latest price of each source. Sends no request. */
  status(): SourceStatus[] {
    return this.#sources.map((source) => {
      const prices = [...(this.#sourcePrices.get(source)?.values() ?? [])];
      prices.sort((one, other) => (one.currency < other.currency ? -1 : 1));
      return { source: source.label, prices };
    });
  }

  stop(): void {
    this.#stopping.abort(new SourceFault('paygate is stopping'));
  }

  /**
   * `outage` if too few sources answer, `dispute` if too few agree.
   * @param logs whether excluded sources are logged and shown in `status`
   */
  async #find(
    currency: string,
    sources: readonly PriceSource[],
    logs: boolean,
  ): Promise<CachedPrice | 'outage' | 'dispute'> {
    const answers = await Promise.all(
      sources.map(async (source) => ({ source, ...(await this.#ask(source, currency)) })),
    );
    const faults = new Map<string, string>();
    const quotes: SourceQuote[] = [];
    for (const { source, json, fault } of answers) {
      const price = readPrice(source, currency, json);
      if (fault !== undefined) faults.set(source.label, fault);
      else if (Number.isNaN(price)) faults.set(source.label, 'its value is not a price');
      else if (price !== undefined) quotes.push({ label: source.label, price });
    }
    const hasFailed = faults.size > 0;
    const { price, counted, excluded, isPair } = agree(quotes, this.#quorum);
    const why =
      isPair && price === undefined
        ? 'no two answers agree within 1 %'
        : 'more than 5 % off the median';
    for (const label of excluded) faults.set(label, why);
    if (logs) {
      for (const { source, json } of answers) {
        this.#logFault(source.label, currency, faults.get(source.label));
        this.#remember(source, currency, readPrice(source, currency, json), faults);
      }
    }
    const at = Math.min(...answers.map((answer) => answer.at));
    if (price !== undefined) return { at, price, sources: counted };
    if (hasFailed || countSources(quotes) >= this.#quorum) {
      const answering = answers.flatMap(({ source, fault }) => (fault === undefined ? source : []));
      return countSources(answering) < this.#quorum ? 'outage' : 'dispute';
    }
    return { at, price: null, sources: [] };
  }

  #remember(
    source: PriceSource,
    currency: string,
    price: number | undefined,
    faults: ReadonlyMap<string, string>,
  ): void {
    const byCurrency = this.#sourcePrices.get(source) ?? new Map<string, SourcePrice>();
    this.#sourcePrices.set(source, byCurrency);
    byCurrency.set(currency, {
      currency,
      price: Number.isNaN(price) ? undefined : price,
      fault: faults.get(source.label),
      at: this.#world.now(),
    });
  }

  #ask(source: PriceSource, currency: string): Promise<SourceAnswer> {
    const url = sourceUrl(source, currency);
    const now = this.#age();
    const asked = this.#answers.get(url);
    if (asked !== undefined && now < asked.until) return asked.answer;
    // The answer sets its end.
    const entry = { until: Number.POSITIVE_INFINITY, answer: this.#fetch(source, url) };
    this.#answers.set(url, entry);
    void entry.answer.then(({ until }) => {
      entry.until = until;
    });
    return entry.answer;
  }

  async #fetch(source: PriceSource, url: string): Promise<SourceAnswer> {
    // Before the request, because the machine may sleep before the answer.
    const at = this.#age();
    try {
      const json = await fetchJson(this.#world, url, this.#stopping.signal);
      const until = at + freshMs;
      // An error page can be JSON, too.
      const isEmpty =
        hasAllCurrencies(source) &&
        currencyCodes.every((code) => readPrice(source, code, json) === undefined);
      return isEmpty
        ? { at, until, fault: 'its answer has no known currency' }
        : { at, until, json };
    } catch (error) {
      const asked = error instanceof SourceFault ? (error.retryAfterSeconds ?? 0) * secondMs : 0;
      const pauseMs = Math.min(Math.max(freshMs, asked), maxPauseMs);
      // Without an answer, nothing grows old.
      const never = Number.POSITIVE_INFINITY;
      return { at: never, until: this.#age() + pauseMs, fault: reasonOf(error) };
    }
  }

  /** Logs changes only: a source that is down for a day is logged once for each currency. */
  #logFault(source: string, currency: string, reason: string | undefined): void {
    const key = `${source} ${currency}`;
    if (this.#faults.get(key) === reason) return;
    if (reason === undefined) {
      this.#faults.delete(key);
      this.#world.log.info('price source is back', { source, currency });
    } else {
      this.#faults.set(key, reason);
      this.#world.log.warn('price source left out', { source, currency, reason });
    }
  }
}

/** Two entries with one host count once. */
const countSources = (named: readonly { readonly label: string }[]): number =>
  new Set(named.map(({ label }) => label)).size;

const unavailable = (): PaygateError =>
  new PaygateError('unavailable', 'No fresh price: too few of its sources answer and agree', {
    retryAfterSeconds: freshMs / secondMs,
  });

/** A clock that is slewed in small steps has not slept. */
const minLeapMs = secondMs;

/**
 * A monotonic clock that also counts sleep of the machine, in milliseconds. The monotonic clock of
 * the system stops during sleep, and the wall clock may be set back. Each leap of the wall clock
 * ahead therefore counts as sleep, even if a person set it.
 */
function createAge({ now, monotonic }: Pick<World, 'now' | 'monotonic'>): () => number {
  let lead = now() - monotonic();
  let sleptMs = 0;
  return () => {
    const at = monotonic();
    const leap = now() - at - lead;
    if (Math.abs(leap) >= minLeapMs) {
      lead += leap;
      sleptMs += Math.max(0, leap);
    }
    return at + sleptMs;
  };
}
