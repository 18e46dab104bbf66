// The pages that name a test for each of their rows: the file is there, and has what is quoted of it.

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** What stands in the last column of a page's tables, cell by cell. */
function cellsOf(page: string): string[] {
  const rows = readFileSync(page, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const cells = rows.map(
    (row) =>
      row
        .split(/(?<!\\)\|/)
        .at(-2)
        ?.trim() ?? '',
  );
  return cells.filter((cell) => cell !== 'test' && !/^-+$/.test(cell));
}

interface Named {
  readonly file: string;
  readonly quoted: readonly string[];
}

/** `file: _a_, _b_; folder/file` */
const namedIn = (cell: string): Named[] =>
  cell.split('; ').map((part) => {
    const [name = '', words = ''] = part.split(': ');
    const quoted = [...words.matchAll(/_(.+?)_(?=,|$)/g)].map(([, text = '']) => text);
    return { file: `test/${name}.test.ts`, quoted };
  });

/** A file of tests without its comments; empty where there is none. */
const sourceOf = (file: string): string =>
  existsSync(file) ? readFileSync(file, 'utf8').replace(/^\s*(\/\/|\/?\*).*$/gm, '') : '';

describe.each(['docs/payments.md', 'docs/promises.md'])('%s', (page) => {
  const cells = cellsOf(page);
  const named = cells.flatMap(namedIn);

  it('names a test in each row', () => {
    expect(cells.length).toBeGreaterThan(40);
    expect(cells.filter((cell) => cell === '')).toEqual([]);
  });

  it.each(named)('$file has $quoted', ({ file, quoted }) => {
    const text = sourceOf(file);
    expect(text).not.toBe('');
    for (const words of quoted) expect(text).toContain(words);
  });
});
