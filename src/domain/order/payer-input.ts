// What the payer of a link enters: an amount, and a note. A problem is a value, so that a page can
// put it into words of any language.

import { containsPrivateMaterial } from '../../bitcoin/private-material.ts';
import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { PaygateError } from '../../lib/errors.ts';
import { parseMailAddress } from '../delivery/notification-settings.ts';
import { isPlainText } from './body-fields.ts';
import type { LinkAmounts, LinkInput } from './link-input.ts';
import { type FiatPrice, minOrderSat, type SatPrice } from './quote.ts';
import { type DecimalSeparator, readTypedAmount, typedDigitsOf } from './typed-amount.ts';

export interface PayerInput {
  readonly price: FiatPrice | SatPrice;
  readonly note: string | null;
  readonly customerEmail: string | null;
}

export interface PayerProblem {
  readonly field: 'amount' | 'note' | 'email';
  readonly reason: PayerProblemReason;
  readonly limit?: number;
  readonly meanings?: readonly bigint[];
}

export type PayerProblemReason =
  | 'missing'
  /** The amount is no decimal number. */
  | 'no-number'
  /** `limit` is how many decimals the currency has; 0 for satoshis. */
  | 'too-many-decimals'
  /** A point or comma may stand before decimals or thousands: `meanings`, in minor units. */
  | 'two-meanings'
  /** `limit` is the bound of the amount, in minor units of the currency or satoshis. */
  | 'too-small'
  | 'too-large'
  /** `limit` is how many characters the note may have. */
  | 'too-long'
  /** The note has control characters or broken characters. */
  | 'bad-characters'
  /** It is no mail address, or more than one. */
  | 'no-address'
  /** A private key or recovery words. Never show or store the text. */
  | 'private-material';

export const maxNoteLength = 200;

/** Orders by links to which one network may give a mail address within a day. */
export const maxEmailsOfNetwork = 10;

export type PayableLink = Pick<LinkInput, keyof LinkAmounts | 'note' | 'asksEmail'>;

export type ParsedPayerInput =
  | { readonly input: PayerInput; readonly problems?: undefined }
  | { readonly input?: undefined; readonly problems: readonly PayerProblem[] };

/** The fields of the form; undefined for a field that it does not have. */
export type EnteredFields = Readonly<Partial<Record<PayerProblem['field'], string | undefined>>>;

/**
 * Reads what a payer entered. What the link has, or does not ask for, is ignored.
 * @param decimalSeparator of the language in which the payer reads the form
 */
export function parsePayerInput(
  link: PayableLink,
  entered: EnteredFields,
  decimalSeparator: DecimalSeparator = '.',
): ParsedPayerInput {
  const amount = link.amount ?? parseEnteredAmount(link, entered.amount ?? '', decimalSeparator);
  const note = link.note === 'no' ? null : parseNote(link, entered.note ?? '');
  const customerEmail = link.asksEmail ? parseEmail(entered.email ?? '') : null;
  if (isProblem(amount) || isProblem(note) || isProblem(customerEmail)) {
    return { problems: [amount, note, customerEmail].filter(isProblem) };
  }
  return { input: { price: linkPrice(link, amount), note, customerEmail } };
}

const isProblem = (value: unknown): value is PayerProblem =>
  typeof value === 'object' && value !== null;

/** The price of an amount in the unit of the link. */
export const linkPrice = (
  { currency }: Pick<LinkAmounts, 'currency'>,
  amount: number,
): FiatPrice | SatPrice =>
  currency === null
    ? { kind: 'sat', amountSat: amount }
    : { kind: 'fiat', currency, minor: BigInt(amount) };

/** @returns minor units of the currency, or satoshis */
export function parseEnteredAmount(
  link: LinkAmounts,
  entered: string,
  decimalSeparator: DecimalSeparator,
): number | PayerProblem {
  const problem = (reason: PayerProblemReason, limit?: number): PayerProblem => ({
    field: 'amount',
    reason,
    ...(limit !== undefined && { limit }),
  });
  if (containsPrivateMaterial(entered)) return problem('private-material');
  if (entered.trim() === '') return problem('missing');
  const { currency } = link;
  const digits = typedDigitsOf(currency);
  const typed = readTypedAmount(entered, digits, decimalSeparator);
  if (typed.problem === 'two-meanings') {
    return { field: 'amount', reason: 'two-meanings', meanings: typed.meanings };
  }
  if (typed.problem === 'too-many-decimals') return problem(typed.problem, digits);
  if (typed.problem !== undefined) return problem(typed.problem);
  const amount = typed.minor;
  const { min, max } = boundsOf(link);
  if (amount < min) return problem('too-small', min);
  return amount > max ? problem('too-large', max) : Number(amount);
}

/** What a payer may enter, in minor units of the currency or satoshis. */
export function boundsOf({ currency, minAmount, maxAmount }: LinkAmounts) {
  const [min, max] = currency === null ? [minOrderSat, maxMoneySat] : [1, maxMinor];
  return { min: minAmount ?? min, max: maxAmount ?? max };
}

/** See `parseMoney`. */
const maxMinor = 10 ** 15 - 1;

function parseNote({ note }: PayableLink, entered: string): string | null | PayerProblem {
  const problem = (reason: PayerProblemReason, limit?: number): PayerProblem => ({
    field: 'note',
    reason,
    ...(limit !== undefined && { limit }),
  });
  const text = entered.trim();
  if (text === '') return note === 'required' ? problem('missing') : null;
  if (containsPrivateMaterial(text)) return problem('private-material');
  if (!isPlainText(text)) return problem('bad-characters');
  return [...text].length > maxNoteLength ? problem('too-long', maxNoteLength) : text;
}

function parseEmail(entered: string): string | null | PayerProblem {
  if (entered.trim() === '') return null;
  if (containsPrivateMaterial(entered)) return { field: 'email', reason: 'private-material' };
  try {
    return parseMailAddress(entered);
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    return { field: 'email', reason: 'no-address' };
  }
}
