// Programs as build.mjs bundles them, once for each run of tests, because a bundle loads ten times
// faster than its sources.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildSync } from 'esbuild';
import { inject } from 'vitest';
import { bundling, rewriteInAscii } from '../../scripts/bundling.mjs';

/** Folder of the modules that a bundle does not include. */
export const modules = join(import.meta.dirname, '../../node_modules');

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
  const all = inject('bundleFolder');
  const folder = join(all, createHash('sha256').update(program).digest('hex').slice(0, 16));
  const bundle = join(folder, 'program.cjs');
  if (existsSync(bundle)) return bundle;
  const unfinished = mkdtempSync(join(all, 'unfinished-'));
  const outfile = join(unfinished, 'program.cjs');
  buildSync({ ...bundling, entryPoints: [program], outfile });
  rewriteInAscii(outfile);
  mkdirSync(folder, { recursive: true });
  // Another worker may bundle at the same time: the last one puts the same bytes there.
  renameSync(outfile, bundle);
  rmSync(unfinished, { recursive: true });
  return bundle;
}
