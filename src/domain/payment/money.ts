// Amounts of money as whole numbers: minor units of a currency as BigInt, prices of a bitcoin in
// hundredths of a currency. Only `priceCentsOf` takes a number with a fraction.
// Minor units: ISO 4217 (SIX list one). `Intl` has the digits of CLDR, which differ.

import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { PaygateError } from '../../lib/errors.ts';
import { satPerBitcoin } from '../text/format.ts';

const noMinorUnit = 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF';
const thousandths = 'BHD IQD JOD KWD LYD OMR TND';

const minorDigits: ReadonlyMap<string, number> = new Map([
  ...noMinorUnit.split(' ').map((code) => [code, 0] as const),
  ...thousandths.split(' ').map((code) => [code, 3] as const),
]);

/**
 * Decimals of an amount in ISO 4217. Units for which ISO 4217 has none (XDR, XSU) have two, because
 * prices have two.
 */
export const minorDigitsOf = (currency: string): number => minorDigits.get(currency) ?? 2;

/** An amount is below 10^15 minor units, which a double and SQLite store exactly. */
const maxMinorLength = 15;

/**
 * The minor units of an amount such as `12.50`: no sign, no exponent, no leading zeros, no more
 * decimals than the currency has. Zeros at the end do not count.
 * @throws PaygateError invalid, saying what to do
 */
export function parseMoney(text: string, currency: string): bigint {
  const maxDigits = minorDigitsOf(currency);
  const decimal = parseDecimal(text);
  if (decimal === undefined) {
    throw invalid(`a decimal number such as ${maxDigits === 0 ? '1250' : '12.50'} is expected`);
  }
  if (decimal.digits > maxDigits) {
    const decimals = maxDigits === 0 ? 'no decimals' : `at most ${maxDigits} decimals`;
    throw invalid(`an amount in ${currency} has ${decimals}`);
  }
  const minor = decimal.units * 10n ** BigInt(maxDigits - decimal.digits);
  if (minor === 0n) throw invalid('must be above 0');
  if (String(minor).length > maxMinorLength) {
    throw invalid(`an amount in ${currency} has at most ${maxMinorLength - maxDigits} digits`);
  }
  return minor;
}

/** The amount with all decimals of its currency: `12.50`, `1250`. */
export const formatMoney = (minor: bigint, currency: string): string =>
  formatDecimal(minor, minorDigitsOf(currency));

/** Decimals of a price: all currencies have prices in hundredths. */
const priceDigits = 2;

/**
 * The price of one bitcoin in hundredths of a currency, from text such as `50000.00`.
 * @throws PaygateError invalid
 */
export function parsePrice(text: string): number {
  const decimal = parseDecimal(text);
  const { units, digits } = decimal ?? { units: 0n, digits: 0 };
  const cents = digits > priceDigits ? 0n : units * 10n ** BigInt(priceDigits - digits);
  if (cents > 0n && cents <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(cents);
  throw invalid('a price above 0 with at most 2 decimals is expected, such as 50000.00');
}

/** @param priceCents price of one bitcoin in hundredths of a currency */
export const formatPrice = (priceCents: number): string =>
  formatDecimal(BigInt(priceCents), priceDigits);

/** A price that `Prices` served, to the cent, in hundredths: exact below 10^13. */
export const priceCentsOf = (price: number): number => Math.round(price * 10 ** priceDigits);

/** Bitcoins with eight decimals, exact: `0.00025000`. */
export const exactBitcoin = (valueSat: number | bigint): string =>
  formatDecimal(BigInt(valueSat), 8);

/** Bitcoins without trailing zeros and without an exponent: `0.00025`, `1`. */
export const shortBitcoin = (valueSat: number): string =>
  exactBitcoin(valueSat).replace(/\.?0+$/, '');

/**
 * An amount in satoshi-cents, which is the unit of satoshis times `priceCents`. It is 10^-10 of the
 * currency, so every amount is a whole number of it.
 */
export const satCentsOf = (minor: bigint, currency: string): bigint =>
  (minor * BigInt(satPerBitcoin) * 10n ** BigInt(priceDigits)) /
  10n ** BigInt(minorDigitsOf(currency));

export const ceilDivide = (dividend: bigint, divisor: bigint): bigint =>
  (dividend + divisor - 1n) / divisor;

/**
 * A sum of satoshis, at most all bitcoins: a server can invent unconfirmed payments whose sum no
 * number holds exactly. Below that limit it is exact.
 */
export function boundedSat(sum: bigint): number {
  const number = Number(sum);
  return Math.max(-maxMoneySat, Math.min(number, maxMoneySat));
}

export const sumSat = (values: readonly number[]): number =>
  boundedSat(values.reduce((sum, value) => sum + BigInt(value), 0n));

/** An exact decimal number: `units` / 10^`digits`, with as few digits as it needs. */
interface Decimal {
  readonly units: bigint;
  readonly digits: number;
}

/** Undefined for what is no plain decimal number, or is longer than any amount. */
function parseDecimal(text: string): Decimal | undefined {
  const match = /^(0|[1-9]\d{0,19})(?:\.(\d{1,10}))?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = '', written = ''] = match;
  const decimals = withoutZeros(written);
  return { units: BigInt(whole + decimals), digits: decimals.length };
}

/** Decimals without zeros at the end, which change no value: shops write `1000.00` yen. */
export const withoutZeros = (decimals: string): string => decimals.replace(/0+$/, '');

function formatDecimal(units: bigint, digits: number): string {
  if (units < 0n) return `-${formatDecimal(-units, digits)}`;
  if (digits === 0) return String(units);
  const text = String(units).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

const invalid = (message: string): PaygateError => new PaygateError('invalid', message);
