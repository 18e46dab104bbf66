// Finds recovery words in text by their lists and checksums: BIP39 in ten languages, Electrum,
// aezeed, SLIP-39. private-material.ts decides what follows.
// Sources: BIP39, SLIP-0039, https://electrum.readthedocs.io/en/latest/seedphrase.html,
// https://github.com/lightningnetwork/lnd/tree/master/aezeed

import { hmac } from '@noble/hashes/hmac.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
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
import { oldElectrumWords } from './electrum-words.ts';
import { splitsIntoWords } from './glued-words.ts';
import { slip39Words } from './slip39-words.ts';

/** `checksum`: a phrase that wallets accept. `list`: words of a list without a valid checksum. */
export type SecretMatch = 'checksum' | 'list';

interface WordList {
  /** Position in the list of each word in `plainForm`. */
  readonly places: ReadonlyMap<string, number>;
  /** Numbers of words of a phrase. */
  readonly lengths: readonly number[];
  /** Whether the checksum confirms a phrase of these words, given by position and text. */
  readonly confirms: (places: readonly number[], words: readonly string[]) => boolean;
  /** Whether a row of this many words is a match even without a valid checksum. */
  readonly countsRuns: boolean;
  /** Minimum share of listed words in a text of one phrase's length. */
  readonly shareAlone?: number | undefined;
  /** Maximum number of words before such a phrase. */
  readonly labelWords?: number;
}

const phraseLengths = [12, 15, 18, 21, 24];
const minWords = 12;
/** A text that repeats a few words is no phrase without a valid checksum. */
const isVaried = (words: readonly string[]): boolean =>
  new Set(words).size >= Math.min((words.length * 2) / 3, 16);
/** Limit of the checksums computed for a long run of words. */
const maxWindows = 24;

/** Letters of 12 short words, and of 33 long ones. */
const gluedLength = { min: 30, max: 300 };

/**
 * Lower case without accents, which people omit. Marks of Japanese and Korean stay: they matter.
 */
function plainForm(word: string): string {
  const decomposed = word.normalize('NFKD').toLowerCase();
  return /^[\p{Script=Latin}\p{M}]+$/u.test(decomposed)
    ? decomposed.replace(/\p{M}/gu, '')
    : decomposed;
}

/** Positions of 11 bits each as bytes, and the remaining bits, fewer than a byte. */
function packed(places: readonly number[]): {
  bytes: Uint8Array;
  rest: number;
  restLength: number;
} {
  const bytes = new Uint8Array(Math.floor((places.length * 11) / 8));
  let rest = 0;
  let restLength = 0;
  let at = 0;
  for (const place of places) {
    rest = (rest << 11) | place;
    restLength += 11;
    for (; restLength >= 8; at += 1) {
      restLength -= 8;
      bytes[at] = rest >>> restLength;
      rest &= (1 << restLength) - 1;
    }
  }
  return { bytes, rest, restLength };
}

/** BIP39: one bit of checksum for every 32 of entropy. */
function isBip39(places: readonly number[]): boolean {
  const { bytes, rest, restLength } = packed(places);
  const entropySize = (places.length * 4) / 3;
  const [first = 0] = sha256(bytes.subarray(0, entropySize));
  return restLength === 0 ? first === bytes[entropySize] : first >>> (8 - restLength) === rest;
}

/** Electrum: a hash of the words begins with the version of a wallet. */
const isElectrum = (words: readonly string[]): boolean =>
  /^(01|10[012])/.test(
    bytesToHex(hmac(sha512, utf8ToBytes('Seed version'), utf8ToBytes(words.join(' ')))),
  );

/** CRC-32C, the checksum of aezeed. */
function crc32c(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0x82f63b78 : 0);
  }
  return ~sum >>> 0;
}

/** aezeed version 0: 24 words are 33 bytes, of which the last four are the checksum. */
function isAezeed(places: readonly number[]): boolean {
  const { bytes } = packed(places);
  const checksum = new DataView(bytes.buffer).getUint32(29);
  return bytes[0] === 0 && crc32c(bytes.subarray(0, 29)) === checksum;
}

/** Also finds a phrase next to words of the list that do not belong to it. */
const isElectrumWithin = (words: readonly string[]): boolean =>
  words.length <= 30 &&
  [0, 1, 2].some((start) =>
    [0, 1].some((end) => {
      const part = words.slice(start, words.length - end);
      return part.length >= minWords && isElectrum(part);
    }),
  );

/** Phrases in columns on paper are often copied row by row. */
function byColumns(places: readonly number[], columns: number): number[] {
  if (places.length % columns !== 0) return [...places];
  return Array.from({ length: columns }, (_, column) =>
    places.filter((_place, at) => at % columns === column),
  ).flat();
}

/** A run of a phrase's length is checked as a whole; in any other run, each window. */
function isPhrase(places: readonly number[], words: readonly string[]): boolean {
  if (isElectrumWithin(words) || windows(places, 24).some(isAezeed)) return true;
  if (phraseLengths.includes(places.length)) {
    const isTwo = places.length === 24 && [0, 12].every((at) => isBip39(places.slice(at, at + 12)));
    const orders = [1, 2, 3, 4].map((columns) => byColumns(places, columns));
    return isTwo || orders.some(isBip39);
  }
  return phraseLengths.some((length) => windows(places, length).some(isBip39));
}

