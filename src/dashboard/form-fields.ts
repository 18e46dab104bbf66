// Fields of forms as values, with faults in words for the person who typed them.

import { createHash } from 'node:crypto';
import { satPerBitcoin } from '../domain/format.ts';
import { PaygateError } from '../lib/errors.ts';
import { field, type PageRequest } from './page.ts';

type SentForm = Pick<PageRequest, 'form'>;

/** @param label what the page calls the field, where its name says little. @throws PaygateError invalid */
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
 * Satoshis of an amount as people write it, such as 0.05.
 * @param label what the page calls the field
 * @throws PaygateError invalid
 */
export function parseBitcoin(text: string, label: string): number {
  const [, whole, part = ''] = /^(\d{1,8})(?:[.,](\d{1,8}))?$/.exec(text.trim()) ?? [];
  if (whole !== undefined) return Number(whole) * satPerBitcoin + Number(part.padEnd(8, '0'));
  throw new PaygateError('invalid', `${label}: an amount such as 0.05 is expected.`);
}

/** One of the values that a choice offers. @throws PaygateError invalid */
export function choiceValue<T extends string>(
  request: SentForm,
  name: string,
  values: readonly T[],
): T {
  const found = values.find((value) => value === field(request, name));
  if (found !== undefined) return found;
  throw new PaygateError('invalid', `${name}: one of ${values.join(', ')} is expected.`);
}

/** What a form was made from, which it brings back in its field `before`. */
export const versionOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url');

/** Whether somebody was quicker: another page, a plugin, or the same form sent before. */
export const isOutdated = ({ form }: SentForm, value: unknown): boolean =>
  form.has('before') && form.get('before') !== versionOf(value);
