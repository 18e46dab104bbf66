// The body with which a shop creates an order: every rule of its fields, and its defaults. The
// schema of the operation checks types before. All problems are reported at once.

import { refusePrivateMaterial } from '../../bitcoin/private-material.ts';
import { throwInvalid } from '../../lib/errors.ts';
import {
  addressClassOf,
  type CallbackFlags,
  literalAddress,
} from '../delivery/callback-url-policy.ts';
import { parseMailAddress } from '../delivery/notification-settings.ts';
import { isOnion } from '../delivery/onion.ts';
import { parseMoney } from '../payment/money.ts';
import { copyError } from '../text/url-text.ts';
import {
  BodyProblems,
  checkBytes,
  checkText,
  createFieldReader,
  type FieldReader,
  isGiven,
  type Optional,
  parsePriceCurrency,
  parseText,
} from './body-fields.ts';
import { adjusted, checkOrderSat, type FiatPrice, type SatPrice } from './quote.ts';

export interface OrderBody {
  readonly amount?: Optional<string>;
  readonly currency?: Optional<string>;
  readonly amount_sat?: Optional<number>;
  readonly reference?: Optional<string>;
  readonly description?: Optional<string>;
  readonly expires_in?: Optional<number>;
  readonly quote_seconds?: Optional<number>;
  readonly tolerance_percent?: Optional<number>;
  readonly adjust_percent?: Optional<number>;
  readonly return_url?: Optional<string>;
  readonly language?: Optional<string>;
  readonly customer_email?: Optional<string>;
  readonly metadata?: Optional<Readonly<Record<string, string>>>;
}

export interface OrderDefaults {
  /** 0 for never. */
  readonly expiresInSeconds: number;
  readonly quoteSeconds: number;
  readonly toleranceBasisPoints: number;
  readonly language: string | null;
  /** A discount below 0 or a surcharge of prices in a currency. */
  readonly adjustBasisPoints: number;
}

/** For a store without these settings. */
export const orderDefaults: OrderDefaults = {
  expiresInSeconds: 3_600,
  quoteSeconds: 900,
  toleranceBasisPoints: 50,
  language: null,
  adjustBasisPoints: 0,
};

