// Estimates the strength of a password by zxcvbn, which knows 49,000 leaked passwords, keyboard
// rows, repeats, years and digits for letters. It is imported only for a new password: its lists
// take half a megabyte.

import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { isKnownPhrase } from './known-phrases.ts';

/** Shorter words of names say nothing about a password. */
const minWordLength = 3;
/**
 * Only these first characters are searched for patterns, because the time grows faster than the
 * length.
 */
const maxCheckedLength = 128;

/**
 * @param names what an attacker tries first; words of a name count by themselves, too
 * @returns the number of attempts that an attacker needs, as a power of ten
 */
export function guessesLog10(password: string, names: readonly string[]): number {
  const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  const text = password.slice(0, maxCheckedLength);
  if (isKnownPhrase(text)) return 0;
  const words = names
    .flatMap((name) => [name, ...name.split(/[^\p{L}\p{N}]+/u)])
    .filter((word) => word.length >= minWordLength);
  return Math.min(...[text, unshifted(text)].map((each) => zxcvbn.check(each, words).guessesLog10));
}

/** What the same keys write without the Shift key, so that `!QAZ2wsx` is a keyboard walk, too. */
const unshifted = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[!@#$%^&*()]/g, (sign) => `${('!@#$%^&*('.indexOf(sign) + 1) % 10}`);
