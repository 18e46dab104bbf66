// Splits source text into strings, names, brackets and operators, in any language of such plugins.
// It knows of a language only what an expression of strings needs. Pure. One pass; failed searches
// are limited, so the cost of a hostile file is linear.

import { phpHoleEnd, regExpEnd } from './token-ends.ts';

export interface Token {
  readonly kind: 'string' | 'name' | 'open' | 'close' | 'operator';
  readonly start: number;
  end: number;
  /** The name, operator or bracket; for a string, its quote. */
  readonly text: string;
  /** The next token on the same level: behind the closing bracket, or behind a template's holes. */
  after: number;
  readonly php: boolean;
  /** The content of a string. */
  inner: readonly [start: number, end: number];
  /** Ranges of a string where a value is inserted. */
  readonly holes: [start: number, end: number][];
  /** Part of an expression that was read. */
  isRead: boolean;
}

export interface Dialect {
  /** PHP from the first character on. */
  readonly php: boolean;
  /** HTML or a template, with code in it; `<?` begins PHP. */
  readonly markup: boolean;
  /** `#` begins a comment. */
  readonly hash: boolean;
  /** Code inside a string: its quotes are escaped. */
  readonly nested: boolean;
}

export interface Tokens {
  readonly tokens: Token[];
  readonly comments: readonly (readonly [start: number, end: number])[];
}

/** For tokens that are not strings. */
const none = [0, 0] as const;
const noHoles: [number, number][] = [];

const nameAt = /\\?[$\w\x80-\xff]+(?:\\[$\w\x80-\xff]+)*/y;
const operatorAt =
  /\?->|->|::|\?\.(?!\d)|=>|[=!]==?|&&|\|\||\?\?=?|\+\+|--|\.\.\.?|[-+*/.%]=|[\s\S]/y;
