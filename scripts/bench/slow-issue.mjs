// Method of `new_address-slow-disk`: rushes of `new_address` as for `new_address-64` on a paygate each of
// whose fsyncs and fdatasyncs takes 10 ms longer (slow-disk.mjs). Beside it, what
// those waits alone would allow: 64 addresses in one, for log and mark are synced at once. An answer that
// does not come, or is not 200, fails the bench.

import { join } from 'node:path';
import { NO_ELECTRUM } from './new-address.mjs';
import { addStore, serveArguments, startServer } from './paygate.mjs';
import { createRush, RUSH } from './rush.mjs';
import { slowDisk } from './slow-disk.mjs';
import { median, percentile } from './stats.mjs';

const ROUNDS = 5;
const CONNECTIONS = 64;
const ADDED_MS = 10;
const LEAST_RATE = 1_000;

/** @type {import('../bench.mjs').Bench} */
export async function benchSlowIssue(context) {
  const name = 'new_address-slow-disk';
  const shop = await addStore(context, name);
  const paygate = join(context.checkout, 'paygate');
  const slow = Object.entries(slowDisk(context.folder, ADDED_MS)).map((each) => each.join('='));
  const origin = await startServer('env', [
    ...slow,
    paygate,
    ...serveArguments(shop.path, NO_ELECTRUM),
  ]);
  const { rush } = await createRush(shop.path, {
    ...{ origin, path: '/api/new_address', apiKey: shop.apiKey, connections: CONNECTIONS },
  });
  /** @type {number[]} */
  const rates = [];
  /** @type {number[]} */
  const latenciesMs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const run = await rush();
    rates.push(run.rate);
    latenciesMs.push(...run.latenciesMs);
  }
  const floor = (1000 * CONNECTIONS) / ADDED_MS;
  const ours = median(rates);
  return {
    name,
    unit: '/s',
    ours,
    floor,
    ratio: ours / floor,
    pairs: ROUNDS,
    latencyMs: { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) },
    targets: [{ text: `≥ ${LEAST_RATE.toLocaleString('en')}/s`, met: ours >= LEAST_RATE }],
    notes: [
      `${ROUNDS} rushes of ${RUSH} requests on ${CONNECTIONS} connections, ${ADDED_MS} ms added to each ` +
        `fsync; all were answered. Floor: ${CONNECTIONS} addresses in each wait of ${ADDED_MS} ms, and nothing else.`,
    ],
  };
}
