// Finds the end of source text that is one token or one hole. Pure. Lengths are limited, so text
// without an end costs little.

const maxLength = 300;

/** @returns the end of `{$…}` or `${…}` in a string of PHP, or -1 where none begins here */
export function phpHoleEnd(text: string, start: number, to: number): number {
  const [first, second] = [text[start], text[start + 1]];
  if (!(first === '{' && second === '$') && !(first === '$' && second === '{')) return -1;
  let depth = 0;
  const last = Math.min(to, start + maxLength);
  for (let at = start; at < last; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (text[at] === '}' && depth === 0) return at + 1;
  }
  return -1;
}

/**
 * @returns the end of a regular expression of JavaScript, or -1 where it does not end on this line
 */
export function regExpEnd(text: string, start: number, to: number): number {
  let inClass = false;
  const last = Math.min(to, start + maxLength);
  for (let at = start + 1; at < last; at += 1) {
    const char = text[at];
    if (char === '\n') return -1;
    if (char === '\\') at += 1;
    else if (char === '[') inClass = true;
    else if (char === ']') inClass = false;
    else if (char === '/' && !inClass) return at + 1;
  }
  return -1;
}
