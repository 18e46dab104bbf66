// Rows of what a small machine does beside orders: `small-reconnect` compares 10,000 addresses, as a
// sweep does at a slower pace; `small-backup` copies a file with 100,000 payments and checks the
// copy. The shop makes an order, and again 100 ms after each answer.

import { execFile } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { issuedFile, orderedFile, sessionCookie } from '../database.ts';
import { buildExecutable } from '../executable.ts';
import { startChain } from '../helper.ts';
import { median, type Row, waitsOf } from '../row.ts';
import { NO_ELECTRUM, type Server, untilCaughtUp } from '../server.ts';
import { beginOrders, MAX_WAIT_MS, smallMachine } from './machine.ts';

const ADDRESSES = 10_000;
const ROUNDS = 3;
const PAYMENTS = 100_000;

export async function benchSmallReconnect(): Promise<Row> {
  const { serve } = await smallMachine();
  const chain = await startChain();
  const { path, apiKey } = await issuedFile(ADDRESSES);
  const server = await serve(path, chain.electrum);
  await untilCaughtUp(server);
  const endOrders = beginOrders({ ...server, apiKey });
  const reconnections: number[] = [];
  while (reconnections.length < ROUNDS) {
    const startedAt = performance.now();
    await chain.tell({ disconnect: true });
    await untilCaughtUp(server, false);
    await untilCaughtUp(server);
    reconnections.push(performance.now() - startedAt);
  }
  const { latenciesMs: waits } = await endOrders();
  await server.end();
  return {
    name: 'small-reconnect',
    unit: 'ms',
    figure: median(reconnections),
    floor: 'no order over 1 s',
    holds: Math.max(...waits) <= MAX_WAIT_MS,
    details: [`${waits.length} orders meanwhile: ${waitsOf(waits)}`],
  };
}

export async function benchSmallBackup(): Promise<Row> {
  const { serve, group, env } = await smallMachine();
  const { path, apiKey } = await orderedFile(2 * PAYMENTS);
  const server = await serve(path, NO_ELECTRUM);
  const waits: number[] = [];
  const details: string[] = [];
  async function besideOrders<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    const endOrders = beginOrders({ ...server, apiKey });
    const startedAt = performance.now();
    const result = await work();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const { latenciesMs } = await endOrders();
    waits.push(...latenciesMs);
    details.push(`${what} in ${seconds} s; ${latenciesMs.length} orders: ${waitsOf(latenciesMs)}`);
    return result;
  }
  const name = await besideOrders('copied', () => backUp(server));
  const copy = join(dirname(path), 'backups', basename(path), name);
  // As src/cli/service/check-process.ts starts it.
  const check = [await buildExecutable(), 'check', '--quick', '--json', copy];
  const [shell, args] = group.within(['nice', '-n', '19', ...check]);
  const environment = { env: { ...process.env, ...env } };
  await besideOrders('checked', () => promisify(execFile)(shell, args, environment));
  await server.end();
  const longest = Math.max(...waits);
  return {
    name: 'small-backup',
    unit: 'ms',
    figure: longest,
    floor: 'no order over 1 s',
    holds: longest <= MAX_WAIT_MS,
    details,
  };
}

/** Presses "Back up now". @returns the name of the copy */
async function backUp(server: Server): Promise<string> {
  const url = `${server.origin}/dashboard/settings/backups`;
  const headers = { cookie: sessionCookie(server), origin: server.origin };
  const page = await (await fetch(url, { headers })).text();
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(page) ?? [];
  const body = new URLSearchParams({ token, do: 'back-up' });
  const answer = await fetch(url, { method: 'POST', redirect: 'manual', headers, body });
  const [, name] = /file=([^&]+)/.exec(answer.headers.get('location') ?? '') ?? [];
  if (name === undefined) throw new Error(`no backup was made (${answer.status})`);
  return decodeURIComponent(name);
}
