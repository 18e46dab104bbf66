// Currencies of shops (ISO 4217), and the exact worth of satoshis at a given price.

import { PaygateError } from '../lib/errors.ts';
import { satPerBitcoin } from './format.ts';

export const currencyCodes: readonly string[] = Intl.supportedValuesOf('currency');

const known = new Set(currencyCodes);

/** @param code upper case */
export const isCurrency = (code: string): boolean => known.has(code);

/** @returns the code in upper case. @throws PaygateError invalid */
export function parseCurrency(text: string): string {
  const code = text.trim().toUpperCase();
  if (isCurrency(code)) return code;
  throw new PaygateError(
    'invalid',
    'the currency: three letters of ISO 4217 are expected, such as EUR',
  );
}

/**
 * The worth of an amount, rounded to the smallest unit of the currency, such as `12.34` or `1234`.
 * @param priceCents price of one bitcoin in hundredths of the currency
 */
export function worthOf(valueSat: number, priceCents: number, currency: string): string {
  const digits = digitsOf(currency);
  const scale = 10n ** BigInt(digits);
  const divisor = BigInt(satPerBitcoin) * 100n;
  const coins = (BigInt(valueSat) * BigInt(priceCents) * scale + divisor / 2n) / divisor;
  if (digits === 0) return String(coins);
  return `${coins / scale}.${String(coins % scale).padStart(digits, '0')}`;
}

/** An amount of the smallest unit as people write it: `1234.50`. */
export function minorText(minor: number, currency: string): string {
  return (minor / 10 ** digitsOf(currency)).toFixed(digitsOf(currency));
}

/** Satoshis times hundredths of a price, divided by this, are units of `minorText`. */
export const minorDivisor = (currency: string): number => 10 ** (10 - digitsOf(currency));

/** The decimals that people write (CLDR). money.ts has those that an amount may have. */
function digitsOf(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}
