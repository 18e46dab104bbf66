// Rewrites one file of a shop plugin for this paygate: API, live socket and receipt link, in all
// forms that such plugins use. Pure. Every other mention stays, with a reason: a page for people,
// an e-mail address, another host. Text is read byte by byte (latin1) and edits are ASCII, so
// encodings survive.

import { PaygateError } from '../lib/errors.ts';
import { readChains } from './expressions.ts';
import { dialectOf } from './file-kinds.ts';
import { type Edit, FlatText } from './flat-text.ts';
import { domainDot, judge } from './judge.ts';
import {
  type Mention,
  type PluginFile,
  type PluginTarget,
  type ReceiptParts,
  reasons,
} from './mention.ts';
import { chainOf, isOfInterest, type StringChain } from './string-expression.ts';
import { type Dialect, type Tokens, tokenize } from './tokens.ts';

export interface MentionChange {
  /** From 1. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

export interface LeftMention {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly why: string;
  /** The plugin may not work before a person has looked at it. */
  readonly look: boolean;
}

export interface RewriteResult {
  readonly text: string;
  readonly changes: readonly MentionChange[];
  readonly left: readonly LeftMention[];
}

/** @throws PaygateError invalid unless it is the bare origin of an HTTP server */
export function parseTarget(text: string): PluginTarget {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBare =
    url !== undefined && `${url.origin}/` === url.href && /^https?:$/.test(url.protocol);
  if (isBare) return { origin: url.origin, host: url.host };
  throw new PaygateError(
    'invalid',
    'the URL of a paygate without a path is expected, such as https://pay.example.com: plugins ' +
      'put /api and /payment directly after its host',
  );
}

/** The check of a key's length in older plugins. */
const keyLength = /key\.length\s*[!=]==?\s*43\b/gi;
/** The host in a regular expression. */
const hostPattern = /blockonomics(?:\\{1,2}\.|\[\.\])co(?![a-z0-9-])/gi;
/** The domain of the service's test hosts, which some published sources name. */
const testHost = /(?<![a-z0-9-])(?:[a-z0-9-]{1,63}\.){0,4}testblockonomics\.com(?![a-z0-9-])/gi;
/** Mentions outside strings: in text, comments, settings. */
const written = /(?<![a-z0-9-])blockonomics\.co(?![a-z0-9-]|\.[a-z0-9])|#\\?\/search(?![\w.-])/gi;
/** How many characters around such a mention are read. */
const around = { before: 300, after: 500 };
const maxNesting = 3;
const maxChoices = 20;
const maxValues = 50;

