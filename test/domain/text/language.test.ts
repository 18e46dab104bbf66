// Which language a customer reads.

import { describe, expect, test } from 'vitest';
import { chosenLanguage, isRightToLeft, languageOf } from '../../../src/domain/text/language.ts';

describe('the language of a customer is', () => {
  const all = { query: 'ja', order: 'de', acceptLanguage: 'fr', store: 'it' };

  test('that of the query, of the order, of the store, of the browser, or English', () => {
    expect(chosenLanguage(all)).toBe('ja');
    expect(chosenLanguage({ ...all, query: undefined })).toBe('de');
    expect(chosenLanguage({ ...all, query: undefined, order: null })).toBe('it');
    expect(chosenLanguage({ acceptLanguage: 'fr' })).toBe('fr');
    expect(chosenLanguage({})).toBe('en');
  });

  test('the next one if a wish is none of ours', () => {
    expect(chosenLanguage({ ...all, query: 'tlh' })).toBe('de');
    expect(chosenLanguage({ query: '', order: 'sv', acceptLanguage: 'fi, sv', store: 'no' })).toBe(
      'en',
    );
  });

  test.each([
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['fi,sv;q=0.9,cs;q=0.5,en;q=0.4', 'cs'],
    ['en;q=0.1, ja;q=0.2', 'ja'],
    ['en;q=0, pl', 'pl'],
    ['*', 'en'],
    ['*;q=0.5, nl;q=0.1', 'nl'],
    ['de;q=nonsense, fr;q=0.1', 'fr'],
    ['de;q=1.5, fr;q=0.1', 'fr'],
    ['DE-de', 'de'],
    ['pt', 'pt-BR'],
    ['pt-PT', 'pt-BR'],
    ['ar-EG-u-nu-arab', 'ar'],
    [' , ,;, ;q=1', 'en'],
    ['__proto__,constructor,toString', 'en'],
  ])('%s: %s', (acceptLanguage, language) => {
    expect(chosenLanguage({ acceptLanguage })).toBe(language);
  });

  test('found in a bounded part of a hostile header', () => {
    expect(chosenLanguage({ acceptLanguage: `${'x,'.repeat(100_000)}de` })).toBe('en');
    expect(chosenLanguage({ acceptLanguage: `${'a-'.repeat(100_000)}` })).toBe('en');
    expect(chosenLanguage({ query: `de-${'a-'.repeat(100_000)}` })).toBe('en');
  });
});

test('a tag loses its subtags, with a single letter before them, until it is one of ours', () => {
  expect(languageOf('de-DE-x-private')).toBe('de');
  expect(languageOf('pt-br-x-a')).toBe('pt-BR');
  expect(languageOf('deutsch')).toBeUndefined();
  expect(languageOf('')).toBeUndefined();
  expect(languageOf('-')).toBeUndefined();
});

test('Arabic runs from right to left', () => {
  expect([isRightToLeft('ar'), isRightToLeft('en')]).toEqual([true, false]);
});
