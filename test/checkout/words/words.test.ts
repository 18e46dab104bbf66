// The translations of the pages for customers, and how amounts and times are written in them.

import { describe, expect, test } from 'vitest';
import {
  formatsOf,
  isolateEnd,
  leftToRight,
  nameInText,
} from '../../../src/checkout/words/language-formats.ts';
import { allTranslations, translationOf } from '../../../src/checkout/words/languages.ts';
import { type Language, languages } from '../../../src/domain/text/language.ts';

/** All texts below a value; a function is called with numbers, which are texts as well. */
function textsIn(value: unknown, name = ''): (readonly [name: string, text: string])[] {
  if (typeof value === 'string') return [[name, value]];
  if (typeof value === 'function') {
    const counts = [0, 1, 2, 3, 11, 100];
    return counts.map((count) => [`${name}(${count})`, value(count, count, count)] as const);
  }
  return Object.entries(value as object).flatMap(([key, each]) => textsIn(each, `${name}.${key}`));
}

const english = new Map(textsIn(translationOf('en').words));

const translations = allTranslations.map((each) => [each.code, each] as const);
const others = translations.filter(([code]) => code !== 'en');

describe.each(translations)('%s', (_, each) => {
  test('has a text for each of the English ones, with the same parameters', () => {
    const texts = new Map(textsIn(each.words));
    expect([...texts.keys()]).toEqual([...english.keys()]);
    for (const [name, text] of texts) {
      expect([name, text.trim()]).toEqual([name, text]);
      expect(text.length, name).toBeGreaterThan(0);
      expect(text, name).not.toMatch(/[<>{}$]|undefined| {2}/);
    }
  });

  test('names every parameter', () => {
    for (const [name, text] of textsIn(each.words)) {
      const isPlural = /newestPayments|longNote/.test(name);
      if (name.endsWith('(100)') && !isPlural) expect(text, name).toContain('100');
    }
  });
});

test.each(others)('%s is translated', (_, { words }) => {
  const same = textsIn(words).filter(([name, text]) => english.get(name) === text);
  // Single words may be the same in two languages.
  expect(same.filter(([, text]) => text.includes(' '))).toEqual([]);
  expect(same.length).toBeLessThan(10);
});

test('every language has its translation', () => {
  expect(allTranslations.map(({ code, name }) => [code, name])).toEqual(Object.entries(languages));
  for (const each of allTranslations) expect(translationOf(each.code)).toBe(each);
});

test('a narrow no-break space stands before the high signs of French', () => {
  const signs = textsIn(translationOf('fr').words).flatMap(
    ([, text]) => text.match(/.[:;?!»]|«./g) ?? [],
  );
  expect(new Set(signs)).toEqual(new Set(['\u202F:']));
});

test('Arabic runs from right to left', () => {
  expect(translationOf('ar').dir).toBe('rtl');
  expect(translationOf('de').dir).toBe('ltr');
});

const bare = (text: string): string => {
  expect(text.startsWith(leftToRight) && text.endsWith(isolateEnd)).toBe(true);
  return text.slice(1, -1).replaceAll('\u00A0', ' ');
};

test('amounts are in satoshis below 100,000 and in bitcoins with eight decimals else', () => {
  const { amount } = formatsOf('en');
  expect(bare(amount(99_999))).toBe('99,999 sat');
  expect(bare(amount(100_000))).toBe('0.00100000 BTC');
  expect(bare(amount(2_100_000_000_000_000))).toBe('21,000,000.00000000 BTC');
});

test('decimals are those of the language in every unit, and digits are 0 to 9', () => {
  const written = (language: Language): string[] => {
    const { money, sat, bitcoin } = formatsOf(language);
    return [money('1234.50', 'EUR'), sat(25_000), bitcoin(25_000)].map(bare);
  };
  expect(written('en')).toEqual(['€1,234.50', '25,000 sat', '0.00025000 BTC']);
  expect(written('de')).toEqual(['1.234,50 €', '25.000 sat', '0,00025000 BTC']);
  expect(written('fr')).toEqual(['1\u202F234,50 €', '25\u202F000 sat', '0,00025000 BTC']);
  expect(written('ja')).toEqual(['€1,234.50', '25,000 sat', '0.00025000 BTC']);
  expect(written('ar')).toEqual(['1,234.50 €', '25,000 sat', '0.00025000 BTC']);
});

test('money has the decimals of the amount, exactly', () => {
  const { money } = formatsOf('en');
  expect(bare(money('1250', 'JPY'))).toBe('¥1,250');
  expect(bare(money('9999999999999.99', 'USD'))).toBe('$9,999,999,999,999.99');
  expect(bare(money('1.250', 'KWD'))).toBe('KWD 1.250');
});

test('a time is in UTC and names it', () => {
  const at = Date.UTC(2025, 10, 20, 15, 1, 40);
  expect(formatsOf('en').time(at)).toBe('Nov 20, 2025, 15:01 UTC');
  expect(formatsOf('de').time(at)).toBe('20. Nov. 2025, 15:01 UTC');
});

test('plural forms are those of the language', () => {
  const forms = { zero: 'zero', one: 'one', two: 'two', few: 'few', many: 'many', other: 'other' };
  const formsOf = (language: Language): string[] =>
    [0, 1, 2, 3, 11, 100].map((count) => formatsOf(language).plural(count, forms));
  expect(formsOf('en')).toEqual(['other', 'one', 'other', 'other', 'other', 'other']);
  expect(formsOf('ar')).toEqual(['zero', 'one', 'two', 'few', 'many', 'other']);
  expect(formsOf('cs')).toEqual(['other', 'one', 'few', 'few', 'other', 'other']);
  expect(formsOf('pl')).toEqual(['many', 'one', 'few', 'few', 'many', 'many']);
  expect(formsOf('ja')).toEqual(Array.from({ length: 6 }, () => 'other'));
  expect(formatsOf('cs').plural(3, { other: 'else' })).toBe('else');
});

test('a name can not end its isolate', () => {
  expect(nameInText('Shop\u2069\u202E!')).toBe('\u2068Shop!\u2069');
});
