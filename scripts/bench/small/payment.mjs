// Rows `small-notify` and `small-wear`: payments to orders, one after the other. The first is the
// time from the notification of the Electrum server to the callback at the shop. The second is
// what the card takes: bytes written from the first payment to its last callback, a payment.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { startChain } from '../chain.mjs';
import { atEnd } from '../cleanup.mjs';
import { burst } from '../load.mjs';
import { ORDER } from '../orders.mjs';
import { untilCaughtUp } from '../server.mjs';
import { startShop } from '../shop.mjs';
import { median } from '../stats.mjs';
import { waitsOf } from './issuing.mjs';
import { MAX_WAIT_MS, newShop, smallMachine } from './machine.mjs';
import { measureNotify } from './notify.mjs';

/** Of bare-server.mjs. */
const COMMITS = 50;
const PAYMENTS = 200;
const CONNECTIONS = 8;
const PAUSE_MS = 150;
const SETTLE_MS = 3_000;
const POLL_MS = 50;
const KIBIBYTE = 1024;
const MAX_RATIO = 4;

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallNotify(context) {
  const { serve } = await smallMachine(context);
  const ms = await measureNotify(context, 'small-notify', serve);
  return {
    name: 'small-notify',
    unit: 'ms',
    figure: median(ms),
    floor: 'none over 1 s',
    holds: Math.max(...ms) <= MAX_WAIT_MS,
    details: [waitsOf(ms)],
  };
}

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallWear(context) {
  const { serve, serveBare } = await smallMachine(context);
  const bare = await bareKib(await serveBare());
  const chain = await startChain();
  const { path, apiKey } = await newShop(context, await startShop(() => {}));
  const server = await serve(path, chain.electrum);
  await untilCaughtUp(server);
  const target = { ...ORDER, origin: server.origin, apiKey, connections: CONNECTIONS };
  const { answers } = await burst(target, PAYMENTS, { leadIn: 0 });
  await sleep(SETTLE_MS);
  const file = new SqliteDatabase(path, { readonly: true });
  atEnd(() => file.close());
  const count = (/** @type {string} */ what) => Number(file.prepare(what).pluck().get());
  const before = { written: writtenBy(server), rows: rowBytes(file) };
  for (const answer of answers) {
    await chain.tell({ pay: [JSON.parse(answer).address] });
    await sleep(PAUSE_MS);
  }
  await chain.tell('mine');
  await chain.tell('mine');
  const delivered = "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND status = 2";
  while (count(delivered) < PAYMENTS) await sleep(POLL_MS);
  await sleep(SETTLE_MS);
  const written = (writtenBy(server) - before.written) / PAYMENTS;
  const rows = (rowBytes(file) - before.rows) / PAYMENTS;
  file.close();
  await server.end();
  return {
    name: 'small-wear',
    unit: 'KiB',
    figure: written / KIBIBYTE,
    peer: { name: 'rows and indexes', figure: rows / KIBIBYTE },
    ratio: written / rows,
    floor: `≤ ${MAX_RATIO} × the rows`,
    holds: written <= MAX_RATIO * rows,
    details: [`a bare commit of one row of 400 bytes: ${bare.toFixed(1)} KiB`],
  };
}

/**
 * @param {import('../server.mjs').Server} server
 * @returns {Promise<number>} what a bare commit writes
 */
async function bareKib(server) {
  const before = writtenBy(server);
  await (await fetch(`${server.origin}/commits`)).text();
  const written = writtenBy(server) - before;
  await server.end();
  return written / COMMITS / KIBIBYTE;
}

/**
 * Bytes that a process sent to the disk: whole pages of 4 KiB.
 * @param {import('../server.mjs').Server} server
 */
function writtenBy({ pid }) {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

/**
 * The content of all rows and of their entries in indexes.
 * @param {SqliteDatabase.Database} file
 */
const rowBytes = (file) => Number(file.prepare('SELECT sum(payload) FROM dbstat').pluck().get());
