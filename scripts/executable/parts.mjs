// The programs inside the single executable, as bundles that need nothing beside them: `main.cjs` has every
// command, `serve.cjs` the one that runs for years, `acme-client.cjs` and `strength.cjs` what most starts never need,
// and `launch.cjs` loads what is asked for (part.cjs). The same inputs give the same bytes.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { bundling } from '../bundling.mjs';

const here = import.meta.dirname;
/** What Node gives a CommonJS module. */
const parameters = 'exports, require, module, __filename, __dirname';
/**
 * Loaded with the first order of a certificate (src/tls/acme-order.ts), and where a password is chosen
 * (src/dashboard/password.ts): by the last word of their import, what they are made of.
 */
const late = { 'acme-client': 'acme-client', strength: 'src/dashboard/password-strength.ts' };

/** @type {import('esbuild').Plugin} */
const lateParts = {
  name: 'late parts',
  setup(building) {
    for (const name of Object.keys(late)) {
      building.onResolve({ filter: new RegExp(`(^|/)${name}(\\.ts)?$`) }, ({ kind }) =>
        kind === 'dynamic-import' ? { path: name, namespace: 'part' } : undefined,
      );
    }
    building.onLoad({ filter: /./, namespace: 'part' }, ({ path }) => ({
      contents: `module.exports = require('./part.cjs').loadPart('${path}.cjs');`,
      resolveDir: here,
    }));
  },
};

/**
 * Libraries of `serve` that a start does not need, by what is imported of them: each is loaded when it is first used.
 * @type {Record<string, string>}
 */
const lateLibraries = {
  // With the first request to a shop or a price's source; out of its own files: its index loads three times as much, for ever.
  undici: `export function Client(...given) {
      const Client = require('undici/lib/dispatcher/client.js');
      // As its index does.
      Client.prototype.request ??= require('undici/lib/api/api-request.js');
      return new Client(...given);
    }
    export const buildConnector = (options) => require('undici/lib/core/connect.js')(options);`,
  // With the first line that is logged.
  pino: `export const pino = (...given) => require('pino').pino(...given);
    export const destination = (...given) => require('pino').destination(...given);
    export const stdTimeFunctions = { get isoTime() { return require('pino').stdTimeFunctions.isoTime; } };`,
  // With the first check of a snapshot; and of commander, for commands that are programs of their own: here none is.
  'node:child_process': `const spawn = (...given) => require('node:child_process').spawn(...given);
    export const execFile = (...given) => require('node:child_process').execFile(...given);
    export default { spawn };`,
};

/** @type {import('esbuild').Plugin} */
const loadedLate = {
  name: 'libraries loaded late',
  setup(building) {
    const filter = new RegExp(`^(${Object.keys(lateLibraries).join('|')})$`);
    building.onResolve({ filter }, ({ path, namespace }) =>
      namespace === 'late' ? undefined : { path, namespace: 'late' },
    );
    building.onLoad({ filter: /./, namespace: 'late' }, ({ path }) => ({
      contents: lateLibraries[path] ?? '',
      resolveDir: here,
    }));
  },
};

/** @type {import('esbuild').BuildOptions} */
const whole = {
  ...bundling,
  // The driver's own code too: the addon is an asset.
  external: [],
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
};

/** @type {import('esbuild').BuildOptions[]} */
const parts = [
  { entryPoints: ['src/main.ts'], plugins: [lateParts] },
  { entryPoints: { serve: 'src/main-serve.ts' }, plugins: [lateParts, loadedLate] },
  { entryPoints: late },
];

/**
 * Writes paygate's programs to a folder.
 * @param {string} folder
 * @returns {Promise<{ main: string, assets: string[], inputs: Set<string> }>} names of files; paths of what they are made of
 */
export async function bundleParts(folder) {
  const outExtension = { '.js': '.cjs' };
  const assets = [];
  const inputs = new Set();
  for (const part of parts) {
    const { metafile } = await build({
      ...{ ...whole, ...part, outdir: folder, outExtension },
      metafile: true,
    });
    assets.push(...Object.keys(metafile.outputs).map((path) => path.replace(/^.*\//, '')));
    for (const path of Object.keys(metafile.inputs)) inputs.add(path);
  }
  for (const asset of assets) makePart(join(folder, asset));
  return { main: await bundleOne(join(here, 'launch.cjs'), folder), assets, inputs };
}

/**
 * Writes one program that has no parts.
 * @param {string} entry
 * @param {string} folder
 */
export async function bundleOne(entry, folder) {
  const name = 'program.cjs';
  await build({ ...whole, entryPoints: [resolve(entry)], outfile: join(folder, name) });
  return name;
}

/**
 * A function of what a module is given, in ASCII: one letter beyond it, and V8 holds the whole text with two bytes
 * for each. The bundler leaves those in regular expressions and tagged templates; none of ours looks at what its
 * template was written like.
 * @param {string} path
 */
function makePart(path) {
  const text = readFileSync(path, 'utf8').replace(/^#!.*\n/, '');
  const ascii = text.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(path, `(function (${parameters}) {${ascii}\n})`);
}
