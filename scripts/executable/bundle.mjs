// paygate as one CommonJS file, which is what a bundle with native code beside it, and a single
// executable, can start from. Same sources, same bytes.

import { build } from 'esbuild';

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
    define: { 'import.meta.url': 'bundleUrl' },
    logLevel: 'warning',
    ...options,
  });
}
