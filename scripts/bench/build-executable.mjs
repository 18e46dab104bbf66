// Builds the single executable once a run.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** @type {Promise<string> | undefined} */
let built;

/**
 * @param {import('../bench.mjs').Context} context
 * @returns {Promise<string>} its path
 */
export function buildExecutable(context) {
  built ??= make(context);
  return built;
}

/**
 * A file that was just written lies in the page cache in large pieces, of which a process maps more
 * than it reads. The executable is dropped from the cache, so that it is read as after a boot.
 * @param {import('../bench.mjs').Context} context
 */
async function make({ checkout, folder, progress }) {
  progress('building the executable');
  const path = join(folder, 'paygate-executable');
  await run(process.execPath, ['scripts/executable.mjs', '--out', path], { cwd: checkout });
  await run('sync', [path]);
  await run('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
  return path;
}
