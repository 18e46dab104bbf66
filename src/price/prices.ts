// What a bitcoin costs: asked of several sources when somebody asks, never before, and kept for a minute.
// A source that is down, absurd or far from the others is left out, and said so in the log when that changes.
// A price that can't be had anew is served until it is ten minutes old.

import { currencyCodes, isCurrency } from '../domain/currency.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { World } from '../world/world.ts';
import { agree, type SourceQuote } from './consensus.ts';
import { createElapsed } from './price-age.ts';
import { fetchJson, SourceFault } from './price-request.ts';
import { hasAllCurrencies, type PriceSource, readPrice, sourceUrl } from './sources.ts';

export interface Currency {
  /** ISO 4217. */
  readonly code: string;
  /** In English. */
  readonly name: string;
}

/** What a source said of one currency when that was last asked about. */
export interface SourcePrice {
  readonly currency: string;
  /** Undefined where it has none. */
  readonly price: number | undefined;
  /** Why it was left out; undefined where it was counted. */
  readonly fault: string | undefined;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface SourceStatus {
  /** Its host. */
  readonly source: string;
  /** By currency; empty while nobody has asked. */
  readonly prices: readonly SourcePrice[];
}

export interface PricesOptions {
  readonly world: World;
  readonly sources: readonly PriceSource[];
}

const freshMs = 60_000;
const maxAgeMs = 10 * 60_000;
/** How long a source that asks for it is left alone, at most. */
const maxPauseMs = maxAgeMs;
/** One source alone could say anything; a merchant who names only one trusts it. */
const maxQuorum = 2;

/** 10 ms of a start that asks for no names. */
const names = lazy(() => new Intl.DisplayNames('en', { type: 'currency' }));

const nameOf = (code: string): string => names().of(code) ?? code;

/** What a source answered; the times are those of price-age.ts. */
interface SourceAnswer {
  readonly at: number;
  /** When it may be asked again. */
  readonly until: number;
  readonly json?: unknown;
  readonly fault?: string;
}

interface CachedPrice {
  /** When the oldest answer was asked for that it was read from. */
  readonly at: number;
  /** Null where too few sources know the currency. */
  readonly price: number | null;
}

export class Prices {
  readonly #world: World;
  readonly #elapsed: () => number;
  readonly #sources: readonly PriceSource[];
  readonly #quorum: number;
  readonly #stopping = new AbortController();
  /** By URL; asked once, however many wait for it. */
  readonly #answers = new Map<string, { until: number; answer: Promise<SourceAnswer> }>();
  /** By currency. */
  readonly #prices = new Map<string, CachedPrice>();
  #currencies: { readonly at: number; readonly list: Currency[] } | undefined;
  /** Why a source was left out last, by source and currency. */
  readonly #faults = new Map<string, string>();
  /** By source and currency; both are of lists that strangers can't make longer. */
  readonly #sourcePrices = new Map<PriceSource, Map<string, SourcePrice>>();

  constructor({ world, sources }: PricesOptions) {
    this.#world = world;
    this.#elapsed = createElapsed(world);
    this.#sources = sources;
    this.#quorum = Math.min(maxQuorum, countSources(sources));
  }

