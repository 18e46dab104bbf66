// An expression of strings as one text, in which one character stands for each inserted value.
// Edits of that text are translated to edits of the source. Pure.

import { type Operand, partsOf, type StringChain, type StringPart } from './string-expression.ts';

/** Stands for an inserted value. Files are read as latin1, so none contains this character. */
export const hole = '\uE000';

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A range of the text, and its origin. */
interface FlatSegment {
  readonly from: number;
  readonly to: number;
  /** Undefined for the separator that `join` inserts. */
  readonly part: StringPart | undefined;
  /** Belongs to the expression around this one, and is present for context only. */
  readonly isContext: boolean;
}

interface FlatNode {
  readonly from: number;
  readonly to: number;
  readonly operand: Operand;
  readonly children: readonly FlatNode[];
}

/** How much of the expression around a choice is included. */
const maxContext = 300;

export class FlatText {
  readonly text: string;
  /** The range of this expression, without context. */
  readonly from: number;
  readonly to: number;
  /** Its place in the source. */
  readonly start: number;
  readonly end: number;
  private readonly segments: readonly FlatSegment[];
  private readonly root: FlatNode;

  private constructor(text: string, segments: readonly FlatSegment[], root: FlatNode) {
    this.text = text;
    this.segments = segments;
    this.root = root;
    this.from = root.from;
    this.to = root.to;
    this.start = root.operand.start;
    this.end = root.operand.end;
  }

  /**
   * @param around the expression that the chain is a choice in, and the place of that choice in its
   * text
   */
  static of(
    source: string,
    chain: StringChain,
    around?: { readonly flat: FlatText; readonly at: number },
  ): FlatText {
    const builder = new FlatTextBuilder(source);
    if (around !== undefined) builder.context(around.flat, around.at - maxContext, around.at);
    else if (chain.continues) builder.unknown();
    const root = builder.node(chain);
    if (around !== undefined)
      builder.context(around.flat, around.at + 1, around.at + 1 + maxContext);
    return new FlatText(builder.text.join(''), builder.segments, root);
  }

  /** The values that are choices, with their place in the text. */
  choices(): { readonly at: number; readonly chain: StringChain }[] {
    const found: { at: number; chain: StringChain }[] = [];
    const visit = ({ operand, children, from }: FlatNode) => {
      if (operand.kind === 'hole')
        found.push(...operand.choices.map((chain) => ({ at: from, chain })));
      children.forEach(visit);
    };
    visit(this.root);
    return found;
  }

  /** The segments that overlap a range. */
  within(from: number, to: number): readonly FlatSegment[] {
    return overlapping(this.segments, from, to);
  }

  /** The position in the source of a position in the text; for a value, its start. */
  sourceAt(at: number): number {
    const [segment] = this.within(at, at + 1);
    if (segment?.part === undefined) return this.start;
    return segment.part.isHole ? segment.part.start : segment.part.start + at - segment.from;
  }

  /** The position in the source behind a position in the text. */
  sourceBehind(at: number): number {
    const part = this.within(at, at + 1)[0]?.part;
    return part?.isHole ? part.end : this.sourceAt(at) + 1;
  }

  /** An edit of text that belongs to the expression around this one. */
  editContext(from: number, to: number, text: string): Edit | undefined {
    const [segment, ...others] = this.within(from, to);
    if (segment?.isContext !== true || segment.part?.isHole !== false || others.length > 0) return;
    return { start: this.sourceAt(from), end: this.sourceBehind(to - 1), text };
  }

  /** The end in the source of the contiguous range that contains `minEnd`; at least `minEnd`. */
  shownEnd(from: number, to: number, minEnd: number): number {
    let end = -1;
    for (const { part, ...segment } of this.within(from, to)) {
      if (part === undefined) continue;
      if (end === -1 ? part.end >= minEnd && part.start <= minEnd : part.start === end) {
        end = part.isHole ? part.end : part.end - Math.max(0, segment.to - to);
      } else if (end !== -1) break;
    }
    return Math.max(minEnd, end);
  }

  /**
   * Replaces a range: its last literal piece gets the text, the other pieces are removed.
   * @returns undefined if the source cannot be changed like that
   */
  edit(from: number, to: number, text: string): Edit[] | undefined {
    const segments = this.within(from, to);
    const last = segments.findLast(({ part }) => part?.isHole === false);
    if (last?.part === undefined || segments.some(({ isContext }) => isContext)) return undefined;
    // A separator between two values must stay between them.
    const [first] = segments;
    const isSplit = first !== undefined && first.from < from;
    if (isSplit && segments.some(({ part }) => part === undefined)) return undefined;
    const edits: Edit[] = [];
    this.change(this.root, { from, to, text, last: last.part }, edits);
    return edits;
  }

