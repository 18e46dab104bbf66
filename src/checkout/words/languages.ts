// The translations of the pages for customers: each language has all texts.

import {
  isRightToLeft,
  type Language,
  languages,
  languageTags,
} from '../../domain/text/language.ts';
import { ar } from './ar.ts';
import { cs } from './cs.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { formatsOf, type LanguageFormats } from './language-formats.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { ptBR } from './pt-BR.ts';
import type { Words } from './words.ts';

const words: Readonly<Record<Language, Words>> = {
  en,
  es,
  'pt-BR': ptBR,
  de,
  fr,
  it,
  nl,
  cs,
  pl,
  ja,
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

function translation(code: Language): Translation {
  return {
    code,
    name: languages[code],
    dir: isRightToLeft(code) ? 'rtl' : 'ltr',
    words: words[code],
    formats: formatsOf(code),
  };
}

const byCode = Object.fromEntries(
  languageTags.map((code) => [code, translation(code)]),
) as Readonly<Record<Language, Translation>>;

/** For the language picker. */
export const allTranslations: readonly Translation[] = Object.values(byCode);

export const translationOf = (language: Language): Translation => byCode[language];
