// How sources become files that Node runs: in parts for build.mjs, the executable and the tests of
// commands, as one file for `scripts/run.mjs` and programs of the tests. Pages are written in JSX, which
// Node itself does not read.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { build, transform } from 'esbuild';

/** Browsers receive scripts without comments. @param {string} path */
export async function browserScript(path) {
  const { code } = await transform(await readFile(path, 'utf8'), { minify: true, format: 'esm' });
  return code;
}

/** @type {import('esbuild').Plugin} */
export const browserScripts = {
  name: 'browser-scripts',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.client\.js$/ }, async ({ path }) => ({
      contents: await browserScript(path),
      loader: 'text',
    })),
};

/** @type {import('esbuild').BuildOptions} */
export const bundling = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  // The only native code: it is loaded from node_modules.
  external: ['better-sqlite3'],
  // A bundled library (node-cron) asks where it lies, which CommonJS says in another way.
  banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
  // undici is built into Node without its second parser.
  define: { 'import.meta.url': 'bundleUrl', esbuildDetection: '1' },
  // Imported with `?raw`, as vitest has it.
  loader: {
    '.md': 'text',
    '.css': 'text',
    '.svg': 'text',
    '.sql': 'text',
    '.client.js': 'text',
  },
  logLevel: 'warning',
};

/**
 * What libraries bring along and paygate never uses, by the module that is asked for. A stub that is
 * used after all throws.
 * @type {readonly { filter: RegExp, importer: RegExp, contents: string }[]}
 */
const unused = [
  // HTTP/2, which is switched off, and bodies of forms: ours are texts.
  { filter: /\/client-h2\.js$/, importer: /\/undici\//, contents: refusing('HTTP/2') },
  {
    filter: /\/web\/fetch\/(body\.js|formdata)$/,
    importer: /\/undici\//,
    contents: refusing('forms'),
  },
  {
    filter: /\/web\/webidl$/,
    importer: /\/undici\//,
    contents: 'exports.webidl = { is: { FormData: () => false } };',
  },
  // The older of two interfaces for keys, with a library of its own.
  { filter: /\/crypto\/forge$/, importer: /\/acme-client\//, contents: refusing('forge') },
  // The types of 2,500 endings of files, for uploads.
  { filter: /^mime-db$/, importer: /\/mime-types\//, contents: 'module.exports = {};' },
  // Traces, for exemplars.
  {
    filter: /^@opentelemetry\/api$/,
    importer: /\/prom-client\//,
    contents: 'module.exports = {};',
  },
];

/** @param {string} what */
function refusing(what) {
  return `module.exports = () => { throw new Error('the bundle leaves out ${what}'); };`;
}

/** @type {import('esbuild').Plugin} */
const withoutUnused = {
  name: 'without-unused',
  setup({ onLoad, onResolve }) {
    for (const { filter, importer, contents } of unused) {
      onResolve({ filter }, (from) =>
        importer.test(from.importer)
          ? { path: from.path, namespace: 'unused', pluginData: contents }
          : null,
      );
    }
    onLoad({ filter: /.*/, namespace: 'unused' }, ({ pluginData }) => ({ contents: pluginData }));
  },
};

/**
 * @typedef {object} Part
 * @property {string} path of the file: `paygate.cjs` for the entry, `paygate-parts/4F3A….cjs` for others
 * @property {string} text
 *
 * @typedef {object} Parts
 * @property {readonly Part[]} parts
 * @property {import('esbuild').Metafile} metafile
 */

/**
 * Bundles a program in parts that `require` each other: the entry, and a part for all that the same
 * dynamic imports lead to. A command reads and compiles its own parts alone. The name of a part is the
 * hash of its text.
 * @param {string} entry
 * @param {string} name of the program
 * @param {import('esbuild').BuildOptions} [options]
 * @returns {Promise<Parts>}
 */
export async function bundleInParts(entry, name, { plugins = [], ...options } = {}) {
  const { banner, ...shared } = bundling;
  const { outputFiles = [], metafile } = await build({
    ...shared,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    ...options,
    // esbuild splits modules alone.
    format: 'esm',
    splitting: true,
    entryPoints: [{ in: entry, out: name }],
    chunkNames: `${name}-parts/[hash]`,
    outExtension: { '.js': '.cjs' },
    outdir: '.',
    write: false,
    metafile: true,
    plugins: [withoutUnused, browserScripts, ...plugins],
  });
  const parts = outputFiles.map(async ({ path, text }) => ({
    path: relative('.', path),
    text: inAscii(await asCommonJs(text, banner?.js ?? '')),
  }));
  return { parts: await Promise.all(parts), metafile };
}

/**
 * Writes the parts of a program, the entry last, and removes those of another build.
 * @param {string} folder
 * @param {string} name of the program
 * @param {readonly Part[]} parts
 */
export function writeParts(folder, name, parts) {
  const beside = join(folder, `${name}-parts`);
  mkdirSync(beside, { recursive: true });
  const entryLast = parts.toSorted((one, other) => other.path.length - one.path.length);
  for (const { path, text } of entryLast) writeFileSync(join(folder, path), text);
  const names = new Set(parts.map(({ path }) => basename(path)));
  for (const each of readdirSync(beside)) if (!names.has(each)) rmSync(join(beside, each));
}

/**
 * @param {string} code a module of esbuild
 * @param {string} banner defines what replaces `import.meta.url`
 */
async function asCommonJs(code, banner) {
  const { code: common } = await transform(code, {
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // As `require`, because the single executable has no loader of modules.
    supported: { 'dynamic-import': false },
    minifyWhitespace: true,
    minifySyntax: true,
  });
  return (common.includes('bundleUrl') ? banner : '') + common.replace(copied, itself);
}

/**
 * esbuild exports a copy of a module, whose properties look each value up by its name. The module has
 * properties with a function each, which V8 inlines.
 */
const copied = '__copyProps(__defProp({},"__esModule",{value:!0}),mod)';
const itself = '__defProp(mod,"__esModule",{value:!0})';

/** Rewrites a bundle in ASCII. @param {string} outfile */
export function rewriteInAscii(outfile) {
  writeFileSync(outfile, inAscii(readFileSync(outfile, 'utf8')));
}

/**
 * One letter beyond makes V8 hold the whole program with two bytes a letter, and a tenth slower to
 * start. esbuild escapes them in strings, but not in regular expressions and tagged templates.
 * @param {string} text
 */
const inAscii = (text) => text.replaceAll(/[^\0-\x7f]/g, escapeUnit);

/** @param {string} unit of UTF-16 */
const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
