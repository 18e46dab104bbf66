// The body with which a merchant makes or changes a link: every rule of its fields, and their
// defaults. All problems are reported at once. payer-input.ts has what strangers enter.

import { refusePrivateMaterial } from '../../bitcoin/private-material.ts';
import { throwInvalid } from '../../lib/errors.ts';
import { formatMoney, parseMoney } from '../payment/money.ts';
import {
  BodyProblems,
  createFieldReader,
  type FieldReader,
  isGiven,
  type Optional,
  parsePriceCurrency,
  parseText,
} from './body-fields.ts';
import { maxDescriptionBytes, parseAdjustment } from './order-input.ts';
import { checkOrderSat } from './quote.ts';

/** Whether a payer enters a note: never, if they like, or always. */
export type NoteRule = 'no' | 'optional' | 'required';
export const noteRules = ['no', 'optional', 'required'] as const satisfies readonly NoteRule[];

export interface LinkBody {
  readonly title?: Optional<string>;
  readonly description?: Optional<string>;
  readonly currency?: Optional<string>;
  readonly amount?: Optional<string>;
  readonly min?: Optional<string>;
  readonly max?: Optional<string>;
  readonly suggested?: Optional<readonly string[]>;
  readonly amount_sat?: Optional<number>;
  readonly min_sat?: Optional<number>;
  readonly max_sat?: Optional<number>;
  readonly suggested_sat?: Optional<readonly number[]>;
  readonly note?: Optional<NoteRule>;
  readonly active?: Optional<boolean>;
  readonly most_orders?: Optional<number>;
  readonly adjust_percent?: Optional<number>;
  readonly ask_email?: Optional<boolean>;
}

/** Amounts in minor units of the currency, or in satoshis without one. */
export interface LinkAmounts {
  readonly currency: string | null;
  readonly amount: number | null;
  /** Bounds of what a payer enters. */
  readonly minAmount: number | null;
  readonly maxAmount: number | null;
  readonly suggested: readonly number[];
}

export interface LinkInput extends LinkAmounts {
  readonly title: string;
  readonly description: string | null;
  readonly note: NoteRule;
  readonly isActive: boolean;
  /** How many paid orders end it; null for no limit. */
  readonly maxOrders: number | null;
  /** A discount below 0 or a surcharge; null for that of the store. */
  readonly adjustBasisPoints: number | null;
  /** Whether a payer may enter a mail address, which then has the mails of the order. */
  readonly asksEmail: boolean;
}

export const maxTitleBytes = 200;
export const maxSuggested = 8;
export const maxLinkOrders = 1_000_000;

/**
 * Reads the body of a new link.
 * @throws PaygateError invalid with `field: problem` for each problem; no text of the body that may
 *   be a secret is repeated
 */
export function parseLinkInput(body: LinkBody): LinkInput {
  const texts = Object.values(body)
    .flat()
    .filter((value) => typeof value === 'string');
  refusePrivateMaterial(texts);
  const reader = createFieldReader<keyof LinkBody>();
  const { field, problems } = reader;
  const input = {
    title: field('title', body.title ?? '', '', parseTitle),
    description: field('description', body.description, null, (text) =>
      parseText(text, maxDescriptionBytes, true),
    ),
    ...amountsOf(body, reader),
    note: body.note ?? 'no',
    isActive: body.active ?? true,
    maxOrders: field('most_orders', body.most_orders, null, parseMaxOrders),
    adjustBasisPoints: field('adjust_percent', body.adjust_percent, null, (percent) => {
      if (!isGiven(body.currency)) {
        throwInvalid('a price in satoshis has no discount and no surcharge');
      }
      return parseAdjustment(percent);
    }),
    asksEmail: body.ask_email ?? false,
  };
  if (problems.length > 0) throw new BodyProblems(problems);
  return input;
}

/**
 * Reads the body that changes a link. A missing field stays as it is; null is the default.
 * @throws PaygateError invalid, as for a new link
 */
export function parseLinkChange(before: LinkInput, change: LinkBody): LinkInput {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return parseLinkInput({ ...linkBodyOf(before), ...Object.fromEntries(given) });
}

export function linkBodyOf(link: LinkInput) {
  const { title, description, note } = link;
  return {
    title,
    description,
    ...amountTextsOf(link),
    note,
    active: link.isActive,
    most_orders: link.maxOrders,
    adjust_percent: link.adjustBasisPoints === null ? null : link.adjustBasisPoints / 100,
    ask_email: link.asksEmail,
  } satisfies Required<LinkBody>;
}

