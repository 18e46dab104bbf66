// Resolves names while it reads a file and computes a hash, in a process set up like `paygate`.

import { scrypt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { prepareThreads } from '../../src/cli/process-setup.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

prepareThreads();
const { resolve } = createNodeWorld({ logLevel: 'silent' });
const since = performance.now();
const took = async (work: Promise<unknown>) => {
  const found = await work.catch((error: NodeJS.ErrnoException) => error.code);
  return { ms: performance.now() - since, found };
};
const dead = Array.from({ length: 20 }, (_, at) => took(resolve(`shop${at}.dead.test`)));
const [file, hash, local, good, half] = await Promise.all([
  took(readFile('/etc/hosts', 'utf8').then(() => 'read')),
  took(promisify(scrypt)('a', 'b', 32).then(() => 'made')),
  took(resolve('localhost')),
  took(resolve('shop.good.test')),
  took(resolve('shop.half.good.test')),
]);
process.stdout.write(
  JSON.stringify({ file, hash, local, good, half, dead: await Promise.all(dead) }),
);
