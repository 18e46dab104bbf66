// The language in which a request reads a page, and how the links of that page keep it.

import type { Context } from 'hono';
import { chosenLanguage } from '../domain/text/language.ts';
import { type Translation, translationOf } from './words/languages.ts';

export interface Reading extends Translation {
  /** `?lang=de` if the customer chose it, else empty. */
  readonly langQuery: string;
  /** The query of the page in another language, without parameters that no page knows. */
  readonly queryIn: (code: string) => string;
}

declare module 'hono' {
  interface ContextVariableMap {
    /** Set once the order that a request names is found. */
    reading?: Reading;
    /** How the customer reaches the shop of that order or link. */
    contact?: string | undefined;
  }
}

interface Owner {
  readonly language: string | null;
}

/**
 * The parameters that pages for customers know, beside `lang`, with the maximum length of each. A
 * page repeats its query in a link for each language, so a long query would make a far longer page.
 */
const maxLengths = new Map([
  ['amount', 32],
  ['txid', 64],
  ['addr', 100],
  ['order', 32],
  ['step', 7],
]);

const isKnown = ([name, value]: readonly [string, string]): boolean =>
  value.length <= (maxLengths.get(name) ?? -1);

export function readingOf(context: Context, order?: Owner, store?: Owner): Reading {
  const query = context.req.query();
  const { lang } = query;
  const others = Object.entries(query).filter(isKnown);
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
    queryIn: (code) => `?${new URLSearchParams([...others, ['lang', code]])}`,
  };
}
