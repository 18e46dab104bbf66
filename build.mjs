// Bundles paygate to one file and writes the launcher `./paygate`, which starts it with the Node that
// npm installed for this project (see optionalDependencies), or with the system's where there is none.

import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });

await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/paygate.cjs',
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  // The only native code: it is loaded from node_modules.
  external: ['better-sqlite3'],
  // A bundled library (node-cron) asks where it lies, which CommonJS says in another way.
  banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
  define: { 'import.meta.url': 'bundleUrl' },
  sourcemap: true,
  logLevel: 'warning',
});

writeFileSync(
  'paygate',
  `#!/bin/sh
# Made by \`npm run build\`.
here=$(dirname "$(readlink -f "$0")")
node="$here/node_modules/.bin/node"
[ -x "$node" ] || node=node
exec "$node" --enable-source-maps "$here/dist/paygate.cjs" "$@"
`,
);
chmodSync('paygate', 0o755);
