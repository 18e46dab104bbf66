// The Electrum server electrs: builds it from its crate, once, into the cache folder, and knows its settings.
// To build it takes minutes, so that happens only when it is asked for. It needs cargo, a C++ compiler, and
// libclang, with which the bindings of its database are generated.
// https://github.com/romanz/electrs/blob/master/doc/install.md

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../ports.mjs';
import { cacheDir, installOnce, removeTree, requireTools } from './install.mjs';
import { run } from './process.mjs';
import { LOOPBACK } from './servers.mjs';

const VERSION = '0.12.0';
const BLOCKPART = fileURLToPath(new URL('blockpart.mjs', import.meta.url));
const LIBCLANG_VERSION = '18.1.1';
/** What its own programs ask the loader for. */
const LIBCLANG_SONAME = 'libclang.so.18.1';

const root = () => join(cacheDir(), 'electrs');

/** Where the program is, once it has been built. */
export function electrsProgram() {
  return join(root(), 'bin/electrs');
}

export function hasElectrs() {
  return existsSync(electrsProgram());
}

/** Builds electrs where it is not yet, and shows how cargo gets on. */
export async function installElectrs() {
  await installOnce('electrs (once, 10 to 20 min)', root(), 'bin/electrs', async (dir) => {
    await run('cargo', ['--version']).catch((error) => {
      throw new Error('electrs is built with cargo, see https://rustup.rs', { cause: error });
    });
    await requireTools({ 'g++': () => run('g++', ['--version']) });
    const scratch = join(dir, 'scratch');
    const env = { CARGO_TARGET_DIR: join(scratch, 'target'), ...(await libclang(scratch)) };
    await cargoInstall(dir, env);
    await removeTree(scratch);
  });
}

/**
 * @param {string} dir
 * @param {Record<string, string>} env
 */
async function cargoInstall(dir, env) {
  const args = ['install', '--locked', '--root', dir, '--version', VERSION, 'electrs'];
  const options = { env: { ...process.env, ...env }, stdio: /** @type {any} */ (['ignore', 2, 2]) };
  const [code] = await once(spawn('cargo', args, options), 'close');
  if (code !== 0) throw new Error(`cargo could not build electrs (exit code ${code})`);
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
  const headers = await promisify(execFile)('g++', ['-print-file-name=include']);
  return {
    LIBCLANG_PATH: folder,
    LD_LIBRARY_PATH: folder,
    BINDGEN_EXTRA_CLANG_ARGS: `-I${headers.stdout.trim()}`,
  };
}

/** Whether there is one to link with: of an LLVM of Debian's, or known to the loader. */
async function systemHasLibclang() {
  const folders = (await readdir('/usr/lib')).filter((name) => name.startsWith('llvm-'));
  if (folders.some((name) => existsSync(join('/usr/lib', name, 'lib/libclang.so')))) return true;
  const known = await promisify(execFile)('/sbin/ldconfig', ['-p']);
  return /^\s*libclang(-[\d.]+)?\.so /m.test(known.stdout);
}

/**
 * Lays out a new electrs: its folder and its settings.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.command
 * @param {string} options.dir
 * @param {import('./servers.mjs').NodeRecord} options.node
 * @returns {Promise<import('./servers.mjs').ElectrumRecord>}
 */
export async function newElectrs({ name, command, dir, node }) {
  const [tcpPort, monitoringPort, nodePort] = [
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const confFile = join(dir, 'electrs.toml');
  const settings = {
    auth: `${node.rpcUser}:${node.rpcPassword}`,
    network: 'regtest',
    db_dir: dir,
    daemon_rpc_addr: `${LOOPBACK}:${nodePort}`,
    electrum_rpc_addr: `${LOOPBACK}:${tcpPort}`,
    monitoring_addr: `${LOOPBACK}:${monitoringPort}`,
    wait_duration_secs: 1, // the least; it is how often the node is asked
    log_filters: 'INFO',
  };
  const lines = Object.entries(settings).map(
    ([key, value]) => `${key} = ${JSON.stringify(value)}\n`,
  );
  await mkdir(dir, { mode: 0o700 });
  await writeFile(confFile, lines.join(''), { mode: 0o600 });
  const program = {
    label: `electrs ${name}`,
    command,
    args: ['--skip-default-conf-files', '--conf', confFile],
    env: {},
    logFile: join(dir, 'electrs.log'),
    process: null,
  };
  const helper = {
    label: `blockpart ${name}`,
    command: process.execPath,
    args: [BLOCKPART, `${nodePort}`, new URL(node.rpcUrl).port],
    env: {},
    logFile: join(dir, 'blockpart.log'),
    process: null,
  };
  // A client that comes before the first block is indexed ends it with a panic.
  return { program, helper, bornWith: ': indexed ', tcpPort, sslPort: null, certFile: null };
}