export interface OrderInput extends Omit<OrderDefaults, 'adjustBasisPoints'> {
  /** With its discount or surcharge. */
  readonly price: FiatPrice | SatPrice;
  readonly reference: string | null;
  readonly description: string | null;
  readonly returnUrl: string | null;
  readonly customerEmail: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

export const maxReferenceBytes = 128;
export const maxDescriptionBytes = 1_024;
export const maxMetadataPairs = 20;
export const maxMetadataBytes = 2_048;
export const maxReturnUrlLength = 2_048;
export const minExpirySeconds = 300;
export const maxExpirySeconds = 366 * 86_400;
export const minQuoteSeconds = 300;
export const maxQuoteSeconds = 3_600;
export const maxTolerancePercent = 10;
export const maxAdjustPercent = 20;

/**
 * Reads the body of a new order.
 * @param flags where plain http is allowed to, as for the store's callbacks
 * @throws PaygateError invalid with `field: problem` for each problem; no text of the body that may
 *   be a secret is repeated
 */
export function parseOrderInput(
  body: OrderBody,
  defaults: OrderDefaults,
  flags: CallbackFlags,
): OrderInput {
  const texts = textsOf(body);
  refusePrivateMaterial(texts);
  const { field, problems } = createFieldReader<keyof OrderBody>();
  const price = priceOf(body, field);
  const adjustment = adjustmentOf(body, price, field) ?? defaults.adjustBasisPoints;
  const input = {
    reference: field('reference', body.reference, null, parseReference),
    description: field('description', body.description, null, parseDescription),
    expiresInSeconds: field(
      'expires_in',
      body.expires_in,
      defaults.expiresInSeconds,
      parseExpirySeconds,
    ),
    quoteSeconds: field(
      'quote_seconds',
      body.quote_seconds,
      defaults.quoteSeconds,
      parseQuoteSeconds,
    ),
    toleranceBasisPoints: field(
      'tolerance_percent',
      body.tolerance_percent,
      defaults.toleranceBasisPoints,
      parseTolerance,
    ),
    returnUrl: field('return_url', body.return_url, null, (url) => parseReturnUrl(url, flags)),
    language: field('language', body.language, defaults.language, parseLanguage),
    customerEmail: field('customer_email', body.customer_email, null, parseCustomerEmail),
    metadata: field('metadata', body.metadata, {}, parseMetadata),
  };
  if (price === undefined || problems.length > 0) throw new BodyProblems(problems);
  return { price: adjusted(price, adjustment), ...input };
}

function textsOf(body: OrderBody): string[] {
  const { metadata, ...fields } = body;
  const texts = Object.values(fields).filter((value) => typeof value === 'string');
  return [...texts, ...Object.entries(metadata ?? {}).flat()];
}

type ReadField = FieldReader<keyof OrderBody>['field'];

/** Undefined after a problem, which is noted. */
function priceOf(body: OrderBody, field: ReadField): FiatPrice | SatPrice | undefined {
  const { amount, currency, amount_sat: amountSat } = body;
  const isFiat = isGiven(amount) || isGiven(currency);
  if (isFiat === isGiven(amountSat)) {
    return field('amount', true, undefined, () =>
      throwInvalid('exactly one is expected: amount with currency, or amount_sat'),
    );
  }
  if (!isFiat) return field('amount_sat', amountSat, undefined, parseSatPrice);
  if (!isGiven(amount)) return field('amount', true, undefined, () => throwInvalid('is missing'));
  if (!isGiven(currency)) {
    return field('currency', true, undefined, () => throwInvalid('is missing, such as EUR'));
  }
  const code = field('currency', currency, undefined, parsePriceCurrency);
  if (code === undefined) return undefined;
  return field('amount', amount, undefined, (text) => ({
    kind: 'fiat' as const,
    currency: code,
    minor: parseMoney(text, code),
  }));
}

/** The discount or surcharge that the body names; null without one. */
function adjustmentOf(
  { adjust_percent: percent }: OrderBody,
  price: FiatPrice | SatPrice | undefined,
  field: ReadField,
): number | null {
  return field('adjust_percent', percent, null, (given) => {
    const basisPoints = parseAdjustment(given);
    if (price?.kind === 'sat' && basisPoints !== 0) {
      throwInvalid('a price in satoshis has no discount and no surcharge');
    }
    return basisPoints;
  });
}

function parseSatPrice(amountSat: number): SatPrice {
  if (!Number.isInteger(amountSat)) throwInvalid('whole satoshis are expected');
  checkOrderSat(amountSat);
  return { kind: 'sat', amountSat };
}

const parseCustomerEmail = (text: string): string | null =>
  text === '' ? null : parseMailAddress(text);
const parseReference = (text: string): string | null => parseText(text, maxReferenceBytes, false);
const parseDescription = (text: string): string | null =>
  parseText(text, maxDescriptionBytes, true);

function parseSeconds(seconds: number, min: number, max: number, instead = ''): number {
  if (Number.isInteger(seconds) && seconds >= min && seconds <= max) return seconds;
  throwInvalid(`whole seconds from ${min} to ${max} are expected${instead}`);
}

export const parseQuoteSeconds = (seconds: number): number =>
  parseSeconds(seconds, minQuoteSeconds, maxQuoteSeconds);

export const parseExpirySeconds = (seconds: number): number =>
  seconds === 0 ? 0 : parseSeconds(seconds, minExpirySeconds, maxExpirySeconds, ', or 0 for never');

export const parseTolerance = (percent: number): number =>
  parsePercent(percent, 0, maxTolerancePercent);

/** A discount is below 0, a surcharge above. */
export const parseAdjustment = (percent: number): number =>
  parsePercent(percent, -maxAdjustPercent, maxAdjustPercent);

/** @returns hundredths of a percent */
function parsePercent(percent: number, min: number, max: number): number {
  const basisPoints = Math.round(percent * 100);
  const isExact = basisPoints / 100 === percent;
  // Minus zero is zero.
  if (isExact && percent >= min && percent <= max) return basisPoints || 0;
  throwInvalid(`a number from ${min} to ${max} with at most 2 decimals is expected`);
}

/** The URL as it was given: a link of the page, which paygate itself never opens. */
export function parseReturnUrl(url: string, flags: CallbackFlags): string | null {
  if (url === '') return null;
  if (url.length > maxReturnUrlLength) {
    throwInvalid(`has ${url.length} characters; at most ${maxReturnUrlLength} are allowed`);
  }
  const copied = copyError(url);
  if (copied !== undefined) throwInvalid(copied);
  // Browsers read it as a slash, so other programs would find another host in the URL.
  if (url.includes('\\')) throwInvalid('has a backslash; write it as %5C, or as a slash');
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(url) ?? [];
  const parsed = authority === undefined ? null : URL.parse(url);
  if (authority === undefined || parsed === null) {
    throwInvalid('must be a whole URL such as https://shop.example/thanks');
  }
  if (authority.includes('@')) throwInvalid('must not hold a user name or a password');
  if (parsed.protocol === 'http:' && !isHttpAllowed(parsed.hostname, flags)) {
    throwInvalid('must start with https://, as the callbacks of this store must');
  }
  return url;
}

/** Callbacks may use plain http to private hosts, to onion services, or if the store allows it. */
export function isHttpAllowed(host: string, flags: CallbackFlags): boolean {
  if (isOnion(host) || flags.allowHttpCallback) return true;
  const address = literalAddress(host);
  const isPublic = address !== undefined && addressClassOf(address) !== 'private';
  return flags.allowPrivateCallback && !isPublic;
}

/** A language tag (BCP 47) in its usual case: `de`, `pt-BR`. */
export function parseLanguage(text: string): string {
  if (text.length <= 35 && /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i.test(text)) {
    try {
      const [tag] = Intl.getCanonicalLocales(text);
      if (tag !== undefined) return tag;
    } catch {
      // Not a tag, such as `de-x1`.
    }
  }
  throwInvalid('a language tag is expected, such as de or pt-BR');
}

function parseMetadata(metadata: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = Object.entries(metadata);
  if (pairs.length > maxMetadataPairs) {
    throwInvalid(`has ${pairs.length} pairs; at most ${maxMetadataPairs} are allowed`);
  }
  for (const text of pairs.flat()) checkText(text, true);
  const copy = Object.fromEntries(pairs);
  checkBytes(JSON.stringify(copy), maxMetadataBytes);
  return copy;
}
