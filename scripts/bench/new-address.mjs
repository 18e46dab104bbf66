// Method: durable `GET /api/new_address` against the built `./paygate serve`, a process of its own on the
// real disk, its Electrum server unreachable; the shop is this process, with 1 or 64 keep-alive
// connections, one request at a time on each. After a warm-up they take turns: paygate, the floor (the
// same durable writes in a bare loop, 1 or 64 addresses a commit: durable-writes.mjs), the same kind of
// server with constant JSON behind the same key check, and bare derivation. Each run first uses up the
// addresses that were derived ahead, so that every address on the clock also costs a derivation.

import { fileURLToPath } from 'node:url';
import { bareDerivation, derivationRate } from './derive.mjs';
import { durableWrites } from './durable-writes.mjs';
import { load } from './load.mjs';
import { addStore, serve, startServer } from './paygate.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ROUNDS = 7;
const SECONDS = 1.5;
const BESIDE_SECONDS = 0.7;
/** Nothing listens there. */
const NO_ELECTRUM = 'tcp://127.0.0.1:9';
const constantServer = fileURLToPath(new URL('constant-server.mjs', import.meta.url));

/**
 * @param {number} connections
 * @returns {import('../bench.mjs').Bench}
 */
export const benchNewAddress = (connections) => async (context) => {
  const name = `new_address-${connections}`;
  const shop = await addStore(context, name);
  const floor = await addStore(context, `${name}-floor`);
  const ours = {
    origin: await serve(context, shop.path, NO_ELECTRUM),
    path: '/api/new_address',
    apiKey: shop.apiKey,
    connections,
  };
  const constant = {
    origin: await startServer(process.execPath, [constantServer, floor.path]),
    path: '/constant',
    apiKey: floor.apiKey,
    connections,
  };
  const writeRate = durableWrites(floor.path, connections);
  const bareRate = derivationRate(bareDerivation());
  const issued = new Set();
  /** @type {number[]} */
  const latenciesMs = [];

  await load(ours, SECONDS);
  await load(constant, BESIDE_SECONDS);
  bareRate(BESIDE_SECONDS);
  const results = await takeTurns(ROUNDS, {
    async ours() {
      const run = await load(ours, SECONDS);
      latenciesMs.push(...run.latenciesMs);
      noteUnique(issued, run.answers);
      return run.rate;
    },
    floor: () => writeRate(BESIDE_SECONDS),
    constant: async () => (await load(constant, BESIDE_SECONDS)).rate,
    derivation: () => bareRate(BESIDE_SECONDS),
  });
  return describe(name, connections, results, latenciesMs);
};

/**
 * @param {Set<string>} issued
 * @param {{ address: string }[]} answers
 */
function noteUnique(issued, answers) {
  for (const { address } of answers) {
    if (issued.has(address)) throw new Error(`${address} was issued twice`);
    issued.add(address);
  }
}

/**
 * @param {string} name
 * @param {number} connections
 * @param {Record<'ours' | 'floor' | 'constant' | 'derivation', number[]>} results
 * @param {number[]} latenciesMs
 * @returns {import('./table.mjs').Row}
 */
function describe(name, connections, { ours, floor, constant, derivation }, latenciesMs) {
  // What one thread could do that spends no time on anything else.
  const inARow = ours.map(
    (_, round) =>
      1 / [floor, constant, derivation].reduce((time, rates) => time + 1 / (rates[round] ?? 0), 0),
  );
  const others = {
    'constant JSON, same key check': constant,
    'bare derivations': derivation,
    'constant + derivation + floor, in a row': inARow,
  };
  return {
    name,
    unit: '/s',
    ours: median(ours),
    floor: median(floor),
    ratio: pairedRatio(ours, floor),
    pairs: ROUNDS,
    beside: Object.entries(others).map(([name, rates]) => ({
      name,
      value: median(rates),
      ratio: pairedRatio(ours, rates),
    })),
    latencyMs: { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) },
    notes: [
      `${ROUNDS} rounds of ${SECONDS} s over HTTP; floor: the same UPDATEs and mark, ` +
        `${connections} a commit, without HTTP and derivation. The addresses derived ahead cover ` +
        'bursts only: sustained, as here, each address includes its derivation.',
    ],
  };
}
