// Currencies of shops (ISO 4217), and the exact worth of satoshis at a given price.

import { PaygateError } from '../../lib/errors.ts';
import { satPerBitcoin } from '../text/format.ts';

export const currencyCodes: readonly string[] = Intl.supportedValuesOf('currency');

/** Each code with its name, such as `EUR – Euro`. */
export function namedCurrencies(): (readonly [code: string, label: string])[] {
  const names = new Intl.DisplayNames('en', { type: 'currency' });
  return currencyCodes.map((code) => [code, `${code} – ${names.of(code)}`]);
}

const known = new Set(currencyCodes);

/** @param code upper case */
export const isCurrency = (code: string): boolean => known.has(code);

/** @returns the code in upper case. @throws PaygateError invalid */
export function parseCurrency(text: string): string {
  const code = text.trim().toUpperCase();
  if (isCurrency(code)) return code;
  throw new PaygateError('invalid', 'a currency has three letters of ISO 4217, such as EUR');
}

/** In the smallest unit, rounded half away from zero. @param priceCents of one bitcoin */
export function minorWorthOf(valueSat: number, priceCents: number, currency: string): bigint {
  const divisor = BigInt(satPerBitcoin) * 100n;
  const scale = 10n ** BigInt(digitsOf(currency));
  const dividend = BigInt(valueSat) * BigInt(priceCents) * scale;
  const half = divisor / 2n;
  return (dividend < 0n ? dividend - half : dividend + half) / divisor;
}

/** The same as text, such as `12.34` or `1234`. */
export const worthOf = (valueSat: number, priceCents: number, currency: string): string =>
  minorText(minorWorthOf(valueSat, priceCents, currency), currency);

/** An amount of the smallest unit as people write it: `1234.50`. */
export function minorText(minor: bigint | number, currency: string): string {
  if (minor < 0) return `-${minorText(-minor, currency)}`;
  const digits = digitsOf(currency);
  const whole = typeof minor === 'bigint' ? minor : Math.round(minor);
  const text = String(whole).padStart(digits + 1, '0');
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** Satoshis times hundredths of a price, divided by this, are units of `minorText`. */
export const minorDivisor = (currency: string): number => 10 ** (10 - digitsOf(currency));

/** The decimals that people write (CLDR). money.ts has those that an amount may have. */
function digitsOf(currency: string): number {
  const found = knownDigits.get(currency);
  if (found !== undefined) return found;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  knownDigits.set(currency, digits);
  return digits;
}

/** `Intl.NumberFormat` is too slow to be made for each payment of a list. */
const knownDigits = new Map<string, number>();
