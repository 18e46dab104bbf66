// Row `orders-64`: `POST /api/v3/orders` in EUR on 64 connections, served by `./paygate serve` on a
// real disk without an Electrum server. A rush is 900 requests, fewer than the addresses that paygate
// derives ahead in quiet times. Peer: paygate's own HTTP and key check with constant JSON
// (constant-order.ts).

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { addStore, type File } from './database.ts';
import { bundle } from './executable.ts';
import { startPriceSource } from './helper.ts';
import { burst, type Load } from './load.ts';
import { median, pairedRatio, type Row, takeTurns, waitsOf } from './row.ts';
import { atEnd } from './run.ts';
import { NO_ELECTRUM, type Server, serve, serveArguments, startServer } from './server.ts';

/** Before a rush the connections are made and the first code is compiled. */
const CONNECTIONS = { connections: 64, leadIn: 64 };
const RUSH = 900;
/** Addresses that are derived ahead of a wallet which has issued twice as many. */
const LOOK_AHEAD = 1_000;
const WARM_UP_RUSHES = 3;
const ROUNDS = 9;
/** Longer than paygate waits for quiet. */
const QUIET_MS = 400;
const MIN_RATIO = 0.4;

/** What a shop asks for. */
export const ORDER = {
  path: '/api/v3/orders',
  body: '{"amount":"12.50","currency":"EUR","reference":"1007","metadata":{"cart":"7f"}}',
};

export async function benchOrders(): Promise<Row> {
  const shop = await addStore('orders');
  const server = await serve(shop.path, NO_ELECTRUM, await startPriceSource());
  const issue = await prepareRush(shop, server);
  const constant = await prepareConstant();
  const latenciesMs: number[] = [];
  const contenders = {
    async ours() {
      const run = await issue();
      latenciesMs.push(...run.latenciesMs);
      return run.rate;
    },
    constant: async () => (await constant()).rate,
  };
  await takeTurns(WARM_UP_RUSHES, contenders);
  latenciesMs.length = 0;
  const rates = await takeTurns(ROUNDS, contenders);
  const ratio = pairedRatio(rates.ours, rates.constant);
  return {
    name: 'orders-64',
    unit: '/s',
    figure: median(rates.ours),
    peer: { name: 'constant JSON', figure: median(rates.constant) },
    ratio,
    floor: `≥ ${MIN_RATIO} of constant JSON`,
    holds: ratio >= MIN_RATIO,
    details: [waitsOf(latenciesMs)],
  };
}

/** @returns one rush; it fails if an address was issued before */
async function prepareRush(
  { path, apiKey }: File,
  { origin }: Server,
): Promise<() => Promise<Load>> {
  const target = { ...ORDER, ...CONNECTIONS, origin, apiKey };
  const reader = new SqliteDatabase(path, { readonly: true });
  atEnd(() => reader.close());
  const count = reader.prepare("SELECT count(*) FROM addresses WHERE origin = 'ahead'").pluck();
  const issued = new Set();

  /** Resolves when all of the look-ahead is derived, and the file is quiet. */
  async function untilAhead() {
    for (let [ahead, before] = [0, -1]; ahead < LOOK_AHEAD || ahead !== before; ) {
      await sleep(QUIET_MS);
      [ahead, before] = [Number(count.get()), ahead];
    }
  }

  await burst(target, 2 * LOOK_AHEAD);
  await untilAhead();
  await burst(target, RUSH);
  return async () => {
    await untilAhead();
    const run = await burst(target, RUSH);
    for (const { address } of run.answers.map((each) => JSON.parse(each))) {
      if (issued.has(address)) throw new Error(`${address} was issued twice`);
      issued.add(address);
    }
    return run;
  };
}

/** @returns one rush */
async function prepareConstant(): Promise<() => Promise<Load>> {
  const path = join(import.meta.dirname, 'constant-order.ts');
  const program = await bundle('src/main.ts', 'bench-constant.cjs', [
    {
      name: 'constant answer',
      setup: ({ onResolve }) =>
        onResolve({ filter: /\/order-operations\.ts$/ }, ({ importer }) =>
          importer.endsWith('/api/api.ts') ? { path } : null,
        ),
    },
  ]);
  const shop = await addStore('constant');
  const args = serveArguments(shop.path, NO_ELECTRUM);
  const { origin } = await startServer(process.execPath, (port) => [program, ...args(port)]);
  const target = { ...ORDER, ...CONNECTIONS, origin, apiKey: shop.apiKey };
  const { answers } = await burst(target, 2 * LOOK_AHEAD + RUSH);
  if (new Set(answers).size > 1) throw new Error('the peer issues addresses');
  return () => burst(target, RUSH);
}
