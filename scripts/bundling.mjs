// How sources become one file that Node runs: for build.mjs, the executable, `scripts/run.mjs` and
// programs of the tests. Pages are written in JSX, which Node itself does not read.

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
