// Reads fields of forms as values; a fault is an error text for the person who typed the value.

import { createHash } from 'node:crypto';
import { satPerBitcoin } from '../domain/format.ts';
import { PaygateError } from '../lib/errors.ts';
import { field, type PageRequest } from './page.ts';

type SentForm = Pick<PageRequest, 'form'>;

/** @param label the field's label, if its name says too little @throws PaygateError invalid */
export function wholeNumber(
  request: SentForm,
  name: string,
  min: number,
  max: number,
  label = name,
): number {
  const text = field(request, name);
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
  throw new PaygateError('invalid', `${label}: a whole number from ${min} to ${max} is expected.`);
}

export const isOn = ({ form }: SentForm, name: string): boolean => form.get(name) === 'on';

/**
 * Parses an amount in bitcoin, such as 0.05, as satoshis.
 * @param label the field's label
 * @throws PaygateError invalid
 */
export function parseBitcoin(text: string, label: string): number {
  const [, whole, part = ''] = /^(\d{1,8})(?:[.,](\d{1,8}))?$/.exec(text.trim()) ?? [];
  if (whole !== undefined) return Number(whole) * satPerBitcoin + Number(part.padEnd(8, '0'));
  throw new PaygateError('invalid', `${label}: an amount such as 0.05 is expected.`);
}

/** One of the values of a select field. @throws PaygateError invalid */
export function choiceValue<T extends string>(
  request: SentForm,
  name: string,
  values: readonly T[],
): T {
  const found = values.find((value) => value === field(request, name));
  if (found !== undefined) return found;
  throw new PaygateError('invalid', `${name}: one of ${values.join(', ')} is expected.`);
}

/** The version of the values that a form was made from; its field `before` sends it back. */
export const versionOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url');

/** Whether another page, a plugin or the same form has changed the value since. */
export const isOutdated = ({ form }: SentForm, value: unknown): boolean =>
  form.has('before') && form.get('before') !== versionOf(value);
