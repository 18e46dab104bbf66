// Row `checkpoint-1M`: how long a shop waits for an address while other shops write until SQLite has
// moved the WAL into a file of a million payments. It asks again 5 ms after each answer.

import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { paidFile } from './database.ts';
import { beginLoad } from './load.ts';
import { type Row, waitsOf } from './row.ts';
import { NO_ELECTRUM, serve } from './server.ts';

const PAYMENTS = 1_000_000;
const CHECKPOINTS = 2;
const POLL_MS = 10;
const MAX_WAIT_MS = 1_000;

export async function benchCheckpoint(): Promise<Row> {
  const { path, apiKey } = await paidFile(PAYMENTS);
  const { origin } = await serve(path, NO_ELECTRUM);
  const target = { origin, path: '/api/new_address', apiKey };
  const endOthers = beginLoad({ ...target, connections: 16 });
  const endAsking = beginLoad({ ...target, pauseMs: 5 });
  await untilCheckpoints(path);
  const { latenciesMs } = await endAsking();
  await endOthers();
  const longest = Math.max(...latenciesMs);
  return {
    name: 'checkpoint-1M',
    unit: 'ms',
    figure: longest,
    floor: `longest wait ≤ ${MAX_WAIT_MS} ms`,
    holds: longest <= MAX_WAIT_MS,
    details: [`${CHECKPOINTS} checkpoints; ${latenciesMs.length} waits: ${waitsOf(latenciesMs)}`],
  };
}

/** Only a checkpoint writes to the main file, so its modification time counts them. */
async function untilCheckpoints(path: string) {
  const modified = () => statSync(path).mtimeMs;
  for (let seen = 0, last = modified(), quietAt = 0; seen < CHECKPOINTS; ) {
    await sleep(POLL_MS);
    const now = modified();
    // The writes of one checkpoint follow each other within a second.
    if (now !== last && performance.now() > quietAt) seen += 1;
    if (now !== last) quietAt = performance.now() + 1_000;
    last = now;
  }
}
