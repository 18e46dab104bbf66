// The SHA-256 of each binary that goes into an executable and was compiled by others: Node, and the
// addon of better-sqlite3. An executable with any other is not made. docs/releases.md says how a sum
// comes into binaries.json.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('binaries.json', import.meta.url);

/** @typedef {{ version: string, x64: string, arm64: string }} Sums */
/** @typedef {Sums & { isComparedWithNodejsOrg: boolean }} NodeSums */

/** @returns {{ node: NodeSums, 'better-sqlite3': Sums }} */
export const knownBinaries = () => JSON.parse(readFileSync(file, 'utf8'));

/** @param {Uint8Array} bytes */
export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * @param {'node' | 'better-sqlite3'} name
 * @param {'x64' | 'arm64'} arch
 * @param {string} path
 * @throws {Error} if the file is another one than the known one
 */
export function assertKnown(name, arch, path) {
  const known = knownBinaries()[name];
  const sum = sha256(readFileSync(path));
  if (sum === known[arch]) return;
  throw new Error(
    `${name} for ${arch} has SHA-256 ${sum}, which is not that of ${known.version} in ` +
      'scripts/executable/binaries.json: docs/releases.md, "Raise Node or better-sqlite3"',
  );
}

/** @throws {Error} if no person compared this Node with the sums that its project signs */
export function assertCompared({ node } = knownBinaries()) {
  if (node.isComparedWithNodejsOrg) return;
  throw new Error(
    `Node ${node.version} was not compared with the sums that nodejs.org signs: ` +
      'docs/releases.md, "Raise Node or better-sqlite3"; --snapshot needs no comparison',
  );
}

/**
 * Writes the sums of a Node that was compared.
 * @param {Sums} sums
 * @param {string | URL} target
 */
export function writeNodeSums({ version, x64, arm64 }, target = file) {
  const known = JSON.parse(readFileSync(target, 'utf8'));
  known.node = { version, isComparedWithNodejsOrg: true, x64, arm64 };
  writeFileSync(target, `${JSON.stringify(known, null, 2)}\n`);
}
