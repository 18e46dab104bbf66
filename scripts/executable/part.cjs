// A part of the single executable, run when it is needed: what is not, takes no memory. A part is an asset: a bundle
// that is whole by itself, as a function of what a module is given, in ASCII (parts.mjs).

const { Buffer } = require('node:buffer');
const sea = require('node:sea');
const { Script } = require('node:vm');

/** @param {string} name of the asset */
exports.loadPart = (name) => {
  // Not a view on the asset: V8 would keep it beside the text.
  const text = Buffer.from(sea.getRawAsset(name)).latin1Slice();
  const script = new Script(text, { filename: name });
  const part = { exports: {} };
  script.runInThisContext()(part.exports, require, part, __filename, __dirname);
  return part.exports;
};
