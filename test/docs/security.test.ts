// docs/security.md names the test or file that holds each statement: those must exist. A test's title
// follows the path of its file, in quotes, without the ids of promises.

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
  const missing = references.flatMap(({ path, titles }) => {
    const source = readFileSync(path, 'utf8').replaceAll(/'(?:P-\d+ )+/g, "'");
    return titles.filter((title) => !source.includes(`'${title}'`));
  });
  expect(missing).toEqual([]);
  expect(references.flatMap(({ titles }) => titles).length).toBeGreaterThan(30);
});
