// Gets the programs of the regtest network, once, into the cache folder: Bitcoin Knots as a small
// Debian sid tree (only sid has the package) to be used with chroot, ElectrumX as a Python virtual
// environment. Never changes the system's own package sources; adds system packages only when a
// tool is missing. Everything comes from the mirror and the index this machine is set up for.

import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { run } from './process.mjs';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** The folder that holds what is installed and what runs. */
export function cacheDir() {
  const userCache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return process.env.PAYGATE_REGTEST_CACHE || join(userCache, 'paygate-regtest');
}

/** The Debian tree with the node's programs; the node runs with it as its root folder. */
export function nodeRoot() {
  return join(cacheDir(), 'bitcoin-knots');
}

/** @param {string} message shown on standard error, where it never mixes with `--json` */
export function progress(message) {
  process.stderr.write(`regtest: ${message}\n`);
}

/**
 * Installs Bitcoin Knots where it is not yet, and gives the root folder of its Debian tree.
 * @returns {Promise<string>}
 */
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

/**
 * Installs ElectrumX where it is not yet, and gives the folder of its virtual environment.
 * @returns {Promise<string>}
 */
export async function installElectrumX() {
  const venv = join(cacheDir(), 'electrumx');
  // 2.x wants a Bitcoin Core that is newer than this Knots.
  await installPython('electrumx (once, about 25 s)', venv, 'e-x<2', {
    openssl: () => run('openssl', ['version']),
  });
  return venv;
}

/** The virtual environment of the library that verifies webhooks in Python, for docs/receivers.md. */
export function webhookLibrary() {
  return join(cacheDir(), 'standardwebhooks');
}

/** Installs the library where it is not yet. */
export async function installWebhookLibrary() {
  await installPython('standardwebhooks (once)', webhookLibrary(), 'standardwebhooks==1.1.0');
}

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

/**
 * Removes what builds of the target left behind when they were killed.
 * @param {string} target
 */
async function removeAbandoned(target) {
  const prefix = `${basename(target)}.tmp-`;
  for (const entry of await readdir(dirname(target))) {
    if (!entry.startsWith(prefix) || existsSync(`/proc/${entry.slice(prefix.length)}`)) continue;
    await removeTree(join(dirname(target), entry));
  }
}

/**
 * Removes a folder, but never what a killed debootstrap may have left mounted in it.
 * @param {string} dir
 */
export async function removeTree(dir) {
  await run('rm', ['-rf', '--one-file-system', dir]);
}

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
      return await run('debootstrap', [...options, include, suite, dir, mirror]);
    } catch (error) {
      errors.push(`${mirror}: ${/** @type {Error} */ (error).message}`);
      await removeTree(dir);
    }
  }
  if (mirrors.length === 0) errors.push('the system’s apt sources name no Debian mirror');
  throw new Error(`no ${packages.join(', ')}:\n${errors.join('\n')}`);
}

/** The mirrors that the system's own apt sources name, in their order there. */
async function systemMirrors() {
  const release = await readFile('/etc/os-release', 'utf8');
  const codename = /^VERSION_CODENAME=(\S+)/m.exec(release)?.[1] ?? '';
  const suites = [codename, 'stable', 'testing', 'unstable', 'sid'];
  const folder = '/etc/apt/sources.list.d';
  const names = existsSync(folder) ? (await readdir(folder)).sort() : [];
  const files = ['/etc/apt/sources.list', ...names.map((name) => join(folder, name))];
  const mirrors = [];
  for (const file of files.filter(existsSync)) {
    mirrors.push(...aptMirrors(file, await readFile(file, 'utf8'), suites));
  }
  return [...new Set(mirrors)];
}

/**
 * The mirrors that an apt source file names for the component `main` of one of the suites.
 * @param {string} file its ending tells the format: `.list` has one line an entry, `.sources` deb822
 * @param {string} text
 * @param {string[]} suites
 * @returns {string[]}
 */
export function aptMirrors(file, text, suites) {
  const entries = file.endsWith('.sources')
    ? deb822Entries(text)
    : file.endsWith('.list')
      ? oneLineEntries(text)
      : [];
  return entries
    .filter((entry) => entry.components.includes('main'))
    .filter((entry) => entry.suites.some((suite) => suites.includes(suite)))
    .flatMap(({ uris }) => uris)
    .filter((uri) => /^(https?|file):/.test(uri));
}

/** @typedef {{ uris: string[], suites: string[], components: string[] }} AptEntry */

/**
 * `deb [option=value …] uri suite component…`
 * @param {string} text
 * @returns {AptEntry[]}
 */
function oneLineEntries(text) {
  return [...text.matchAll(/^[ \t]*deb[ \t]+(?:\[[^\]]*\][ \t]*)?([^#\n]+)/gm)].map((match) => {
    const [uri = '', suite = '', ...components] = words(match[1]);
    return { uris: [uri], suites: [suite], components };
  });
}

/**
 * Stanzas of `Field: value …`, where an indented line goes on with the field above it.
 * @param {string} text
 * @returns {AptEntry[]}
 */
function deb822Entries(text) {
  const stanzas = text.replace(/^#.*\n?/gm, '').split(/\n\s*\n/);
  return stanzas.flatMap((stanza) => {
    const fields = new Map(
      [...stanza.matchAll(/^([\w-]+):((?:.*)(?:\n[ \t]+.*)*)/gm)].map(([, field, value]) => [
        field?.toLowerCase(),
        words(value),
      ]),
    );
    /** @param {string} field */
    const list = (field) => fields.get(field) ?? [];
    if (!list('types').includes('deb') || list('enabled')[0] === 'no') return [];
    return [{ uris: list('uris'), suites: list('suites'), components: list('components') }];
  });
}

/** @param {string | undefined} text */
function words(text = '') {
  return text.split(/\s+/).filter(Boolean);
}
