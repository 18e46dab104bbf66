// Bundles paygate in parts, dist/paygate.cjs and those in a folder beside it, and writes the launcher
// `./paygate`, which starts it with the Node that npm installed for this project (see
// optionalDependencies), or with the system's where there is none. `npm start` needs no more; the single
// executable is made by scripts/executable.mjs. To see an error's place in the sources:
// `node scripts/run.mjs src/main.ts …`, which takes twice as long to start.
// Usage: node build.mjs [FOLDER]: with another folder than dist, only the bundle.

import { chmodSync, writeFileSync } from 'node:fs';
import { bundleInParts, writeParts } from './scripts/bundling.mjs';

const [folder] = process.argv.slice(2);
const { parts } = await bundleInParts('src/main.ts', 'paygate');
writeParts(folder ?? 'dist', 'paygate', parts);
if (folder === undefined) {
  writeFileSync(
    'paygate',
    `#!/bin/sh
# Made by \`npm run build\`.
here=$(dirname "$(readlink -f "$0")")
node="$here/node_modules/.bin/node"
[ -x "$node" ] || node=node
exec "$node" "$here/dist/paygate.cjs" "$@"
`,
  );
  chmodSync('paygate', 0o755);
}
