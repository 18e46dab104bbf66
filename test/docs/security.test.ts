// docs/security.md names the file that holds a statement, or the id of a test (`S-12`), with which
// its title begins. Files must exist. Ids are checked in both directions, as those of promises
// are.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const page = readFileSync('docs/security.md', 'utf8');
const files = [...page.matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path = '']) => path);
const ids = new Set(page.match(/\bS-\d\d\b/g));

/** The ids with which titles of tests begin, `S-12 …`, behind those of promises, `P-17 S-12 …`. */
const tested = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => readFileSync(join('test', path), 'utf8'))
  .flatMap((text) => [...text.matchAll(/\(\s*['"`](?:P-\d+ )*((?:S-\d\d )+)/g)])
  .flatMap(([, found = '']) => found.trim().split(' '));

test('every file that it names exists', () => {
  expect(files.length).toBeGreaterThan(60);
  expect(files.filter((path) => !existsSync(path))).toEqual([]);
});

test('every id that it names begins the title of one test', () => {
  expect(ids.size).toBeGreaterThan(50);
  expect([...ids].filter((id) => tested.filter((each) => each === id).length !== 1)).toEqual([]);
});

test('every id in the title of a test is on the page', () => {
  expect(tested.filter((id) => !ids.has(id))).toEqual([]);
});
