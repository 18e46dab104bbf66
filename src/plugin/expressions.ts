// Reads expressions that build a string from tokens: `'a' + b`, `'a' . (c ? 'd' : e)`, `[a,
// 'b'].join('')`, `implode('', [a, 'b'])`, `sprintf('%s', a)`. Pure. Each token is read once on its
// level, from the last to the first, so the content of brackets is known before the brackets.

import {
  chainOf,
  isOfInterest,
  type Literal,
  type Operand,
  partsOf,
  plainChain,
  type StringChain,
  type StringPart,
} from './string-expression.ts';
import { assigns, choosers, formats, isPrimary, isWord, members, unary } from './token-words.ts';
import type { Token } from './tokens.ts';

/** Larger or deeper expressions in brackets count as a value: no host has that many pieces. */
const maxInlineSize = 32;
const maxInlineDepth = 40;

/**
 * Reads every expression of strings that is not a part of another one.
 * @param joinsAdjacent whether `'a' 'b'` is one string, as in Python
 */
export function readChains(
  text: string,
  tokens: readonly Token[],
  joinsAdjacent: boolean,
): StringChain[] {
  return new ChainReader(text, tokens, joinsAdjacent).run();
}

interface ReadOperand {
  readonly operand: Operand;
  /** The index of the token behind it. */
  readonly next: number;
}

interface ListItem {
  readonly operand: Operand;
  readonly first: number;
}

class ChainReader {
  private readonly chains = new Map<number, StringChain & { readonly next: number }>();
  /** The token before each one on its level, or -1. */
  private readonly previous: Int32Array;
  private readonly closing: Int32Array;
  /** Strings that are an expression of their own. */
  private readonly alone: Uint8Array;
  private readonly text: string;
  private readonly tokens: readonly Token[];
  private readonly joinsAdjacent: boolean;

  constructor(text: string, tokens: readonly Token[], joinsAdjacent: boolean) {
    this.text = text;
    this.joinsAdjacent = joinsAdjacent;
    this.tokens = tokens;
    this.previous = new Int32Array(tokens.length).fill(-1);
    this.closing = new Int32Array(tokens.length).fill(-1);
    this.alone = new Uint8Array(tokens.length);
    tokens.forEach(({ after, kind }, index) => {
      if (after > index + 1 && kind === 'open') this.closing[index] = after - 1;
      if (kind === 'close' || this.tokens[after]?.kind === 'close') return;
      this.previous[after] = index;
    });
  }

  run(): StringChain[] {
    for (let index = this.tokens.length - 1; index >= 0; index -= 1) {
      if (this.begins(index)) this.readChain(index);
    }
    // A string in no expression is an expression of its own.
    const alone = this.tokens.flatMap(({ kind, isRead, inner }, index) => {
      const isAlone = kind === 'string' && !isRead && isOfInterest(this.text.slice(...inner));
      return isAlone ? [chainOf([this.literal(index)], '')] : [];
    });
    return [...this.chains.values(), ...alone];
  }

  private token(index: number): Token | undefined {
    return this.tokens[index];
  }

  private operator(index: number): string {
    const token = this.token(index);
    return token?.kind === 'operator' ? token.text : '';
  }

