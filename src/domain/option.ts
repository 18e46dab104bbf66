// What an option of `serve` is, and how its text is read: from the command line, or from the environment.

import { maxMoneySat } from '../bitcoin/transaction.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { flagOf } from './public-endpoint.ts';
import { parseRate, type Rate } from './rate-limit.ts';

export interface OptionDefinition<T> {
  /** How a value is written, for the help. */
  readonly value: string;
  readonly help: string;
  readonly default?: string;
  /** May be given more than once; in the environment separated by spaces. */
  readonly repeatable?: true;
  readonly parse: (texts: readonly string[]) => T;
}

/** A setting under its name. */
export interface Option extends OptionDefinition<unknown> {
  /** On the command line: `--tls-cert`. */
  readonly flag: string;
  /** In the environment: `PAYGATE_TLS_CERT`. */
  readonly env: string;
}

/** @param name as in the configuration: `tlsCert` */
export function namedOption(name: string, definition: OptionDefinition<unknown>): Option {
  const flag = flagOf(name);
  return { ...definition, flag, env: `PAYGATE${flag.slice(1).replaceAll('-', '_').toUpperCase()}` };
}

/** A parser of an option that is given at most once. */
export const single =
  <T>(parse: (text: string) => T) =>
  (texts: readonly string[]): T =>
    parse(texts.at(-1) ?? '');

export const optional =
  <T>(parse: (text: string) => T) =>
  (texts: readonly string[]): T | undefined => {
    const text = texts.at(-1);
    return text === undefined ? undefined : parse(text);
  };

export const rateOption = (fallback: string, what: string): OptionDefinition<Rate | undefined> => ({
  value: 'n[:burst]',
  help: `${what}; off for no limit`,
  default: fallback,
  parse: single(parseRate),
});

export const fileOption = (help: string): OptionDefinition<string | undefined> => ({
  value: 'file',
  help,
  parse: optional(parsePath),
});

export const parseOneOf =
  <T extends string>(values: readonly T[]) =>
  (text: string): T => {
    const value = values.find((each) => each === text);
    if (value !== undefined) return value;
    throw new PaygateError('invalid', `one of ${values.join(', ')} expected, not "${text}"`);
  };

export function readOption(
  option: Option,
  flag: readonly string[] | undefined,
  env: Record<string, string | undefined>,
): unknown {
  const fromEnv = env[option.env] || undefined;
  const texts = flag ?? (fromEnv === undefined ? undefined : splitEnv(option, fromEnv));
  try {
    return option.parse(texts ?? (option.default === undefined ? [] : [option.default]));
  } catch (error) {
    const origin = flag === undefined ? option.env : option.flag;
    throw new PaygateError('invalid', `${origin}: ${reasonOf(error)}`);
  }
}

const splitEnv = (option: Option, text: string): string[] =>
  option.repeatable ? text.split(/\s+/).filter(Boolean) : [text];

export function parsePath(text: string): string {
  if (text === '' || text.includes('\0')) throw new PaygateError('invalid', 'a file name expected');
  // SQLite's driver leaves it out, and nobody else does: a file of settings with CRLF would make two databases of one.
  if (text !== text.trim()) throw new PaygateError('invalid', 'white space around the file name');
  if (text === ':memory:') {
    throw new PaygateError('invalid', `${text} is no file, and nothing would last; name a file`);
  }
  return text;
}

export function parseAmount(text: string): number {
  const valueSat = Number(text);
  if (/^\d{1,16}$/.test(text) && valueSat <= maxMoneySat) return valueSat;
  throw new PaygateError(
    'invalid',
    `whole satoshis from 0 to ${maxMoneySat} expected, not "${text}"`,
  );
}

export function parseChoice(text: string): boolean {
  if (text === 'allow' || text === 'refuse') return text === 'allow';
  throw new PaygateError('invalid', `allow or refuse expected, not "${text}"`);
}

export function parseCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new PaygateError('invalid', `a number from 1 to 9999 expected, not "${text}"`);
}
