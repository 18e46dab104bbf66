// Gets the programs of the regtest network, once, into the cache folder: Bitcoin Knots as a small
// Debian sid tree (only sid has the package) to be used with chroot, ElectrumX as a Python virtual
// environment. Never changes the system's own package sources; adds system packages only when a
// tool is missing. Everything comes from the mirror and the index this machine is set up for.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const TAIL_LINES = 20;
/** debootstrap and chroot are in sbin. */
export const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;

/** The folder that holds what is installed and what runs. */
export function cacheDir() {
  const userCache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return process.env.PAYGATE_REGTEST_CACHE || join(userCache, 'paygate-regtest');
}

/** The Debian tree with the node's programs; the node runs with it as its root folder. */
export const nodeRoot = () => join(cacheDir(), 'bitcoin-knots');

/** @param {string} message */
export const progress = (message) => process.stderr.write(`regtest: ${message}\n`);

/**
 * Runs a command to its end. The error of one that fails has the last lines of its output.
 * @param {string} command
 * @param {string[]} args
 */
export async function run(command, args) {
  const env = { ...process.env, PATH, LC_ALL: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive' };
  try {
    const options = { env, maxBuffer: MAX_OUTPUT_BYTES };
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { message, stdout = '', stderr = '' } = /** @type {any} */ (error);
    const [reason] = message.split('\n');
    throw new Error(`${reason}\n${tail(`${stdout}\n${stderr}`)}`, { cause: error });
  }
}

/** @param {string} text */
export const tail = (text) => text.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');

/** Installs Bitcoin Knots, once. @returns the root folder of its Debian tree */
export async function installNode() {
  if (process.getuid?.() !== 0) {
    throw new Error('the regtest node needs root, for debootstrap and chroot (try sudo)');
  }
  const root = nodeRoot();
  await installOnce('bitcoin-knots (once, about 45 s)', root, 'usr/bin/bitcoind', async (dir) => {
    await debootstrap(dir, 'sid', ['bitcoin-knots']);
    await run('chroot', [dir, 'apt-get', 'clean']);
  });
  return root;
}

/** Installs ElectrumX, once. @returns the folder of its virtual environment */
export async function installElectrumX() {
  const venv = join(cacheDir(), 'electrumx');
  // 2.x wants a Bitcoin Core that is newer than this Knots.
  await installPython('electrumx (once, about 25 s)', venv, 'e-x<2', {
    openssl: () => run('openssl', ['version']),
  });
  return venv;
}

/** The virtual environment of the library that verifies webhooks in Python, for docs/receivers.md. */
export const webhookLibrary = () => join(cacheDir(), 'standardwebhooks');

export const installWebhookLibrary = () =>
  installPython('standardwebhooks (once)', webhookLibrary(), 'standardwebhooks==1.1.0');

/** The virtual environment of moto, an S3 server for the test of docs/growing.md. */
export const objectStorage = () => join(cacheDir(), 'moto');

export const installObjectStorage = () =>
  installPython('moto (once)', objectStorage(), 'moto[server]==5.2.5');

/**
 * Makes a virtual environment with a Python package.
 * @param {string} what
 * @param {string} venv
 * @param {string} requirement as pip takes it
 * @param {Record<string, () => Promise<unknown>>} [tools] needed beside Python
 */
async function installPython(what, venv, requirement, tools = {}) {
  await installOnce(what, venv, 'bin/python3', async (dir) => {
    await requireTools({
      'python3-venv': () => run('python3', ['-c', 'import ensurepip, venv']),
      ...tools,
    });
    await run('python3', ['-m', 'venv', dir]);
    await run(join(dir, 'bin/pip'), ['install', '--quiet', requirement]);
  });
}

/**
 * Builds beside the target and renames when complete, so that the target is whole or not there,
 * whatever happens and however many do it at once.
 * @param {string} what
 * @param {string} target
 * @param {string} proof a file inside the target, without which it is no good
 * @param {(dir: string) => Promise<void>} build
 */
export async function installOnce(what, target, proof, build) {
  const isInstalled = () => existsSync(join(target, proof));
  if (isInstalled()) return;
  await mkdir(dirname(target), { recursive: true });
  await removeAbandoned(target);
  if (existsSync(target) && !isInstalled()) await removeTree(target);
  progress(`installing ${what}…`);
  const building = `${target}.tmp-${process.pid}`;
  try {
    await build(building);
    await rename(building, target);
  } catch (error) {
    if (!isInstalled()) throw error; // else another process was faster: its tree is as good
  } finally {
    await removeTree(building);
  }
}

/** Removes what builds of the target left behind when they were killed. @param {string} target */
async function removeAbandoned(target) {
  const prefix = `${basename(target)}.tmp-`;
  for (const entry of await readdir(dirname(target))) {
    if (!entry.startsWith(prefix) || existsSync(`/proc/${entry.slice(prefix.length)}`)) continue;
    await removeTree(join(dirname(target), entry));
  }
}

/** Never removes what a killed debootstrap may have left mounted in it. @param {string} dir */
export const removeTree = (dir) => run('rm', ['-rf', '--one-file-system', dir]);

/**
 * Installs the system packages whose check fails.
 * @param {Record<string, () => Promise<unknown>>} checks a check for each package
 */
export async function requireTools(checks) {
  /** @type {string[]} */
  const missing = [];
  for (const [name, check] of Object.entries(checks)) {
    await check().catch(() => missing.push(name));
  }
  if (missing.length === 0) return;
  progress(`installing the system package ${missing.join(', ')}…`);
  const waitForOthers = ['-o', 'DPkg::Lock::Timeout=120'];
  await run('apt-get', ['update']);
  await run('apt-get', ['install', '-y', '--no-install-recommends', ...waitForOthers, ...missing]);
}

/**
 * @param {string} dir where the tree goes
 * @param {string} suite
 * @param {string[]} packages beyond the smallest system that there is
 */
export async function debootstrap(dir, suite, packages) {
  await requireTools({
    debootstrap: () => run('debootstrap', ['--version']),
    'debian-archive-keyring': () => readFile(KEYRING),
  });
  const mirrors = await systemMirrors();
  const errors = [];
  for (const mirror of mirrors) {
    const options = ['--variant=minbase', '--force-check-gpg', `--keyring=${KEYRING}`];
    const include = `--include=${packages.join(',')}`;
    try {
      await run('debootstrap', [...options, include, suite, dir, mirror]);
      return;
    } catch (error) {
      errors.push(`${mirror}: ${/** @type {Error} */ (error).message}`);
      await removeTree(dir);
    }
  }
  if (mirrors.length === 0) errors.push('the system’s apt sources name no Debian mirror');
  throw new Error(`no ${packages.join(', ')}:\n${errors.join('\n')}`);
}

/** The mirrors of this Debian in the system's own apt sources, in their order there. */
async function systemMirrors() {
  const release = await readFile('/etc/os-release', 'utf8');
  const codename = /^VERSION_CODENAME=(\S+)/m.exec(release)?.[1] ?? '';
  const suites = [codename, 'stable', 'testing', 'unstable', 'sid'];
  const format = ['--format', '$(COMPONENT) $(RELEASE) $(REPO_URI)', 'Created-By: Packages'];
  const lines = (await run('apt-get', ['indextargets', ...format])).split('\n');
  const mirrors = lines
    .map((line) => line.split(' '))
    .filter(([component, suite = '']) => component === 'main' && suites.includes(suite))
    .flatMap(([, , uri = '']) => (/^(https?|file):/.test(uri) ? [uri] : []));
  return [...new Set(mirrors)];
}
