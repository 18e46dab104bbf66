// What is wrong with a form of a link, in the words of the customer.

import { maxMoneySat } from '../bitcoin/transaction.ts';
import type { LinkRefusalReason } from '../domain/order/link-refusal.ts';
import type { PayerProblem } from '../domain/order/payer-input.ts';
import { minOrderSat } from '../domain/order/quote.ts';
import { type DecimalSeparator, typedDigitsOf, typedText } from '../domain/order/typed-amount.ts';
import type { LinkRow } from '../store/orders/link-view.ts';
import { type FieldTexts, shownAmount } from './payer-form.tsx';
import type { Reading } from './reading.ts';
import { nameInText } from './words/language-formats.ts';

type Priced = Pick<LinkRow, 'currency'>;

/** A text for each field with a problem. */
export const fieldErrors = (
  link: Priced,
  problems: readonly PayerProblem[],
  reading: Reading,
): FieldTexts =>
  Object.fromEntries(
    problems.map((problem) => [
      problem.field,
      problem.field === 'amount'
        ? amountError(link, problem, reading)
        : problem.field === 'note'
          ? noteError(problem, reading)
          : emailError(problem, reading),
    ]),
  );

/** What may be shown of what was typed: a private key is never repeated. */
export const typedAgain = (entered: FieldTexts, problems: readonly PayerProblem[]): FieldTexts => {
  const secret = problems.filter(({ reason }) => reason === 'private-material');
  return { ...entered, ...Object.fromEntries(secret.map(({ field }) => [field, undefined])) };
};

function amountError(
  { currency }: Priced,
  { reason, limit = 0, meanings = [] }: PayerProblem,
  { words: { link }, formats }: Reading,
): string {
  switch (reason) {
    case 'missing':
      return link.missingAmount;
    case 'too-small':
      return link.atLeast(shownAmount(limit, currency, formats));
    case 'too-large':
      return link.atMost(shownAmount(limit, currency, formats));
    case 'private-material':
      return link.privateKey;
    case 'two-meanings':
      return link.wrongAmount(
        nameInText(
          formats.either(
            meanings.map((each) => typedText(each, currency, formats.decimalSeparator())),
          ),
        ),
      );
    default:
      return link.wrongAmount(nameInText(exampleOf(currency, formats.decimalSeparator())));
  }
}

/** An amount with all decimals of the currency. */
function exampleOf(currency: string | null, decimalSeparator: DecimalSeparator): string {
  const digits = typedDigitsOf(currency);
  return digits === 0 ? '1000' : `12${decimalSeparator}${'5'.padEnd(digits, '0')}`;
}

function noteError({ reason, limit = 0 }: PayerProblem, { words: { link } }: Reading): string {
  switch (reason) {
    case 'missing':
      return link.missingNote;
    case 'too-long':
      return link.longNote(limit);
    case 'private-material':
      return link.privateKey;
    default:
      return link.noteHint;
  }
}

const emailError = ({ reason }: PayerProblem, { words: { link } }: Reading): string =>
  reason === 'private-material' ? link.privateKey : link.wrongEmail(nameInText(exampleEmail));

const exampleEmail = 'anna@example.com';

/** What a customer can change after a refusal. Only an entered amount can be. */
export function refusedFields(
  { amount }: Pick<LinkRow, 'amount'>,
  reason: LinkRefusalReason,
  reading: Reading,
): FieldTexts | undefined {
  if (reason === 'emails') return { email: reading.words.link.manyEmails };
  const text = amount === null ? amountRefusal(reason, reading) : undefined;
  return text === undefined ? undefined : { amount: text };
}

/** A text for an amount that the price of now makes too small or too large. */
const amountRefusal = (
  reason: LinkRefusalReason,
  { words: { link }, formats }: Reading,
): string | undefined => {
  if (reason === 'too-small') return link.tooSmall(formats.sat(minOrderSat));
  return reason === 'too-large' ? link.atMost(formats.bitcoin(maxMoneySat)) : undefined;
};
