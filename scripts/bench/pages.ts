// Row `pages-1M`: the slowest page of the dashboard with 1,000,000 payments in the file, asked
// for by one person who is signed in, without an Electrum server.
// Peer: the page that reads nothing but the session.
//
// Row `order-page-1M`: the slower of two customers' pages with 1,000,000 orders in the file.

import { orderedFile, orderIdOf, paidFile, sessionCookie } from './database.ts';
import { burst } from './load.ts';
import { median, type Row } from './row.ts';
import { NO_ELECTRUM, type Server, serve } from './server.ts';

const ROWS = 1_000_000;
/** A client gets 60 pages of orders a minute. */
const REQUESTS = 20;
const MAX_MS = 25;
const MAX_ORDER_MS = 10;
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
/** One that received too little, and one that received nothing. */
const ORDER_PAGES = [ROWS / 4, (ROWS / 4) * 3].map((id) => `/o/${orderIdOf(id)}`);

export async function benchPages(): Promise<Row> {
  const server = await serve((await paidFile(ROWS)).path, NO_ELECTRUM);
  const [bare = 0] = await pagesMs(server, [BARE_PAGE]);
  const ms = await pagesMs(server, PAGES);
  const figure = Math.max(...ms);
  return {
    name: 'pages-1M',
    unit: 'ms',
    figure,
    peer: { name: 'session alone', figure: bare },
    ratio: figure / bare,
    floor: `≤ ${MAX_MS} ms`,
    holds: figure <= MAX_MS,
    details: PAGES.map((page, at) => `${page} ${ms[at]?.toFixed(1)} ms`),
  };
}

export async function benchOrderPage(): Promise<Row> {
  const server = await serve((await orderedFile(ROWS)).path, NO_ELECTRUM);
  const [short = 0, unpaid = 0] = await pagesMs(server, ORDER_PAGES);
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

/** @returns for each page the median of some requests, one after the other */
async function pagesMs(server: Server, paths: readonly string[]): Promise<number[]> {
  const medians = [];
  for (const path of paths) {
    const target = { origin: server.origin, path, cookie: sessionCookie(server), leadIn: 5 };
    medians.push(median((await burst(target, REQUESTS)).latenciesMs));
  }
  return medians;
}
