// Rows `small-notify` and `small-wear`: payments to orders, one after the other. The first is the
// time from the notification of the Electrum server to the callback with status 0 at the shop. The
// second is what the card takes: bytes written from the first payment to its last callback, a payment.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { addStore } from '../database.ts';
import { startChain, startShop } from '../helper.ts';
import { burst } from '../load.ts';
import { ORDER } from '../orders.ts';
import { median, type Row, waitsOf } from '../row.ts';
import { atEnd } from '../run.ts';
import { type Server, untilCaughtUp } from '../server.ts';
import { MAX_WAIT_MS, smallMachine } from './machine.ts';

const NOTIFIED = 60;
/** Not counted: code that runs for the first time. */
const WARM_UP = 20;
const PAUSE_MS = 150;
const TIMEOUT_MS = 20_000;
const WRITTEN = 200;
const SETTLE_MS = 3_000;
const POLL_MS = 50;
const KIBIBYTE = 1024;
const MAX_RATIO = 4;

/** @returns addresses of new orders of one shop, and what pays them */
async function prepare(name: string, count: number, callbackUrl: string) {
  const { serve } = await smallMachine();
  const chain = await startChain();
  const { path, apiKey } = await addStore(name, { callbackUrl });
  const server = await serve(path, chain.electrum);
  await untilCaughtUp(server);
  const run = await burst({ ...ORDER, origin: server.origin, apiKey, connections: 8 }, count);
  const addresses = run.answers.map((each): string => JSON.parse(each).address);
  await sleep(SETTLE_MS);
  return { chain, path, server, addresses };
}

export async function benchSmallNotify(): Promise<Row> {
  const arrivals = new EventTarget();
  const callbackUrl = await startShop((query) => {
    if (query.get('status') === '0') arrivals.dispatchEvent(new Event(query.get('addr') ?? ''));
  });
  const { chain, server, addresses } = await prepare(
    'small-notify',
    NOTIFIED + WARM_UP,
    callbackUrl,
  );
  const all: number[] = [];
  for (const address of addresses) {
    await sleep(PAUSE_MS);
    const called = once(arrivals, address, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
      () => performance.timeOrigin + performance.now(),
    );
    const at = await chain.tell({ pay: [address] });
    all.push((await called) - at);
  }
  await server.end();
  const ms = all.slice(WARM_UP);
  return {
    name: 'small-notify',
    unit: 'ms',
    figure: median(ms),
    floor: 'none over 1 s',
    holds: Math.max(...ms) <= MAX_WAIT_MS,
    details: [waitsOf(ms)],
  };
}

export async function benchSmallWear(): Promise<Row> {
  const { chain, path, server, addresses } = await prepare(
    'small-wear',
    WRITTEN,
    await startShop(),
  );
  const file = new SqliteDatabase(path, { readonly: true });
  atEnd(() => file.close());
  const count = (what: string) => Number(file.prepare(what).pluck().get());
  /** The content of all rows and of their entries in indexes. */
  const rowBytes = () => count('SELECT sum(payload) FROM dbstat');
  const before = { written: writtenBy(server), rows: rowBytes() };
  for (const address of addresses) {
    await chain.tell({ pay: [address] });
    await sleep(PAUSE_MS);
  }
  await chain.tell({ mine: true });
  await chain.tell({ mine: true });
  const delivered = "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND status = 2";
  while (count(delivered) < WRITTEN) await sleep(POLL_MS);
  await sleep(SETTLE_MS);
  const written = (writtenBy(server) - before.written) / WRITTEN;
  const rows = (rowBytes() - before.rows) / WRITTEN;
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
    details: [],
  };
}

/** Bytes that a process sent to the disk: whole pages of 4 KiB. */
const writtenBy = ({ pid }: Server) =>
  Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
