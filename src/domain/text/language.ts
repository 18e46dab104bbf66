// The languages of the pages for customers, and which one of them a customer reads.
// Source: RFC 4647 section 3.4 (lookup), RFC 9110 section 12.5.4 (Accept-Language).

import { throwInvalid } from '../../lib/errors.ts';

export const languages = {
  en: 'English',
  es: 'Español',
  'pt-BR': 'Português (Brasil)',
  de: 'Deutsch',
  fr: 'Français',
  it: 'Italiano',
  nl: 'Nederlands',
  cs: 'Čeština',
  pl: 'Polski',
  ja: '日本語',
  ar: 'العربية',
} as const;

export type Language = keyof typeof languages;

export const isRightToLeft = (language: Language): boolean => language === 'ar';

export interface LanguageWishes {
  /** `?lang=` of the request. */
  readonly query?: string | undefined;
  /** The language of the order; that of the store when the order was made, if it had none. */
  readonly order?: string | null | undefined;
  readonly store?: string | null | undefined;
  readonly acceptLanguage?: string | undefined;
}

/** The first wish that we have: query, order, store, browser. English if we have none. */
export function chosenLanguage({ query, order, store, acceptLanguage }: LanguageWishes): Language {
  const chosen = [query, order, store].map((tag) => languageOf(tag ?? '')).find(Boolean);
  if (chosen !== undefined) return chosen;
  return (
    acceptedTags(acceptLanguage ?? '')
      .map(languageOf)
      .find(Boolean) ?? 'en'
  );
}

export const languageTags = Object.keys(languages) as readonly Language[];
const byLowerCase = new Map(languageTags.map((code) => [code.toLowerCase(), code]));
/** A language without its region: `pt` leads to `pt-BR`. */
const byPrimaryTag = new Map(languageTags.map((code) => [primaryTagOf(code), code]));

function primaryTagOf(tag: string): string {
  const [primary = ''] = tag.toLowerCase().split('-');
  return primary;
}

const maxTagLength = 35;

/** Our language for a tag: `de-AT` and `de` lead to `de`, any Portuguese to `pt-BR`. */
export function languageOf(tag: string): Language | undefined {
  if (tag.length > maxTagLength) return undefined;
  for (let rest = tag.trim().toLowerCase(); rest !== ''; rest = truncated(rest)) {
    const found = byLowerCase.get(rest);
    if (found !== undefined) return found;
  }
  return byPrimaryTag.get(primaryTagOf(tag.trim()));
}

/** Without its last subtag, and without a single letter that is last then. */
const truncated = (tag: string): string =>
  tag.slice(0, Math.max(0, tag.lastIndexOf('-'))).replace(/-.$/, '');

const maxHeaderLength = 1_000;
const maxRanges = 30;

/** The tags of the header, the most wanted first, without those that it excludes. */
function acceptedTags(header: string): string[] {
  const ranges = header.slice(0, maxHeaderLength).split(',').slice(0, maxRanges);
  return ranges
    .flatMap((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
      const quality = qualityOf(parameters);
      return quality > 0 ? [{ tag, quality }] : [];
    })
    .sort((one, other) => other.quality - one.quality)
    .map(({ tag }) => tag);
}

/** 1 without a weight, 0 for a weight that is none. */
function qualityOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => /^q\s*=/i.test(parameter));
  if (weight === undefined) return 1;
  const [, text = '0'] = /^q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i.exec(weight) ?? [];
  return Number(text);
}

/** Our language for the tag that a merchant typed. @throws PaygateError invalid */
export function parseKnownLanguage(text: string): Language {
  const found = languageOf(text.trim());
  if (found !== undefined) return found;
  throwInvalid(`a language tag is expected, one of ${languageTags.join(', ')}`);
}
