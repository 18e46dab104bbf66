// The first that the single executable runs. Each part of the program is an asset, under the name of
// its file, and is compiled when another one asks for it.

const { getRawAsset } = require('node:sea');
const { compileFunction } = require('node:vm');

const parameters = ['exports', 'require', 'module', '__filename'];
/** @type {Map<string, { exports: unknown }>} */
const loaded = new Map();

/** @param {string} path `./paygate-parts/4F3A….cjs` of a part, or a module of Node */
function load(path) {
  if (!path.startsWith('./')) return require(path);
  const name = path.slice(path.lastIndexOf('/') + 1);
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(name, module);
  // In ASCII.
  const text = Buffer.from(getRawAsset(name)).latin1Slice();
  const run = compileFunction(text, parameters, { filename: name });
  run(module.exports, load, module, process.execPath);
  return module.exports;
}

load('./paygate.cjs');
