// The two executables that are compared: dist/paygate as `npm run build` makes it, and one of the same Node with
// hono and the SQLite driver alone (bare-server.mjs), made the same way. Each is made once a run, and then let go from the
// system's memory, so that it is read from the disk as after a boot: what was just written in one go lies there in larger
// pieces, of which a process is resident with up to 20 MiB more that it never asked for.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeExecutable } from '../executable/make.mjs';
import { nodeFor } from '../executable/node.mjs';

/**
 * @typedef {object} Executables paths
 * @property {string} paygate
 * @property {string} bare
 */

const run = promisify(execFile);

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
  await Promise.all([paygate, bare].map(letGo));
  return { paygate, bare };
}

/**
 * Node has no posix_fadvise; coreutils' dd is told to drop what it copies none of.
 * @param {string} path
 */
async function letGo(path) {
  await run('sync', [path]);
  await run('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
}
