// Reads the fields of a form. All faults are collected, each with the label of its field, so that
// the page can show every fault at its field.

import { createHash } from 'node:crypto';
import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { readTypedAmount } from '../../domain/order/typed-amount.ts';
import { exactBitcoin } from '../../domain/payment/money.ts';
import { type ErrorCode, PaygateError, reasonOf, throwInvalid } from '../../lib/errors.ts';
import { type Fault, type Faults, field, type PageRequest } from '../page.ts';
import { inWordsOfPages } from './page-words.ts';

type SentForm = Pick<PageRequest, 'form'>;

export class FieldErrors extends PaygateError {
  readonly faults: Faults;

  constructor(code: ErrorCode, faults: Faults) {
    super(code, [...faults.values()].map(faultText).join(' '));
    this.faults = faults;
  }
}

/** The text of a fault away from its field. */
export function faultText({ label, text }: Fault): string {
  const start = text.toLowerCase().replace(/^the /, '');
  return start.startsWith(label.toLowerCase()) ? text : `${label}: ${text}`;
}

/**
 * An error that concerns the value of one field, as a FieldErrors; any other one as it is.
 * @param label the field's label; empty if the error names the field
 */
export const atField = (name: string, label: string, error: unknown): unknown =>
  error instanceof PaygateError && fieldCodes.has(error.code)
    ? fieldError(error.code, name, error.message, label)
    : error;

/** Other errors, such as a limit, concern no field. */
const fieldCodes: ReadonlySet<ErrorCode> = new Set(['invalid', 'conflict', 'unauthorized']);

export const fieldError = (
  code: ErrorCode,
  name: string,
  message: string,
  label = '',
): FieldErrors =>
  new FieldErrors(code, new Map([[name, { label, text: inWordsOfPages(message) }]]));

/** Parses the trimmed text of a field. */
type Parse<T> = (text: string) => T;

/**
 * Reads one field, and notes its first fault. The value of a faulty field is undefined, which no
 * action receives.
 */
export type ReadField = <T>(name: string, label: string, parse: Parse<T>) => T;

/** Reads fields of a form. @throws FieldErrors with the faults of all fields */
export function readFields<T>(request: SentForm, read: (readField: ReadField) => T): T {
  const faults = new Map<string, Fault>();
  const value = read((name, label, parse) => {
    try {
      return parse(field(request, name));
    } catch (error) {
      if (!(error instanceof PaygateError) || error.code === 'internal') throw error;
      const text = inWordsOfPages(reasonOf(error));
      if (!faults.has(name)) faults.set(name, { label, text });
      return undefined as never;
    }
  });
  if (faults.size > 0) throw new FieldErrors('invalid', faults);
  return value;
}

export const wholeNumberFrom =
  (min: number, max: number): Parse<number> =>
  (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throwInvalid(`a whole number from ${min} to ${max} is expected`);
  };

const bitcoinDigits = 8;

/** Parses an amount in bitcoin, such as 0.05, as satoshis. @throws PaygateError invalid */
export function parseBitcoin(text: string): number {
  const { minor, meanings } = readTypedAmount(text, bitcoinDigits, '.');
  if (minor !== undefined && minor <= maxMoneySat) return Number(minor);
  const [asDecimal] = meanings ?? [];
  const example = asDecimal === undefined ? '0.05' : exactBitcoin(asDecimal);
  throwInvalid(`an amount such as ${example} is expected, without separators of thousands`);
}

export const oneOf =
  <T extends string>(values: readonly T[]): Parse<T> =>
  (text) =>
    values.find((value) => value === text) ??
    throwInvalid(`one of ${values.join(', ')} is expected`);

/** Reads a field that a person does not type. @throws FieldErrors */
export const wholeNumber = (request: SentForm, name: string, min: number, max: number): number =>
  readFields(request, (read) => read(name, name, wholeNumberFrom(min, max)));

/** Reads a select field of a form without other fields. @throws FieldErrors */
export const choiceValue = <T extends string>(
  request: SentForm,
  name: string,
  values: readonly T[],
): T => readFields(request, (read) => read(name, name, oneOf(values)));

export const isOn = ({ form }: SentForm, name: string): boolean => form.get(name) === 'on';

/** The version of the values that a form was made from; its field `before` sends it back. */
export const versionOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url');

/** Whether another page, a plugin or the same form has changed the value since. */
export const isOutdated = ({ form }: SentForm, value: unknown): boolean =>
  form.has('before') && form.get('before') !== versionOf(value);
