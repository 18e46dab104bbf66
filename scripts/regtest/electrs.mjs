// Builds the Electrum server electrs from its crate, once, into the cache folder. That takes minutes, so
// it happens only when it is asked for. It needs cargo, a C++ compiler, and libclang, with which the
// bindings of its database are generated.
// https://github.com/romanz/electrs/blob/master/doc/install.md

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installOnce, removeTree, requireTools, run } from './install.mjs';

const VERSION = '0.12.0';
const LIBCLANG_VERSION = '18.1.1';
/** What its own programs ask the loader for. */
const LIBCLANG_SONAME = 'libclang.so.18.1';

const root = () => join(cacheDir(), 'electrs');

/** Where the program is, once it has been built. */
export const electrsProgram = () => join(root(), 'bin/electrs');

export const hasElectrs = () => existsSync(electrsProgram());

/** Builds electrs unless it is there, and shows how cargo gets on. */
export async function installElectrs() {
  await installOnce('electrs (once, 10 to 20 min)', root(), 'bin/electrs', async (dir) => {
    await run('cargo', ['--version']).catch((error) => {
      throw new Error('electrs is built with cargo, see https://rustup.rs', { cause: error });
    });
    await requireTools({ 'g++': () => run('g++', ['--version']) });
    const scratch = join(dir, 'scratch');
    const env = { CARGO_TARGET_DIR: join(scratch, 'target'), ...(await libclang(scratch)) };
    const args = ['install', '--locked', '--root', dir, '--version', VERSION, 'electrs'];
    const build = spawn('cargo', args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 2, 2],
    });
    const [code] = await once(build, 'close');
    if (code !== 0) throw new Error(`cargo could not build electrs (exit code ${code})`);
    await removeTree(scratch);
  });
}

/**
 * Where the build finds libclang: the system's where it has one, else that of the Python package.
 * @param {string} scratch
 * @returns {Promise<Record<string, string>>} further environment
 */
async function libclang(scratch) {
  if (process.env.LIBCLANG_PATH || (await systemHasLibclang())) return {};
  await requireTools({ 'python3-venv': () => run('python3', ['-c', 'import ensurepip, venv']) });
  const venv = join(scratch, 'libclang');
  await run('python3', ['-m', 'venv', venv]);
  await run(join(venv, 'bin/pip'), ['install', '--quiet', `libclang==${LIBCLANG_VERSION}`]);
  const [python = ''] = await readdir(join(venv, 'lib'));
  const folder = join(venv, 'lib', python, 'site-packages/clang/native');
  await symlink('libclang.so', join(folder, LIBCLANG_SONAME));
  // The package brings the library alone, without the compiler's own headers.
  const headers = await run('g++', ['-print-file-name=include']);
  return {
    LIBCLANG_PATH: folder,
    LD_LIBRARY_PATH: folder,
    BINDGEN_EXTRA_CLANG_ARGS: `-I${headers.trim()}`,
  };
}

/** Whether there is one to link with: of an LLVM of Debian's, or known to the loader. */
async function systemHasLibclang() {
  const folders = (await readdir('/usr/lib')).filter((name) => name.startsWith('llvm-'));
  if (folders.some((name) => existsSync(join('/usr/lib', name, 'lib/libclang.so')))) return true;
  return /^\s*libclang(-[\d.]+)?\.so /m.test(await run('ldconfig', ['-p']));
}
