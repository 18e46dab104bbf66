// Method: durable `GET /api/new_address` against the built `./paygate serve`, a process of its own on the
// real disk, its Electrum server unreachable; the shop is this process, with 1 or 64 keep-alive
// connections, one request at a time on each. They take turns: a rush of 900 requests on addresses that
// were derived ahead (rush.mjs; with the derivation it is `new_address-sustained`), the same kind of
// server with constant JSON behind the same key check, and the same durable writes in a bare loop, 1 or
// 64 addresses a commit (durable-writes.mjs). With 64 connections the constant JSON is the floor. With 1 the
// floor's server also does one durable commit and one fdatasync of the mark for each request: the same three
// parts in the same rhythm, for a disk that rests between two syncs takes longer than one in a loop.

import { fileURLToPath } from 'node:url';
import { durableWrites } from './durable-writes.mjs';
import { burst } from './load.mjs';
import { addStore, serve, startServer } from './paygate.mjs';
import { createRush, RUSH } from './rush.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ROUNDS = 9;
/** In them the code of both servers is compiled. */
const WARMING_ROUNDS = 3;
const WRITE_SECONDS = 0.5;
const LEAST_OF_CONSTANT = 0.65;
const MOST_P99_MS = 10;
/** Where the machine is slower than the one on which that was seen: of the constant JSON's own. */
const MOST_P99_RATIO = 1.6;
const MOST_OF_FLOOR = 1.3;
/** Nothing listens there. */
export const NO_ELECTRUM = 'tcp://127.0.0.1:9';
const constantServer = fileURLToPath(new URL('constant-server.mjs', import.meta.url));

/**
 * @param {import('../bench.mjs').Context} context
 * @param {number} connections
 * @param {string[]} mode of the constant server
 */
async function measure(context, connections, mode) {
  const name = `new_address-${connections}`;
  const shop = await addStore(context, name);
  const floor = await addStore(context, `${name}-floor`);
  const loop = await addStore(context, `${name}-loop`);
  const ours = {
    origin: await serve(context, shop.path, NO_ELECTRUM),
    path: '/api/new_address',
    apiKey: shop.apiKey,
    connections,
  };
  const constant = {
    origin: await startServer(process.execPath, [constantServer, floor.path, ...mode]),
    path: '/constant',
    apiKey: floor.apiKey,
    connections,
  };
  const { rate } = durableWrites(loop.path, connections);
  const { rush } = await createRush(shop.path, ours);
  for (let round = 0; round < WARMING_ROUNDS; round += 1) {
    await rush();
    await burst(constant, RUSH);
  }
  /** @type {number[][]} */
  const latenciesMs = [];
  /** @type {number[][]} */
  const constantMs = [];
  const rates = await takeTurns(ROUNDS, {
    async ours() {
      const run = await rush();
      latenciesMs.push(run.latenciesMs);
      return run.rate;
    },
    writes: () => rate(WRITE_SECONDS),
    async constant() {
      const run = await burst(constant, RUSH);
      constantMs.push(run.latenciesMs);
      return run.rate;
    },
  });
  const latencyMs = { p50: percentile(latenciesMs.flat(), 0.5), p99: usualP99(latenciesMs) };
  return { name, ...rates, latencyMs, constantP99: usualP99(constantMs) };
}

/**
 * The median of the rushes' own: one slow moment of the machine is not what every rush meets.
 * @param {number[][]} latenciesMs
 */
const usualP99 = (latenciesMs) => median(latenciesMs.map((each) => percentile(each, 0.99)));

/** @type {import('../bench.mjs').Bench} */
export async function benchNewAddress64(context) {
  const measured = await measure(context, 64, []);
  const { name, ours, writes, constant, latencyMs, constantP99 } = measured;
  const ratio = pairedRatio(ours, constant);
  return {
    name,
    unit: '/s',
    ours: median(ours),
    floor: median(constant),
    ratio,
    pairs: ROUNDS,
    beside: [
      {
        name: 'durable writes alone, 64 a commit',
        value: median(writes),
        ratio: pairedRatio(ours, writes),
      },
    ],
    latencyMs,
    targets: [
      { text: `≥ ${LEAST_OF_CONSTANT} of constant JSON`, met: ratio >= LEAST_OF_CONSTANT },
      {
        text: `p99 ≤ ${MOST_P99_MS} ms or ≤ ${MOST_P99_RATIO} × that of constant JSON (${constantP99.toFixed(1)} ms)`,
        met: latencyMs.p99 <= Math.max(MOST_P99_MS, MOST_P99_RATIO * constantP99),
      },
    ],
    notes: [
      `${ROUNDS} rushes of ${RUSH} requests over HTTP, each answered from addresses derived ahead in ` +
        'the quiet between them; floor: constant JSON behind the same key check. p99: the median of the ' +
        'rushes’ own; 64 at once that wait 10 ms each are 6,400 a second. Issuing waits for two syncs ' +
        '(mark, log) at once.',
    ],
  };
}

/** @type {import('../bench.mjs').Bench} */
export async function benchNewAddress1(context) {
  const { name, latencyMs, constantP99: _, ...rates } = await measure(context, 1, ['durable']);
  const ours = rates.ours.map((rate) => 1000 / rate);
  const floor = rates.constant.map((rate) => 1000 / rate);
  const writes = rates.writes.map((rate) => 1000 / rate);
  const ratio = pairedRatio(ours, floor);
  return {
    name,
    unit: 'ms',
    ours: median(ours),
    floor: median(floor),
    ratio,
    pairs: ROUNDS,
    beside: [
      {
        name: 'a durable commit and the mark, in a bare loop',
        value: median(writes),
        ratio: pairedRatio(ours, writes),
      },
    ],
    latencyMs,
    targets: [{ text: `≤ ${MOST_OF_FLOOR} × its three parts`, met: ratio <= MOST_OF_FLOOR }],
    notes: [
      `${ROUNDS} runs of ${RUSH} requests, one after the other; floor: the same kind of server that does one ` +
        'durable commit and one fdatasync of the mark, and answers constant JSON. In a bare loop the disk ' +
        'syncs quicker than between requests.',
    ],
  };
}
