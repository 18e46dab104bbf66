// docs/payments.md names a test for every case: each of them must be there, under that name.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/payments.md'), 'utf8');

/** The last cells of the tables, of rows that are cases. */
const cells = page
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|( *-+ *\|)+$/.test(line))
  .map((line) => line.split('|').at(-2)?.trim() ?? '')
  .filter((cell) => cell !== 'test');

/** `file: _a title_, _another_; unit/other/file`, from test/house/ unless it says. */
const named = cells.flatMap((cell) =>
  cell.split(';').map((part) => {
    const [file = '', titles = ''] = part.split(':');
    return {
      file: file.trim(),
      titles: [...titles.matchAll(/_([^_]+)_/g)].map(([, title]) => title),
    };
  }),
);

/** A file of tests without its comments. */
function sourceOf(file: string): string {
  const path = join(root, 'test', `${file.includes('/') ? file : `house/${file}`}.test.ts`);
  return existsSync(path) ? readFileSync(path, 'utf8').replace(/^\s*(\/\/|\/?\*).*$/gm, '') : '';
}

test('every case of the page has its test', () => {
  expect(cells.length).toBeGreaterThan(40);
  expect(cells.filter((cell) => cell === '')).toEqual([]);
  expect(named.map(({ file }) => file).filter((file) => sourceOf(file) === '')).toEqual([]);
  const missing = named.flatMap(({ file, titles }) =>
    titles
      .filter((title = '') => !sourceOf(file).includes(title))
      .map((title) => `${file}: ${title}`),
  );
  expect(missing).toEqual([]);
});
