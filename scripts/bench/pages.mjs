// Row `pages-1M`: the slowest page of the dashboard with 1,000,000 payments in the file, asked
// for by one person who is signed in, without an Electrum server.
// Peer: the page that reads nothing but the session.
//
// Row `order-page-1M`: the slower of two customers' pages with 1,000,000 orders in the file.

import { orderedFile, orderIdOf, paidFile, sessionCookie } from './database.mjs';
import { burst } from './load.mjs';
import { NO_ELECTRUM, serve } from './server.mjs';
import { median } from './stats.mjs';

const PAYMENTS = 1_000_000;
const REQUESTS = 50;
const MAX_MS = 25;
const BARE_PAGE = '/dashboard/sign-out';
const PAGES = [
  '/dashboard',
  '/dashboard/payments',
  '/dashboard/payments?before=1000&store=1',
  '/dashboard/payments?state=unconfirmed',
  '/dashboard/payments/500000',
  '/dashboard/callbacks?state=exhausted',
  '/dashboard/addresses?state=unpaid',
];

/** @type {import('../bench.mjs').Bench} */
export async function benchPages(context) {
  const { path } = await paidFile(context, PAYMENTS);
  const server = await serve(context, path, NO_ELECTRUM);
  const bare = await pageMs(server, BARE_PAGE);
  const pages = [];
  for (const page of PAGES) pages.push({ page, ms: await pageMs(server, page) });
  const figure = Math.max(...pages.map(({ ms }) => ms));
  return {
    name: 'pages-1M',
    unit: 'ms',
    figure,
    peer: { name: 'session alone', figure: bare },
    ratio: figure / bare,
    floor: `≤ ${MAX_MS} ms`,
    holds: figure <= MAX_MS,
    details: pages.map(({ page, ms }) => `${page} ${ms.toFixed(1)} ms`),
  };
}

const ORDERS = 1_000_000;
/** A client gets 60 pages of orders a minute. */
const ORDER_REQUESTS = 20;
const MAX_ORDER_MS = 10;
/** One that received too little, and one that received nothing. */
const ORDER_PAGES = [ORDERS / 4, (ORDERS / 4) * 3].map((id) => `/o/${orderIdOf(id)}`);

/** @type {import('../bench.mjs').Bench} */
export async function benchOrderPage(context) {
  const { path } = await orderedFile(context, ORDERS);
  const server = await serve(context, path, NO_ELECTRUM);
  const times = [];
  for (const page of ORDER_PAGES) times.push(await pageMs(server, page, ORDER_REQUESTS));
  const [short = 0, unpaid = 0] = times;
  const figure = Math.max(short, unpaid);
  return {
    name: 'order-page-1M',
    unit: 'ms',
    figure,
    floor: `≤ ${MAX_ORDER_MS} ms`,
    holds: figure <= MAX_ORDER_MS,
    details: [`underpaid ${short.toFixed(1)} ms`, `unpaid ${unpaid.toFixed(1)} ms`],
  };
}

/**
 * @param {import('./server.mjs').Server} server
 * @param {string} path
 * @param {number} [requests]
 * @returns {Promise<number>} the median of some requests, one after the other
 */
async function pageMs(server, path, requests = REQUESTS) {
  const target = { origin: server.origin, path, cookie: sessionCookie(server), connections: 1 };
  return median((await burst(target, requests, { leadIn: 5 })).latenciesMs);
}
