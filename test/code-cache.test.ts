// What V8 compiles of the parts when the executable is built. test/faults/executable.faults.ts has the
// executable itself.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'paygate-code-cache-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** One function that no code calls, and names that V8 finds by their hashes. */
const parts = {
  'first.cjs':
    '(function () { function unused() { return "only here"; } return { a: 1, b: unused }; })',
  'second.cjs': '(function () { return 2; })',
};
const names = Object.keys(parts);
for (const [name, text] of Object.entries(parts)) writeFileSync(join(folder, name), text);

const node = (...words: string[]): string =>
  execFileSync(process.execPath, words, { encoding: 'utf8', env: {} });

function compile(): Buffer[] {
  node('--random-seed=1', 'scripts/executable/code-cache.cjs', folder, ...names);
  return names.map((name) => readFileSync(join(folder, `${name}.cache`)));
}

/** Loads a part as the executable does. @returns whether V8 refused the cache, and a result */
function load(name: string, cache: Uint8Array) {
  writeFileSync(join(folder, 'cache'), cache);
  const program = `const [, folder, filename] = process.argv, { readFileSync } = require('fs');
    const cachedData = readFileSync(folder + '/cache');
    const text = readFileSync(folder + '/' + filename, 'latin1');
    const script = new (require('vm').Script)(text, { filename, cachedData });
    const result = script.runInThisContext()();
    console.log(JSON.stringify([script.cachedDataRejected, result.a ?? result]));`;
  return JSON.parse(node('-e', program, folder, name));
}

describe('the code cache of the executable', () => {
  const [first = Buffer.of(), second = Buffer.of()] = compile();

  it('has the same bytes each time', () => {
    expect(compile()).toEqual([first, second]);
  });

  it('has every function, also one that no code calls', () => {
    expect(first.includes('only here')).toBe(true);
  });

  it('is taken by the same Node', () => {
    expect(load('first.cjs', first)).toEqual([false, 1]);
    expect(load('second.cjs', second)).toEqual([false, 2]);
  });

  it.each([
    ['of another V8', Buffer.from(first).fill(0, 4, 8)],
    ['of another script', second],
    ['cut off', first.subarray(0, 100)],
    ['empty', Buffer.of()],
  ])('is refused when it is %s, and the part runs', (_, cache) => {
    expect(load('first.cjs', cache)).toEqual([true, 1]);
  });
});
