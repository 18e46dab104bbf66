// Method: the time from the spawning of the single executable to its first HTTP answer (GET /healthz, asked for
// every 2 ms), on a file that is there already. The floor is an executable of the same Node with hono and the
// SQLite driver alone, which opens a file as well. Both have been started once before.
// `listening` is the same with so many issued addresses in the file, which must make no difference.

import { join } from 'node:path';
import { executables } from './executables.mjs';
import { serveArguments, startProgram } from './program.mjs';
import { issuedFile } from './sized.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ROUNDS = 15;
const SIZED_ROUNDS = 5;
const TARGET_RATIO = 1.2;
const LISTENING_MS = 300;
/** Nobody listens there. */
const NOBODY = 'tcp://127.0.0.1:1';

/** @type {import('../bench.mjs').Bench} */
export async function benchColdStart(context) {
  const { paygate, bare } = await executables(context);
  const { path } = await issuedFile(context, 0);
  const bareFile = join(context.folder, 'bare.db');
  const start = {
    ours: () => answerMs(paygate, serveArguments(path, NOBODY)),
    floor: () => answerMs(bare, (port) => [bareFile, String(port)]),
  };
  await start.ours();
  await start.floor();
  const results = await takeTurns(ROUNDS, start);
  const ratio = pairedRatio(results.ours, results.floor);
  return {
    name: 'cold-start',
    unit: 'ms',
    ours: median(results.ours),
    floor: median(results.floor),
    ratio,
    pairs: ROUNDS,
    latencyMs: { p50: percentile(results.ours, 0.5), p99: percentile(results.ours, 0.99) },
    targets: [{ text: `≤ ${TARGET_RATIO} × a bare executable`, met: ratio <= TARGET_RATIO }],
    notes: [
      'from the spawning to the first HTTP answer; floor: the same Node with hono and SQLite alone.',
    ],
  };
}

/**
 * @param {number} addresses
 * @returns {import('../bench.mjs').Bench}
 */
export const benchListening = (addresses) => async (context) => {
  const { paygate } = await executables(context);
  const { path } = await issuedFile(context, addresses);
  const empty = await issuedFile(context, 0);
  const start = {
    ours: () => answerMs(paygate, serveArguments(path, NOBODY)),
    floor: () => answerMs(paygate, serveArguments(empty.path, NOBODY)),
  };
  await start.ours();
  const results = await takeTurns(SIZED_ROUNDS, start);
  const ours = median(results.ours);
  return {
    name: `listening-${addresses === 1_000_000 ? '1M' : `${addresses / 1000}k`}`,
    unit: 'ms',
    ours,
    floor: median(results.floor),
    ratio: pairedRatio(results.ours, results.floor),
    pairs: SIZED_ROUNDS,
    targets: [{ text: `≤ ${LISTENING_MS} ms`, met: ours <= LISTENING_MS }],
    notes: [
      `from the spawning to the first HTTP answer, ${addresses} addresses; floor: with none.`,
    ],
  };
};

/**
 * @param {string} command
 * @param {(port: number) => string[]} argsFor
 */
async function answerMs(command, argsFor) {
  const program = await startProgram(command, argsFor);
  await program.end();
  return program.answeredMs;
}
