// Runs a program from its sources: node scripts/run.mjs PROGRAM.ts [ARGUMENT]…

import { rmSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { bundling } from './bundling.mjs';

const [program = '', ...args] = process.argv.slice(2);
const folder = basename(resolve(program, '..'));
// Of this process alone: several may run at a time.
const outfile = resolve('dist/run', folder, `${basename(program, '.ts')}-${process.pid}.mjs`);
process.once('exit', () => rmSync(outfile, { force: true }));

// A module, which may wait at its top level; the libraries in it that are none ask for `require`.
/** @type {import('esbuild').BuildOptions} */
const module = {
  format: 'esm',
  define: {},
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
};
buildSync({ ...bundling, ...module, entryPoints: [program], outfile, sourcemap: 'inline' });
process.setSourceMapsEnabled(true);
process.argv = [process.execPath, outfile, ...args];
await import(pathToFileURL(outfile).href);
