// Rows `new_address-64`, `new_address-slow-disk` and `orders-64`: `GET /api/new_address` and
// `POST /api/v3/orders` on 64 connections, served by `./paygate serve` on a real disk without an
// Electrum server. A rush is 900 requests, fewer than the addresses that paygate derives ahead in
// quiet times. Peer: paygate's own HTTP and key check with constant JSON (constant-….mjs).

import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { againstAddRequest } from './add-request.mjs';
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
const MIN_ORDER_RATIO = 0.4;
const ADDED_MS = 10;
const MIN_SLOW_RATE = 1_000;

/**
 * @typedef {import('./load.mjs').Load} Load
 *
 * @typedef {object} Route what is asked for, and what answers it in the peer
 * @property {string} path
 * @property {string} [body]
 * @property {string} module of src/api that is replaced in the peer
 * @property {string} replacement
 */

/** @type {Route} */
const NEW_ADDRESS = {
  path: '/api/new_address',
  module: 'new-address.ts',
  replacement: 'constant-address.mjs',
};

/** @type {Route} */
const ORDERS = {
  path: '/api/v3/orders',
  body: '{"amount":"12.50","currency":"EUR","reference":"1007","metadata":{"cart":"7f"}}',
  module: 'order-operations.ts',
  replacement: 'constant-order.mjs',
};

/** @type {import('../bench.mjs').Bench} */
export async function benchNewAddress(context) {
  const shop = await addStore(context, 'new_address');
  const server = await serve(context, shop.path, NO_ELECTRUM);
  const row = { name: 'new_address-64', minRatio: MIN_RATIO };
  return againstConstant(context, row, NEW_ADDRESS, await prepareRush(shop, server, NEW_ADDRESS));
}

/** @type {import('../bench.mjs').Bench} */
export async function benchOrders(context) {
  const shop = await addStore(context, 'orders');
  const flags = ['--price', 'own', '--price-source', await startPriceSource()];
  const server = await serve(context, shop.path, NO_ELECTRUM, { flags });
  const floor = { name: 'orders-64', minRatio: MIN_ORDER_RATIO };
  const issue = await prepareRush(shop, server, ORDERS);
  const row = await againstConstant(context, floor, ORDERS, issue);
  return againstAddRequest(context, row, RUSH);
}

/** @returns {Promise<string>} the value of --price-source */
export async function startPriceSource() {
  const source = createServer((_request, response) => response.end('{"EUR":50000}'));
  source.listen(0, '127.0.0.1');
  await once(source, 'listening');
  atEnd(() => source.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (source.address());
  return `http://127.0.0.1:${port}/#{CODE}`;
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {{ name: string, minRatio: number }} row
 * @param {Route} route
 * @param {() => Promise<Load>} issue
 * @returns {Promise<import('./table.mjs').Row>}
 */
async function againstConstant(context, { name, minRatio }, route, issue) {
  const constant = await prepareConstant(context, route);
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
    name,
    unit: '/s',
    figure: median(rates.ours),
    peer: { name: 'constant JSON', figure: median(rates.constant) },
    ratio,
    floor: `≥ ${minRatio} of constant JSON`,
    holds: ratio >= minRatio,
    details: [latencies(latenciesMs)],
  };
}

/** @type {import('../bench.mjs').Bench} */
export async function benchSlowDisk(context) {
  const shop = await addStore(context, 'new_address-slow');
  const env = slowDisk(context.folder, ADDED_MS);
  const server = await serve(context, shop.path, NO_ELECTRUM, { env });
  const issue = await prepareRush(shop, server, NEW_ADDRESS);
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
 * @param {Route} route
 * @returns {Promise<() => Promise<Load>>} one rush; it fails if an address was issued before
 */
async function prepareRush({ path, apiKey }, { origin }, route) {
  const target = { ...route, origin, apiKey, connections: CONNECTIONS };
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
 * @param {Route} route
 * @returns {Promise<() => Promise<Load>>} one rush
 */
async function prepareConstant(context, route) {
  const replacement = join(import.meta.dirname, route.replacement);
  const program = await bundle(context, 'src/main.ts', 'bench-constant.cjs', [
    {
      name: 'constant answer',
      setup: ({ onResolve }) =>
        onResolve({ filter: new RegExp(`/${route.module.replace('.', '\\.')}$`) }, () => ({
          path: replacement,
        })),
    },
  ]);
  const { path, apiKey } = await addStore(context, `constant-${route.module}`);
  const args = serveArguments(path, NO_ELECTRUM);
  const { origin } = await startServer(process.execPath, (port) => [program, ...args(port)]);
  const target = { ...route, origin, apiKey, connections: CONNECTIONS };
  const { answers } = await burst(target, 2 * LOOK_AHEAD + RUSH);
  if (new Set(answers).size > 1) throw new Error('the peer issues addresses');
  return () => burst(target, RUSH);
}
