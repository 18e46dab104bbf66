// Programs as build.mjs bundles them, once for each run of tests, because a bundle loads ten times
// faster than its sources.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildSync } from 'esbuild';
import { inject } from 'vitest';
import { bundling, rewriteInAscii } from '../../scripts/bundling.mjs';

/** Folder of the modules that a bundle does not include. */
export const modules = join(import.meta.dirname, '../../node_modules');

const builder = join(import.meta.dirname, '../../build.mjs');

/**
 * Environment of a bundle: the folder of its external modules, and V8's compile cache, so that only
 * the first run compiles.
 * https://nodejs.org/docs/latest-v24.x/api/module.html#module-compile-cache
 */
export const bundleEnv = (bundle: string) => ({
  NODE_PATH: modules,
  NODE_COMPILE_CACHE: join(dirname(bundle), 'compiled'),
});

/**
 * The bundle of a program, to be run with its `bundleEnv`. Paygate is in parts, as build.mjs makes
 * it. Any other program is one file.
 * @returns its path
 */
export function bundleOf(program: string): string {
  const all = inject('bundleFolder');
  const isPaygate = program.endsWith('src/main.ts');
  const folder = join(all, createHash('sha256').update(program).digest('hex').slice(0, 16));
  const name = isPaygate ? 'paygate.cjs' : 'program.cjs';
  const bundle = join(folder, name);
  if (existsSync(bundle)) return bundle;
  const unfinished = mkdtempSync(join(all, 'unfinished-'));
  const outfile = join(unfinished, name);
  if (isPaygate) execFileSync(process.execPath, [builder, unfinished]);
  else {
    buildSync({ ...bundling, entryPoints: [program], outfile });
    rewriteInAscii(outfile);
  }
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    // Another worker was first, with the same bytes.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    rmSync(unfinished, { recursive: true });
  }
  return bundle;
}
