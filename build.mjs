// Bundles paygate to one file and writes the launcher `./paygate`, which starts it with the Node that
// npm installed for this project (see optionalDependencies), or with the system's where there is none.

import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });

const text = (path) => readFileSync(path, 'utf8');
const browser = 'src/sandbox/web/browser';
/** As src/sandbox/web/files.ts reads them where there is no bundle. */
const browserFiles = {
  style: `${text('node_modules/@picocss/pico/css/pico.classless.min.css')}\n${text(`${browser}/look.css`)}`,
  script: text(`${browser}/live.js`),
};

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
  define: {
    'import.meta.url': 'bundleUrl',
    bundledBrowserFiles: JSON.stringify(browserFiles),
  },
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