const shareGenerator = [
  0xe0e040, 0x1c1c080, 0x3838100, 0x7070200, 0xe0e0009, 0x1c0c2412, 0x38086c24, 0x3090fc48,
  0x21b1f890, 0x3f3f120,
];

/** RS1024, the checksum of SLIP-39, over the scheme's name and the words. */
function isShare(places: readonly number[]): boolean {
  return ['shamir', 'shamir_extendable'].some((scheme) => {
    let sum = 1;
    for (const value of [...utf8ToBytes(scheme), ...places]) {
      const top = sum >> 20;
      sum = ((sum & 0xfffff) << 10) ^ value;
      for (const [bit, term] of shareGenerator.entries()) if ((top >> bit) & 1) sum ^= term;
    }
    return sum === 1;
  });
}

/** The first `maxWindows` windows of a length. */
function windows<T>(list: readonly T[], length: number): readonly T[][] {
  const count = Math.min(Math.max(list.length - length + 1, 0), maxWindows);
  return Array.from({ length: count }, (_, start) => list.slice(start, start + length));
}

const placesOf = (words: readonly string[]) =>
  new Map(words.map((word, place) => [plainForm(word), place]));

const bip39 = (words: readonly string[]): WordList => ({
  places: placesOf(words),
  lengths: phraseLengths,
  confirms: isPhrase,
  countsRuns: true,
  shareAlone: 0.75,
});

/**
 * Wallets accept the first four letters of each word. Prose has many of these, so runs do not
 * count.
 */
const abbreviated = (list: WordList): WordList => ({
  ...list,
  places: new Map([...list.places].map(([word, place]) => [word.slice(0, 4), place])),
  countsRuns: false,
  shareAlone: undefined,
});

const slip39: () => WordList = () => ({
  places: placesOf(slip39Words),
  lengths: [20, 33],
  confirms: (places) =>
    [20, 33].some((length) => windows(places, length).some(isShare)) || isShare(places),
  countsRuns: true,
});

/** Common words without a checksum: they match only a text that has nothing else. */
const oldElectrum: () => WordList = () => ({
  places: placesOf(oldElectrumWords),
  lengths: [12, 24],
  confirms: () => false,
  countsRuns: false,
  shareAlone: 1,
  labelWords: 4,
});

const wordLists = lazy((): readonly WordList[] => [
  ...[english, french, italian, spanish, portuguese, czech].map(bip39),
  ...[japanese, korean, simplifiedChinese, traditionalChinese].map(bip39),
  abbreviated(bip39(english)),
  slip39(),
  abbreviated(slip39()),
  oldElectrum(),
]);

/**
 * Whether two words differ by one letter that is wrong, missing, added or swapped with the next.
 */
function isNear(one: string, other: string): boolean {
  const longer = Math.max(one.length, other.length);
  if (longer < 4 || Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < longer && one[start] === other[start]) start += 1;
  const [restOfOne, restOfOther] = [one.slice(start), other.slice(start)];
  const [a = '', b = ''] = restOfOne;
  return (
    restOfOne.slice(1) === restOfOther.slice(1) ||
    restOfOne.slice(1) === restOfOther ||
    restOfOne === restOfOther.slice(1) ||
    b + a + restOfOne.slice(2) === restOfOther
  );
}

/** The runs of consecutive listed words. */
function runsOf(isListed: readonly boolean[]): [from: number, to: number][] {
  const runs: [number, number][] = [];
  let from = 0;
  for (let at = 0; at <= isListed.length; at += 1) {
    if (isListed[at]) continue;
    runs.push([from, at]);
    from = at + 1;
  }
  return runs;
}

/** The match of one list in a row of words, one of which may be mistyped. */
function matchIn(words: readonly string[], list: WordList): SecretMatch | undefined {
  const minLength = Math.min(...list.lengths);
  const places = words.map((word) => list.places.get(word));
  const runs = runsOf(places.map((place) => place !== undefined));
  const long = runs.filter(([from, to]) => to - from >= minLength);
  const isConfirmed = long.some(([from, to]) =>
    list.confirms(
      places.slice(from, to).map((place) => place ?? 0),
      words.slice(from, to),
    ),
  );
  if (isConfirmed) return 'checksum';
  if (!list.countsRuns || !isVaried(words)) return undefined;
  if (long.some(([from, to]) => isVaried(words.slice(from, to)))) return 'list';
  const isMistyped = (word: string) =>
    [...list.places.keys()].some((listed) => isNear(word, listed));
  const isBroken = runs.some(([from, to], number) => {
    const [, end = to] = runs[number + 1] ?? [];
    const isLong = end > to && end - from >= minLength;
    return isLong && isVaried(words.slice(from, end)) && isMistyped(words[to] ?? '');
  });
  return isBroken ? 'list' : undefined;
}

/** A candidate row of words, and whether it only counts with a valid checksum. */
interface WordRow {
  readonly words: readonly string[];
  readonly needsChecksum: boolean;
}

