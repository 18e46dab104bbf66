// Programs as build.mjs bundles them, once for a file of tests: to load a bundle takes a tenth of the
// time that the sources take.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll } from 'vitest';
import { readFiles } from '../../src/sandbox/web/files.ts';

/** Where a bundle finds what it does not hold. */
export const modules = join(import.meta.dirname, '../../node_modules');

const bundles = new Map<string, string>();
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  bundles.clear();
});

/** @returns the path of the bundle, to be run with `NODE_PATH` set to `modules` */
export function bundleOf(program: string): string {
  const known = bundles.get(program);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), 'paygate-bundle-'));
  folders.push(folder);
  const outfile = join(folder, 'program.cjs');
  buildSync({
    entryPoints: [program],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['better-sqlite3'],
    // node-cron asks where it lies.
    banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: {
      'import.meta.url': 'bundleUrl',
      bundledBrowserFiles: JSON.stringify(readFiles()),
    },
    logLevel: 'error',
  });
  bundles.set(program, outfile);
  return outfile;
}