function amountTextsOf({ currency, amount, minAmount, maxAmount, suggested }: LinkAmounts) {
  if (currency === null) {
    return {
      currency,
      amount: null,
      min: null,
      max: null,
      suggested: [] as string[],
      amount_sat: amount,
      min_sat: minAmount,
      max_sat: maxAmount,
      suggested_sat: [...suggested],
    };
  }
  const textOf = (minor: number): string => formatMoney(BigInt(minor), currency);
  const textOrNull = (minor: number | null) => (minor === null ? null : textOf(minor));
  return {
    currency,
    amount: textOrNull(amount),
    min: textOrNull(minAmount),
    max: textOrNull(maxAmount),
    suggested: suggested.map(textOf),
    amount_sat: null,
    min_sat: null,
    max_sat: null,
    suggested_sat: [] as number[],
  };
}

type Reader = FieldReader<keyof LinkBody>;

const fiatNames = ['amount', 'min', 'max', 'suggested'] as const;
const satNames = ['amount_sat', 'min_sat', 'max_sat', 'suggested_sat'] as const;

function amountsOf(body: LinkBody, reader: Reader): LinkAmounts {
  const { currency: given } = body;
  const currency = reader.field('currency', given, null, parsePriceCurrency);
  const isFiat = isGiven(given);
  for (const name of isFiat ? satNames : fiatNames) {
    if (!hasValue(body[name])) continue;
    const other = isFiat ? name.replace('_sat', '') : `${name}_sat`;
    reader.report(
      name,
      isFiat ? `a link with a currency has ${other}` : `give a currency, or ${other} instead`,
    );
  }
  if (!isFiat) return readAmounts(reader, satNames, body, currency, parseSat);
  // After an invalid currency, no amount can be read.
  if (currency === null) return { ...noAmounts, currency };
  const parse = (text: string) => Number(parseMoney(text, currency));
  return readAmounts(reader, fiatNames, body, currency, parse);
}

const noAmounts = { amount: null, minAmount: null, maxAmount: null, suggested: [] };

const hasValue = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : isGiven(value);

type AmountNames = typeof fiatNames | typeof satNames;

function readAmounts<T extends string | number>(
  { field, report }: Reader,
  [amountName, minName, maxName, suggestedName]: AmountNames,
  body: LinkBody,
  currency: string | null,
  parse: (given: T) => number,
): LinkAmounts {
  const one = (name: AmountNames[0 | 1 | 2]) =>
    field(name, body[name] as Optional<T>, null as number | null, parse);
  const [amount, minAmount, maxAmount] = [one(amountName), one(minName), one(maxName)];
  const suggested = field(
    suggestedName,
    body[suggestedName] as Optional<readonly T[]>,
    [] as number[],
    (list) => parseSuggested(list, parse, { minAmount, maxAmount }),
  );
  if (amount !== null) {
    for (const name of [minName, maxName, suggestedName]) {
      if (hasValue(body[name])) report(name, 'is for a link whose payer enters the amount');
    }
  }
  if (minAmount !== null && maxAmount !== null && minAmount > maxAmount) {
    report(minName, `must not be above ${maxName}`);
  }
  return { currency, amount, minAmount, maxAmount, suggested };
}

function parseSuggested<T>(
  list: readonly T[],
  parse: (given: T) => number,
  { minAmount, maxAmount }: Pick<LinkAmounts, 'minAmount' | 'maxAmount'>,
): number[] {
  if (list.length > maxSuggested) {
    throwInvalid(`has ${list.length} amounts; at most ${maxSuggested} are allowed`);
  }
  const amounts = list.map(parse);
  const isWithin = (amount: number) =>
    amount >= (minAmount ?? 0) && (maxAmount === null || amount <= maxAmount);
  if (!amounts.every(isWithin)) throwInvalid('each amount must be within the bounds of the link');
  return amounts;
}

function parseSat(valueSat: number): number {
  if (!Number.isInteger(valueSat)) throwInvalid('whole satoshis are expected');
  checkOrderSat(valueSat);
  return valueSat;
}

const parseTitle = (text: string): string =>
  parseText(text.trim(), maxTitleBytes, false) ?? throwInvalid('is missing');

function parseMaxOrders(count: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= maxLinkOrders) return count;
  throwInvalid(`a whole number from 1 to ${maxLinkOrders} is expected`);
}
