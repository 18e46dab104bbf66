// `npm run build`, second half: dist/paygate, one file that needs no Node and no npm where it runs.
// Usage: node scripts/executable.mjs [--arch x64|arm64] [--out FILE]

import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { makeExecutable } from './executable/make.mjs';
import { nodeFor } from './executable/node.mjs';

const { values } = parseArgs({
  options: {
    arch: { type: 'string', default: process.arch },
    out: { type: 'string', default: 'dist/paygate' },
  },
});
const { arch, out: outfile } = values;
if (arch !== 'x64' && arch !== 'arm64') throw new Error(`--arch: x64 or arm64, not ${arch}`);

const { stripped, compiled } = await makeExecutable({ arch, node: await nodeFor(arch), outfile });
console.log(`${outfile}: ${Math.round(statSync(outfile).size / 1e6)} MB`);
if (!stripped) {
  console.log('binutils are not installed (strip): it works, but it is larger than it need be');
}
if (!compiled)
  console.log(`qemu for ${arch} is not installed: it works, but it starts more slowly`);
