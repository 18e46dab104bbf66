// How soon a password would be guessed, by zxcvbn: it knows leaked ones, rows of a keyboard, repeats, years and letters
// that were changed for digits. Half a megabyte of lists, so that it is loaded where a password is chosen and nowhere else.

import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';

/** Patterns are looked for in so many characters: the time grows faster than their number. */
const maxCheckedLength = 128;

/**
 * @param words that are guessed first
 * @returns how many tries it takes, as a power of ten
 */
export function guessesLog10(password: string, words: readonly string[]): number {
  const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return zxcvbn.check(password.slice(0, maxCheckedLength), [...words]).guessesLog10;
}
