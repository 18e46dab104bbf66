// `node --random-seed=1 code-cache.cjs FOLDER NAME…`: writes beside each script what V8 compiles of it,
// NAME.cache, for the same Node alone. Every function is in it, so it depends on no run; with a fixed seed
// of V8's hashes the same scripts give the same bytes.

const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const [folder = '', ...names] = process.argv.slice(2);
setFlagsFromString('--no-lazy');
const scripts = names.map((filename) => {
  return new Script(readFileSync(join(folder, filename), 'latin1'), { filename });
});
// V8 refuses what was written under other flags than those that read it.
setFlagsFromString('--lazy');
for (const [at, script] of scripts.entries()) {
  writeFileSync(join(folder, `${names[at]}.cache`), script.createCachedData());
}
