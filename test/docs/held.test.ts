// Each promise that a document makes has an id (`P-17`), and titles of its tests begin with that
// id. Both directions are checked: no id without a test, no id without a document.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const pages = ['docs/promises.md', 'docs/payments.md'];

/** The ids in the first column of a page's tables, and every row without one. */
function rowsOf(page: string): { readonly ids: readonly string[]; readonly bare: string[] } {
  const cells = [...readFileSync(page, 'utf8').matchAll(/^\| *([^|]*?) *\|/gm)]
    .map(([, first = '']) => first)
    .filter((first) => first !== 'id' && !/^-+$/.test(first));
  const isId = (cell: string) => /^P-\d{2,3}$/.test(cell);
  return { ids: cells.filter(isId), bare: cells.filter((cell) => !isId(cell)) };
}

/** The ids with which titles of tests begin, `P-17 P-20 an address …`. */
function idsOfTests(): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => readFileSync(join('test', path), 'utf8'))
    .flatMap((text) => [...text.matchAll(/\(\s*['"`]((?:P-\d+ )+)/g)])
    .flatMap(([, ids = '']) => ids.trim().split(' '));
}

const documented = pages.map(rowsOf);
const ids = new Set(documented.flatMap((page) => page.ids));
const tested = new Set(idsOfTests());

test('each row of the pages has an id, and no page repeats an id', () => {
  expect(documented.flatMap(({ bare }) => bare)).toEqual([]);
  expect(documented.every((page) => page.ids.length > 60)).toBe(true);
  const [promises] = documented;
  expect(new Set(promises?.ids).size).toBe(promises?.ids.length);
});

test('each documented promise has a test', () => {
  expect([...ids].filter((id) => !tested.has(id))).toEqual([]);
});

test('each id in the title of a test is documented', () => {
  expect([...tested].filter((id) => !ids.has(id))).toEqual([]);
});
