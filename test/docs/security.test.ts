// docs/security.md says of each statement which test or file holds it: those must be there. A test's name
// follows the path of its file, in quotes.

import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/security.md', 'utf8');
const named = /`((?:src|test)\/[\w./-]+)`((?:,?\s+"[^"]+")*)/g;

const references = [...page.matchAll(named)].map(([, path = '', titles = '']) => ({
  path,
  titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title),
}));

test('every file that it names is there', () => {
  expect(references.length).toBeGreaterThan(60);
  expect(references.filter(({ path }) => !existsSync(path))).toEqual([]);
});

test('every test that it names is there, under that name', () => {
  const missing = references.flatMap(({ path, titles }) =>
    titles.filter((title) => !readFileSync(path, 'utf8').includes(`'${title}'`)),
  );
  expect(missing).toEqual([]);
  expect(references.flatMap(({ titles }) => titles).length).toBeGreaterThan(30);
});
