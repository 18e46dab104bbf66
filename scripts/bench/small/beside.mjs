// Rows of what a small machine does beside orders: `small-reconnect` compares 10,000 addresses, as a
// sweep does at a slower pace; `small-backup` copies a file with 100,000 payments and checks the
// copy. The shop makes an order, and again 100 ms after each answer.

import { execFile } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildExecutable } from '../build-executable.mjs';
import { startChain } from '../chain.mjs';
import { issuedFile, orderedFile, sessionCookie } from '../database.mjs';
import { startHelper } from '../helper.mjs';
import { beginLoad } from '../load.mjs';
import { ORDER } from '../orders.mjs';
import { NO_ELECTRUM, untilCaughtUp } from '../server.mjs';
import { median, pairedRatio, takeTurns } from '../stats.mjs';
import { waitsOf } from './issuing.mjs';
import { MAX_WAIT_MS, smallMachine } from './machine.mjs';

const ADDRESSES = 10_000;
const ROUNDS = 3;
const PAUSE_MS = 100;
const PAYMENTS = 100_000;
/** As src/electrum and src/watcher log it. */
const CONNECTED = 'electrum server connected';
const COMPARED = 'every address is compared';
const run = promisify(execFile);

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallReconnect(context) {
  const { serve, group, env } = await smallMachine(context);
  const chain = await startChain();
  const { path, apiKey } = await issuedFile(context, ADDRESSES);
  const server = await serve(path, chain.electrum, { readsLog: true });
  await untilCaughtUp(server);
  const endOrders = beginOrders(server, apiKey);
  const { ours, bare } = await takeTurns(ROUNDS, {
    async ours() {
      const connected = server.logged(CONNECTED).then(() => performance.now());
      const compared = server.logged(COMPARED).then(() => performance.now());
      await chain.tell('disconnect');
      return (await compared) - (await connected);
    },
    async bare() {
      const subscriber = startHelper('bare-subscriber.mjs', [], env);
      group.add(subscriber.pid);
      const { ms } = await subscriber.ask({ port: chain.port, count: ADDRESSES });
      subscriber.end();
      return ms;
    },
  });
  const { latenciesMs: waits } = await endOrders();
  await server.end();
  return {
    name: 'small-reconnect',
    unit: 'ms',
    figure: median(ours),
    peer: { name: 'bare subscriber', figure: median(bare) },
    ratio: pairedRatio(ours, bare),
    floor: 'no order over 1 s',
    holds: Math.max(...waits) <= MAX_WAIT_MS,
    details: [`${waits.length} orders meanwhile: ${waitsOf(waits)}`],
  };
}

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallBackup(context) {
  const { serve, group, env } = await smallMachine(context);
  const { path, apiKey } = await orderedFile(context, 2 * PAYMENTS);
  const server = await serve(path, NO_ELECTRUM);
  const endOrders = beginOrders(server, apiKey);
  const startedAt = performance.now();
  const name = await backUp(server);
  const copiedMs = performance.now() - startedAt;
  const { latenciesMs: besideCopy } = await endOrders();
  const endMore = beginOrders(server, apiKey);
  const copy = join(dirname(path), 'backups', basename(path), name);
  const checkedAt = performance.now();
  // As src/cli/service/check-process.ts starts it.
  const check = [await buildExecutable(context), 'check', '--quick', '--json', copy];
  const [shell, args] = group.within(['nice', '-n', '19', ...check]);
  await run(shell, args, { env: { ...process.env, ...env } });
  const checkedMs = performance.now() - checkedAt;
  const { latenciesMs: besideCheck } = await endMore();
  await server.end();
  const longest = Math.max(...besideCopy, ...besideCheck);
  return {
    name: 'small-backup',
    unit: 'ms',
    figure: longest,
    floor: 'no order over 1 s',
    holds: longest <= MAX_WAIT_MS,
    details: [
      `copied in ${copiedMs.toFixed(0)} ms; ${besideCopy.length} orders: ${waitsOf(besideCopy)}`,
      `checked in ${checkedMs.toFixed(0)} ms; ${besideCheck.length} orders: ${waitsOf(besideCheck)}`,
    ],
  };
}

/**
 * @param {import('../server.mjs').Server} server
 * @param {string} apiKey
 */
const beginOrders = ({ origin }, apiKey) =>
  beginLoad({ ...ORDER, origin, apiKey, connections: 1 }, { pauseMs: PAUSE_MS });

/**
 * Presses "Back up now".
 * @param {import('../server.mjs').Server} server
 * @returns {Promise<string>} the name of the copy
 */
async function backUp(server) {
  const url = `${server.origin}/dashboard/settings/backups`;
  const headers = { cookie: sessionCookie(server), origin: server.origin };
  const page = await (await fetch(url, { headers })).text();
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(page) ?? [];
  const body = new URLSearchParams({ token, do: 'back-up' });
  const { status, headers: answered } = await fetch(url, {
    ...{ method: 'POST', redirect: 'manual', headers, body },
  });
  const [, name] = /file=([^&]+)/.exec(answered.get('location') ?? '') ?? [];
  if (name === undefined) throw new Error(`no backup was made (${status})`);
  return decodeURIComponent(name);
}
