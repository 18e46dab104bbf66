// Estimates the strength of a password by zxcvbn, which knows leaked passwords, keyboard rows,
// repeats, years and digits for letters. It is imported only for a new password: its lists take
// half a megabyte.

import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';

/**
 * Only these first characters are searched for patterns, because the time grows faster than the
 * length.
 */
const maxCheckedLength = 128;

/**
 * @param words names that an attacker tries first
 * @returns the number of attempts that an attacker needs, as a power of ten
 */
export function guessesLog10(password: string, words: readonly string[]): number {
  const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return zxcvbn.check(password.slice(0, maxCheckedLength), [...words]).guessesLog10;
}
