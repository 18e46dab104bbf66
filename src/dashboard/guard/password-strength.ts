// Decides whether a password is too predictable (SP 800-63B: a block list). It takes out what
// attackers try first: words of this product and of its names, common words, phrases, rows of the
// keyboard, dates and repetitions. What is left must have two distinct words, or eight characters.
// See docs/decisions/056.

import { commonWords, knownPhrases, productWords, wordsOf } from './common-passwords.ts';

/** Later characters are not searched, because the time grows faster than the length. */
const maxCheckedLength = 128;
/** Shorter words count only where they stand alone. */
const minPartLength = 4;
const minWordLength = 3;
/** Longer ones are found with other characters between their letters. */
const minSpreadLength = 10;
const minSequenceLength = 4;

const minPoints = 8;
/** A second word makes enough. */
const wordPoints = 4;
/** So many letters are several words without spaces between them, or a language without spaces. */
const minSentenceLength = 12;
/** Four common words are enough: an attacker tries combinations of up to three. */
const commonWordPoints = 2;

/** The alphabet, digits, rows, columns and both hands in turns of keyboards, pi, e, squares. */
const sequences = wordsOf(`
  abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop qwertzuiop azertyuiop asdfghjkl qsdfghjklm
  zxcvbnm yxcvbnm wxcvbn 1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p 1qay2wsx3edc4rfv5tgb6zhn7ujm8ik9ol0p
  qazwsxedcrfvtgbyhnujmikolp qaywsxedcrfvtgbzhnujmikolp zaq12wsxcde34rfvbgt56yhnmju78iklo90p
  yaq12wsxcde34rfvbgt56zhnmju78iklo90p 1qazxsw23edcvfr45tgbnhy67ujmki89olp0
  qazxswedcvfrtgbnhyujmkiolp 1q2w3e4r5t6y7u8i9o0p 1q2w3e4r5t6z7u8i9o0p q1w2e3r4t5y6u7i8o9p0
  qawsedrftgyhujikolp azsxdcfvgbhnjmkl qpwoeirutyalskdjfhgzmxncbv
  314159265358979323846264338327950288419716939937510
  2718281828459045235360287471352662497757 149162536496481100121144169196225
`);

const date =
  /(?<!\d)(?:\d{1,2}[./-]?\d{1,2}[./-]?)?(?:19|20)\d\d(?:[./-]?\d{1,2}[./-]?\d{1,2})?(?!\d)/g;
/** The same character three times, or several characters twice; all but the first are left out. */
const repetition = /(.)\1{2,}|(.{2,}?)\2+/gsu;
const letter = /[\p{L}\p{M}]/u;

/** Letters for digits and signs, as in `p4$$w0rd`. A 1 stands for i and l, so both become i. */
const lookalikes = new Map(
  '0o 1i 3e 4a 5s 7t @a $s !i €e |i li'.split(' ').map(([sign = '', read = '']) => [sign, read]),
);

const shiftedDigits = '!@#$%^&*()';

/** @param names of the stores and hosts; each part of a name counts by itself, too */
export function isGuessable(password: string, names: readonly string[]): boolean {
  const text = folded(password).slice(0, maxCheckedLength);
  const covered: boolean[] = new Array(text.length).fill(false);
  const cover = (from: number, end: number): void => void covered.fill(true, from, end);
  const parts = names.flatMap((name) => [name, ...name.split(/[^\p{L}\p{N}]+/u)]);
  coverWords(text, [...productWords, ...knownPhrases, ...parts.map(folded)], covered);
  const common = coverWords(text, commonWords, covered);
  for (const { index, 0: found } of text.matchAll(date)) cover(index, index + found.length);
  for (const { index, 0: found, 1: one, 2: unit = one ?? '' } of text.matchAll(repetition)) {
    cover(index + unit.length, index + found.length);
  }
  coverSequences(text, covered);
  return common * commonWordPoints + pointsOf(text, covered) < minPoints;
}

/** Small letters without accents. */
const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .normalize('NFC');

const readOf = (text: string): string =>
  text
    .split('')
    .map((each) => lookalikes.get(each) ?? each)
    .join('');

const unshifted = (text: string): string =>
  text.replaceAll(/[!@#$%^&*()]/g, (sign) => `${(shiftedDigits.indexOf(sign) + 1) % 10}`);

const reversed = (text: string): string => text.split('').reverse().join('');

/** A way to read a text, and the places of its characters there. */
interface View {
  readonly text: string;
  readonly places: readonly number[];
}

function viewOf(text: string, isRead: (letter: string) => boolean = () => true): View {
  const places = [...text.split('').keys()].filter((place) => isRead(text.charAt(place)));
  return { text: places.map((place) => text.charAt(place)).join(''), places };
}

/**
 * Covers the words where they stand in a text: also reversed, with digits for letters, and the long
 * ones with other characters between their letters.
 * @returns the number of words that cover something new
 */
function coverWords(text: string, words: readonly string[], covered: boolean[]): number {
  const written = [text, readOf(text)];
  const views = written.map((each) => viewOf(each));
  const spread = written.map((each) => viewOf(each, (sign) => letter.test(sign)));
  let count = 0;
  for (const word of [...new Set(words)].sort((one, other) => other.length - one.length)) {
    if (word.length < minWordLength) continue;
    const places = [word, reversed(word)]
      .flatMap((each) => [each, readOf(each)])
      .flatMap((form) => [
        ...views.flatMap((view) => placesOf(view, form)),
        ...(word.length < minSpreadLength ? [] : spread.flatMap((view) => placesOf(view, form))),
      ]);
    if (places.some((place) => !covered[place])) count += 1;
    for (const place of places) covered[place] = true;
  }
  return count;
}

/** The places of a word's characters. Short words must stand alone. */
function placesOf({ text, places }: View, word: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const isAlone =
      !letter.test(text.charAt(at - 1)) && !letter.test(text.charAt(at + word.length));
    if (word.length < minPartLength && !isAlone) continue;
    found.push(...places.slice(at, at + word.length));
  }
  return found;
}

function coverSequences(text: string, covered: boolean[]): void {
  const known = sequences.flatMap((each) => [each, reversed(each)]);
  for (const view of [text, unshifted(text)]) {
    for (let from = 0; from + minSequenceLength <= view.length; from += 1) {
      let end = from + minSequenceLength;
      if (!known.some((each) => each.includes(view.slice(from, end)))) continue;
      while (end < view.length && known.some((each) => each.includes(view.slice(from, end + 1)))) {
        end += 1;
      }
      covered.fill(true, from, end);
    }
  }
}

/** The worth of what is not covered. A word or a character counts once. */
function pointsOf(text: string, covered: readonly boolean[]): number {
  const left = Array.from(text, (_, place) => place)
    .map((place) => (covered[place] ? ' ' : text.charAt(place)))
    .join('');
  const words = new Set(left.match(/[\p{L}\p{M}]{3,}/gu));
  const others = new Set(left.replaceAll(/[\p{L}\p{M}]{3,}|\s/gu, ''));
  const worth = [...words].map((word) =>
    word.length >= minSentenceLength ? 2 * wordPoints : wordPoints,
  );
  return worth.reduce((sum, each) => sum + each, others.size);
}
