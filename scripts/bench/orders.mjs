// Row `orders-64`: `POST /api/v3/orders` in EUR on 64 connections, served by `./paygate serve` on a
// real disk without an Electrum server. A rush is 900 requests, fewer than the addresses that paygate
// derives ahead in quiet times. Peer: paygate's own HTTP and key check with constant JSON
// (constant-order.mjs).

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
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const CONNECTIONS = 64;
const RUSH = 900;
/** Addresses that are derived ahead of a wallet which has issued twice as many. */
const LOOK_AHEAD = 1_000;
const WARM_UP_RUSHES = 3;
const ROUNDS = 9;
/** Longer than paygate waits for quiet. */
const QUIET_MS = 400;
const TIMEOUT_MS = 60_000;
const MIN_RATIO = 0.4;

/** What a shop asks for. */
export const ORDER = {
  path: '/api/v3/orders',
  body: '{"amount":"12.50","currency":"EUR","reference":"1007","metadata":{"cart":"7f"}}',
};

/** @type {import('../bench.mjs').Bench} */
export async function benchOrders(context) {
  const shop = await addStore(context, 'orders');
  const flags = ['--price', 'own', '--price-source', await startPriceSource()];
  const server = await serve(context, shop.path, NO_ELECTRUM, { flags });
  const issue = await prepareRush(shop, server);
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
  const row = /** @type {import('./table.mjs').Row} */ ({
    name: 'orders-64',
    unit: '/s',
    figure: median(rates.ours),
    peer: { name: 'constant JSON', figure: median(rates.constant) },
    ratio,
    floor: `≥ ${MIN_RATIO} of constant JSON`,
    holds: ratio >= MIN_RATIO,
    details: [latencies(latenciesMs)],
  });
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

/** @param {number[]} ms */
const latencies = (ms) =>
  `p50 ${percentile(ms, 0.5).toFixed(1)} ms, p99 ${percentile(ms, 0.99).toFixed(1)} ms`;

/**
 * @param {import('./database.mjs').File} shop
 * @param {import('./server.mjs').Server} server
 * @returns {Promise<() => Promise<import('./load.mjs').Load>>} one rush; it fails if an address was issued before
 */
async function prepareRush({ path, apiKey }, { origin }) {
  const target = { ...ORDER, origin, apiKey, connections: CONNECTIONS };
  const reader = new SqliteDatabase(path, { readonly: true });
  atEnd(() => reader.close());
  const count = reader.prepare("SELECT count(*) FROM addresses WHERE origin = 'ahead'").pluck();
  const issued = new Set();

  /** Resolves when all of the look-ahead is derived, and the file is quiet. */
  async function untilAhead() {
    const deadline = performance.now() + TIMEOUT_MS;
    for (let before = -1; ; ) {
      await sleep(QUIET_MS);
      const ahead = Number(count.get());
      if (ahead >= LOOK_AHEAD && ahead === before) return;
      if (performance.now() > deadline) throw new Error(`${ahead} addresses are ahead`);
      before = ahead;
    }
  }

  await burst(target, 2 * LOOK_AHEAD);
  await untilAhead();
  await burst(target, RUSH);
  return async () => {
    await untilAhead();
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
 * @returns {Promise<() => Promise<import('./load.mjs').Load>>} one rush
 */
async function prepareConstant(context) {
  const replacement = join(import.meta.dirname, 'constant-order.mjs');
  const program = await bundle(context, 'src/main.ts', 'bench-constant.cjs', [
    {
      name: 'constant answer',
      setup: ({ onResolve }) =>
        onResolve({ filter: /\/order-operations\.ts$/ }, () => ({ path: replacement })),
    },
  ]);
  const { path, apiKey } = await addStore(context, 'constant');
  const args = serveArguments(path, NO_ELECTRUM);
  const { origin } = await startServer(process.execPath, (port) => [program, ...args(port)]);
  const target = { ...ORDER, origin, apiKey, connections: CONNECTIONS };
  const { answers } = await burst(target, 2 * LOOK_AHEAD + RUSH);
  if (new Set(answers).size > 1) throw new Error('the peer issues addresses');
  return () => burst(target, RUSH);
}
