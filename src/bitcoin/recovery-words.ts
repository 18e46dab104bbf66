// Finds recovery words of BIP39 in its ten languages, and of Electrum, in any layout that people
// paste. Words count with a valid checksum only, because a basket of goods has words of the lists
// too. docs/decisions/039 has the rule.
// Sources: BIP39, https://electrum.readthedocs.io/en/latest/seedphrase.html

import { hmac } from '@noble/hashes/hmac.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { validateMnemonic } from '@scure/bip39';
import { wordlist as czech } from '@scure/bip39/wordlists/czech.js';
import { wordlist as english } from '@scure/bip39/wordlists/english.js';
import { wordlist as french } from '@scure/bip39/wordlists/french.js';
import { wordlist as italian } from '@scure/bip39/wordlists/italian.js';
import { wordlist as japanese } from '@scure/bip39/wordlists/japanese.js';
import { wordlist as korean } from '@scure/bip39/wordlists/korean.js';
import { wordlist as portuguese } from '@scure/bip39/wordlists/portuguese.js';
import { wordlist as simplifiedChinese } from '@scure/bip39/wordlists/simplified-chinese.js';
import { wordlist as spanish } from '@scure/bip39/wordlists/spanish.js';
import { wordlist as traditionalChinese } from '@scure/bip39/wordlists/traditional-chinese.js';
import { lazy } from '../lib/lazy.ts';

interface WordList {
  readonly words: string[];
  /** Position in the list of each word in `plainForm`. */
  readonly places: ReadonlyMap<string, number>;
}

/** Electrum's first phrases had 13 words. */
const phraseLengths: readonly number[] = [12, 13, 15, 18, 21, 24];
const minWords = 12;
/** The checksum of 24 words has 8 bits, so they count in any layout beside other text. */
const manyWords = 24;
/** Two phrases of 24 words, each word with two labels and a number, and labels around. */
const maxTokens = 240;
/** 12 words of one character, and the spaces between them. */
const minLength = 23;
/** Letters of 12 short words to those of 24 long ones. */
const gluedLength = /^.{30,300}$/u;
/** Decomposed Korean words have the most letters. */
const maxWordLength = 16;

/** What stands before and behind recovery words. */
const label =
  /^(?:12|13|15|18|21|24|a|are|array|backup|bitcoin|btc|electrum|for|here|index|is|key|mnemonic|my|of|our|phrases?|please|position|private|recovery|secret|seeds?|thanks?|the|these|this|w|wallet|words?|you)$/;
/** What stands before each of them. */
const labelOfEach = /^(?:index|words?|w)$/;
/**
 * Markup, escapes of white space, the host of a URL, the letters in `BIP39`, `1st` and `a)`, and
 * the count in `1/12`.
 */
const layout =
  /<[^<>]*>|&#?\w{1,8};|\\[nrt]|https?:\/\/[^\s/?#]*|bip-?39|(?<=\d)(?:st|nd|rd|th)(?!\p{L})|(?<=\d) ?(?:\/|of) ?\d+|(?<![\p{L}\p{M}])[a-x][).]/giu;

/** Lower case without accents, which people omit. Marks of Japanese and Korean stay. */
const plainForm = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/(?<=\p{sc=Latin})\p{M}+/gu, '');

const wordLists = lazy((): readonly WordList[] =>
  [
    ...[english, french, italian, spanish, portuguese, czech],
    ...[japanese, korean, simplifiedChinese, traditionalChinese],
  ].map((words) => ({
    words,
    places: new Map(words.map((word, place) => [plainForm(word), place])),
  })),
);

/** Electrum: a hash of the words begins with the version of a wallet. */
function isElectrum(words: readonly string[]): boolean {
  const text = words
    .join(' ')
    .replace(/\p{M}/gu, '')
    .replace(/(?<=[\p{sc=Han}\p{sc=Hiragana}]) /gu, '');
  const version = hmac(sha512, utf8ToBytes('Seed version'), utf8ToBytes(text));
  return /^(?:01|10[012])/.test(bytesToHex(version));
}

const isPhrase = (words: readonly string[], list: WordList): boolean =>
  phraseLengths.includes(words.length) &&
  (validateMnemonic(words.join(' '), list.words) || isElectrum(words));

const isNumber = (token: string): boolean => /^\d/.test(token);

/** The words in the order of the numbers beside them. Undefined if these are no positions. */
function inOrder(words: readonly string[], numbers: readonly number[]): string[] | undefined {
  if (numbers.length === 0) return [...words];
  const first = Math.min(...numbers);
  const ordered = words.map((_, at) => words[numbers.indexOf(first + at)] ?? '');
  const arePositions = first <= 1 && numbers.length === words.length && !ordered.includes('');
  return arePositions ? ordered : undefined;
}

/** The words behind labels such as `index` and `word`, which stand before each of them. */
function labelledWords(words: readonly string[], labels: number): string[] {
  const isLabel = (_: string, at: number) => at % (labels + 1) < labels;
  if (!words.filter(isLabel).every((word) => labelOfEach.test(word))) return [];
  return words.filter((word, at) => !isLabel(word, at));
}