/** The parts of receipt links in all files of a plugin. */
export function receiptPartsOf(texts: readonly string[]): ReceiptParts {
  const some = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  return {
    hasAddress: some(/(?:[?&]|&amp;|\\u0026)addr=/i),
    hasPath: some(/#\\?\/search["'`]/i),
    hasQuery: some(/["'`}]\?q=/),
    isNamed: some(/blockonomics\.co/i),
  };
}

/**
 * @param text a file's bytes as latin1
 * @param name the file's name, whose extension says how to read it
 */
export function rewriteText(
  text: string,
  name: string,
  target: PluginTarget,
  receipts: ReceiptParts = receiptPartsOf([text]),
): RewriteResult {
  const dialect = dialectOf(name, text);
  const tokens = tokenize(text, 0, text.length, dialect);
  const isComment = isWithin(tokens.comments);
  const found = (pattern: RegExp, why: string, look = (_at: number) => true) =>
    Array.from(text.matchAll(pattern), ({ index, 0: { length } }): Mention => {
      return { at: index, end: index + length, verdict: { why, look: look(index) } };
    });
  const mentions = [
    ...found(keyLength, reasons.keyLength),
    ...found(hostPattern, reasons.pattern),
    ...found(testHost, reasons.host, (at) => !isComment(at)),
  ];
  const replacesFormats = /replace\w*\(\s*(?:\/|["'`])[%{]/i.test(text);
  const file = {
    text,
    replacesFormats,
    name,
    target,
    receipts,
    isComment,
    valuesOf: valuesIn(text),
  };
  const claimed = new Set<number>();
  for (const each of inStrings(tokens, file, claimed, dialect.hash)) mentions.push(each);
  for (const each of inText(file, claimed)) mentions.push(each);
  mentions.sort((one, other) => one.at - other.at || other.end - one.end);
  return apply(text, withoutOverlaps(mentions));
}

/** Returns whether a position is in one of these sorted ranges. */
function isWithin(ranges: Tokens['comments']): PluginFile['isComment'] {
  return (at) => {
    let [low, high] = [0, ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ranges[middle]?.[1] ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    return (ranges[low]?.[0] ?? Infinity) <= at;
  };
}

/** Looks up what a variable is set to, for a limited number of variables. */
function valuesIn(text: string): PluginFile['valuesOf'] {
  const known = new Map<string, string | undefined>();
  return (name) => {
    if (known.has(name) || known.size >= maxValues) return known.get(name);
    const set = new RegExp(String.raw`\b${name}["']?\s*(?::=|=>|[=:])(?!=)\s*([^;\n]{1,300})`, 'g');
    const values = Array.from(text.matchAll(set), ([, value = '']) => value);
    const value = values.length === 0 || values.length > 4 ? undefined : values.join(' ');
    known.set(name, value);
    return value;
  };
}

/** Mentions in expressions of strings, and before that in code inside strings. */
function inStrings(
  { tokens }: Tokens,
  file: PluginFile,
  claimed: Set<number>,
  joinsAdjacent: boolean,
  depth = 0,
): Mention[] {
  const found: Mention[] = [];
  const nested: Dialect = { php: false, markup: true, hash: false, nested: true };
  for (const { kind, inner } of tokens) {
    if (kind !== 'string' || depth >= maxNesting) continue;
    const content = file.text.slice(...inner);
    if (!/["'`]/.test(content) || !isOfInterest(content)) continue;
    const within = tokenize(file.text, ...inner, nested);
    for (const each of inStrings(within, file, claimed, false, depth + 1)) found.push(each);
  }
  for (const chain of readChains(file.text, tokens, joinsAdjacent)) {
    for (const each of inChain(chain, file, claimed)) found.push(each);
  }
  return found;
}

function inChain(first: StringChain, file: PluginFile, claimed: Set<number>): Mention[] {
  const { text } = file;
  if (first.size === 1 && !isOfInterest(text.slice(first.start, first.end))) return [];
  const found: Mention[] = [];
  const waiting = [{ flat: FlatText.of(text, first), depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { flat, depth } = next;
    if (isOfInterest(flat.text)) found.push(...judge(flat, file, claimed));
    for (const { at, chain } of flat.choices()) {
      const hasContext = depth < maxChoices && isOfInterest(text.slice(chain.start, chain.end));
      const choice = FlatText.of(text, chain, hasContext ? { flat, at } : undefined);
      waiting.push({ flat: choice, depth: depth + 1 });
    }
  }
  return found;
}

/** Mentions outside strings. */
function inText(file: PluginFile, claimed: Set<number>): Mention[] {
  const { text } = file;
  const found: Mention[] = [];
  for (const { index, 0: match } of text.matchAll(written)) {
    const at = match.startsWith('#') ? index : index + domainDot;
    if (claimed.has(at)) continue;
    const start = Math.max(0, index - around.before);
    const end = Math.min(text.length, index + around.after);
    const inner = [start, end] as const;
    const literal = { kind: 'literal', start, end, inner, holes: [], isPinned: false } as const;
    const chain = chainOf([{ ...literal, parts: undefined }], '');
    found.push(...judge(FlatText.of(text, chain), file, claimed, at));
  }
  return found;
}

/** If two mentions overlap, keeps the earlier one, which covers more of the URL. */
function withoutOverlaps(mentions: readonly Mention[]): Mention[] {
  let last = 0;
  return mentions.filter(({ at, end }) => {
    if (at < last) return false;
    last = end;
    return true;
  });
}

function apply(text: string, mentions: readonly Mention[]): RewriteResult {
  const changes: MentionChange[] = [];
  const left: LeftMention[] = [];
  const pieces: string[] = [];
  let [copied, counted, line] = [0, 0, 1];
  for (const { at, end, shownTo = end, verdict } of mentions) {
    for (; counted < at; counted += 1) if (text[counted] === '\n') line += 1;
    if ('why' in verdict) {
      const shown = text.slice(at, Math.max(end, shownTo));
      left.push({ line, text: shown, why: verdict.why, look: verdict.look ?? false });
      continue;
    }
    const before = text.slice(at, end);
    const after = edited(text, at, end, verdict.edits);
    pieces.push(text.slice(copied, at), after);
    copied = end;
    changes.push({ line, before, after });
  }
  return { text: pieces.join('') + text.slice(copied), changes, left };
}

function edited(text: string, start: number, end: number, edits: readonly Edit[]): string {
  const pieces: string[] = [];
  let copied = start;
  for (const edit of edits.toSorted((one, other) => one.start - other.start)) {
    if (edit.start < copied) continue;
    pieces.push(text.slice(copied, edit.start), edit.text);
    copied = edit.end;
  }
  return pieces.join('') + text.slice(copied, end);
}