  /**
   * Of one bitcoin, to the cent.
   * @param text ISO 4217 code in any case, or BTC
   * @returns null for a currency that no two sources know
   * @throws PaygateError unavailable when there is no price fresh enough
   */
  async price(text: string): Promise<number | null> {
    const currency = text.toUpperCase();
    if (currency === 'BTC') return 1;
    if (!isCurrency(currency)) return null;
    const kept = this.#prices.get(currency);
    if (kept !== undefined && this.#elapsed() - kept.at < freshMs) return kept.price;
    const found = await this.#find(currency, this.#sources, true);
    if (found !== undefined) {
      this.#prices.set(currency, found);
      return found.price;
    }
    if (kept !== undefined && this.#elapsed() - kept.at < maxAgeMs) return kept.price;
    throw unavailable();
  }

  /** The currencies that have a price, kept as one is. @throws PaygateError unavailable */
  async currencies(): Promise<Currency[]> {
    const kept = this.#currencies;
    if (kept !== undefined && this.#elapsed() - kept.at < freshMs) return kept.list;
    const found = await this.#findAll();
    if (found.length > 0) {
      const list = found.map(({ code }) => ({ code, name: nameOf(code) }));
      this.#currencies = { at: Math.min(...found.map(({ at }) => at)), list };
      return list;
    }
    if (kept !== undefined && this.#elapsed() - kept.at < maxAgeMs) return kept.list;
    throw unavailable();
  }

  /** The currencies that have a price, with when it was learnt. */
  async #findAll(): Promise<{ readonly code: string; readonly at: number }[]> {
    const whole = this.#sources.filter(hasAllCurrencies);
    const found = await Promise.all(
      currencyCodes.map(async (code) => ({ code, ...(await this.#find(code, whole, false)) })),
    );
    return found.flatMap(({ code, at, price }) =>
      typeof price === 'number' && at !== undefined ? [{ code, at }] : [],
    );
  }

  /** What each source said when it was asked last; it asks nobody. */
  status(): SourceStatus[] {
    return this.#sources.map((source) => {
      const prices = [...(this.#sourcePrices.get(source)?.values() ?? [])];
      prices.sort((one, other) => (one.currency < other.currency ? -1 : 1));
      return { source: source.label, prices };
    });
  }

  /** Ends what is under way. */
  stop(): void {
    this.#stopping.abort();
  }

  /**
   * Undefined where too few sources could be asked or agree.
   * @param tell whether the log is told of sources that are off with this currency
   */
  async #find(
    currency: string,
    sources: readonly PriceSource[],
    tell: boolean,
  ): Promise<CachedPrice | undefined> {
    const answers = await Promise.all(
      sources.map(async (source) => ({ source, ...(await this.#ask(source, currency)) })),
    );
    const faults = new Map<string, string>();
    const quotes: SourceQuote[] = [];
    for (const { source, json, fault } of answers) {
      const price = readPrice(source, currency, json);
      if (fault !== undefined) faults.set(source.label, fault);
      else if (Number.isNaN(price)) faults.set(source.label, 'what it has is no price');
      else if (price !== undefined) quotes.push({ label: source.label, price });
    }
    const hasFailed = faults.size > 0;
    const { price, excluded, isPair } = agree(quotes, this.#quorum);
    const why =
      isPair && price === undefined
        ? 'no two of those that answer agree within 1 %'
        : 'more than 5 % off the median';
    for (const label of excluded) faults.set(label, why);
    if (tell) {
      for (const { source, json } of answers) {
        this.#logFault(source.label, currency, faults.get(source.label));
        this.#remember(source, currency, readPrice(source, currency, json), faults);
      }
    }
    const at = Math.min(...answers.map((answer) => answer.at));
    if (price !== undefined) return { at, price };
    return hasFailed || countSources(quotes) >= this.#quorum ? undefined : { at, price: null };
  }

  #remember(
    source: PriceSource,
    currency: string,
    price: number | undefined,
    faults: ReadonlyMap<string, string>,
  ): void {
    const said = this.#sourcePrices.get(source) ?? new Map<string, SourcePrice>();
    this.#sourcePrices.set(source, said);
    said.set(currency, {
      currency,
      price: Number.isNaN(price) ? undefined : price,
      fault: faults.get(source.label),
      at: this.#world.now(),
    });
  }

  #ask(source: PriceSource, currency: string): Promise<SourceAnswer> {
    const url = sourceUrl(source, currency);
    const now = this.#elapsed();
    const asked = this.#answers.get(url);
    if (asked !== undefined && now < asked.until) return asked.answer;
    // Until the answer says when it ends.
    const entry = { until: Number.POSITIVE_INFINITY, answer: this.#fetch(source, url) };
    this.#answers.set(url, entry);
    void entry.answer.then(({ until }) => {
      entry.until = until;
    });
    return entry.answer;
  }

  async #fetch(source: PriceSource, url: string): Promise<SourceAnswer> {
    // Before it is asked: the machine may sleep over the answer.
    const at = this.#elapsed();
    try {
      const json = await fetchJson(this.#world, url, this.#stopping.signal);
      const until = at + freshMs;
      // A page of errors can be JSON, too.
      const isEmpty =
        hasAllCurrencies(source) &&
        currencyCodes.every((code) => readPrice(source, code, json) === undefined);
      return isEmpty
        ? { at, until, fault: 'its answer has no currency that we know' }
        : { at, until, json };
    } catch (error) {
      const asked = error instanceof SourceFault ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      const pauseMs = Math.min(Math.max(freshMs, asked), maxPauseMs);
      // It has said nothing that could grow old.
      const never = Number.POSITIVE_INFINITY;
      return { at: never, until: this.#elapsed() + pauseMs, fault: reasonOf(error) };
    }
  }

  /** Says only what is new: a source that is down for a day is told once for each currency. */
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

/** How many there are: what one of them says twice is said by one. */
const countSources = (named: readonly { readonly label: string }[]): number =>
  new Set(named.map(({ label }) => label)).size;

const unavailable = (): PaygateError =>
  new PaygateError('unavailable', 'No fresh price: too few of its sources answer and agree', {
    retryAfterSeconds: freshMs / 1000,
  });
