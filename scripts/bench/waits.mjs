// Rows `event-loop` and `checkpoint-1M`: how long a shop waits for an address while paygate does
// something heavy. The shop asks on one connection, again 5 ms after each answer.

import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { paidFile } from './database.mjs';
import { confirmBlock, prepareBlock } from './full-block.mjs';
import { beginLoad } from './load.mjs';
import { NO_ELECTRUM, serve } from './server.mjs';
import { percentile } from './stats.mjs';

const PAUSE_MS = 5;
const BLOCKS = 3;
const MAX_P99_MS = 50;
const PAYMENTS = 1_000_000;
const CHECKPOINTS = 3;
const CONNECTIONS = 16;
const POLL_MS = 10;
const TIMEOUT_MS = 120_000;
const MAX_WAIT_MS = 1_000;

/**
 * While the block of `full-block` is confirmed.
 * @type {import('../bench.mjs').Bench}
 */
export async function benchEventLoop(context) {
  const scene = await prepareBlock();
  /** @type {number[]} */
  const waitsMs = [];
  for (let round = 0; round < BLOCKS; round += 1) {
    const begin = (/** @type {import('./load.mjs').Target} */ target) =>
      beginLoad(target, { pauseMs: PAUSE_MS });
    const { during } = await confirmBlock(context, scene, `event-loop-${round}`, { begin });
    waitsMs.push(...(during?.latenciesMs ?? []));
  }
  const p99 = percentile(waitsMs, 0.99);
  return {
    name: 'event-loop',
    unit: 'ms',
    figure: p99,
    floor: `p99 ≤ ${MAX_P99_MS} ms`,
    holds: p99 <= MAX_P99_MS,
    details: [
      `${waitsMs.length} waits: p50 ${percentile(waitsMs, 0.5).toFixed(1)} ms, ` +
        `longest ${Math.max(...waitsMs).toFixed(0)} ms`,
    ],
  };
}

/**
 * While other shops write until SQLite has moved the WAL into a file of a million payments.
 * @type {import('../bench.mjs').Bench}
 */
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
