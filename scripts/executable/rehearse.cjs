// `node rehearse.cjs PART ADDON [ARGUMENT…]` in a folder of assets: runs a part as the executable will, until it says
// something, and writes what V8 has compiled of it by then. Without arguments: fails where V8 does not take that.

const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { Socket } = require('node:net');
const sea = require('node:sea');
const { compilePart, runPart } = require('./part.cjs');

const [, , name, addon, ...args] = process.argv;

sea.isSea = () => true;
sea.getAssetKeys = () => readdirSync('.');
sea.getRawAsset = (key) => new Uint8Array(readFileSync(key)).buffer;
// Of this machine: where it lets code be mapped, and how much memory it has.
const load = process.dlopen;
process.dlopen = (module) => load(module, addon);
process.availableMemory = () => 2 ** 40;
// Nor of how fast it is today: time stands still, and a server neither answers nor refuses.
const { setTimeout } = globalThis;
globalThis.setTimeout = (run) => setTimeout(run, 2 ** 31 - 1);
performance.now = () => 0;
Socket.prototype.connect = function neverConnects() {
  return this;
};

const script = compilePart(name);
if (args.length > 0) {
  process.argv = [process.execPath, process.execPath, ...args];
  process.stdout.write = () => {
    writeFileSync(`${name}.cache`, script.createCachedData());
    process.exit(0);
  };
  runPart(script);
} else if (script.cachedDataRejected !== false) {
  throw new Error(`V8 does not take its own code of ${name}`);
}
