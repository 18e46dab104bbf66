// Programs as build.mjs bundles them, once for a file of tests: to load a bundle takes a tenth of the
// time that the sources take.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll } from 'vitest';
import { bundling } from '../../scripts/bundling.mjs';

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
  buildSync({ ...bundling, entryPoints: [program], outfile });
  bundles.set(program, outfile);
  return outfile;
}
