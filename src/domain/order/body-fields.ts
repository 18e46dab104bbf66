// Reads the fields of a request's body one by one, so that all problems are reported at once.

import { utf8ToBytes } from '@noble/hashes/utils.js';
import { PaygateError, reasonOf, throwInvalid } from '../../lib/errors.ts';
import { parseCurrency } from '../payment/currency.ts';

/** A field of a body. Null is the same as a missing field. */
export type Optional<T> = T | null | undefined;

export const isGiven = <T>(value: Optional<T>): value is T => value !== null && value !== undefined;

/** What is wrong with the fields of a body, as `field: problem` for each. */
export class BodyProblems extends PaygateError {
  readonly problems: readonly FieldProblem[];

  constructor(problems: readonly FieldProblem[]) {
    super('invalid', problems.map(([name, problem]) => `${name}: ${problem}`).join('; '), {
      fields: problems.map(([path, message]) => ({ path, message })),
    });
    this.problems = problems;
  }
}

type FieldProblem = readonly [field: string, problem: string];

export interface FieldReader<N extends string> {
  readonly problems: readonly FieldProblem[];
  /** The value of one field, or its default if it is missing or invalid. */
  field<T, R>(name: N, given: Optional<T>, missing: R, read: (given: T) => R): R;
  report(name: N, problem: string): void;
}

export function createFieldReader<N extends string>(): FieldReader<N> {
  const problems: FieldProblem[] = [];
  const report = (name: N, problem: string) => void problems.push([name, problem]);
  return {
    problems,
    report,
    field(name, given, missing, read) {
      try {
        return isGiven(given) ? read(given) : missing;
      } catch (error) {
        if (!(error instanceof PaygateError)) throw error;
        report(name, reasonOf(error));
        return missing;
      }
    },
  };
}

/** Null for an empty text. @throws PaygateError invalid */
export function parseText(text: string, maxBytes: number, hasLines: boolean): string | null {
  checkText(text, hasLines);
  checkBytes(text, maxBytes);
  return text === '' ? null : text;
}

/** @throws PaygateError invalid */
export function checkText(text: string, hasLines: boolean): void {
  if (isPlainText(hasLines ? text.replace(/\r?\n|\t/g, ' ') : text)) return;
  throwInvalid('has control characters or broken characters; take them out');
}

/** Whether a text is one line without control characters and broken characters. */
export const isPlainText = (text: string): boolean => !/\p{Cc}/u.test(text) && text.isWellFormed();

/** @throws PaygateError invalid */
export function checkBytes(text: string, maxBytes: number): void {
  const { length } = utf8ToBytes(text);
  if (length > maxBytes) throwInvalid(`has ${length} bytes; at most ${maxBytes} are allowed`);
}

/** The currency of a price. @throws PaygateError invalid, also for bitcoin */
export function parsePriceCurrency(text: string): string {
  if (/^\s*(btc|xbt|sats?)\s*$/i.test(text)) {
    throwInvalid('a price in bitcoin is given in satoshis, as amount_sat alone');
  }
  return parseCurrency(text);
}
