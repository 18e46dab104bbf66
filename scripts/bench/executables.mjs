// The two executables that are compared: dist/paygate as `npm run build` makes it, and one of the same Node with
// hono and the SQLite driver alone (bare-server.mjs), made the same way. Each is made once a run.

import { join } from 'node:path';
import { makeExecutable } from '../executable/make.mjs';
import { nodeFor } from '../executable/node.mjs';

/**
 * @typedef {object} Executables paths
 * @property {string} paygate
 * @property {string} bare
 */

/** @type {Promise<Executables> | undefined} */
let made;

/** @param {import('../bench.mjs').Context} context */
export function executables(context) {
  made ??= make(context);
  return made;
}

/**
 * @param {import('../bench.mjs').Context} context
 * @returns {Promise<Executables>}
 */
async function make({ folder, progress }) {
  progress('making dist/paygate and a bare executable');
  const { arch } = process;
  if (arch !== 'x64' && arch !== 'arm64') throw new Error(`no executable is made for ${arch}`);
  const node = await nodeFor(arch);
  const paygate = join(folder, 'paygate');
  const bare = join(folder, 'bare');
  await makeExecutable({ arch, node, outfile: paygate });
  await makeExecutable({ arch, node, outfile: bare, entry: 'scripts/bench/bare-server.mjs' });
  return { paygate, bare };
}
