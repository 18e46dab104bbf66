// What V8 has compiled of the programs inside the executable, so that a start need not: each is run until it is up,
// by the Node that it is made for. The same bytes each time: one thread, no chance, no collection that would mark
// code as old, no time that passes, and nothing of the environment.
// https://v8.dev/blog/code-caching-for-devs

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { emulatorsFor } from './emulator.mjs';

const run = promisify(execFile);
/** Under qemu each takes some seconds. */
const TIMEOUT_MS = 300_000;
/** None of these is a part of what V8 looks at to see whether a cache fits. */
const deterministic = [
  '--predictable',
  '--random-seed=1',
  '--min-semi-space-size=256',
  '--max-semi-space-size=256',
];
/** That server is never reached, and nothing is asked before the service is up. */
const rehearsals = {
  'main.cjs': ['--version'],
  'serve.cjs': [
    ...['serve', '--db', 'rehearsal.db', '--listen', '127.0.0.1:0'],
    ...['--electrum', 'tcp://127.0.0.1:1', '--log-level', 'error'],
  ],
};

/**
 * Writes a cache beside each program.
 * @param {string} folder with the assets
 * @param {{ arch: 'x64' | 'arm64', node: string, addon: string }} target
 * @returns {Promise<string[]>} their names; none where qemu for the processor is missing
 */
export async function cacheCode(folder, { arch, node, addon }) {
  const [emulator = []] = emulatorsFor(arch);
  const [command = '', ...before] = [...emulator, resolve(node)];
  const program = resolve(import.meta.dirname, 'rehearse.cjs');
  const options = { cwd: folder, env: { PATH: process.env.PATH, TZ: 'UTC' }, timeout: TIMEOUT_MS };
  try {
    for (const [name, args] of Object.entries(rehearsals)) {
      const rehearsal = [program, name, resolve(addon)];
      await run(command, [...before, ...deterministic, ...rehearsal, ...args], options);
      await run(command, [...before, ...rehearsal], options);
    }
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return [];
    throw error;
  }
  return Object.keys(rehearsals).map((name) => `${name}.cache`);
}
