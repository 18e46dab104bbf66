// `paygate` as a command line runs it: bundled, each command a process of its own. The bundle goes with
// the test: call `cleanUp` of files.ts after each.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { tempFolder, whenOver } from './files.ts';

const checkout = join(import.meta.dirname, '../..');

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let bundle: string | undefined;

/** Bundles as build.mjs does, once a test. */
function bundled(): string {
  if (bundle !== undefined) return bundle;
  bundle = join(tempFolder(), 'paygate.cjs');
  whenOver(() => {
    bundle = undefined;
  });
  buildSync({
    entryPoints: [join(checkout, 'src/main.ts')],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['better-sqlite3'],
    banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: { 'import.meta.url': 'bundleUrl' },
    logLevel: 'error',
  });
  return bundle;
}

/** Runs a command to its end. */
export const runCli = (args: readonly string[], env: Record<string, string> = {}) =>
  new Promise<Outcome>((resolve) => {
    const child = spawn(process.execPath, [bundled(), ...args], {
      env: { PATH: process.env.PATH, NODE_PATH: join(checkout, 'node_modules'), TZ: 'UTC', ...env },
    });
    const printed = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        printed[stream] += text;
      });
    }
    child.once('close', (code) => resolve({ code, ...printed }));
  });