  /** Whether an expression may begin at this token, which is no later part of one. */
  private begins(index: number): boolean {
    const token = this.token(index);
    const before = this.previous[index] ?? -1;
    if (token === undefined || !isPrimary(token)) return false;
    const last = this.token(before);
    if (last === undefined) return true;
    if (this.joins(before) || members.has(this.operator(before))) return false;
    if (token.kind === 'string') return !this.isAdjacent(index);
    if (token.kind === 'open' && /[([]/.test(token.text)) {
      return !(isPrimary(last) && last.text !== '<?') || isWord(last);
    }
    // A value behind `await` or a cast belongs to what stands before these.
    const isPrefix = (last.kind === 'name' && unary.test(last.text)) || last.kind === 'open';
    return !(isPrefix && this.joins(this.previous[before] ?? -1));
  }

  /** Whether this token joins what stands before it with what follows. */
  private joins(index: number): boolean {
    const token = this.token(index);
    if (token?.kind !== 'operator') return false;
    const { text, php } = token;
    if (text === '.') {
      const next = this.token(token.after);
      return php || next?.kind === 'string' || (next?.text.startsWith('$') ?? false);
    }
    return !php && (text === '+' || text === '~' || text === '..');
  }

  private readChain(first: number): void {
    const start = this.readOperand(first);
    if (start === undefined) return;
    const operands = [start.operand];
    const isEcho = /^echo$/i.test(this.token(this.previous[first] ?? -1)?.text ?? '');
    let { next } = start;
    for (;;) {
      const isComma = isEcho && this.operator(next) === ',';
      const isJoin = isComma || this.joins(next);
      const isAdjacent = !isJoin && this.isAdjacent(next);
      const read = isJoin || isAdjacent ? this.readOperand(isJoin ? next + 1 : next) : undefined;
      if (read === undefined) break;
      if (isComma) this.take(next + 1);
      operands.push(read.operand);
      next = read.next;
    }
    // Values alone have no text to read.
    if (operands.every((each) => each.kind === 'hole' && each.choices.length === 0)) return;
    const continues = assigns.has(this.operator(this.previous[first] ?? -1));
    const token = this.token(first);
    if (operands.length === 1 && token?.kind === 'string' && token.after === next && !continues) {
      // Most strings are alone and of no interest: build their chains only on demand.
      token.isRead = false;
      this.alone[first] = 1;
      return;
    }
    this.chains.set(first, { ...chainOf(operands, '', continues), next });
  }

  private chainAt(index: number): (StringChain & { readonly next: number }) | undefined {
    if (this.alone[index] !== 1) return this.chains.get(index);
    return { ...chainOf([this.literalAt(index)], ''), next: this.token(index)?.after ?? 0 };
  }

  /** Marks a chain as part of a larger expression. */
  private take(index: number): void {
    this.chains.delete(index);
    const token = this.token(index);
    if (token?.kind === 'string') token.isRead = true;
  }

  private isAdjacent(index: number): boolean {
    const last = this.token(this.previous[index] ?? -1);
    return this.joinsAdjacent && this.token(index)?.kind === 'string' && last?.kind === 'string';
  }

  private readOperand(index: number): ReadOperand | undefined {
    const token = this.token(index);
    if (token === undefined) return undefined;
    if (/^[-+!~@&]$/.test(token.text) || (token.kind === 'name' && unary.test(token.text))) {
      return this.behindPrefix(index);
    }
    if (!isPrimary(token)) return undefined;
    const { after } = token;
    const postfix = this.behindPostfix(token);
    if (postfix > after) return this.readCall(index, postfix);
    if (token.kind === 'string') return { operand: this.literal(index), next: after };
    if (token.kind === 'name' || token.text !== '(') return this.hole(index, after);
    const next = this.token(after);
    const isCast = next !== undefined && isPrimary(next) && after - index === 3;
    if (isCast && this.joins(this.previous[index] ?? -1)) return this.behindPrefix(index);
    return this.group(index);
  }

  private behindPrefix(index: number): ReadOperand | undefined {
    const start = this.token(index)?.start ?? 0;
    let next = index;
    while (this.token(next) !== undefined && this.isPrefix(next))
      next = this.token(next)?.after ?? 0;
    const read = this.readOperand(next);
    if (read === undefined) return undefined;
    this.take(next);
    const { end } = read.operand;
    return { operand: { kind: 'hole', start, end, choices: [] }, next: read.next };
  }

  private isPrefix(index: number): boolean {
    const token = this.token(index);
    if (token === undefined) return false;
    if (token.kind === 'name') return unary.test(token.text);
    return /^[-+!~@&]$/.test(token.text) || (token.text === '(' && token.after - index === 3);
  }

  /** @returns the token behind the calls, indexes and members of what begins with that one */
  private behindPostfix(token: Token): number {
    let at = token.after;
    for (;;) {
      const next = this.token(at);
      if (next === undefined) return at;
      const isCall = next.kind === 'open' && /[([]/.test(next.text) && this.closing[at] !== -1;
      const isMatch = next.text === '{' && /^match$/i.test(token.text);
      if (isMatch || (isCall && !(at === token.after && isWord(token)))) {
        at = next.after;
        continue;
      }
      if (!members.has(this.operator(at)) || this.joins(at)) return at;
      const member = this.token(at + 1);
      if (member?.kind !== 'name' && !/^[({]$/.test(member?.text ?? '')) return at;
      at = member?.after ?? at + 1;
    }
  }

  private hole(index: number, next: number, choices: readonly StringChain[] = []): ReadOperand {
    const [start, end] = [this.token(index)?.start ?? 0, this.token(next - 1)?.end ?? 0];
    return { operand: { kind: 'hole', start, end, choices }, next };
  }

  private literal(index: number): Literal {
    const token = this.token(index) as Token;
    token.isRead = true;
    return this.literalAt(index);
  }

  private literalAt(index: number): Literal {
    const { start, end, inner, holes } = this.token(index) as Token;
    return { kind: 'literal', start, end, inner, holes, parts: undefined, isPinned: false };
  }

  /** The content of brackets: one expression, or a choice between several. */
  private group(index: number): ReadOperand {
    const close = this.closing[index] ?? -1;
    const token = this.token(index) as Token;
    if (close === -1) return this.hole(index, token.after);
    const inner = this.chainAt(index + 1);
    if (inner?.next === close && inner.size <= maxInlineSize && inner.depth < maxInlineDepth) {
      this.take(index + 1);
      const place = { start: token.start, end: this.token(close)?.end ?? 0 };
      const [only] = inner.operands;
      const operand: Operand =
        inner.operands.length === 1 && only
          ? { ...only, ...place }
          : { ...plainChain(inner), ...place };
      return { operand, next: close + 1 };
    }
    return this.hole(index, close + 1, this.choices(index, close));
  }

  private choices(open: number, close: number): StringChain[] {
    const found: StringChain[] = [];
    let last = '';
    for (let at = open + 1; at < close; at = this.token(at)?.after ?? close) {
      const chain = choosers.has(last) ? this.chainAt(at) : undefined;
      if (chain !== undefined) {
        found.push(chain);
        this.take(at);
      }
      last = this.token(at)?.text ?? '';
    }
    return found;
  }

  /**
   * `a(…)`, `a.b`, `'x'.concat(…)`: those that put a string together are read, the others are a
   * value.
   */
  private readCall(index: number, next: number): ReadOperand {
    const { start } = this.token(index) as Token;
    const place = { start, end: this.token(next - 1)?.end ?? start };
    const known = this.knownCall(index, next);
    if (known === undefined) return this.hole(index, next);
    return { operand: { ...known, ...place }, next };
  }

  private knownCall(index: number, next: number): Operand | undefined {
    const { kind, text, after } = this.token(index) as Token;
    if (kind === 'string' && this.token(after + 1)?.text === 'concat') {
      return this.concatenated(index, next);
    }
    const call =
      kind === 'name' && this.token(after)?.text === '(' ? after : this.methodCall(index);
    if (call === -1 || this.closing[call] !== next - 1) return undefined;
    const name = this.token(call - 1)?.text.toLowerCase() ?? '';
    if (kind === 'string' && name === 'join')
      return this.joined(this.listIn(call), this.contentOf(index));
    if (text === '[' && name === 'join') return this.joined(index, this.contentOf(call + 1));
    if (kind !== 'name') return undefined;
    if (/^(?:implode|join)$/.test(name) && call === after) return this.imploded(call);
    return formats.test(name) ? this.formatted(call) : undefined;
  }

  /** @returns the bracket of the call of a member of that one: `x.member(` */
  private methodCall(index: number): number {
    let at = this.token(index)?.after ?? -1;
    while (members.has(this.operator(at)) && this.token(at + 2)?.text !== '(') at += 2;
    return members.has(this.operator(at)) ? at + 2 : -1;
  }

  /** The values between brackets; undefined if they cannot be separated. */
  private items(open: number): ListItem[] | undefined {
    const close = this.closing[open] ?? -1;
    if (close === -1) return undefined;
    const found: ListItem[] = [];
    for (let at = open + 1; at < close; at += 1) {
      const first = at;
      while (at < close && this.operator(at) !== ',') at = this.token(at)?.after ?? close;
      if (at === first) continue;
      if (found.length > maxInlineSize) return undefined;
      const chain = this.chainAt(first);
      const isWhole =
        chain?.next === at && chain.size <= maxInlineSize && chain.depth < maxInlineDepth;
      const [only] = chain?.operands ?? [];
      if (isWhole && chain.operands.length === 1 && only) found.push({ first, operand: only });
      else
        found.push({ first, operand: isWhole ? plainChain(chain) : this.hole(first, at).operand });
    }
    return found;
  }

  private takeAll(items: readonly ListItem[]): Operand[] {
    for (const { first, operand } of items) if (operand.kind !== 'hole') this.take(first);
    return items.map(({ operand }) => operand);
  }

  /** `'a'.concat(b, c).concat(d)`: compilers write templates for old browsers like this. */
  private concatenated(index: number, next: number): StringChain | undefined {
    const found: ListItem[] = [];
    let at = this.token(index)?.after ?? next;
    for (; at < next; at = this.token(at + 2)?.after ?? next) {
      const isConcat = this.token(at + 1)?.text === 'concat' && this.token(at + 2)?.text === '(';
      const items = isConcat ? this.items(at + 2) : undefined;
      if (items === undefined) return undefined;
      found.push(...items);
    }
    return chainOf([{ ...this.literal(index), isPinned: true }, ...this.takeAll(found)], '');
  }

  private joined(list: number, separator: string | undefined): StringChain | undefined {
    const items = list === -1 || separator === undefined ? undefined : this.items(list);
    if (items === undefined || items.length === 0) return undefined;
    return chainOf(this.takeAll(items), separator ?? '');
  }

  /** `implode('', […])`, also without its first value. */
  private imploded(call: number): StringChain | undefined {
    const second = this.operator(call + 2) === ',' ? call + 3 : call + 1;
    const separator = second === call + 1 ? '' : this.contentOf(call + 1);
    return this.joined(this.listAt(second), separator);
  }

  private listIn = (call: number): number => this.listAt(call + 1);

  /** @returns the bracket of `[…]` or `array(…)` */
  private listAt(index: number): number {
    if (this.token(index)?.text === '[') return index;
    return /^array$/i.test(this.token(index)?.text ?? '') && this.token(index + 1)?.text === '('
      ? index + 1
      : -1;
  }

  /** The text of a string without holes, as it is written. */
  private contentOf(index: number): string | undefined {
    const token = this.token(index);
    if (token?.kind !== 'string' || token.holes.length > 0) return undefined;
    return this.text.slice(...token.inner);
  }

  private partsOf({ parts, inner, holes }: Literal): readonly StringPart[] {
    return parts ?? partsOf(this.text, inner, holes);
  }

  /** A format, with its values that are strings inserted. */
  private formatted(call: number): Literal | undefined {
    const [first, ...values] = this.items(call) ?? [];
    const format = first?.operand;
    if (first === undefined || format?.kind !== 'literal') return undefined;
    const used = new Set<ListItem>();
    let counted = 0;
    const parts = this.partsOf(format).flatMap((part): readonly StringPart[] => {
      const [isValue, at] =
        /^%(?:(\d+)\$)?[dsv]$/.exec(this.text.slice(part.start, part.end)) ?? [];
      if (!part.isHole || isValue === undefined) return [part];
      const which = at === undefined ? counted++ : Number(at) - 1;
      const value = values[which];
      if (value?.operand.kind !== 'literal' || used.has(value)) return [part];
      used.add(value);
      return this.partsOf(value.operand);
    });
    this.takeAll([first, ...used]);
    return { ...format, parts, isPinned: true };
  }
}
