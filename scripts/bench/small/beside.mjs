// Rows of what a small machine does beside orders: `small-reconnect` compares 10,000 addresses, as a
// sweep does at a slower pace; `small-backup` copies a file with 100,000 payments and checks the
// copy. The shop makes an order, and again 100 ms after each answer.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildExecutable } from '../build-executable.mjs';
import { startChain } from '../chain.mjs';
import { issuedFile, orderedFile, sessionCookie } from '../database.mjs';
import { startHelper } from '../helper.mjs';
import { beginLoad } from '../load.mjs';
import { ORDER } from '../orders.mjs';
import { NO_ELECTRUM, untilCaughtUp, untilDisconnected } from '../server.mjs';
import { median, pairedRatio, takeTurns } from '../stats.mjs';
import { waitsOf } from './issuing.mjs';
import { MAX_WAIT_MS, smallMachine } from './machine.mjs';

const ADDRESSES = 10_000;
const ROUNDS = 3;
const PAUSE_MS = 100;
const PAYMENTS = 100_000;
const run = promisify(execFile);

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallReconnect(context) {
  const { serve, group, env } = await smallMachine(context);
  const chain = await startChain();
  const { path, apiKey } = await issuedFile(context, ADDRESSES);
  const server = await serve(path, chain.electrum);
  await untilCaughtUp(server);
  const endOrders = beginLoad(
    { ...ORDER, origin: server.origin, apiKey, connections: 1 },
    { pauseMs: PAUSE_MS },
  );
  const { ours, bare } = await takeTurns(ROUNDS, {
    async ours() {
      await chain.tell('disconnect');
      await untilDisconnected(server);
      const startedAt = performance.now();
      await untilCaughtUp(server);
      return performance.now() - startedAt;
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
  const endOrders = beginLoad(
    { ...ORDER, origin: server.origin, apiKey, connections: 1 },
    { pauseMs: PAUSE_MS },
  );
  const startedAt = performance.now();
  const name = await backUp(server);
  const copiedMs = performance.now() - startedAt;
  const { latenciesMs: besideCopy } = await endOrders();
  const endMore = beginLoad(
    { ...ORDER, origin: server.origin, apiKey, connections: 1 },
    { pauseMs: PAUSE_MS },
  );
  // As src/cli/check-process.ts does it.
  const copy = `${path.replace(/[^/]+$/, '')}backups/${path.replace(/^.*\//, '')}/${name}`;
  const checkedAt = performance.now();
  const [shell, args] = group.within([
    await buildExecutable(context),
    ...['check', '--quick', '--json', join(copy)],
  ]);
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
