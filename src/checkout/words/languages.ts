// The translations of the pages for customers. A language without a translation is read in English.

import { isRightToLeft, type Language, languages } from '../../domain/language.ts';
import { ar } from './ar.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { formatsOf, type LanguageFormats } from './language-formats.ts';
import { ptBR } from './pt-BR.ts';
import type { Words } from './words.ts';

const translations: Readonly<Partial<Record<Language, Words>>> & { readonly en: Words } = {
  en,
  es,
  'pt-BR': ptBR,
  de,
  fr,
  ar,
};

export interface Translation {
  /** The language of the texts, for the attribute `lang`. */
  readonly code: Language;
  /** In the language itself. */
  readonly name: string;
  readonly dir: 'ltr' | 'rtl';
  readonly words: Words;
  readonly formats: LanguageFormats;
}

function translation(code: Language, words: Words): Translation {
  return {
    code,
    name: languages[code],
    dir: isRightToLeft(code) ? 'rtl' : 'ltr',
    words,
    formats: formatsOf(code),
  };
}

/** All that there are, for the language picker. */
export const allTranslations: readonly Translation[] = (
  Object.keys(languages) as Language[]
).flatMap((code) => {
  const words = translations[code];
  return words === undefined ? [] : [translation(code, words)];
});

const english = translation('en', en);
const byCode = new Map(allTranslations.map((each) => [each.code, each]));

export const translationOf = (language: Language): Translation => byCode.get(language) ?? english;
