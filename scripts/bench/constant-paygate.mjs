// The same server as `./paygate serve`, whose new_address answers constant JSON: all of its sources but for that one
// operation (constant-address.mjs), bundled in the same way, with the same settings. What is left of a request is
// paygate's own HTTP with its key check.

import { join } from 'node:path';
import { build } from 'esbuild';
import { bundling } from '../bundling.mjs';
import { serveArguments, startServer } from './paygate.mjs';

/** @type {import('esbuild').Plugin} */
const constantAnswer = {
  name: 'constant answer',
  setup(building) {
    const path = join(import.meta.dirname, 'constant-address.mjs');
    building.onResolve({ filter: /\/new-address\.ts$/ }, () => ({ path }));
  },
};

/**
 * Runs it until the bench is over.
 * @param {import('../bench.mjs').Context} context
 * @param {string} path the database
 * @param {string} electrum URL of the Electrum server
 * @returns {Promise<string>} its origin
 */
export async function serveConstant({ checkout }, path, electrum) {
  // Beside the other bundle: it finds the SQLite driver from there.
  const outfile = join(checkout, 'dist/constant-paygate.cjs');
  const entryPoints = [join(checkout, 'src/main.ts')];
  await build({ ...bundling, entryPoints, outfile, plugins: [constantAnswer] });
  return startServer(process.execPath, [outfile, ...serveArguments(path, electrum)]);
}
