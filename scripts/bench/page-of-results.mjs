// docs/benchmarks.md: what stands between its two marks is a run's table; the rest is written by hand.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asMarkdown } from './table.mjs';

const BEGIN = '<!-- the table of `npm run bench` begins -->';
const END = '<!-- the table of `npm run bench` ends -->';

/**
 * @param {string} checkout
 * @param {import('./table.mjs').Machine} machine
 * @param {readonly import('./table.mjs').Row[]} rows
 */
export function writeResults(checkout, machine, rows) {
  const path = join(checkout, 'docs', 'benchmarks.md');
  const text = readFileSync(path, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${path} has lost the marks around its table`);
  const before = text.slice(0, begin + BEGIN.length);
  writeFileSync(path, `${before}\n${asMarkdown(machine, rows)}\n${text.slice(end)}`);
}
