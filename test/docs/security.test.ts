// docs/security.md has the id of a test (`S-12`) for each statement, with which the title of that
// test begins. Ids are checked in both directions, as those of promises are. Files that it names
// must exist.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { optionNames } from '../../src/config.ts';

const page = readFileSync('docs/security.md', 'utf8');
const files = [...page.matchAll(/`((?:src|test|scripts)\/[\w./-]+)`/g)].map(
  ([, path = '']) => path,
);
const ids = new Set(page.match(/\bS-\d{2,3}\b/g));

/** The ids with which titles of tests begin, `S-12 …`, behind those of promises, `P-17 S-12 …`. */
const tested = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(test|faults|e2e)\.ts$/.test(path))
  .map((path) => readFileSync(join('test', path), 'utf8'))
  .flatMap((text) => [...text.matchAll(/\(\s*['"`](?:P-\d+ )*((?:S-\d{2,3} )+)/g)])
  .flatMap(([, found = '']) => found.trim().split(' '));

/** Paragraphs, items of lists and rows of tables, without headings and the heads of tables. */
const statements = page
  .trimEnd()
  .split(/\n\n+/)
  .flatMap((block) => (/^\| /.test(block) ? block.split('\n').slice(2) : block.split(/\n(?=- )/)))
  .filter((each) => !each.startsWith('#'));

/** These say nothing of paygate itself. */
const withoutStatement = [
  'These protect the session:',
  'This table lists the applicable requirements',
];

test('every file that it names exists', () => {
  expect(files.length).toBeGreaterThan(60);
  expect(files.filter((path) => !existsSync(path))).toEqual([]);
});

test('every paragraph, item and row has an id', () => {
  expect(statements.length).toBeGreaterThan(100);
  const bare = statements.filter((each) => !/\b[SP]-\d{2,3}\b/.test(each));
  expect(
    bare.map((each) => withoutStatement.find((start) => each.startsWith(start)) ?? each),
  ).toEqual(withoutStatement);
});

test('every id that it names begins the title of one test', () => {
  expect(ids.size).toBeGreaterThan(100);
  expect([...ids].filter((id) => tested.filter((each) => each === id).length !== 1)).toEqual([]);
});

test('every promise that it names is one of promises.md or payments.md', () => {
  const promised = ['promises', 'payments'].map((name) => readFileSync(`docs/${name}.md`, 'utf8'));
  const unknown = (page.match(/\bP-\d+\b/g) ?? []).filter(
    (id) => !promised.some((text) => text.includes(`| ${id} |`)),
  );
  expect(unknown).toEqual([]);
});

test('every id in the title of a test is on the page', () => {
  expect(tested.filter((id) => !ids.has(id))).toEqual([]);
});

test('S-145 it names whatever a setting or the dashboard lets paygate connect to', () => {
  const [row = ''] = statements.filter((each) => each.startsWith('| 13.1.1 '));
  for (const name of ['Electrum servers', 'callbacks', 'webhooks', 'mail servers']) {
    expect(row).toContain(name);
  }
  const named: Record<string, string> = {
    electrum: 'Electrum servers',
    priceSource: 'price sources',
    domain: '`--domain`',
    acmeDirectory: 'authority',
    proxy: '`--proxy`',
  };
  const places = optionNames.filter((name) =>
    /^(electrum|priceSource|domain|acmeDirectory|proxy)$/.test(name),
  );
  for (const name of places)
    expect([name, row]).toEqual([name, expect.stringContaining(named[name] ?? '?')]);
});
