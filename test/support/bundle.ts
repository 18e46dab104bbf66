// Programs as build.mjs bundles them, once for each file of tests, because a bundle loads ten times
// faster than its sources.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll } from 'vitest';
import { bundling, rewriteInAscii } from '../../scripts/bundling.mjs';

/** Folder of the modules that a bundle does not include. */
export const modules = join(import.meta.dirname, '../../node_modules');

const bundles = new Map<string, string>();
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  bundles.clear();
});

/**
 * Environment of a bundle: the folder of its external modules, and V8's compile cache, so that only
 * the first run compiles.
 * https://nodejs.org/docs/latest-v24.x/api/module.html#module-compile-cache
 */
export const bundleEnv = (bundle: string) => ({
  NODE_PATH: modules,
  NODE_COMPILE_CACHE: join(dirname(bundle), 'compiled'),
});

/** @returns the path of the bundle, to be run with its `bundleEnv` */
export function bundleOf(program: string): string {
  const known = bundles.get(program);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), 'paygate-bundle-'));
  folders.push(folder);
  const outfile = join(folder, 'program.cjs');
  buildSync({ ...bundling, entryPoints: [program], outfile });
  rewriteInAscii(outfile);
  bundles.set(program, outfile);
  return outfile;
}
