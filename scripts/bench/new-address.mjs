// Rows `new_address-64` and `new_address-slow-disk`: `GET /api/new_address` on 64 connections,
// served by `./paygate serve` on a real disk without an Electrum server. A rush is 900 requests,
// fewer than the addresses that paygate derives ahead in quiet times: derivation has a row of its
// own.
// Peer of the first: paygate's own HTTP and key check with constant JSON (constant-address.mjs).

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { bundle } from './bundle.mjs';
import { atEnd } from './cleanup.mjs';
import { addStore } from './database.mjs';
import { burst } from './load.mjs';
import { NO_ELECTRUM, serve, serveArguments, startServer } from './server.mjs';
import { slowDisk } from './slow-disk.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const CONNECTIONS = 64;
const RUSH = 900;
/** Addresses that are derived ahead of a wallet which has issued twice as many. */
const LOOK_AHEAD = 1_000;
const WARM_UP_RUSHES = 3;
const ROUNDS = 9;
const SLOW_ROUNDS = 5;
/** Longer than paygate waits for quiet. */
const QUIET_MS = 400;
const MIN_RATIO = 0.6;
const ADDED_MS = 10;
const MIN_SLOW_RATE = 1_000;

/** @typedef {import('./load.mjs').Load} Load */

/** @type {import('../bench.mjs').Bench} */
export async function benchNewAddress(context) {
  const shop = await addStore(context, 'new_address');
  const issue = await prepareRush(shop, await serve(context, shop.path, NO_ELECTRUM));
  const constant = await prepareConstant(context);
  /** @type {number[]} */
  const latenciesMs = [];
  const contenders = {
    async ours() {
      const run = await issue();
      latenciesMs.push(...run.latenciesMs);
      return run.rate;
    },
    constant: async () => (await constant()).rate,
  };
  await takeTurns(WARM_UP_RUSHES, contenders);
  latenciesMs.length = 0;
  const rates = await takeTurns(ROUNDS, contenders);
  const ratio = pairedRatio(rates.ours, rates.constant);
  return {
    name: 'new_address-64',
    unit: '/s',
    figure: median(rates.ours),
    peer: { name: 'constant JSON', figure: median(rates.constant) },
    ratio,
    floor: `≥ ${MIN_RATIO} of constant JSON`,
    holds: ratio >= MIN_RATIO,
    details: [latencies(latenciesMs)],
  };
}

/** @type {import('../bench.mjs').Bench} */
export async function benchSlowDisk(context) {
  const shop = await addStore(context, 'new_address-slow');
  const env = slowDisk(context.folder, ADDED_MS);
  const issue = await prepareRush(shop, await serve(context, shop.path, NO_ELECTRUM, { env }));
  /** @type {Load[]} */
  const runs = [];
  while (runs.length < SLOW_ROUNDS) runs.push(await issue());
  const figure = median(runs.map(({ rate }) => rate));
  return {
    name: 'new_address-slow-disk',
    unit: '/s',
    figure,
    floor: `≥ ${MIN_SLOW_RATE.toLocaleString('en')}/s, no time-outs`,
    holds: figure >= MIN_SLOW_RATE,
    details: [latencies(runs.flatMap((run) => run.latenciesMs))],
  };
}

/** @param {number[]} ms */
const latencies = (ms) =>
  `p50 ${percentile(ms, 0.5).toFixed(1)} ms, p99 ${percentile(ms, 0.99).toFixed(1)} ms`;

/**
 * @param {import('./database.mjs').File} shop
 * @param {import('./server.mjs').Server} server
 * @returns {Promise<() => Promise<Load>>} one rush; it fails if an address was issued before
 */
async function prepareRush({ path, apiKey }, { origin }) {
  const target = { origin, path: '/api/new_address', apiKey, connections: CONNECTIONS };
  const reader = new SqliteDatabase(path, { readonly: true });
  atEnd(() => reader.close());
  const count = reader.prepare("SELECT count(*) FROM addresses WHERE origin = 'ahead'").pluck();
  const issued = new Set();

  /** Resolves when no more addresses are derived. */
  async function untilQuiet() {
    for (let before = -1; ; ) {
      await sleep(QUIET_MS);
      const ahead = Number(count.get());
      if (ahead === before) return ahead;
      before = ahead;
    }
  }

  await burst(target, 2 * LOOK_AHEAD);
  await untilQuiet();
  await burst(target, RUSH);
  return async () => {
    const ahead = await untilQuiet();
    if (ahead < LOOK_AHEAD) throw new Error(`${ahead} addresses are ahead, not ${LOOK_AHEAD}`);
    const run = await burst(target, RUSH);
    for (const { address } of run.answers.map((each) => JSON.parse(each))) {
      if (issued.has(address)) throw new Error(`${address} was issued twice`);
      issued.add(address);
    }
    return run;
  };
}

/**
 * @param {import('../bench.mjs').Context} context
 * @returns {Promise<() => Promise<Load>>} one rush
 */
async function prepareConstant(context) {
  const replacement = join(import.meta.dirname, 'constant-address.mjs');
  const program = await bundle(context, 'src/main.ts', 'bench-constant.cjs', [
    {
      name: 'constant answer',
      setup: ({ onResolve }) =>
        onResolve({ filter: /\/new-address\.ts$/ }, () => ({ path: replacement })),
    },
  ]);
  const { path, apiKey } = await addStore(context, 'constant');
  const args = serveArguments(path, NO_ELECTRUM);
  const { origin } = await startServer(process.execPath, (port) => [program, ...args(port)]);
  const target = { origin, path: '/api/new_address', apiKey, connections: CONNECTIONS };
  const { answers } = await burst(target, 2 * LOOK_AHEAD + RUSH);
  if (new Set(answers).size > 1) throw new Error('the peer issues addresses');
  return () => burst(target, RUSH);
}
