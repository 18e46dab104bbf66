// An expression of strings as one text, in which each value that is put in while the program runs is one
// character; and changes of that text, carried over to the source that it was read from. Pure.

import { type Operand, partsOf, type StringChain, type StringPart } from './string-expression.ts';

/** Stands for a value that is put in. Files are read as latin1, so none of them has it. */
export const hole = '\uE000';

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A stretch of the text and where it comes from. */
interface FlatSegment {
  readonly from: number;
  readonly to: number;
  /** None for what `join` puts between two values. */
  readonly part: StringPart | undefined;
  /** Belongs to the expression around this one, which is shown for what it says. */
  readonly isContext: boolean;
}

interface FlatNode {
  readonly from: number;
  readonly to: number;
  readonly operand: Operand;
  readonly children: readonly FlatNode[];
}

/** How much of the expression around a choice is shown. */
const maxContext = 300;

export class FlatText {
  readonly text: string;
  /** What is this expression's own. */
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

  /** @param around the expression that the chain is a choice in, and the place of that choice in its text */
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

  /** The segments that overlap that stretch. */
  within(from: number, to: number): readonly FlatSegment[] {
    return overlapping(this.segments, from, to);
  }

  /** @returns the place in the source of that one in the text; of a value, where it begins */
  sourceAt(at: number): number {
    const [segment] = this.within(at, at + 1);
    if (segment?.part === undefined) return this.start;
    return segment.part.isHole ? segment.part.start : segment.part.start + at - segment.from;
  }

  /** @returns the place in the source behind that one in the text */
  sourceBehind(at: number): number {
    const part = this.within(at, at + 1)[0]?.part;
    return part?.isHole ? part.end : this.sourceAt(at) + 1;
  }

  /** A change of text that belongs to the expression around this one. */
  editContext(from: number, to: number, text: string): Edit | undefined {
    const [segment, ...others] = this.within(from, to);
    if (segment?.isContext !== true || segment.part?.isHole !== false || others.length > 0) return;
    return { start: this.sourceAt(from), end: this.sourceBehind(to - 1), text };
  }

  /**
   * @param minEnd a place in the source
   * @returns where the stretch ends in the source, as far as it goes on without a break from there
   */
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
   * Puts text in the place of a stretch: into its last piece, the others go.
   * @returns nothing where the source can't be changed so
   */
  edit(from: number, to: number, text: string): Edit[] | undefined {
    const segments = this.within(from, to);
    const last = segments.findLast(({ part }) => part?.isHole === false);
    if (last?.part === undefined || segments.some(({ isContext }) => isContext)) return undefined;
    // What is put between two values stays between them.
    const [first] = segments;
    const isSplit = first !== undefined && first.from < from;
    if (isSplit && segments.some(({ part }) => part === undefined)) return undefined;
    const edits: Edit[] = [];
    this.change(this.root, { from, to, text, last: last.part }, edits);
    return edits;
  }

  private change(node: FlatNode, stretch: Replacement, edits: Edit[]): void {
    if (node.operand.kind === 'literal') this.changeLiteral(node, stretch, edits);
    const { children } = node;
    for (let at = firstBehind(children, stretch.from); at < children.length; at += 1) {
      const child = children[at] as FlatNode;
      if (child.from >= stretch.to) break;
      if (!goes(child, stretch)) {
        if (child.to > stretch.from) this.change(child, stretch, edits);
        continue;
      }
      const begin = at;
      while (at + 1 < children.length && goes(children[at + 1] as FlatNode, stretch)) at += 1;
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

/** Whether an operand goes whole, with what joins it to the next. */
function goes(
  { from, to, operand, children }: FlatNode,
  { last, ...stretch }: Replacement,
): boolean {
  if (from === to || from < stretch.from || to > stretch.to) return false;
  const stays = (each: Operand, inner: readonly FlatNode[]): boolean =>
    each.kind === 'literal'
      ? each.isPinned || (each.start <= last.start && last.end <= each.end)
      : inner.some((child) => stays(child.operand, child.children));
  return !stays(operand, children);
}

/** The first of two joins stays. */
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

/** @returns the index of the first one that ends behind that place */
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

/** The part of a segment that lies between two places of its text. */
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
