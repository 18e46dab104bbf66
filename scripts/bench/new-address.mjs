// Method: durable `GET /api/new_address` against the built `./paygate serve`, a process of its own on the
// real disk, its Electrum server unreachable; the shop is this process, with 1 or 64 keep-alive
// connections, one request at a time on each. They take turns: a rush of 900 requests on addresses that
// were derived ahead (rush.mjs; with the derivation it is `new_address-sustained`), constant JSON behind the
// same key check, and the same durable writes in a bare loop, 1 or 64 addresses a commit (durable-writes.mjs).
// With 64 connections the floor is constant JSON of the same server (constant-paygate.mjs); that of a server which has
// nothing but hono and the key check (constant-server.mjs) stands beside it. With 1 the floor is the latter, which also
// does one durable commit and one fdatasync of the mark for each request: the same three parts in the same rhythm,
// for a disk that rests between two syncs takes longer than one in a loop.

import { fileURLToPath } from 'node:url';
import { serveConstant } from './constant-paygate.mjs';
import { durableWrites } from './durable-writes.mjs';
import { burst } from './load.mjs';
import { addStore, serve, startServer } from './paygate.mjs';
import { createRush, ISSUED_BEFORE, RUSH } from './rush.mjs';
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

/** @typedef {() => Promise<import('./load.mjs').Load>} Rush of RUSH requests */

/**
 * @param {import('../bench.mjs').Context} context
 * @param {number} connections
 */
async function prepare(context, connections) {
  const name = `new_address-${connections}`;
  const shop = await addStore(context, name);
  const target = {
    origin: await serve(context, shop.path, NO_ELECTRUM),
    path: '/api/new_address',
    apiKey: shop.apiKey,
    connections,
  };
  const { rate } = durableWrites((await addStore(context, `${name}-loop`)).path, connections);
  return {
    name,
    ours: (await createRush(shop.path, target)).rush,
    writes: () => rate(WRITE_SECONDS),
    /** Constant JSON of the same server. @returns {Promise<Rush>} */
    async same() {
      const { path, apiKey } = await addStore(context, `${name}-same`);
      return constantRush({
        ...target,
        apiKey,
        origin: await serveConstant(context, path, NO_ELECTRUM),
      });
    },
    /** That of one which has nothing else. @param {string[]} mode @returns {Promise<Rush>} */
    async bare(...mode) {
      const { path, apiKey } = await addStore(context, `${name}-bare`);
      const origin = await startServer(process.execPath, [constantServer, path, ...mode]);
      return constantRush({ ...target, origin, apiKey, path: '/constant' });
    },
  };
}

/**
 * Of a server that has answered as many by then as ours.
 * @param {import('./load.mjs').Target} target
 * @returns {Promise<Rush>}
 */
async function constantRush(target) {
  await burst(target, ISSUED_BEFORE);
  return () => burst(target, RUSH);
}

/**
 * @template {string} Name
 * @param {Record<Name, Rush>} rushes
 * @param {() => number} writes
 */
async function measure(rushes, writes) {
  const names = /** @type {Name[]} */ (Object.keys(rushes));
  for (let round = 0; round < WARMING_ROUNDS; round += 1) {
    for (const name of names) await rushes[name]();
  }
  const latenciesMs = /** @type {Record<Name, number[][]>} */ ({});
  const contenders = /** @type {Record<Name, () => Promise<number>>} */ ({});
  for (const name of names) {
    latenciesMs[name] = [];
    contenders[name] = async () => {
      const run = await rushes[name]();
      latenciesMs[name].push(run.latenciesMs);
      return run.rate;
    };
  }
  return { rates: await takeTurns(ROUNDS, { ...contenders, writes }), latenciesMs };
}

/**
 * The median of the rushes' own: one slow moment of the machine is not what every rush meets.
 * @param {number[][]} latenciesMs
 */
const usualP99 = (latenciesMs) => median(latenciesMs.map((each) => percentile(each, 0.99)));

/** @param {number[][]} latenciesMs */
const latencyOf = (latenciesMs) => ({
  p50: percentile(latenciesMs.flat(), 0.5),
  p99: usualP99(latenciesMs),
});

/** @type {import('../bench.mjs').Bench} */
export async function benchNewAddress64(context) {
  const { name, ours, ...others } = await prepare(context, 64);
  const same = await others.same();
  const bare = await others.bare();
  const { rates, latenciesMs } = await measure({ ours, same, bare }, others.writes);
  const ratio = pairedRatio(rates.ours, rates.same);
  const latencyMs = latencyOf(latenciesMs.ours);
  const constantP99 = usualP99(latenciesMs.same);
  return {
    name,
    unit: '/s',
    ours: median(rates.ours),
    floor: median(rates.same),
    ratio,
    pairs: ROUNDS,
    beside: [
      {
        name: 'constant JSON of hono and the key check alone',
        value: median(rates.bare),
        ratio: pairedRatio(rates.ours, rates.bare),
      },
      {
        name: 'durable writes alone, 64 a commit',
        value: median(rates.writes),
        ratio: pairedRatio(rates.ours, rates.writes),
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
        'the quiet between them; floor: constant JSON of the same server behind the same key check. p99: the median of ' +
        'the rushes’ own; 64 at once that wait 10 ms each are 6,400 a second. Issuing waits for two syncs ' +
        '(mark, log) at once.',
    ],
  };
}

/** @type {import('../bench.mjs').Bench} */
export async function benchNewAddress1(context) {
  const { name, ours, ...others } = await prepare(context, 1);
  const durable = await others.bare('durable');
  const { rates, latenciesMs } = await measure({ ours, durable }, others.writes);
  const milliseconds = (/** @type {number[]} */ each) => each.map((rate) => 1000 / rate);
  const oursMs = milliseconds(rates.ours);
  const floorMs = milliseconds(rates.durable);
  const writesMs = milliseconds(rates.writes);
  const ratio = pairedRatio(oursMs, floorMs);
  return {
    name,
    unit: 'ms',
    ours: median(oursMs),
    floor: median(floorMs),
    ratio,
    pairs: ROUNDS,
    beside: [
      {
        name: 'a durable commit and the mark, in a bare loop',
        value: median(writesMs),
        ratio: pairedRatio(oursMs, writesMs),
      },
    ],
    latencyMs: latencyOf(latenciesMs.ours),
    targets: [{ text: `≤ ${MOST_OF_FLOOR} × its three parts`, met: ratio <= MOST_OF_FLOOR }],
    notes: [
      `${ROUNDS} runs of ${RUSH} requests, one after the other; floor: the same kind of server that does one ` +
        'durable commit and one fdatasync of the mark, and answers constant JSON. In a bare loop the disk ' +
        'syncs quicker than between requests.',
    ],
  };
}
