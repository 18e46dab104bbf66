// Reads the prose of Markdown pages and of TypeScript comments, and finds what our language
// forbids: openings, nouns, long sentences, wide lines, long file headers. It never judges code or
// quotes.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A paragraph, list item, heading, table cell or comment. `line` is where it begins, from 1. */
export interface Block {
  readonly line: number;
  readonly text: string;
}

export const maxWords = 25;
export const maxColumns = 100;
export const maxHeaderLines = 5;

const openings = /^(of|where|who|whoever|else|theirs|such as|so a)\b/i;

/** What the field does not call it, and what to write instead. */
const nouns: readonly (readonly [RegExp, string])[] = [
  [/\b(?:the|its|a|no|this|that|any|each) mark\b(?! file)/i, 'high-water mark, mark file'],
  [/\bblind(?:ly)?\b/i, 'high-water mark that does not match'],
  [/\bguess(?:es|ed)?\b/i, 'assumption, default'],
  [/\b(?:told|tells?|said)\b/i, 'request, response, notification'],
  [/\bword of\b|'s words?\b|\bin words\b/i, 'message, response'],
  [/\b(?:the|that|its|a|other) line\b(?! of)/i, 'connection, row'],
  [/\bdoors?\b|\bwho comes\b/i, 'middleware, route, guard'],
  [/\b(?:houses?|rooms?)\b/i, 'module, folder, layer, space'],
  [/\bdesks?\b/i, 'read model, view'],
  [/(?<!takes? )\bcare\b/i, 'maintenance'],
  [/\b(?:kept|held|remembered|pushed out)\b/i, 'stored, cached, evicted'],
  [/\bpatien(?:ce|t)\b/i, 'window, backoff, timeout'],
  [/\bvoices?\b/i, 'second opinion, cross-check'],
  [/\b(?:silence|nowhere|elsewhere)\b/i, 'absence, unreported since'],
  [/\b(?:in reserve|the reserve)\b|\b(?:a|the|each|that) look\b(?!-)/i, 'scan, look-ahead'],
  [/\bhouseholds?\b/i, 'network prefix'],
  [/\b(?:each|every|one|a|the|that|first|last|next) try\b/i, 'attempt'],
  [/\b(?:given up|overtaken)\b/i, 'exhausted, superseded'],
  [/\bow(?:ed|es)\b/i, 'event, pending callback'],
  [/\btroubles?\b|\bwarnings? that stands?\b/i, 'alarm, finding'],
  [/\bhears?\b|\bheard\b/i, 'webhook, callback'],
  [/\bdeep enough\b|\bdeep as\b/i, 'confirmed, final'],
  [/\b(?:nobody|whoever)\b/i, 'no server, no client, no store'],
];

/** Puts something of one word in the place of what is no prose; lines keep their numbers. */
function opaque(text: string): string {
  return text
    .replaceAll(/`[^`]+`|"[^"]*"|<https?:[^>]*>/g, (all) => `x${all.replaceAll(/[^\n]/g, '')}`)
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/[*_[\]]/g, '');
}

/** The prose of a Markdown page, without code and HTML comments; each table cell is a block. */
export function markdownProse(page: string): Block[] {
  const blocks: { line: number; text: string }[] = [];
  let isCode = false;
  let isOpen = false;
  for (const [index, line] of page.split('\n').entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const isProse = !isCode && !/^\s*(```|<!--|$)/.test(line);
    const isRow = isProse && /^\s*\|/.test(line);
    const [, marker = '', text = ''] = /^\s*([-*>]\s+|\d+\.\s+|#+\s+)?(.*)$/.exec(line) ?? [];
    if (isRow) {
      for (const cell of line.split(/(?<!\\)\|/)) {
        if (/\w/.test(cell)) blocks.push({ line: index + 1, text: cell.trim() });
      }
    } else if (isProse && isOpen && marker === '') {
      const last = blocks.at(-1);
      if (last !== undefined) last.text += `\n${text}`;
    } else if (isProse) blocks.push({ line: index + 1, text });
    isOpen = isProse && !isRow && !marker.startsWith('#');
  }
  return blocks;
}

