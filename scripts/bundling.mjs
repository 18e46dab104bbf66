// How sources become one file that Node runs: for build.mjs, the executable, `scripts/run.mjs` and
// programs of the tests. Pages are written in JSX, which Node itself does not read.

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
