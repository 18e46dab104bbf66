// What a bitcoin costs: asked of several sources when somebody asks, never before, and kept for a minute.
// A source that is down, absurd or far from the others is left out, and said so in the log when that changes.
// A price that can't be had anew is served until it is ten minutes old.

import { currencyCodes, isCurrency } from '../domain/currency.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { World } from '../world/world.ts';
import { agree, type Quote } from './consensus.ts';
import { createElapsed } from './price-age.ts';
import { fetchJson, SourceFault } from './price-request.ts';
import { isWhole, type PriceSource, readPrice, sourceUrl } from './sources.ts';

export interface Currency {
  /** ISO 4217. */
  readonly code: string;
  /** In English. */
  readonly name: string;
}

/** What a source said of one currency when that was last asked about. */
export interface Said {
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
  readonly said: readonly Said[];
}

export interface PricesOptions {
  readonly world: World;
  readonly sources: readonly PriceSource[];
}

const keptMs = 60_000;
const staleMs = 10 * 60_000;
/** How long a source that asks for it is left alone, at most. */
const longestPauseMs = staleMs;
/** One source alone could say anything; a merchant who names only one trusts it. */
const quorum = 2;

/** 10 ms of a start that asks for no names. */
const names = lazy(() => new Intl.DisplayNames('en', { type: 'currency' }));

const nameOf = (code: string): string => names().of(code) ?? code;

/** What a source answered; the times are those of price-age.ts. */
interface Answer {
  readonly at: number;
  /** When it may be asked again. */
  readonly until: number;
  readonly json?: unknown;
  readonly fault?: string;
}

interface Price {
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
  readonly #asked = new Map<string, { until: number; answer: Promise<Answer> }>();
  /** By currency. */
  readonly #prices = new Map<string, Price>();
  #currencies: { readonly at: number; readonly list: Currency[] } | undefined;
  /** Why a source was left out last, by source and currency. */
  readonly #faults = new Map<string, string>();
  /** By source and currency; both are of lists that strangers can't make longer. */
  readonly #said = new Map<PriceSource, Map<string, Said>>();

  constructor({ world, sources }: PricesOptions) {
    this.#world = world;
    this.#elapsed = createElapsed(world);
    this.#sources = sources;
    this.#quorum = Math.min(quorum, hostsOf(sources));
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
    if (kept !== undefined && this.#elapsed() - kept.at < keptMs) return kept.price;
    const found = await this.#find(currency, this.#sources, true);
    if (found !== undefined) {
      this.#prices.set(currency, found);
      return found.price;
    }
    if (kept !== undefined && this.#elapsed() - kept.at < staleMs) return kept.price;
    throw unavailable();
  }

  /** The currencies that have a price, kept as one is. @throws PaygateError unavailable */
  async currencies(): Promise<Currency[]> {
    const kept = this.#currencies;
    if (kept !== undefined && this.#elapsed() - kept.at < keptMs) return kept.list;
    const found = await this.#findAll();
    if (found.length > 0) {
      const list = found.map(({ code }) => ({ code, name: nameOf(code) }));
      this.#currencies = { at: Math.min(...found.map(({ at }) => at)), list };
      return list;
    }
    if (kept !== undefined && this.#elapsed() - kept.at < staleMs) return kept.list;
    throw unavailable();
  }

  /** The currencies that have a price, with when it was learnt. */
  async #findAll(): Promise<{ readonly code: string; readonly at: number }[]> {
    const whole = this.#sources.filter(isWhole);
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
      const said = [...(this.#said.get(source)?.values() ?? [])];
      said.sort((one, other) => (one.currency < other.currency ? -1 : 1));
      return { source: source.label, said };
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
  ): Promise<Price | undefined> {
    const answers = await Promise.all(
      sources.map(async (source) => ({ source, ...(await this.#ask(source, currency)) })),
    );
    const faults = new Map<string, string>();
    const quotes: Quote[] = [];
    for (const { source, json, fault } of answers) {
      const price = readPrice(source, currency, json);
      if (fault !== undefined) faults.set(source.label, fault);
      else if (Number.isNaN(price)) faults.set(source.label, 'what it has is no price');
      else if (price !== undefined) quotes.push({ label: source.label, price });
    }
    const hasFailed = faults.size > 0;
    const { price, leftOut, isPair } = agree(quotes, this.#quorum);
    const why =
      isPair && price === undefined
        ? 'no two of those that answer agree within 1 %'
        : 'more than 5 % off the median';
    for (const label of leftOut) faults.set(label, why);
    if (tell) {
      for (const { source, json } of answers) {
        this.#note(source.label, currency, faults.get(source.label));
        this.#remember(source, currency, readPrice(source, currency, json), faults);
      }
    }
    const at = Math.min(...answers.map((answer) => answer.at));
    if (price !== undefined) return { at, price };
    return hasFailed || hostsOf(quotes) >= this.#quorum ? undefined : { at, price: null };
  }

  #remember(
    source: PriceSource,
    currency: string,
    price: number | undefined,
    faults: ReadonlyMap<string, string>,
  ): void {
    const said = this.#said.get(source) ?? new Map<string, Said>();
    this.#said.set(source, said);
    said.set(currency, {
      currency,
      price: Number.isNaN(price) ? undefined : price,
      fault: faults.get(source.label),
      at: this.#world.now(),
    });
  }

  #ask(source: PriceSource, currency: string): Promise<Answer> {
    const url = sourceUrl(source, currency);
    const now = this.#elapsed();
    const asked = this.#asked.get(url);
    if (asked !== undefined && now < asked.until) return asked.answer;
    // Until the answer says when it ends.
    const entry = { until: Number.POSITIVE_INFINITY, answer: this.#fetch(source, url) };
    this.#asked.set(url, entry);
    void entry.answer.then(({ until }) => {
      entry.until = until;
    });
    return entry.answer;
  }

  async #fetch(source: PriceSource, url: string): Promise<Answer> {
    // Before it is asked: the machine may sleep over the answer.
    const at = this.#elapsed();
    try {
      const json = await fetchJson(this.#world, url, this.#stopping.signal);
      const until = at + keptMs;
      // A page of errors can be JSON, too.
      const isEmpty =
        isWhole(source) &&
        currencyCodes.every((code) => readPrice(source, code, json) === undefined);
      return isEmpty
        ? { at, until, fault: 'its answer has no currency that we know' }
        : { at, until, json };
    } catch (error) {
      const asked = error instanceof SourceFault ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      const pauseMs = Math.min(Math.max(keptMs, asked), longestPauseMs);
      // It has said nothing that could grow old.
      const never = Number.POSITIVE_INFINITY;
      return { at: never, until: this.#elapsed() + pauseMs, fault: reasonOf(error) };
    }
  }

  /** Says only what is new: a source that is down for a day is told once for each currency. */
  #note(source: string, currency: string, reason: string | undefined): void {
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
const hostsOf = (named: readonly { readonly label: string }[]): number =>
  new Set(named.map(({ label }) => label)).size;

const unavailable = (): PaygateError =>
  new PaygateError('unavailable', 'No fresh price: too few of its sources answer and agree', {
    retryAfterSeconds: keptMs / 1000,
  });