/** The comments of a TypeScript file. Lines of `//` that follow each other are one block. */
export function commentProse(source: string): Block[] {
  const blocks: { line: number; text: string }[] = [];
  let isBlock = false;
  let isOpen = false;
  for (const [index, line] of source.split('\n').entries()) {
    const starts: boolean = !isBlock && /^\s*\/\*/.test(line);
    const [, own, trailing] = /^\s*\/\/+ ?(.*)$|[\w;,{}()[\]'`]\s+\/\/ (.*)$/.exec(line) ?? [];
    const isComment = isBlock || starts || own !== undefined;
    const text =
      isBlock || starts ? line.replaceAll(/^\s*(\/\*\*?|\*(?!\/))? ?|\s*\*\/.*$/g, '') : own;
    if (isComment && isOpen && !starts && /\w/.test(text ?? '')) {
      const last = blocks.at(-1);
      if (last !== undefined) last.text += `\n${text}`;
    } else if (isComment) blocks.push({ line: index + 1, text: text ?? '' });
    else if (trailing !== undefined) blocks.push({ line: index + 1, text: trailing });
    isBlock = (isBlock || starts) && !line.includes('*/');
    isOpen = isBlock || (own !== undefined && /\w/.test(own));
  }
  return blocks.filter(({ text }) => /\w/.test(text) && !text.startsWith('biome-ignore'));
}

/**
 * A sentence ends with `.`, `!` or `?` before a capital, code or `paygate`. A tag of a doc comment
 * begins another sentence.
 */
function sentencesOf({ line, text }: Block): Block[] {
  const sentences: Block[] = [];
  let at = line;
  for (const part of opaque(text).split(
    /(?<=[.!?][)'’]*)(?=\s+(?:- )?["'(]*(?:[A-Z0-9]|x\b|paygate\b))|(?=\s+@(?:param|returns|throws)\b)/,
  )) {
    const trimmed = part.trimStart();
    at += (part.slice(0, part.length - trimmed.length).match(/\n/g) ?? []).length;
    sentences.push({ line: at, text: trimmed });
    at += (trimmed.match(/\n/g) ?? []).length;
  }
  return sentences;
}

function findingsOfSentence({ line, text }: Block, allowed: readonly string[]): string[] {
  const found: string[] = [];
  const [opening] = openings.exec(text.replace(/^\W+/, '')) ?? [];
  if (opening !== undefined) found.push(`${line}: begins with "${opening}"`);
  const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  if (words > maxWords) found.push(`${line}: ${words} words in one sentence`);
  for (const [pattern, instead] of nouns) {
    const [noun] = pattern.exec(text.replaceAll(/\s+/g, ' ')) ?? [];
    if (noun === undefined || allowed.includes(noun.toLowerCase())) continue;
    found.push(`${line}: "${noun}" (write: ${instead})`);
  }
  return found;
}

/** Numbers of lines whose prose is too wide: tables, code and targets of links may be wider. */
function wideLines(text: string, isMarkdown: boolean): string[] {
  let isCode = false;
  return text.split('\n').flatMap((line, index) => {
    if (isMarkdown && /^\s*```/.test(line)) isCode = !isCode;
    const isProse = isMarkdown
      ? !isCode && !/^\s*(\||!\[)/.test(line)
      : /^\s*(\/\/|\/?\*)/.test(line);
    const width = line.replaceAll(/`[^`]{30,}`|\]\([^)]*\)|https?:\S+/g, '').length;
    return isProse && width > maxColumns ? [`${index + 1}: ${width} columns`] : [];
  });
}

/** Findings in a file, as `line: what`. `allowed`: nouns that this file may use, in lower case. */
export function proseFindings(
  path: string,
  text: string,
  allowed: readonly string[] = [],
): string[] {
  const isMarkdown = path.endsWith('.md');
  const blocks = isMarkdown ? markdownProse(text) : commentProse(text);
  const [header] = blocks;
  const lines = header?.line === 1 ? header.text.split('\n').length : 0;
  return [
    ...blocks.flatMap(sentencesOf).flatMap((sentence) => findingsOfSentence(sentence, allowed)),
    ...wideLines(text, isMarkdown),
    ...(!isMarkdown && lines > maxHeaderLines ? [`1: a header of ${lines} lines`] : []),
  ];
}

/** Markdown and TypeScript files: those named, and all in the named folders. */
export function proseFiles(names: readonly string[]): string[] {
  return names.flatMap((name) =>
    statSync(name).isDirectory()
      ? readdirSync(name, { recursive: true, encoding: 'utf8' })
          .filter((path) => /\.(md|tsx?)$/.test(path))
          .map((path) => join(name, path))
      : [name],
  );
}

/** The findings of all files that names mean, as `path:line: what`. */
export function findingsIn(
  names: readonly string[],
  allowed: Readonly<Record<string, readonly string[]>>,
): string[] {
  return proseFiles(names).flatMap((path) =>
    proseFindings(path, readFileSync(path, 'utf8'), allowed[path]).map((each) => `${path}:${each}`),
  );
}