/**
 * The rows of words in a text: all of its words, and every second, third or fourth one, as in
 * `1st word 2nd word`. If the words between repeat, as in `&w=word`, no checksum is required.
 */
function* rowsOf(words: readonly string[]): Generator<WordRow> {
  yield { words, needsChecksum: false };
  for (let step = 2; step <= 4; step += 1) {
    for (let first = 0; first < step; first += 1) {
      const every = words.filter((_, at) => at % step === first);
      const labelled = labelledRows(words, step, first).map((row) => ({
        words: row,
        needsChecksum: false,
      }));
      yield* labelled;
      if (labelled[0]?.words.length !== every.length) yield { words: every, needsChecksum: true };
    }
  }
}

/** The parts of every `step`-th word in which the words between repeat. */
function labelledRows(words: readonly string[], step: number, first: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let label: string | undefined;
  for (let at = first; at < words.length; at += step) {
    const before = words.slice(Math.max(at - step + 1, 0), at).join(' ');
    if (before !== label && row.length > 1) {
      rows.push(row);
      row = row.slice(-1);
    }
    label = before;
    row.push(words[at] ?? '');
  }
  return [...rows, row].filter(({ length }) => length >= minWords);
}

/** Whether a text has the length of a phrase and enough words of one list. */
function isMostlyPhrase(words: readonly string[], list: WordList): boolean {
  const { places, lengths, shareAlone, labelWords = 0 } = list;
  return lengths.some((length) => {
    const before = words.length - length;
    if (shareAlone === undefined || before < 0 || before > labelWords) return false;
    const phrase = words.slice(before);
    const listed = phrase.filter((word) => places.has(word)).length;
    return listed >= length * shareAlone && isVaried(phrase);
  });
}

const listsOf = (word: string): WordList[] => wordLists().filter(({ places }) => places.has(word));

/** The lists with enough words in a row; one word may be missing. */
function listsFilling(
  row: readonly string[],
  known: ReadonlyMap<string, readonly WordList[]>,
): WordList[] {
  const counts = new Map<WordList, number>();
  for (const word of row) {
    for (const list of known.get(word) ?? []) counts.set(list, (counts.get(list) ?? 0) + 1);
  }
  const filled = [...counts].filter(([list, count]) => count >= Math.min(...list.lengths) - 1);
  return filled.map(([list]) => list);
}

/** Whether the text holds a phrase without spaces, or with spaces at the wrong places. */
function holdsGluedPhrase(words: readonly string[]): boolean {
  const long = words.filter((word) => word.length >= gluedLength.min).slice(0, maxWindows);
  return [...long, words.join('')].some((text) => {
    const isLikely = text.length >= gluedLength.min && text.length <= gluedLength.max;
    // Most characters of ordinary Chinese are words of the list.
    return isLikely && !/\p{Script=Han}/u.test(text) && isGluedPhrase(text);
  });
}

const isGluedPhrase = (text: string): boolean =>
  wordLists().some(({ places, confirms }) =>
    splitsIntoWords(text, places).some((words) => {
      const known = words.map((word) => places.get(word) ?? 0);
      return words.length >= minWords && confirms(known, words);
    }),
  );

/** SeedQR: the position of each word in its list, four digits each. */
function holdsSeedQr(text: string): boolean {
  const rows = text.match(/(?<!\d)(?:\d{4}[\s,;-]*){12,24}(?!\d)/g) ?? [];
  return rows.some((row) => {
    const places = (row.match(/\d{4}/g) ?? []).map(Number);
    return phraseLengths.includes(places.length) && Math.max(...places) < 2048 && isBip39(places);
  });
}

/**
 * The match of recovery words in a text, with any numbers, labels and punctuation between them.
 * @param text in NFKC, without invisible characters
 */
export function recoveryWordsIn(text: string): SecretMatch | undefined {
  // The minimum is one letter a word, with separators.
  if (text.length < 2 * minWords - 1) return undefined;
  if (holdsSeedQr(text)) return 'checksum';
  const words = (text.match(/[\p{L}\p{M}]+/gu) ?? []).map(plainForm);
  if (holdsGluedPhrase(words)) return 'checksum';
  if (words.length < minWords) return undefined;
  const lists = wordLists();
  // Most words are in no list, so most rows need no further check.
  const known = new Map([...new Set(words)].map((word) => [word, listsOf(word)]));
  let found: SecretMatch | undefined;
  for (const { words: row, needsChecksum } of rowsOf(words)) {
    for (const list of listsFilling(row, known)) {
      const finding = matchIn(row, needsChecksum ? { ...list, countsRuns: false } : list);
      if (finding === 'checksum') return finding;
      found ??= finding;
    }
  }
  return found ?? (lists.some((list) => isMostlyPhrase(words, list)) ? 'list' : undefined);
}

/** Whether a text is a Chinese phrase without spaces; each word is one character. */
export function isUnspacedPhrase(text: string): boolean {
  if (!/^\p{Script=Han}+$/u.test(text)) return false;
  return recoveryWordsIn([...text].join(' ')) === 'checksum';
}
