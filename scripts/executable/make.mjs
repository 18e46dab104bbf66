// A single executable: Node, stripped, with the bundle and the SQLite driver's addon injected.
// https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html
// The same inputs give the same bytes: names are relative, and nothing of this machine goes in.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundleInParts } from '../bundling.mjs';
import { assertKnown } from './binaries.mjs';
import { assertLoadable } from './elf.mjs';
import { emulatorsFor } from './emulator.mjs';
import { licensesOf } from './licenses.mjs';

const run = promisify(execFile);

/** What Node looks for in its own file to know that something was injected. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const codeCache = fileURLToPath(new URL('code-cache.cjs', import.meta.url));
const loader = fileURLToPath(new URL('loader.cjs', import.meta.url));
const triplets = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

/**
 * @typedef {object} Target
 * @property {'x64' | 'arm64'} arch
 * @property {string} node `PACKAGE/bin/node`, of the version that runs this
 * @property {string} outfile
 *
 * @param {Target} target
 * @returns {Promise<{ stripped: boolean, compiled: boolean }>} false where binutils, or the emulator, for
 *   the processor are missing
 */
export async function makeExecutable(target) {
  const { arch, node, outfile } = target;
  mkdirSync(dirname(outfile), { recursive: true });
  const folder = mkdtempSync(join(dirname(outfile), '.making-'));
  try {
    const program = join(folder, 'program');
    copyFileSync(node, program);
    assertKnown('node', arch, program);
    const compiled = await makeBlob(folder, target);
    chmodSync(program, 0o755);
    const stripped = await strip(program, arch);
    // By its command: the library complains to this process of what does not matter.
    const blob = join(folder, 'paygate.blob');
    await run('node_modules/.bin/postject', [
      program,
      'NODE_SEA_BLOB',
      blob,
      '--sentinel-fuse',
      fuse,
    ]);
    assertLoadable(readFileSync(program));
    renameSync(program, outfile);
    return { stripped, compiled };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {string} folder
 * @param {Target} target
 * @returns {Promise<boolean>} whether it has what V8 compiles
 */
async function makeBlob(folder, { arch, node }) {
  const addon = `node_modules/better-sqlite3/prebuilds/linux-${arch}.node`;
  const copied = join(folder, 'better_sqlite3.node');
  copyFileSync(addon, copied);
  assertKnown('better-sqlite3', arch, copied);
  copyFileSync(loader, join(folder, 'loader.cjs'));
  // The driver's own code too: the addon is an asset.
  const { parts, metafile } = await bundleInParts('src/main.ts', 'paygate', { external: [] });
  for (const { path, text } of parts) writeFileSync(join(folder, basename(path)), asFunction(text));
  const licenses = licensesOf(Object.keys(metafile.inputs), dirname(dirname(node)));
  writeFileSync(join(folder, 'licenses.json'), JSON.stringify(licenses));
  const names = parts.map(({ path }) => basename(path)).sort();
  const caches = (await compile(folder, names, arch, node))
    ? names.map((each) => `${each}.cache`)
    : [];
  const config = {
    main: 'loader.cjs',
    output: 'paygate.blob',
    assets: Object.fromEntries(
      [...names, ...caches, 'better_sqlite3.node', 'licenses.json'].map((name) => [name, name]),
    ),
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    // Of the loader alone, and not the same bytes each time.
    useCodeCache: false,
    // NODE_OPTIONS of whoever starts it are not for us.
    execArgvExtension: 'none',
  };
  writeFileSync(join(folder, 'sea.json'), JSON.stringify(config));
  await run(process.execPath, ['--experimental-sea-config', 'sea.json'], { cwd: resolve(folder) });
  return caches.length > 0;
}

/** What the loader calls. @param {string} text of a part */
const asFunction = (text) =>
  `(function (exports, require, module, __filename) {${text.replace(/^#!.*/, '')}\n})`;

/**
 * Writes what V8 compiles of the parts, by the Node that is inside.
 * @param {string} folder
 * @param {readonly string[]} names
 * @param {'x64' | 'arm64'} arch
 * @param {string} node
 * @returns {Promise<boolean>} false without an emulator of the other processor
 */
async function compile(folder, names, arch, node) {
  const [program = node, ...args] = [...(emulatorsFor(arch)[0] ?? []), node];
  // NODE_OPTIONS would change the bytes, and V8 would refuse them.
  const options = { env: { PATH: process.env.PATH } };
  try {
    await run(program, [...args, '--random-seed=1', codeCache, folder, ...names], options);
    return true;
  } catch (error) {
    if (program === node) throw error;
    return false;
  }
}

/**
 * @param {string} program
 * @param {'x64' | 'arm64'} arch
 * @returns {Promise<boolean>}
 */
async function strip(program, arch) {
  const tool = arch === process.arch ? 'strip' : `${triplets[arch]}-strip`;
  try {
    await run(tool, [program]);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return false;
    throw error;
  }
}
