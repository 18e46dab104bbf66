// Row `small-pages`: the slowest of three pages with 100,000 payments: the dashboard's overview, its
// orders, and a customer's order. Peer: constant JSON from the same HTTP server (bare-server.mjs).
// Row `small-memory`: the peaks of all rows before it.

import { orderedFile, orderIdOf, sessionCookie } from '../database.mjs';
import { burst } from '../load.mjs';
import { NO_ELECTRUM } from '../server.mjs';
import { median } from '../stats.mjs';
import { waitsOf } from './issuing.mjs';
import { MAX_WAIT_MS, smallMachine } from './machine.mjs';

const PAYMENTS = 100_000;
/** A client gets 60 pages of orders a minute. */
const REQUESTS = 25;
const PAGES = ['/dashboard', '/dashboard/orders', `/o/${orderIdOf(PAYMENTS / 2)}`];
const MAX_PEAK_MIB = 200;

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallPages(context) {
  const { serve, serveBare } = await smallMachine(context);
  // Every second order is paid.
  const { path } = await orderedFile(context, 2 * PAYMENTS);
  const server = await serve(path, NO_ELECTRUM);
  const bare = await serveBare();
  const constant = await asked(bare, '/healthz', '');
  await bare.end();
  /** @type {Record<string, number[]>} */
  const pages = {};
  for (const page of PAGES) pages[page] = await asked(server, page, sessionCookie(server));
  await server.end();
  const all = Object.values(pages);
  const figure = Math.max(...all.map(median));
  return {
    name: 'small-pages',
    unit: 'ms',
    figure,
    peer: { name: 'constant JSON', figure: median(constant) },
    ratio: figure / median(constant),
    floor: 'none over 1 s',
    holds: Math.max(...all.flat()) <= MAX_WAIT_MS,
    details: Object.entries(pages).map(([page, ms]) => `${page}: ${waitsOf(ms)}`),
  };
}

/**
 * The first request is counted: a merchant's page is rarely a second one.
 * @param {import('../server.mjs').Server} server
 * @param {string} path
 * @param {string} cookie
 */
async function asked({ origin }, path, cookie) {
  const target = { origin, path, cookie, connections: 1 };
  return (await burst(target, REQUESTS, { leadIn: 0 })).latenciesMs;
}

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallMemory(context) {
  const { peaks, group } = await smallMachine(context);
  const kills = group.kills();
  return {
    name: 'small-memory',
    unit: 'MiB',
    figure: peaks.residentMib,
    floor: `< ${MAX_PEAK_MIB} MiB, none killed`,
    holds: peaks.residentMib < MAX_PEAK_MIB && kills === 0,
    details: [
      `resident with files; ${peaks.anonymousMib.toFixed(0)} MiB anonymous in all processes; ` +
        `${kills} killed`,
    ],
  };
}
