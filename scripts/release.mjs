// `npm run release`: dist/release with the archives for x64 and arm64, what they are made of
// (CycloneDX), notes, checksums and their signature: docs/releases.md. Each executable is started before
// it counts, the other processor's by qemu with pages of 4 and of 16 KiB. Debian: minisign,
// binutils-x86-64-linux-gnu, binutils-aarch64-linux-gnu, qemu-user-static, libstdc++6-arm64-cross.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { billOfMaterials } from './executable/bill.mjs';
import { assertCompared, sha256 } from './executable/binaries.mjs';
import { emulatorsFor } from './executable/emulator.mjs';
import { makeExecutable } from './executable/make.mjs';
import { nodeFor } from './executable/node.mjs';
import { makeArchive } from './release/archive.mjs';
import { releaseNotes } from './release/notes.mjs';
import { sign, signingKey } from './release/sign.mjs';

const run = promisify(execFile);
const folder = 'dist/release';
const { values } = parseArgs({ options: { snapshot: { type: 'boolean', default: false } } });
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

/**
 * @param {'x64' | 'arm64'} arch
 * @param {string} parts a folder for what is only on the way
 * @returns {Promise<string>} the executable
 */
async function release(arch, parts) {
  const name = `paygate-${version}-linux-${arch}`;
  const outfile = join(parts, name);
  const { stripped, compiled } = await makeExecutable({ arch, node: await nodeFor(arch), outfile });
  if (!stripped || !compiled) throw new Error(`binutils or qemu for ${arch} are not installed`);
  for (const emulator of emulatorsFor(arch)) await prove(name, [...emulator, outfile]);
  await makeArchive(outfile, folder, name);
  return outfile;
}

/**
 * @param {string} name
 * @param {string[]} command
 */
async function prove(name, command) {
  const data = mkdtempSync(join(tmpdir(), 'paygate-proof-'));
  try {
    const proof = ['scripts/executable/prove.mjs', join(data, 'paygate.db'), ...command];
    const { stdout } = await run(process.execPath, proof);
    console.log(`${name} (${command.slice(0, -1).join(' ') || 'native'}): ${stdout.trim()}`);
  } finally {
    rmSync(data, { recursive: true });
  }
}

/** What else belongs to a release; checksums follow. @param {string} native executable */
async function writeOtherFiles(native) {
  const { stdout } = await run(native, ['licenses', '--json']);
  writeFileSync(join(folder, 'paygate.cdx.json'), await billOfMaterials(JSON.parse(stdout)));
  writeFileSync(join(folder, 'RELEASE-NOTES.md'), notes);
}

function writeSums() {
  const sums = readdirSync(folder)
    .sort()
    .map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`)
    .join('');
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  console.log(sums.trimEnd());
}

const notes = releaseNotes(readFileSync('CHANGELOG.md', 'utf8'), version, values);
const key = values.snapshot ? undefined : signingKey();
if (!values.snapshot) assertCompared();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const parts = mkdtempSync('dist/.release-');
try {
  const [x64, arm64] = [await release('x64', parts), await release('arm64', parts)];
  await writeOtherFiles(process.arch === 'x64' ? x64 : arm64);
} finally {
  rmSync(parts, { recursive: true });
}
writeSums();
sign(folder, version, key);
