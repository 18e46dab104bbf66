// A part of the single executable, run when it is needed: what is not, takes no memory. A part is an asset: a bundle
// that is whole by itself, as a function of what a module is given, in ASCII (parts.mjs). What V8 compiled of it when
// the executable was made is another (code-cache.mjs); V8 itself looks whether it fits, and compiles where it does not.

const { Buffer } = require('node:buffer');
const sea = require('node:sea');
const { Script } = require('node:vm');

/** @param {string} name of the asset */
exports.compilePart = (name) => {
  // Not a view on the asset: V8 would keep it beside the text.
  const text = Buffer.from(sea.getRawAsset(name)).latin1Slice();
  const cache = `${name}.cache`;
  const isCached = sea.getAssetKeys().includes(cache);
  const cachedData = isCached ? Buffer.from(sea.getRawAsset(cache)) : undefined;
  return new Script(text, { filename: name, cachedData });
};

/** @param {import('node:vm').Script} script */
exports.runPart = (script) => {
  const part = { exports: {} };
  script.runInThisContext()(part.exports, require, part, __filename, __dirname);
  return part.exports;
};

/** @param {string} name */
exports.loadPart = (name) => exports.runPart(exports.compilePart(name));
