// paygate as one CommonJS file, which is what a bundle with native code beside it, and a single
// executable, can start from. Same sources, same bytes.

import { readFileSync } from 'node:fs';
import { build } from 'esbuild';

/** @param {string} path */
const text = (path) => readFileSync(path, 'utf8');
const browser = 'src/sandbox/web/browser';
/** As src/sandbox/web/files.ts reads them where there is no bundle. */
const browserFiles = () => ({
  style: `${text('node_modules/@picocss/pico/css/pico.classless.min.css')}\n${text(`${browser}/look.css`)}`,
  script: text(`${browser}/live.js`),
});

/**
 * @param {{ outfile: string, external?: string[], sourcemap?: boolean }} options
 * @returns {Promise<void>}
 */
export async function bundle(options) {
  await build({
    entryPoints: ['src/main.ts'],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // A bundled library (node-cron) asks where it lies, which CommonJS says in another way.
    banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: {
      'import.meta.url': 'bundleUrl',
      bundledBrowserFiles: JSON.stringify(browserFiles()),
    },
    logLevel: 'warning',
    ...options,
  });
}
