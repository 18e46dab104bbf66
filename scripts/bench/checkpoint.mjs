// Row `checkpoint-1M`: how long a shop waits for an address while other shops write until SQLite has
// moved the WAL into a file of a million payments. It asks again 5 ms after each answer.

import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { paidFile } from './database.mjs';
import { beginLoad } from './load.mjs';
import { NO_ELECTRUM, serve } from './server.mjs';
import { percentile } from './stats.mjs';

const PAUSE_MS = 5;
const PAYMENTS = 1_000_000;
const CHECKPOINTS = 2;
const CONNECTIONS = 16;
const POLL_MS = 10;
const TIMEOUT_MS = 120_000;
const MAX_WAIT_MS = 1_000;

/** @type {import('../bench.mjs').Bench} */
export async function benchCheckpoint(context) {
  const { path, apiKey } = await paidFile(context, PAYMENTS);
  const { origin, end } = await serve(context, path, NO_ELECTRUM);
  const target = { origin, path: '/api/new_address', apiKey, connections: 1 };
  const endOthers = beginLoad({ ...target, connections: CONNECTIONS });
  const endAsking = beginLoad(target, { pauseMs: PAUSE_MS });
  await untilCheckpoints(path);
  const { latenciesMs: waitsMs } = await endAsking();
  await endOthers();
  await end();
  const longest = Math.max(...waitsMs);
  return {
    name: 'checkpoint-1M',
    unit: 'ms',
    figure: longest,
    floor: `longest wait ≤ ${MAX_WAIT_MS.toLocaleString('en')} ms`,
    holds: longest <= MAX_WAIT_MS,
    details: [
      `${CHECKPOINTS} checkpoints; ${waitsMs.length} waits: ` +
        `p50 ${percentile(waitsMs, 0.5).toFixed(1)} ms, ` +
        `p99 ${percentile(waitsMs, 0.99).toFixed(1)} ms`,
    ],
  };
}

/**
 * Only a checkpoint writes to the main file, so its modification time counts them.
 * @param {string} path
 */
async function untilCheckpoints(path) {
  const modified = () => statSync(path).mtimeMs;
  const deadline = performance.now() + TIMEOUT_MS;
  for (let seen = 0, last = modified(), quietAt = 0; seen < CHECKPOINTS; ) {
    await sleep(POLL_MS);
    const now = modified();
    // The writes of one checkpoint follow each other within a second.
    if (now !== last && performance.now() > quietAt) seen += 1;
    if (now !== last) quietAt = performance.now() + 1_000;
    last = now;
    if (performance.now() > deadline) throw new Error(`${seen} checkpoints in two minutes`);
  }
}
