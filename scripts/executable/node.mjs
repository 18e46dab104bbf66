// The Node that goes into an executable: the npm package node-linux-ARCH in the version that
// package.json pins. npm installs only that of this machine; another is fetched once, through npm, held
// against the lock file's hash, and kept in a cache folder.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'paygate-release');

/**
 * @param {string} arch
 * @returns {Promise<string>} the path of its `node`
 */
export async function nodeFor(arch) {
  const name = `node-linux-${arch}`;
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (process.version !== `v${version}`) {
    throw new Error(`Node ${version} makes the executable, not ${process.version}: use npm run`);
  }
  const installed = `node_modules/${name}/bin/node`;
  if (existsSync(installed)) return installed;
  const kept = join(cache, `${name}-${version}`, 'bin/node');
  if (!existsSync(kept)) await fetchPackage(`${name}@${version}`, integrity, join(kept, '../..'));
  return kept;
}

/**
 * @param {string} spec
 * @param {string} integrity `sha512-…`
 * @param {string} folder
 */
async function fetchPackage(spec, integrity, folder) {
  mkdirSync(cache, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', cache, spec]);
  const archive = join(cache, JSON.parse(stdout)[0].filename);
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (`sha512-${hash}` !== integrity) throw new Error(`${spec} is not what package-lock.json says`);
  const unpacked = `${folder}.new`;
  rmSync(unpacked, { recursive: true, force: true });
  mkdirSync(unpacked);
  await run('tar', ['-xzf', archive, '-C', unpacked, '--strip-components=1']);
  rmSync(archive);
  renameSync(unpacked, folder);
}