/** Whether tokens are one or two phrases of a list, position numbers, and nothing else. */
function arePhrases(tokens: readonly string[], list: WordList): boolean {
  const numbers = tokens.filter(isNumber).map(Number);
  const texts = tokens.filter((token) => !isNumber(token));
  return [0, 1, 2].some((labels) => {
    const found = labelledWords(texts, labels);
    const half = found.length / 2;
    if (![found.length, half].some((length) => phraseLengths.includes(length))) return false;
    const words = found.map((word) => list.words[list.places.get(word) ?? -1] ?? '');
    const ordered = words.includes('') ? [] : (inOrder(words, numbers) ?? []);
    const halves = [ordered.slice(0, half), ordered.slice(half)];
    return isPhrase(ordered, list) || halves.every((each) => isPhrase(each, list));
  });
}

/**
 * The tokens without labels at both ends, in each way: the phrase may begin with `seed`.
 * None if they are too few or too many for a phrase.
 */
function withoutLabels(tokens: readonly string[]): string[][] {
  if (tokens.length < minWords || tokens.length > maxTokens) return [];
  const isOther = (token: string) => !label.test(token);
  const before = tokens.findIndex(isOther);
  const behind = tokens.length - tokens.findLastIndex(isOther);
  return Array.from({ length: before + 1 }, (_, start) =>
    Array.from({ length: behind }, (__, end) => tokens.slice(start, tokens.length - end)),
  ).flat();
}

const wordsIn = (text: string): string[] => text.match(/[\p{L}\p{M}]+/gu) ?? [];

/** The words of each line that has any. */
const linesOf = (text: string): string[][] =>
  text
    .split('\n')
    .map(wordsIn)
    .filter(({ length }) => length > 0);

/** The words by column, if each line has as many of them and no number says their order. */
function byColumns(text: string): string[] {
  const lines = linesOf(text);
  const columns = lines[0]?.length ?? 0;
  if (/\d/.test(text) || lines.some(({ length }) => length !== columns)) return [];
  return Array.from({ length: columns }, (_, at) => lines.map((line) => line[at] ?? '')).flat();
}

/** Words with nothing but white space between them. Lines of one word are a list. */
function rowsOf(text: string): string[][] {
  const parts = text.split(/[^\p{L}\p{M}\s+]+/u).filter(({ length }) => length >= minLength);
  return parts.flatMap((part) => {
    let row: string[] = [];
    const rows = [row];
    let last = 0;
    for (const line of linesOf(part)) {
      if (line.length === 1 && last === 1) {
        row = [];
        rows.push(row);
      }
      for (const word of line) row.push(word);
      last = line.length;
    }
    return rows;
  });
}

/** The parts of the tokens without a word that is not in the list, if long enough for a phrase. */
function runsOf(tokens: readonly string[], { places }: WordList): string[][] {
  let run: string[] = [];
  const runs = [run];
  for (const token of tokens) {
    if (isNumber(token) || places.has(token)) run.push(token);
    else if (run.length < minWords) run.length = 0;
    else {
      run = [];
      runs.push(run);
    }
  }
  return runs;
}

function hasManyWords(tokens: readonly string[]): boolean {
  const words = tokens.filter((token) => !isNumber(token));
  // 12 goods behind `item=` are 24 words of the list, too.
  return words.length >= manyWords && new Set(words).size > words.length / 2 + 1;
}

/** The first way to write letters without spaces as so many words of the list. */
function split(text: string, count: number, { places }: WordList): string[] | undefined {
  const dead = new Set<string>();
  const from = (start: number, left: number): string[] | undefined => {
    if (left === 0) return start === text.length ? [] : undefined;
    const state = `${start} ${left}`;
    if (dead.has(state)) return undefined;
    dead.add(state);
    for (let end = start + 1; end <= start + maxWordLength; end += 1) {
      const word = text.slice(start, end);
      const others = places.has(word) ? from(end, left - 1) : undefined;
      if (others !== undefined) return [word, ...others];
    }
    return undefined;
  };
  return from(0, count);
}

const isGluedPhrase = (text: string): boolean =>
  // Most characters of ordinary Chinese are words of the list.
  !/\p{sc=Han}/u.test(text) &&
  wordLists().some((list) =>
    phraseLengths.some((length) => arePhrases(split(text, length, list) ?? [], list)),
  );

/**
 * Whether a text is recovery words with their layout, or has them in a row.
 * @param text in NFKC, without invisible characters
 */
export function holdsRecoveryWords(text: string): boolean {
  if (text.length < minLength) return false;
  const bare = plainForm(text.replace(layout, ' '));
  const tokens = bare.match(/[\p{L}\p{M}]+|\d+/gu) ?? [];
  if (tokens.some((token) => gluedLength.test(token) && isGluedPhrase(token))) return true;
  if (tokens.length < minWords) return false;
  const whole = [tokens, byColumns(bare)];
  const rows = rowsOf(bare);
  return wordLists().some((list) => {
    const inRows = rows.flatMap((row) => runsOf(row, list));
    const parts = [...whole, ...inRows].flatMap(withoutLabels);
    const lists = runsOf(tokens, list).flatMap(withoutLabels).filter(hasManyWords);
    return [...parts, ...lists].some((part) => arePhrases(part, list));
  });
}

/** Whether a text is a Chinese phrase without spaces; each word is one character. */
export const isUnspacedPhrase = (text: string): boolean =>
  /^\p{sc=Han}+$/u.test(text) && holdsRecoveryWords([...text].join(' '));
