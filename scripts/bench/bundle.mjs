// Bundles a program of the benches as build.mjs bundles paygate.

import { join } from 'node:path';
import { build } from 'esbuild';
import { bundling } from '../bundling.mjs';

/**
 * @param {import('../bench.mjs').Context} context
 * @param {string} entry in the checkout
 * @param {string} name of the bundle; it is beside paygate's own, where it finds the SQLite driver
 * @param {import('esbuild').Plugin[]} [plugins]
 * @returns {Promise<string>} path of the bundle
 */
export async function bundle({ checkout }, entry, name, plugins = []) {
  const outfile = join(checkout, 'dist', name);
  await build({ ...bundling, entryPoints: [join(checkout, entry)], outfile, plugins });
  return outfile;
}