const heredocAt = /<<<[ \t]*(["']?)([a-z_]\w*)\1\r?\n/iy;
const islandAt = /<\?(?!xml)(?:php\b|=)?/iy;
const scriptAt = /<(\/?)script\b/iy;
const pairs: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{', '?>': '<?' };
/** Maximum length of a hole in a string; maximum distance of an unmatched bracket. */
const maxHole = 300;
const maxAstray = 8;
const maxRestarts = 3;
const maxMissing = 30;
/** Limit for one file; text after it is read without tokens. */
const maxTokens = 1_000_000;

export function tokenize(text: string, from: number, to: number, dialect: Dialect): Tokens {
  return new Lexer(text, from, to, dialect).run();
}

class Lexer {
  private readonly tokens: Token[] = [];
  private readonly comments: [number, number][] = [];
  /** Indexes of open brackets and of open templates. */
  private readonly open: number[] = [];
  /** Ends that were not found: they are not searched again. */
  private readonly missing = new Set<string>();
  private php: boolean;
  private inScript: boolean;
  private restarts = 0;
  private at: number;

  private wasted = 0;
  private readonly text: string;
  private readonly to: number;
  private readonly dialect: Dialect;

  constructor(text: string, from: number, to: number, dialect: Dialect) {
    this.text = text;
    this.to = to;
    this.dialect = dialect;
    this.at = from;
    this.php = dialect.php;
    this.inScript = !dialect.markup;
  }

  run(): Tokens {
    do {
      while (this.at < this.to && this.tokens.length < maxTokens) this.step();
    } while (this.restart());
    return { tokens: this.tokens, comments: this.comments };
  }

  /**
   * A template that never ends was none: what follows its quote is read again, a few times at most.
   */
  private restart(): boolean {
    const index = this.open.find((each) => this.tokens[each]?.text === '`');
    const token = index === undefined ? undefined : this.tokens[index];
    if (index === undefined || token === undefined || this.restarts >= maxRestarts) return false;
    this.restarts += 1;
    this.tokens.length = index;
    this.open.length = 0;
    this.at = token.start + 1;
    while ((this.comments.at(-1)?.[0] ?? 0) > this.at) this.comments.pop();
    return true;
  }

  private step(): void {
    const { text, at } = this;
    const char = text[at] ?? '';
    if (char <= ' ') this.at += 1;
    else if (this.skipComment(char) || this.switchLanguage(char)) return;
    else if (this.isQuote(char)) this.quoted(char);
    else if (char === '<' && this.php && this.heredoc()) return;
    else if (char === '/' && !this.php && this.inScript && this.skipRegExp()) return;
    else if ('([{'.includes(char)) this.openBracket(char);
    else if (')]}'.includes(char)) this.shut(char);
    else this.word();
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text);
  }

  /** The position behind the next `what`, or -1. */
  private behind(what: string): number {
    if (this.missing.has(what)) return -1;
    const found = this.text.indexOf(what, this.at + 1);
    if (found !== -1 && found + what.length <= this.to) return found + what.length;
    this.missing.add(what);
    return -1;
  }

  private skipComment(char: string): boolean {
    const { text, at } = this;
    let end = -1;
    if (char === '/' && text[at + 1] === '*') end = this.behind('*/');
    else if (char === '<' && !this.php && text.startsWith('<!--', at)) end = this.behind('-->');
    else if (char === '/' && text[at + 1] === '/') {
      if ((this.php || this.inScript) && text[at - 1] !== ':') end = this.lineEnd();
    } else if (char === '#') {
      const begins = this.php
        ? text[at + 1] !== '['
        : this.dialect.hash && /\s|^$/.test(text[at - 1] ?? '');
      if (begins) end = this.lineEnd();
    }
    if (end === -1) return false;
    this.comments.push([at, end]);
    this.at = end;
    return true;
  }

  /** The next line break, or the end of PHP before it. */
  private lineEnd(): number {
    const found = this.text.indexOf('\n', this.at);
    const end = found === -1 || found > this.to ? this.to : found;
    const island = this.php ? this.text.slice(this.at, end).indexOf('?>') : -1;
    return island === -1 ? end : this.at + island;
  }

  private switchLanguage(char: string): boolean {
    if (char === '?' && this.php && this.text[this.at + 1] === '>') {
      this.shut('?>');
      this.php = false;
      return true;
    }
    if (char !== '<' || this.php || !this.dialect.markup) return false;
    const island = this.match(islandAt);
    if (island !== null) {
      this.bracket('<?', island[0].length);
      this.php = true;
      return true;
    }
    const script = this.match(scriptAt);
    if (script === null) return false;
    this.inScript = script[1] === '';
    this.at += script[0].length;
    return true;
  }

  private isQuote(char: string): boolean {
    if (char === '\\') return this.dialect.nested && /["'`]/.test(this.text[this.at + 1] ?? '');
    if (char === '`') return !this.php && (this.inScript || this.dialect.nested);
    if (char === "'") {
      // Don't: an apostrophe stands behind a letter, a quote only behind a word that asks for a
      // value.
      const before = this.text.slice(Math.max(0, this.at - 10), this.at);
      return (
        this.php ||
        !/[\w\x80-\xff]$/.test(before) ||
        /\b(?:return|case|typeof|in|of|[bfru]{1,2})$/i.test(before)
      );
    }
    return char === '"';
  }

  private quoted(char: string): void {
    if (char === '`') {
      this.template();
      return;
    }
    const quote = char === '\\' ? this.text.slice(this.at, this.at + 2) : char;
    const holes: [number, number][] = [];
    const end = this.stringEnd(quote, holes);
    if (end === -1) {
      this.at += quote.length;
      return;
    }
    const inner = [this.at + quote.length, end] as const;
    const known = holes.length === 0 ? noHoles : holes;
    this.push('string', quote, end + quote.length - this.at, inner, known);
  }

  /** The position of the closing quote, or -1. Only strings of PHP may contain newlines. */
  private stringEnd(quote: string, holes: [number, number][]): number {
    const { text } = this;
    const key = `${quote}${this.php}`;
    if (this.missing.has(key)) return -1;
    for (let at = this.at + quote.length; at < this.to; at += 1) {
      const char = text[at];
      if (text.startsWith(quote, at)) return at;
      if (char === '\\') at += 1;
      else if (char === '\n' && !this.php) return this.failOnLine(at);
      else if (char === '<' && text[at + 1] === '?' && !this.php && this.dialect.markup) {
        const length = text.slice(at, at + maxHole).indexOf('?>');
        if (length === -1) continue;
        holes.push([at, at + length + 2]);
        at += length + 1;
      } else if (this.php && quote !== "'") {
        const end = phpHoleEnd(this.text, at, this.to);
        if (end === -1) continue;
        holes.push([at, end]);
        at = end - 1;
      }
    }
    this.missing.add(key);
    return -1;
  }

  /** Skips to the next line break after too many failed searches. */
  private failOnLine(end: number): number {
    this.wasted += end - this.at;
    if (this.wasted > 2 * this.to) this.at = end - 1;
    return -1;
  }

  private heredoc(): boolean {
    const found = this.match(heredocAt);
    if (found === null) return false;
    const label = found[2] ?? '';
    if (this.missing.has(label) || this.missing.size > maxMissing) return false;
    const start = this.at + found[0].length;
    const ending = new RegExp(String.raw`\r?\n[ \t]*${label}\b`, 'g');
    ending.lastIndex = start - 1;
    const end = ending.exec(this.text);
    if (end === null || end.index + end[0].length > this.to) {
      this.missing.add(label);
      return false;
    }
    const holes: [number, number][] = [];
    for (let at = start; at < end.index; at += 1) {
      const hole = found[1] === "'" ? -1 : phpHoleEnd(this.text, at, this.to);
      if (hole === -1) continue;
      holes.push([at, hole]);
      at = hole - 1;
    }
    const inner = [start, Math.max(start, end.index)] as const;
    this.push('string', '<<<', end.index + end[0].length - this.at, inner, holes);
    return true;
  }

  private skipRegExp(): boolean {
    const before = this.tokens.at(-1);
    const isDivision =
      before !== undefined &&
      (before.kind === 'string' ||
        before.kind === 'close' ||
        (before.kind === 'name' && !/^(?:return|case|typeof)$/.test(before.text)));
    if (isDivision) return false;
    const end = regExpEnd(this.text, this.at, this.to);
    if (end === -1) return false;
    this.push('operator', '/', end - this.at);
    return true;
  }

  private template(): void {
    this.open.push(this.tokens.length);
    this.push('string', '`', 1, [this.at + 1, this.at + 1], []);
    this.templateText();
  }

  /** Continues in a template, to its end or to its next hole. */
  private templateText(): void {
    const index = this.open.at(-1) ?? 0;
    for (; this.at < this.to; this.at += 1) {
      const char = this.text[this.at];
      if (char === '\\') this.at += 1;
      else if (char === '`') {
        this.endTemplate(index);
        return;
      } else if (char === '$' && this.text[this.at + 1] === '{') {
        this.bracket('${', 2);
        return;
      }
    }
  }

  private endTemplate(index: number): void {
    this.open.pop();
    const token = this.tokens[index];
    this.at += 1;
    if (token === undefined) return;
    token.end = this.at;
    token.inner = [token.start + 1, this.at - 1];
    token.after = this.tokens.length;
  }

  /** A template's value is an operand: `{{ x }}`, `{$x}`. */
  private openBracket(char: string): void {
    const next = this.text[this.at + 1] ?? '';
    if (char !== '{' || !this.dialect.markup || this.php || !'{$'.includes(next))
      this.bracket(char);
    else this.bracket('{{', next === '{' ? 2 : 1);
  }

  private bracket(text: string, length = 1): void {
    this.open.push(this.tokens.length);
    this.push('open', text, length);
  }

  private shut(text: string): void {
    const start = this.at;
    const depth = this.opening(text);
    if (depth === -1) {
      this.push('operator', text, text.length);
      return;
    }
    const index = this.open[depth] ?? 0;
    const opening = this.tokens[index];
    this.open.length = depth;
    const isDouble = opening?.text === '{{' && this.text.startsWith('}}', start);
    this.push('close', text, isDouble ? 2 : text.length);
    if (opening === undefined) return;
    opening.after = this.tokens.length;
    if (opening.text !== '${') return;
    this.tokens[this.open.at(-1) ?? 0]?.holes.push([opening.start, start + 1]);
    this.templateText();
  }

  /**
   * @returns the depth of the bracket that this one shuts, or -1; a few astray ones are passed over
   */
  private opening(text: string): number {
    for (let depth = this.open.length - 1; depth >= 0; depth -= 1) {
      const found = this.tokens[this.open[depth] ?? 0]?.text;
      if (found === pairs[text]) return depth;
      if (text === '}' && (found === '${' || found === '{{')) return depth;
      if (found === '`' || (found === '<?' && text !== '?>')) return -1;
      if (text !== '?>' && this.open.length - depth > maxAstray) return -1;
    }
    return -1;
  }

  private word(): void {
    const name = this.match(nameAt)?.[0];
    const text = name ?? this.match(operatorAt)?.[0] ?? ' ';
    this.push(name === undefined ? 'operator' : 'name', text, text.length);
  }

  private push(
    kind: Token['kind'],
    text: string,
    length: number,
    inner: Token['inner'] = none,
    holes: [number, number][] = noHoles,
  ): void {
    const [start, after] = [this.at, this.tokens.length + 1];
    this.at = Math.min(this.to, start + length);
    this.tokens.push({
      kind,
      start,
      end: this.at,
      text,
      after,
      php: this.php,
      inner,
      holes,
      isRead: false,
    });
  }
}
