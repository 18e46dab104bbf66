// Rows `first-answer` and `memory-10k`: the single executable, with 10,000 issued addresses in
// its file.
// Peer: the same Node with hono and the SQLite driver alone (bare-server.mjs).

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildExecutable } from './build-executable.mjs';
import { bundle } from './bundle.mjs';
import { startChain } from './chain.mjs';
import { issuedFile } from './database.mjs';
import { NO_ELECTRUM, residentMib, serveArguments, startServer, untilCaughtUp } from './server.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ADDRESSES = 10_000;
const STARTS = 15;
const MAX_ANSWER_MS = 400;
const MEMORY_ROUNDS = 3;
const IDLE_MS = 10_000;
const MAX_RESIDENT_MIB = 128;

/** @type {import('../bench.mjs').Bench} */
export async function benchFirstAnswer(context) {
  const { path } = await issuedFile(context, ADDRESSES);
  const executable = await buildExecutable(context);
  const bare = await bareServer(context);
  const contenders = {
    ours: () => answeredMs(startServer(executable, serveArguments(path, NO_ELECTRUM))),
    bare: () => answeredMs(startServer(process.execPath, bare)),
  };
  await takeTurns(1, contenders); // the files are in the page cache
  const results = await takeTurns(STARTS, contenders);
  const figure = median(results.ours);
  return {
    name: 'first-answer',
    unit: 'ms',
    figure,
    peer: { name: 'bare Node', figure: median(results.bare) },
    ratio: pairedRatio(results.ours, results.bare),
    floor: `≤ ${MAX_ANSWER_MS} ms`,
    holds: figure <= MAX_ANSWER_MS,
    details: [`slowest ${percentile(results.ours, 1).toFixed(0)} ms`],
  };
}

/** @type {import('../bench.mjs').Bench} */
export async function benchMemory(context) {
  const { path } = await issuedFile(context, ADDRESSES);
  const chain = await startChain();
  const executable = await buildExecutable(context);
  const bare = await bareServer(context);
  const results = await takeTurns(MEMORY_ROUNDS, {
    async ours() {
      const server = await startServer(executable, serveArguments(path, chain.electrum));
      await untilCaughtUp(server);
      return idleMib(server);
    },
    bare: async () => idleMib(await startServer(process.execPath, bare)),
  });
  const figure = median(results.ours);
  return {
    name: 'memory-10k',
    unit: 'MiB',
    figure,
    peer: { name: 'bare Node', figure: median(results.bare) },
    ratio: pairedRatio(results.ours, results.bare),
    floor: `≤ ${MAX_RESIDENT_MIB} MiB resident`,
    holds: figure <= MAX_RESIDENT_MIB,
    details: [],
  };
}

/** @param {Promise<import('./server.mjs').Server>} starting */
async function answeredMs(starting) {
  const server = await starting;
  await server.end();
  return server.answeredMs;
}

/** @param {import('./server.mjs').Server} server */
async function idleMib(server) {
  await sleep(IDLE_MS);
  const mib = residentMib(server);
  await server.end();
  return mib;
}

/**
 * @param {import('../bench.mjs').Context} context
 * @returns {Promise<(port: number) => string[]>} its arguments
 */
export async function bareServer(context) {
  const program = await bundle(context, 'scripts/bench/bare-server.mjs', 'bench-bare.cjs');
  return (port) => [program, join(context.folder, 'bare.db'), String(port)];
}
