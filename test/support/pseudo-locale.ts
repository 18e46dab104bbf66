// A language for tests: every text stands in brackets, is 40 % longer and has accents. A text
// without brackets is not a text of the words.

import { type Translation, translationOf } from '../../src/checkout/words/languages.ts';

const plain = 'AaCcDdEeGgIiLlNnOoRrSsTtUuYyZz';
const accented = 'ÅåČčĎďËëĞğÏïŁłÑñÖöŘřŠšŤťÜüŸÿŽž';

/** Text between isolates is data, which stays. */
const isolates = /(\u2066[^\u2069]*\u2069|\u2068[^\u2069]*\u2069|\uE000)/;

export function pseudo(text: string): string {
  const parts = text.split(isolates).map((part) => (isolates.test(part) ? part : accent(part)));
  const padding = '~'.repeat(Math.ceil(text.length * 0.4)).replaceAll('~~~~~~', ' ~~~~~');
  return `[${parts.join('')}${padding}]`;
}

const accent = (text: string): string =>
  Array.from(text, (letter) => accented[plain.indexOf(letter)] ?? letter).join('');

function pseudoOf<T>(value: T): T {
  if (typeof value === 'string') return pseudo(value) as T;
  if (typeof value === 'function') return ((...args: unknown[]) => pseudo(value(...args))) as T;
  const entries = Object.entries(value as object).map(([key, each]) => [key, pseudoOf(each)]);
  return Object.fromEntries(entries) as T;
}

const english = translationOf('en');

export const pseudoLocale: Translation = { ...english, words: pseudoOf(english.words) };
