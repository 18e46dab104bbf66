// The language in which a request reads a page, and how the links of that page keep it.

import type { Context } from 'hono';
import { chosenLanguage } from '../domain/language.ts';
import { type Translation, translationOf } from './words/languages.ts';

export interface Reading extends Translation {
  /** `?lang=de` if the customer chose it, else empty. */
  readonly langQuery: string;
  /** The query of the page in another language. */
  readonly queryIn: (code: string) => string;
}

declare module 'hono' {
  interface ContextVariableMap {
    /** Set once the order that a request names is found. */
    reading?: Reading;
  }
}

interface Owner {
  readonly language: string | null;
}

export function readingOf(context: Context, order?: Owner, store?: Owner): Reading {
  const { lang, ...others } = context.req.query();
  const language = chosenLanguage({
    query: lang,
    order: order?.language,
    store: store?.language,
    acceptLanguage: context.req.header('Accept-Language'),
  });
  const translation = translationOf(language);
  return {
    ...translation,
    langQuery: lang === undefined ? '' : `?lang=${translation.code}`,
    queryIn: (code) => `?${new URLSearchParams({ ...others, lang: code })}`,
  };
}
