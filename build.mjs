// Bundles paygate to one file and writes the launcher `./paygate`, which starts it with the Node that
// npm installed for this project (see optionalDependencies), or with the system's where there is none.
// `npm start` needs no more; the single executable is made by scripts/executable.mjs. To see an error's place in
// the sources: `NODE_OPTIONS=--enable-source-maps ./paygate …`, which takes twice as long to start.

import { chmodSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { browserScripts, bundling, rewriteInAscii } from './scripts/bundling.mjs';

const outfile = 'dist/paygate.cjs';
await build({
  ...bundling,
  entryPoints: ['src/main.ts'],
  outfile,
  sourcemap: true,
  plugins: [browserScripts],
});
rewriteInAscii(outfile);

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
