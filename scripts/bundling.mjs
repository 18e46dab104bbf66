// How sources become one file that Node runs: for build.mjs, the executable, `scripts/run.mjs` and
// programs of the tests. Pages are written in JSX, which Node itself does not read.

import { readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { transform } from 'esbuild';

/** Browsers receive scripts without comments. @param {string} path */
export async function browserScript(path) {
  const { code } = await transform(await readFile(path, 'utf8'), { minify: true, format: 'esm' });
  return code;
}

/** @type {import('esbuild').Plugin} */
export const browserScripts = {
  name: 'browser-scripts',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.client\.js$/ }, async ({ path }) => ({
      contents: await browserScript(path),
      loader: 'text',
    })),
};

/** @type {import('esbuild').BuildOptions} */
export const bundling = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  // The only native code: it is loaded from node_modules.
  external: ['better-sqlite3'],
  // A bundled library (node-cron) asks where it lies, which CommonJS says in another way.
  banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
  define: { 'import.meta.url': 'bundleUrl' },
  // What browsers are sent: imported with `?raw`, as vitest has it.
  loader: { '.md': 'text', '.css': 'text', '.svg': 'text', '.client.js': 'text' },
  logLevel: 'warning',
};

/**
 * Rewrites a bundle in ASCII. One letter beyond makes V8 hold the whole program with two bytes a
 * letter, and a tenth slower to start. esbuild escapes them in strings, but not in regular
 * expressions and tagged templates.
 * @param {string} outfile
 */
export function rewriteInAscii(outfile) {
  const text = readFileSync(outfile, 'utf8');
  writeFileSync(outfile, text.replaceAll(/[^\0-\x7f]/g, escapeUnit));
}

/** @param {string} unit of UTF-16 */
const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
