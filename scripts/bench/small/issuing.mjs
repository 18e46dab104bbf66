// Rows `small-new_address` and `small-orders`: one request after the other, then on 8 and on 64
// connections. Peer: a bare commit to the same card, without HTTP.

import { setTimeout as sleep } from 'node:timers/promises';
import { startChain } from '../chain.mjs';
import { burst } from '../load.mjs';
import { ORDER } from '../orders.mjs';
import { untilCaughtUp } from '../server.mjs';
import { pairedRatio, percentile, takeTurns } from '../stats.mjs';
import { show } from '../table.mjs';
import { MAX_WAIT_MS, newShop, smallMachine } from './machine.mjs';

const ROUNDS = 5;
const REQUESTS = 60;
const WARM_UP = 300;
/** Requests by connections. */
const RUSHES = /** @type {const} */ ([
  [8, 240],
  [64, 640],
]);
/** Addresses are derived ahead meanwhile. */
const QUIET_MS = 5_000;
const MAX_RATIO = 1.5;

/** @type {import('../../bench.mjs').Bench} */
export const benchSmallAddress = (context) =>
  issuing(context, 'small-new_address', { path: '/api/new_address' });

/** @type {import('../../bench.mjs').Bench} */
export const benchSmallOrders = (context) => issuing(context, 'small-orders', ORDER);

/**
 * @param {import('../../bench.mjs').Context} context
 * @param {string} name
 * @param {{ path: string, body?: string }} route
 * @returns {Promise<import('../table.mjs').Row>}
 */
async function issuing(context, name, route) {
  const machine = await smallMachine(context);
  const chain = await startChain();
  const { path, apiKey } = await newShop(context);
  const server = await machine.serve(path, chain.electrum);
  await untilCaughtUp(server);
  const bare = await machine.serveBare();
  const target = { ...route, origin: server.origin, apiKey };
  /**
   * @param {number} connections
   * @param {number} requests
   */
  const issue = (connections, requests) => burst({ ...target, connections }, requests, NO_LEAD_IN);
  await issue(8, WARM_UP);
  await sleep(QUIET_MS);

  /** @type {number[]} */
  const alone = [];
  const { ours, commit } = await takeTurns(ROUNDS, {
    async ours() {
      const { rate, latenciesMs } = await issue(1, REQUESTS);
      alone.push(...latenciesMs);
      return 1_000 / rate;
    },
    commit: () => commitMs(bare),
  });
  await bare.end();
  const details = [lineOf(1, 1_000 / meanOf(ours), alone)];
  const waits = [...alone];
  for (const [connections, requests] of RUSHES) {
    await sleep(QUIET_MS);
    const { rate, latenciesMs } = await issue(connections, requests);
    waits.push(...latenciesMs);
    details.push(lineOf(connections, rate, latenciesMs));
  }
  await server.end();
  const ratio = pairedRatio(ours, commit);
  return {
    name,
    unit: 'ms',
    figure: meanOf(ours),
    peer: { name: 'bare commit', figure: meanOf(commit) },
    ratio,
    floor: `≤ ${MAX_RATIO} × a bare commit, none over 1 s`,
    holds: ratio <= MAX_RATIO && Math.max(...waits) <= MAX_WAIT_MS,
    details,
  };
}

const NO_LEAD_IN = { leadIn: 0 };

/**
 * @param {import('../server.mjs').Server} bare
 * @returns {Promise<number>}
 */
async function commitMs({ origin }) {
  const { ms } = /** @type {any} */ (await (await fetch(`${origin}/commits`)).json());
  return ms;
}

/** @param {readonly number[]} values */
const meanOf = (values) => values.reduce((sum, each) => sum + each, 0) / values.length;

/**
 * @param {number} connections
 * @param {number} rate
 * @param {readonly number[]} ms
 */
const lineOf = (connections, rate, ms) =>
  `${connections} connections: ${show(rate, '/s')}, ${waitsOf(ms)}`;

/** @param {readonly number[]} ms */
export const waitsOf = (ms) =>
  `p50 ${percentile(ms, 0.5).toFixed(0)} ms, p99 ${percentile(ms, 0.99).toFixed(0)} ms, ` +
  `longest ${Math.max(...ms).toFixed(0)} ms`;
