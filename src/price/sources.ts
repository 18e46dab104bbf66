// Price sources: the built-in table of public sources without a key, and how a setting names one.
// Requests to a source, and how a price is read from its answer. Answers are hostile input. A
// request says nothing about the shop.

import { networkErrorText } from '../domain/delivery/network-error.ts';
import { parseRetryAfter } from '../domain/delivery/retry.ts';
import { PaygateError } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import { version } from '../lib/version.ts';
import { readBounded, requestOnce } from '../world/bounded-request.ts';
import type { World } from '../world/world.ts';

export interface PriceSource {
  /** The host of the URL, for the log. */
  readonly label: string;
  /**
   * May contain `{CODE}` or `{code}`, the ISO 4217 code of the currency. Without it, one answer
   * has all currencies.
   */
  readonly url: string;
  /** The path to the number: names and indexes, which may contain the code too. */
  readonly path: readonly string[];
}

const loopback = /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/;
const code = /\{(CODE|code)\}/;

/**
 * The answer of each has all its currencies, so that a request does not reveal the currency of a
 * shop. `#` separates the URL from the path to the number. None needs a key: docs/settings.md has
 * the sources of that, with their days.
 */
export const builtInSources: readonly PriceSource[] = [
  'https://api.coinbase.com/v2/exchange-rates?currency=BTC#data.rates.{CODE}',
  'https://api.kraken.com/0/public/Ticker?pair=XBTUSD,XBTEUR,XBTGBP,XBTCAD,XBTJPY#result.XXBTZ{CODE}.c.0',
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
  if (
    parsed === undefined ||
    !isPath ||
    !code.test(text) ||
    parsed.username + parsed.password !== ''
  ) {
    throw new PaygateError(
      'invalid',
      'expected a URL and the path to the number, with {CODE} or {code} for the currency, ' +
        'such as https://www.bitstamp.net/api/v2/ticker/btc{code}#last',
    );
  }
  const { protocol, hostname, host } = parsed;
  if (protocol !== 'https:' && !(protocol === 'http:' && loopback.test(hostname))) {
    throw new PaygateError(
      'invalid',
      'a price source must use https, because a price decides money',
    );
  }
  return { label: host, url, path: steps };
}

const fill = (text: string, currency: string): string =>
  text.replaceAll('{CODE}', currency).replaceAll('{code}', currency.toLowerCase());

/** @param currency ISO 4217 code, upper case */
export const sourceUrl = ({ url }: PriceSource, currency: string): string => fill(url, currency);

/** Whether one answer has all currencies. */
export const hasAllCurrencies = ({ url }: PriceSource): boolean => !code.test(url);

/** The deadline of a request. Shops give up after 5 s. */
const deadlineMs = 3 * secondMs;
const maxBodyBytes = 256 * 1024;

/** Why a source has no answer, as text for the log. */
export class SourceFault extends Error {
  /** From `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, retryAfterSeconds?: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Requests the JSON at a URL of a source.
 * @throws SourceFault
 */
export async function fetchJson(world: World, url: string, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: 'application/json', 'user-agent': `paygate/${version}` };
  const timeoutError = new SourceFault(`no answer within ${deadlineMs / secondMs} s`);
  const tooLarge = new SourceFault('its answer is larger than 256 KiB');
  const limits = { deadlineMs, connectTimeoutMs: deadlineMs, timeoutError, signal };
  try {
    const text = await requestOnce(
      world,
      { url: new URL(url), headers, ...limits },
      async ({ statusCode, headers, body }) => {
        if (statusCode === 200) return readBounded(body, maxBodyBytes, tooLarge);
        const [retryAfter] = [headers['retry-after']].flat();
        const retryAfterSeconds = parseRetryAfter(retryAfter, world.now());
        throw new SourceFault(`it answered ${statusCode}`, retryAfterSeconds);
      },
    );
    return parseJson(text);
  } catch (error) {
    throw error instanceof SourceFault ? error : new SourceFault(faultOf(error));
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SourceFault('its answer is not JSON');
  }
}

/** The code of a network error. Its message may contain text of the source. */
function faultOf(error: unknown): string {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  return networkErrorText(String(code), true) ?? String(typeof code === 'string' ? code : name);
}

/** Above the price of a bitcoin in any currency. Amounts are exact up to this price. */
const maxPrice = 1e13;
/** Prices are served to the cent. A lower price would be 0, and shops divide by it. */
const minPrice = 0.01;

/**
 * The price in an answer. Undefined if the source does not have the currency. NaN if its value is
 * not a price.
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
  // Some sources write numbers as text. Only plain decimals are accepted.
  const isText = typeof found === 'string' && /^\d{1,14}(\.\d{1,40})?$/.test(found);
  const price = isText ? Number(found) : found;
  return typeof price === 'number' && price >= minPrice && price < maxPrice ? price : Number.NaN;
}
