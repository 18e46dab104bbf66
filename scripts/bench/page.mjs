// Method: one page of the dashboard, asked for 100 times one after the other by somebody who is signed in, with
// 100,000 payments and as many callbacks in the file, of which every hundredth was given up. The Electrum
// server is out of reach, so that nothing else is at work. The floor is a page that reads nothing but the session.

import { join } from 'node:path';
import { accountKey } from './keys.mjs';
import { openOwed } from './owed.mjs';
import { serve } from './paygate.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const PAYMENTS = 100_000;
const AT_ONCE = 1_000;
const ROUNDS = 5;
const REQUESTS = 20;
const TARGET_MS = 20;
const BARE = '/dashboard/sign-out';
const DAY_MS = 86_400_000;
const TOKEN = 'bench';

/**
 * Of one run: each page is measured on the same file.
 * @type {Promise<string> | undefined}
 */
let shared;

/**
 * @param {string} path
 * @returns {import('../bench.mjs').Bench}
 */
export const benchPage = (path) => async (context) => {
  shared ??= fill(context);
  // Nobody listens there.
  const origin = await serve(context, await shared, 'tcp://127.0.0.1:1');
  const cookie = `paygate-${new URL(origin).port}=${TOKEN}`;
  /** @type {number[]} */
  const latenciesMs = [];
  const results = await takeTurns(ROUNDS, {
    async ours() {
      const times = await ask(origin + path, cookie);
      latenciesMs.push(...times);
      return median(times);
    },
    floor: async () => median(await ask(origin + BARE, cookie)),
  });
  const ours = median(results.ours);
  return {
    name: path,
    unit: 'ms',
    ours,
    floor: median(results.floor),
    ratio: pairedRatio(results.ours, results.floor),
    pairs: ROUNDS,
    latencyMs: { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) },
    targets: [{ text: `≤ ${TARGET_MS} ms`, met: ours <= TARGET_MS }],
    notes: [`${PAYMENTS} payments in the file; floor: a page that reads nothing but the session.`],
  };
};

/**
 * @param {import('../bench.mjs').Context} context
 * @returns {Promise<string>} the database
 */
async function fill({ folder, progress }) {
  const path = join(folder, 'pages.db');
  progress(`writing ${PAYMENTS} payments`);
  const store = await openOwed(path, ['http://127.0.0.1:9/a', 'http://127.0.0.1:9/b']);
  const { database, admin } = store;
  for (let written = 0; written < PAYMENTS; written += AT_ONCE) {
    await database.write((tx) => {
      for (let count = 0; count < AT_ONCE; count += 1) store.owe(tx, 1 + (count % 2));
    });
  }
  const now = Date.now();
  await database.write((tx) => {
    database.orm.run(`update wallets set account = '${accountKey('regtest')}',
      next_index = ${PAYMENTS + 1}, scanned_at = ${now}`);
    database.orm.run(`update payments set state = 'settled', height = 1,
      first_seen_at = ${now} - (${PAYMENTS} - id) * ${Math.floor((60 * DAY_MS) / PAYMENTS)}`);
    database.orm.run(`update callbacks set
      state = iif(id % 100 = 0, 'exhausted', 'delivered'), settled_at = ${now}`);
    admin.setPassword(tx, now, 'none');
    admin.begin(tx, now, { token: TOKEN, client: '127.0.0.1', agent: 'bench' });
  });
  await database.close();
  return path;
}

/**
 * @param {string} url
 * @param {string} cookie
 * @returns {Promise<number[]>} milliseconds of each request
 */
async function ask(url, cookie) {
  const times = [];
  for (let count = 0; count < REQUESTS; count += 1) {
    const began = performance.now();
    const response = await fetch(url, { headers: { cookie }, redirect: 'manual' });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
    times.push(performance.now() - began);
  }
  return times;
}
