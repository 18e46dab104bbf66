// Cleans a copied URL of invisible characters and quotation marks around it. Inside of it, these
// characters and escapes of a page's source are errors; they are never encoded into a secret. Only
// a bare `|` is encoded.

import { invisible } from './pasted-text.ts';

/** Closing marks by their opening mark. No URL begins with one of these. */
const quotations: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '<': '>',
  '(': ')',
  '[': ']',
  '{': '}',
  '“': '”“',
  '„': '“”',
  '‘': '’‘',
  '‚': '‘’',
  '«': '»',
  '»': '«',
  '‹': '›',
  '›': '‹',
  '＂': '＂',
  '＇': '＇',
  '「': '」',
  '＜': '＞',
};

/** Closing marks that no URL ends with. */
const closing = /["`>”“’‘»«›‹＂＇」＞}\]]$/u;

/** The URL without invisible characters and pairs of quotation marks around it. */
export function trimUrl(text: string): string {
  const characters = [...text];
  let start = 0;
  let end = characters.length;
  const at = (place: number): string => characters[place] ?? '';
  for (;;) {
    while (start < end && invisible.test(at(start))) start += 1;
    while (start < end && invisible.test(at(end - 1))) end -= 1;
    if (end - start < 2 || !quotations[at(start)]?.includes(at(end - 1))) break;
    start += 1;
    end -= 1;
  }
  return characters.slice(start, end).join('');
}

/**
 * A Callback URL as it is saved. OpenCart 4 has a bare `|` in its own, which a URL must encode
 * (RFC 3986, 2).
 */
export const parseCallbackUrl = (text: string): string => encodeBars(trimUrl(text));

/** With each `|` as `%7C`, so that both forms of a URL are equal. */
export const encodeBars = (url: string): string => url.replaceAll(/\||%7c/g, '%7C');

/** A note for the merchant about a saved Callback URL; undefined without a `|`. */
export const barNote = (callbackUrl: string): string | undefined =>
  callbackUrl.includes('%7C')
    ? 'The | in this Callback URL is saved and sent as %7C. The shop may name the store by either form.'
    : undefined;

/** As the shop writes it: plugins compare it with their own, byte for byte. */
export const decodeBars = (url: string): string => url.replaceAll('%7C', '|');

/** Quotation marks of word processors, and the ellipsis of a truncated text. */
const mark = /[“”„‘’‚«»‹›＂＇「」＜＞…]/u;

const entityNames: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
  grave: '`',
  nbsp: ' ',
  equals: '=',
  quest: '?',
  sol: '/',
  colon: ':',
  period: '.',
  lowbar: '_',
  percnt: '%',
  ldquo: '“',
  rdquo: '”',
  bdquo: '„',
  lsquo: '‘',
  rsquo: '’',
  sbquo: '‚',
  laquo: '«',
  raquo: '»',
  shy: '\u00ad',
  zwnj: '\u200c',
  zwj: '\u200d',
  ensp: ' ',
  emsp: ' ',
  thinsp: ' ',
  zerowidthspace: '\u200b',
  tab: '\t',
  newline: '\n',
};
/** `&amp;` `&#38;` `&#x26;` of HTML, `\u0026` `\/` `\n` of JSON, `\&` of a shell. */
const escaped = new RegExp(
  String.raw`&(?:(${Object.keys(entityNames).join('|')})|#0*(\d{1,7})|#x0*([0-9a-f]{1,6}));|\\u([0-9a-f]{4})|\\([/&?="']|[nrt]?$)`,
  'i',
);
const escapes = new RegExp(escaped, 'gi');

/** What is wrong with a copied URL, and what to do; undefined if nothing is. */
export function copyError(url: string): string | undefined {
  return invisibleError(url) ?? escapeError(url) ?? quotationMarkError(url);
}

function invisibleError(url: string): string | undefined {
  const characters = [...url];
  const first = characters.findIndex((each) => invisible.test(each));
  const character = characters[first];
  if (character === undefined) return undefined;
  const name = `${nameOf(character)} (${codeOf(character)})`;
  const lastVisible = characters.findLastIndex((each) => !invisible.test(each));
  if (lastVisible === -1) return `is only ${name}`;
  const advice = 'which came along when it was copied: take it out';
  if (first === 0) return `begins with ${name}, ${advice}`;
  if (first > lastVisible) return `ends with ${name}, ${advice}`;
  return `has ${name} at character ${first + 1}, ${advice}`;
}

function escapeError(url: string): string | undefined {
  const found = escaped.exec(url);
  if (found === null) return undefined;
  const at = positionOf(url, found.index);
  const decoded = withoutLastMark(trimUrl(decode(url)));
  return `has ${found[0]} at character ${at}, which is an escape of a page's or a program's source; write it as ${decoded}`;
}

function quotationMarkError(url: string): string | undefined {
  const [first = ''] = url;
  if (first in quotations) return `begins with ${first}: leave the quotation marks out`;
  if (withoutLastMark(url) !== url)
    return `ends with ${url.slice(-1)}: leave the quotation mark out`;
  const found = mark.exec(url);
  if (found === null) return undefined;
  const at = positionOf(url, found.index);
  if (found[0] === '…')
    return `has … at character ${at}: it was cut where it was shown; copy the whole of it`;
  return `has ${found[0]} at character ${at}: if it came along when the URL was copied, take it out; if it is a part of it, write ${encodeURIComponent(found[0])}`;
}

function withoutLastMark(url: string): string {
  const last = closing.exec(url)?.[0];
  if (last === undefined || url.split(last).length > 2 || isOpened(url, last)) return url;
  return url.slice(0, -last.length);
}

const isOpened = (url: string, last: string): boolean =>
  Object.entries(quotations).some(
    ([opens, closes]) => opens !== last && closes.includes(last) && url.includes(opens),
  );

/** Decodes escapes of escapes, too: `&amp;amp;`. */
function decode(url: string): string {
  const once = url.replace(escapes, (whole, name, decimal, hex, json, bare) => {
    if (bare !== undefined) return /[nrt]/i.test(bare) ? '' : bare;
    if (name !== undefined) return entityNames[String(name).toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? json, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
  return once.length < url.length && escaped.test(once) ? decode(once) : once;
}

/** Counted from 1. */
const positionOf = (text: string, index: number): number => [...text.slice(0, index)].length + 1;

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

const names: Readonly<Record<string, string>> = {
  'U+0020': 'a space',
  'U+0009': 'a tab',
  'U+000A': 'a line end',
  'U+000D': 'a line end',
  'U+00A0': 'a no-break space',
  'U+00AD': 'a soft hyphen',
  'U+200B': 'a zero-width space',
  'U+200C': 'a zero-width non-joiner',
  'U+200D': 'a zero-width joiner',
  'U+2060': 'a word joiner',
  'U+FEFF': 'a byte order mark',
};

function nameOf(character: string): string {
  const name = names[codeOf(character)];
  if (name !== undefined) return name;
  if (/[\s\p{Z}]/u.test(character)) return 'white space';
  return /\p{Cc}/u.test(character) ? 'a control character' : 'an invisible character';
}