  private change(node: FlatNode, replacement: Replacement, edits: Edit[]): void {
    if (node.operand.kind === 'literal') this.changeLiteral(node, replacement, edits);
    const { children } = node;
    for (let at = firstBehind(children, replacement.from); at < children.length; at += 1) {
      const child = children[at] as FlatNode;
      if (child.from >= replacement.to) break;
      if (!goes(child, replacement)) {
        if (child.to > replacement.from) this.change(child, replacement, edits);
        continue;
      }
      const begin = at;
      while (at + 1 < children.length && goes(children[at + 1] as FlatNode, replacement)) at += 1;
      edits.push(removal(children[begin - 1], child, children[at] as FlatNode, children[at + 1]));
    }
  }

  private changeLiteral(
    node: FlatNode,
    { from, to, text, last }: Replacement,
    edits: Edit[],
  ): void {
    const [start, end] = [Math.max(from, node.from), Math.min(to, node.to)];
    for (const { part, ...segment } of this.within(start, end)) {
      if (part === undefined) continue;
      if (part.isHole) edits.push({ start: part.start, end: part.end, text: part.without });
      else {
        const begin = part.start + Math.max(0, start - segment.from);
        const finish = part.end - Math.max(0, segment.to - end);
        edits.push({ start: begin, end: finish, text: part === last ? text : '' });
      }
    }
  }
}

interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly last: StringPart;
}

/** Whether an operand is removed as a whole, with its operator. */
function goes(
  { from, to, operand, children }: FlatNode,
  { last, ...replacement }: Replacement,
): boolean {
  if (from === to || from < replacement.from || to > replacement.to) return false;
  const stays = (each: Operand, inner: readonly FlatNode[]): boolean =>
    each.kind === 'literal'
      ? each.isPinned || (each.start <= last.start && last.end <= each.end)
      : inner.some((child) => stays(child.operand, child.children));
  return !stays(operand, children);
}

/** The edit that removes operands; the operator before them stays. */
function removal(
  before: FlatNode | undefined,
  first: FlatNode,
  last: FlatNode,
  next: FlatNode | undefined,
): Edit {
  const text = '';
  if (next !== undefined) return { start: first.operand.start, end: next.operand.start, text };
  return { start: before?.operand.end ?? first.operand.start, end: last.operand.end, text };
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** The index of the first range that ends behind a position. */
function firstBehind(list: readonly Range[], from: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.to ?? 0) > from) high = middle;
    else low = middle + 1;
  }
  return low;
}

function overlapping<T extends Range>(list: readonly T[], from: number, to: number): readonly T[] {
  const start = firstBehind(list, from);
  let end = start;
  while (end < list.length && (list[end]?.from ?? to) < to) end += 1;
  return list.slice(start, end);
}

/** The part of a segment that lies between two positions of its text. */
function shortened(
  { part, from, to }: FlatSegment,
  start: number,
  end: number,
): StringPart | undefined {
  if (part === undefined || part.isHole) return part;
  return { ...part, start: part.start + start - from, end: part.end - (to - end) };
}

class FlatTextBuilder {
  readonly text: string[] = [];
  readonly segments: FlatSegment[] = [];
  private at = 0;
  private readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  private add(text: string, part: StringPart | undefined, isContext = false): void {
    if (text === '') return;
    this.text.push(text);
    this.segments.push({ from: this.at, to: this.at + text.length, part, isContext });
    this.at += text.length;
  }

  unknown(): void {
    this.add(hole, undefined, true);
  }

  context(flat: FlatText, from: number, to: number): void {
    for (const segment of flat.within(Math.max(0, from), Math.max(0, to))) {
      const [start, end] = [Math.max(from, segment.from), Math.min(to, segment.to)];
      this.add(flat.text.slice(start, end), shortened(segment, start, end), true);
    }
  }

  node(operand: Operand): FlatNode {
    const from = this.at;
    const children: FlatNode[] = [];
    if (operand.kind === 'chain') {
      operand.operands.forEach((each, index) => {
        if (index > 0) this.add(operand.separator, undefined);
        children.push(this.node(each));
      });
    } else if (operand.kind === 'literal') {
      for (const part of operand.parts ?? partsOf(this.source, operand.inner, operand.holes)) {
        this.add(part.isHole ? hole : this.source.slice(part.start, part.end), part);
      }
    } else {
      const { start, end } = operand;
      this.add(hole, { start, end, isHole: true, without: '' });
    }
    return { from, to: this.at, operand, children };
  }
}
