// Where prices come from: the one table of public sources that want no key, how a source is written in a
// setting, and how a number is read out of what it answers. What a source sends is hostile until read.

import { PaygateError } from '../lib/errors.ts';

export interface PriceSource {
  /** Its host, for the log. */
  readonly label: string;
  /** May hold `{CODE}` or `{code}`, the currency's ISO 4217 code; without it, one answer has them all. */
  readonly url: string;
  /** The way to the number: names and indexes, which may hold the code too. */
  readonly path: readonly string[];
}

const loopback = /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/;
const code = /\{(CODE|code)\}/;

/**
 * Each answers with every currency that it knows at once, so that asking does not tell it which one a shop sells in.
 * `#` divides the URL from the way to the number.
 */
export const builtInSources: readonly PriceSource[] = [
  'https://api.coinbase.com/v2/exchange-rates?currency=BTC#data.rates.{CODE}',
  'https://api.coingecko.com/api/v3/exchange_rates#rates.{code}.value',
  'https://blockchain.info/ticker#{CODE}.last',
  'https://mempool.space/api/v1/prices#{CODE}',
  'https://api.yadio.io/exrates/BTC#BTC.{CODE}',
].map(parsePriceSource);

/** @throws PaygateError invalid */
export function parsePriceSource(text: string): PriceSource {
  const [url = '', path = '', ...more] = text.split('#');
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const steps = path.split('.');
  const isPath = steps.every((step) => /^[\w{}-]{1,64}$/.test(step)) && more.length === 0;
  if (parsed === undefined || !isPath || !code.test(text) || parsed.username !== '') {
    throw new PaygateError(
      'invalid',
      'a URL and the way to the number expected, with {CODE} or {code} where the currency stands, ' +
        'such as https://www.bitstamp.net/api/v2/ticker/btc{code}#last',
    );
  }
  const { protocol, hostname, host } = parsed;
  if (protocol !== 'https:' && !(protocol === 'http:' && loopback.test(hostname))) {
    throw new PaygateError(
      'invalid',
      'a price source must be asked by https: a price decides money',
    );
  }
  return { label: host, url, path: steps };
}

const fill = (text: string, currency: string): string =>
  text.replaceAll('{CODE}', currency).replaceAll('{code}', currency.toLowerCase());

/** @param currency ISO 4217 code, upper case */
export const sourceUrl = ({ url }: PriceSource, currency: string): string => fill(url, currency);

/** Whether one answer of it has every currency. */
export const hasAllCurrencies = ({ url }: PriceSource): boolean => !code.test(url);

/** More than the price of a bitcoin in any currency; sums of money are exact up to there. */
const maxPrice = 1e13;
/** Prices are served to the cent: less would be 0, and shops divide by it. */
const minPrice = 0.01;

/**
 * The price in an answer.
 * @returns undefined where the source has no such currency, NaN where what it has is no price
 */
export function readPrice(
  { path }: PriceSource,
  currency: string,
  answer: unknown,
): number | undefined {
  let found = answer;
  for (const step of path) {
    const name = fill(step, currency);
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  // Some write numbers as text; only plain decimals are taken for such.
  const isText = typeof found === 'string' && /^\d{1,14}(\.\d{1,40})?$/.test(found);
  const price = isText ? Number(found) : found;
  return typeof price === 'number' && price >= minPrice && price < maxPrice ? price : Number.NaN;
}
