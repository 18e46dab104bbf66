// Words and operators with a meaning in expressions of strings, in any of the languages. Pure.

import type { Token } from './tokens.ts';

export const unary = /^(?:new|await|typeof|clone|void|not)$/;
export const members = new Set(['.', '->', '?->', '::', '?.']);
export const assigns = new Set(['+=', '.=']);
export const choosers = new Set(['?', ':', '||', '??', '&&', 'else', 'or']);
export const formats = /^(?:[\w.]*sprintf|printf|format)$/i;

/** Whether a value may begin with this token: a string, a name, a bracket. */
export function isPrimary({ kind, text }: Token): boolean {
  return (
    kind === 'string' || kind === 'name' || (kind === 'open' && /^(?:[([]|<\?|\{\{)$/.test(text))
  );
}

/** Keywords that a value follows, such as `return`. */
export const isWord = ({ kind, text }: Token): boolean =>
  kind === 'name' &&
  /^(?:return|echo|print|case|else|in|of|and|or|if|elseif|while|throw|yield)$/i.test(text);
