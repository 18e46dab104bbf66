// A part of the single executable, run when it is needed: what is not, takes no memory. A part is a bundle that
// is whole by itself, an asset, and ASCII, which make.mjs has seen to.

const { Buffer } = require('node:buffer');
const { getRawAsset } = require('node:sea');
const { compileFunction } = require('node:vm');

const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];

/** @param {string} name of the asset */
exports.loadPart = (name) => {
  // Not a view on the asset: V8 would keep it beside the text.
  const text = Buffer.from(getRawAsset(name)).latin1Slice();
  const part = { exports: {} };
  const run = compileFunction(text, parameters, { filename: name });
  run(part.exports, require, part, __filename, __dirname);
  return part.exports;
};
