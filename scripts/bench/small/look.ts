// Row `small-first-answer`: a start with 10,000 addresses until the first HTTP answer. Peer: the same
// Node with hono and the SQLite driver.
// Row `small-pages`: the slowest of three pages with 100,000 payments: the dashboard's overview, its
// orders, and a customer's order.
// Row `small-memory`: the peak of all rows before it.

import { orderedFile, orderIdOf, sessionCookie } from '../database.ts';
import { firstAnswers } from '../executable.ts';
import { burst } from '../load.ts';
import { median, type Row, waitsOf } from '../row.ts';
import { NO_ELECTRUM } from '../server.ts';
import { MAX_WAIT_MS, smallMachine } from './machine.ts';

const STARTS = 5;
const MAX_ANSWER_MS = 3_000;
const PAYMENTS = 100_000;
/** A client gets 60 pages of orders a minute. */
const REQUESTS = 25;
const PAGES = ['/dashboard', '/dashboard/orders', `/o/${orderIdOf(PAYMENTS / 2)}`];
const MAX_PEAK_MIB = 200;

export async function benchSmallStart(): Promise<Row> {
  const { serve, serveBare } = await smallMachine();
  const about = { name: 'small-first-answer', floor: 'none over 3 s' };
  const serveFile = (path: string) => serve(path, NO_ELECTRUM);
  const holds = (_ratio: number, longest: number) => longest <= MAX_ANSWER_MS;
  return firstAnswers(about, STARTS, serveFile, serveBare, holds);
}

export async function benchSmallPages(): Promise<Row> {
  const { serve } = await smallMachine();
  // Every second order is paid.
  const { path } = await orderedFile(2 * PAYMENTS);
  const server = await serve(path, NO_ELECTRUM);
  const { origin } = server;
  const cookie = sessionCookie(server);
  const all: (readonly number[])[] = [];
  // The first request is counted: a merchant's page is rarely a second one.
  for (const page of PAGES)
    all.push((await burst({ origin, path: page, cookie }, REQUESTS)).latenciesMs);
  await server.end();
  return {
    name: 'small-pages',
    unit: 'ms',
    figure: Math.max(...all.map(median)),
    floor: 'none over 1 s',
    holds: Math.max(...all.flat()) <= MAX_WAIT_MS,
    details: all.map((ms, at) => `${PAGES[at]}: ${waitsOf(ms)}`),
  };
}

export async function benchSmallMemory(): Promise<Row> {
  const { peakMib, group } = await smallMachine();
  const kills = group.kills();
  return {
    name: 'small-memory',
    unit: 'MiB',
    figure: peakMib(),
    floor: `< ${MAX_PEAK_MIB} MiB, none killed`,
    holds: peakMib() < MAX_PEAK_MIB && kills === 0,
    details: [`${kills} killed`],
  };
}
