// The first that the single executable runs. Each part of the program is an asset, under the name of
// its file, and is compiled when another one asks for it. V8 takes what it compiled when the executable
// was built (code-cache.cjs), and compiles the part itself if that is absent or of another V8.

const { getAssetKeys, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

/** @type {Map<string, { exports: unknown }>} */
const loaded = new Map();
const assets = new Set(getAssetKeys());

/** @param {string} path `./paygate-parts/4F3A….cjs` of a part, or a module of Node */
function load(path) {
  if (!path.startsWith('./')) return require(path);
  const filename = path.slice(path.lastIndexOf('/') + 1);
  const known = loaded.get(filename);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(filename, module);
  // In ASCII.
  const text = Buffer.from(getRawAsset(filename)).latin1Slice();
  const cache = `${filename}.cache`;
  const cachedData = assets.has(cache) ? Buffer.from(getRawAsset(cache)) : undefined;
  const run = new Script(text, { filename, cachedData }).runInThisContext();
  run(module.exports, load, module, process.execPath);
  return module.exports;
}

load('./paygate.cjs');
