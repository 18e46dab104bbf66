// Method: pages of the dashboard with 100,000 payments (one a bench) or 1,000,000 (`pages-1M`) in the file, each
// asked for one after the other by somebody who is signed in, against a built `./paygate serve` whose Electrum
// server is out of reach. The floor is a page that reads nothing but the session.

import { launcher, serveArguments, startProgram } from './program.mjs';
import { paidFile, TOKEN } from './sized.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ROUNDS = 5;
const REQUESTS = 20;
/** Payments in the file, and what the median is held to. */
const MANY = { payments: 100_000, targetMs: 20 };
const VERY_MANY = { payments: 1_000_000, targetMs: 25 };
const BARE = '/dashboard/sign-out';
/** Nobody listens there. */
const NOBODY = 'tcp://127.0.0.1:1';
const pages = [
  '/dashboard',
  '/dashboard/payments',
  '/dashboard/payments?before=1000&store=1',
  '/dashboard/payments?state=unconfirmed',
  '/dashboard/payments?to=2020-01-01',
  '/dashboard/payments/500000',
  '/dashboard/callbacks',
  '/dashboard/callbacks?state=exhausted',
  '/dashboard/callbacks?state=flagged',
  '/dashboard/addresses',
  '/dashboard/addresses?state=unpaid',
  '/dashboard/stores',
];

/** @type {import('../bench.mjs').Bench} */
export async function benchPages(context) {
  const program = await start(context, VERY_MANY.payments);
  const rows = [];
  for (const page of pages) {
    rows.push({ ...(await measure(program, page, VERY_MANY)), name: `${page} (1M)` });
  }
  return rows;
}

/**
 * @param {string} page
 * @returns {import('../bench.mjs').Bench}
 */
export const benchPage = (page) => async (context) =>
  measure(await start(context, MANY.payments), page, MANY);

/**
 * @param {import('../bench.mjs').Context} context
 * @param {number} payments
 */
async function start(context, payments) {
  const { path } = await paidFile(context, payments);
  return startProgram(launcher(context), serveArguments(path, NOBODY));
}

/**
 * @param {import('./program.mjs').Program} program
 * @param {string} page
 * @param {{ payments: number, targetMs: number }} size
 * @returns {Promise<import('./table.mjs').Row>}
 */
async function measure({ port }, page, { payments, targetMs }) {
  /** @type {number[]} */
  const latenciesMs = [];
  const results = await takeTurns(ROUNDS, {
    async ours() {
      const times = await askPage(port, page, REQUESTS);
      latenciesMs.push(...times);
      return median(times);
    },
    floor: async () => median(await askPage(port, BARE, REQUESTS)),
  });
  const ours = median(results.ours);
  return {
    name: page,
    unit: 'ms',
    ours,
    floor: median(results.floor),
    ratio: pairedRatio(results.ours, results.floor),
    pairs: ROUNDS,
    latencyMs: { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) },
    targets: [{ text: `≤ ${targetMs} ms`, met: ours <= targetMs }],
    notes: [`${payments} payments in the file; floor: a page that reads nothing but the session.`],
  };
}

/**
 * @param {number} port
 * @param {string} page
 * @param {number} requests one after the other
 * @returns {Promise<number[]>} milliseconds of each
 */
export async function askPage(port, page, requests) {
  const times = [];
  for (let count = 0; count < requests; count += 1) {
    const began = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}${page}`, {
      headers: { cookie: `paygate-${port}=${TOKEN}` },
      redirect: 'manual',
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${page}: ${response.status}`);
    times.push(performance.now() - began);
  }
  return times;
}
