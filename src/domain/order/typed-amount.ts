// An amount as people type or paste it: with a comma or a point, also in Arabic digits. Separators
// of thousands are not read. What may be one is refused: `1,000` has two meanings.

import { throwInvalid } from '../../lib/errors.ts';
import { formatMoney, minorDigitsOf, withoutZeros } from '../payment/money.ts';

/** What stands before the decimals in the language of the reader. */
export type DecimalSeparator = '.' | ',';

export type TypedAmount =
  /** In units of the last decimal. */
  | { readonly minor: bigint; readonly problem?: undefined; readonly meanings?: undefined }
  | {
      readonly minor?: undefined;
      readonly problem: 'no-number' | 'too-many-decimals';
      readonly meanings?: undefined;
    }
  | {
      readonly minor?: undefined;
      readonly problem: 'two-meanings';
      /** With a separator of decimals, and with one of thousands. */
      readonly meanings: readonly [bigint, bigint];
    };

/** Decimals of the unit in which amounts are typed; null is for satoshis. */
export const typedDigitsOf = (currency: string | null): number =>
  currency === null ? 0 : minorDigitsOf(currency);

/** @param digits decimals that the amount may have */
export function readTypedAmount(
  entered: string,
  digits: number,
  decimalSeparator: DecimalSeparator,
): TypedAmount {
  const match = /^(\d{0,30})(?:([.,٫])(\d{0,30}))?$/.exec(asciiDigits(entered));
  const [, whole = '', separator, written = ''] = match ?? [];
  if (match === null || whole + written === '') return { problem: 'no-number' };
  const decimals = withoutZeros(written);
  if (decimals.length > digits) return { problem: 'too-many-decimals' };
  const minor = BigInt(whole + decimals.padEnd(digits, '0'));
  const isGroup = /^[1-9]\d{0,2}$/.test(whole) && written.length === 3 && separator !== '٫';
  // A currency with two decimals is never typed with three.
  if (!isGroup || (separator === decimalSeparator && digits >= 3)) return { minor };
  const thousands = BigInt(whole + written + '0'.repeat(digits));
  return { problem: 'two-meanings', meanings: [minor, thousands] };
}

/** As it may be typed: `5.00`, and `5,00` with a comma. */
export const typedText = (
  minor: bigint | number,
  currency: string | null,
  decimalSeparator: DecimalSeparator,
): string =>
  currency === null
    ? String(minor)
    : formatMoney(BigInt(minor), currency).replace('.', decimalSeparator);

/**
 * The amount as the API reads it. A problem that the API finds as well stays in it.
 * @throws PaygateError invalid for an amount with two meanings
 */
export function asOfApi(entered: string, currency: string | null): string {
  const { minor, meanings } = readTypedAmount(entered, typedDigitsOf(currency), '.');
  if (meanings !== undefined) {
    const [one, other] = meanings.map((meaning) => typedText(meaning, currency, '.'));
    throwInvalid(`has two meanings: write ${one} or ${other}, without separators of thousands`);
  }
  return minor === undefined ? entered.replace(',', '.') : typedText(minor, currency, '.');
}

/** Without invisible characters, with the digits of Arabic and Persian as ASCII. */
const asciiDigits = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}|\p{Cf}/gu, '')
    .replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) & 0xf))
    .trim();
