// How sources become one file, and how Node runs it: for build.mjs, the executable, `scripts/run.mjs` and programs of
// the tests. Pages are written in JSX, which Node itself does not read.

/**
 * What Node is started with. V8 gives back no memory of its space for new objects, which would grow to
 * 16 MiB and more at a start; MiB. https://nodejs.org/docs/latest-v24.x/api/cli.html#--max-semi-space-sizesize-in-mib
 */
export const nodeOptions = ['--max-semi-space-size=2'];

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
