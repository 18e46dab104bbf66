// The parts of an expression of strings: literals with their pieces, values, and chains of both.
// Pure.

/**
 * A piece of a string: its text as it is written, or a value that is inserted at run time.
 */
export interface StringPart {
  readonly start: number;
  readonly end: number;
  readonly isHole: boolean;
  /** Replaces it when it is removed: a format must still consume its value. */
  readonly without: string;
}

export interface Literal {
  readonly kind: 'literal';
  readonly start: number;
  readonly end: number;
  /** The range of its content, and the known holes in it. */
  readonly inner: readonly [start: number, end: number];
  readonly holes: readonly (readonly [start: number, end: number])[];
  /** The pieces of a format, whose values are other operands. */
  readonly parts: readonly StringPart[] | undefined;
  /** A method is called on it, such as `.concat(`: it may become empty, but must stay. */
  readonly isPinned: boolean;
}

/** Any other operand. */
export interface Hole {
  readonly kind: 'hole';
  readonly start: number;
  readonly end: number;
  /** The alternatives of a choice in brackets. */
  readonly choices: readonly StringChain[];
}

/** Operands that are joined, in their order. */
export interface StringChain {
  readonly kind: 'chain';
  readonly start: number;
  readonly end: number;
  readonly operands: readonly Operand[];
  /** The separator of `implode` or `join`. */
  readonly separator: string;
  /** It continues a string that begins before: `url += '…'`. */
  readonly continues: boolean;
  readonly size: number;
  readonly depth: number;
}

export type Operand = Literal | Hole | StringChain;

/**
 * Values that a template, PHP, a template language or a format inserts. A format must still
 * consume its value, so it prints none of it.
 */
const holes =
  /<\?[\s\S]{1,300}?\?>|\$\{[^{}\n]{1,200}\}|#\{[^{}\n]{1,200}\}|\{\{[^{}\n]{1,200}\}\}|\{[^{}\n]{0,200}\}|\\\([^()\n]{1,200}\)|%\(\w{1,80}\)s|%(?:\d{1,2}\$)?(?:[sv]|d(?![0-9a-f]))|\$[a-z_]\w{0,80}(?:(?:->|\?->)\w{1,80}|\[[^[\]\n]{1,80}\])?/gi;

function withoutHole(text: string): string {
  if (text.startsWith('%')) return text.replace(/.$/, '.0s');
  return text === '{}' ? '{:.0}' : '';
}

/** The pieces of a string's content. */
export function partsOf(
  text: string,
  [start, end]: readonly [number, number],
  known: readonly (readonly [number, number])[] = [],
): StringPart[] {
  const parts: StringPart[] = [];
  let at = start;
  const add = (to: number, isHole: boolean, without = '') => {
    if (to > at) parts.push({ start: at, end: to, isHole, without });
    at = Math.max(at, to);
  };
  const plain = (to: number) => {
    const from = at;
    const content = text.slice(from, to);
    for (const match of /[%{#<$]/.test(content) ? content.matchAll(holes) : []) {
      add(from + match.index, false);
      add(from + match.index + match[0].length, true, withoutHole(match[0]));
    }
    add(to, false);
  };
  for (const [from, to] of known) {
    plain(from);
    add(to, true);
  }
  plain(end);
  return parts;
}

/** Whether a text may contain a mention of the service, or a piece of one. */
export const isOfInterest = (text: string): boolean =>
  /onomics|blockon|\/search|\?q=|:\\?\/\\?\//i.test(text);

export function chainOf(
  operands: readonly Operand[],
  separator: string,
  continues = false,
): StringChain {
  let [size, depth] = [0, 0];
  for (const operand of operands) {
    size += sizeOf(operand);
    if (operand.kind === 'chain') depth = Math.max(depth, operand.depth);
  }
  const [start, end] = [operands[0]?.start ?? 0, operands.at(-1)?.end ?? 0];
  return { kind: 'chain', start, end, operands, separator, continues, size, depth: depth + 1 };
}

function sizeOf(operand: Operand): number {
  if (operand.kind === 'literal') return operand.parts?.length ?? 1 + operand.holes.length;
  return operand.kind === 'chain' ? operand.size : 1;
}

/** A copy without fields about tokens. */
export function plainChain({ operands, separator, continues }: StringChain): StringChain {
  return chainOf(operands, separator, continues);
}
