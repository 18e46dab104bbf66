// An option of `serve`, and parsers of its text from the command line or the environment.

import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { parseRate, type Rate } from '../access/rate-limit.ts';
import { flagOf } from '../delivery/public-endpoint.ts';

export interface OptionDefinition<T> {
  /** Placeholder of the value in the help. */
  readonly value: string;
  readonly help: string;
  readonly default?: string;
  /** All values that it accepts, for the completion of a shell. */
  readonly choices?: readonly string[];
  /** May occur several times; separated by spaces in the environment. */
  readonly repeatable?: true;
  readonly parse: (texts: readonly string[]) => T;
}

export interface Option extends OptionDefinition<unknown> {
  /** Command line: `--tls-cert`. */
  readonly flag: string;
  /** Environment: `PAYGATE_TLS_CERT`. */
  readonly env: string;
}

/** @param name in `Config`: `tlsCert` */
export function namedOption(name: string, definition: OptionDefinition<unknown>): Option {
  const flag = flagOf(name);
  return { ...definition, flag, env: `PAYGATE${flag.slice(1).replaceAll('-', '_').toUpperCase()}` };
}

/** Parser of an option with one value; the last one counts. */
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
  // SQLite's driver trims white space and the rest of paygate does not. An environment file with
  // CRLF would make two databases.
  if (text !== text.trim()) throw new PaygateError('invalid', 'white space around the file name');
  if (text === ':memory:') {
    throw new PaygateError('invalid', `${text} is no file, and nothing would last; name a file`);
  }
  return text;
}

export function parseChoice(text: string): boolean {
  if (text === 'allow' || text === 'refuse') return text === 'allow';
  throw new PaygateError('invalid', `allow or refuse expected, not "${text}"`);
}

export function parseCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new PaygateError('invalid', `a number from 1 to 9999 expected, not "${text}"`);
}
