// `npm run release`: dist/release with the executables for x64 and arm64, their hashes and what they are
// made of (CycloneDX). Each is started before it counts, the other processor's by qemu with pages of 4 and
// of 16 KiB. Debian: binutils-x86-64-linux-gnu, binutils-aarch64-linux-gnu, qemu-user-static,
// libstdc++6-arm64-cross.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { billOfMaterials } from './executable/bill.mjs';
import { emulatorsFor } from './executable/emulator.mjs';
import { makeExecutable } from './executable/make.mjs';
import { nodeFor } from './executable/node.mjs';

const run = promisify(execFile);
const folder = 'dist/release';

/** @param {'x64' | 'arm64'} arch */
async function release(arch) {
  const name = `paygate-linux-${arch}`;
  const outfile = join(folder, name);
  const { stripped } = await makeExecutable({ arch, node: await nodeFor(arch), outfile });
  if (!stripped) throw new Error(`binutils for ${arch} are not installed`);
  for (const emulator of emulatorsFor(arch)) await prove(name, [...emulator, outfile]);
  const hash = createHash('sha256').update(readFileSync(outfile)).digest('hex');
  return `${hash}  ${name}\n`;
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

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const sums = [await release('x64'), await release('arm64')];
const { stdout } = await run(join(folder, `paygate-linux-${process.arch}`), ['licenses', '--json']);
const bill = await billOfMaterials(JSON.parse(stdout));
writeFileSync(join(folder, 'paygate.cdx.json'), bill);
const billHash = createHash('sha256').update(bill).digest('hex');
sums.push(`${billHash}  paygate.cdx.json\n`);
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
console.log(sums.join('').trimEnd());
