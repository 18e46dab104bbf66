// Row `small-orders`: one request after the other, then on 8 and on 64 connections.
// Peer: a bare commit to the same card, without HTTP.

import { setTimeout as sleep } from 'node:timers/promises';
import { addStore } from '../database.ts';
import { startChain } from '../helper.ts';
import { burst } from '../load.ts';
import { ORDER } from '../orders.ts';
import { pairedRatio, type Row, show, takeTurns, waitsOf } from '../row.ts';
import { untilCaughtUp } from '../server.ts';
import { MAX_WAIT_MS, smallMachine } from './machine.ts';

const ROUNDS = 5;
const REQUESTS = 60;
const WARM_UP = 300;
/** Requests by connections. */
const RUSHES = [
  [8, 240],
  [64, 640],
] as const;
/** Addresses are derived ahead meanwhile. */
const QUIET_MS = 5_000;
const MAX_RATIO = 1.5;

export async function benchSmallOrders(): Promise<Row> {
  const machine = await smallMachine();
  const chain = await startChain();
  const { path, apiKey } = await addStore('small-orders');
  const server = await machine.serve(path, chain.electrum);
  await untilCaughtUp(server);
  const bare = await machine.serveBare();
  const issue = (connections: number, requests: number) =>
    burst({ ...ORDER, origin: server.origin, apiKey, connections }, requests);
  await issue(8, WARM_UP);
  await sleep(QUIET_MS);

  const alone: number[] = [];
  const { ours, commit } = await takeTurns(ROUNDS, {
    async ours() {
      const { rate, latenciesMs } = await issue(1, REQUESTS);
      alone.push(...latenciesMs);
      return 1_000 / rate;
    },
    async commit() {
      const answer = (await fetch(`${bare.origin}/commits`)).json();
      return ((await answer) as { ms: number }).ms;
    },
  });
  await bare.end();
  const lineOf = (connections: number, rate: number, ms: readonly number[]) =>
    `${connections} connections: ${show(rate, '/s')}, ${waitsOf(ms)}`;
  const details = [lineOf(1, 1_000 / meanOf(ours), alone)];
  const waits = [...alone];
  for (const [connections, requests] of RUSHES) {
    await sleep(QUIET_MS);
    const { rate, latenciesMs } = await issue(connections, requests);
    waits.push(...latenciesMs);
    details.push(lineOf(connections, rate, latenciesMs));
  }
  await server.end();
  const ratio = pairedRatio(ours, commit);
  return {
    name: 'small-orders',
    unit: 'ms',
    figure: meanOf(ours),
    peer: { name: 'bare commit', figure: meanOf(commit) },
    ratio,
    floor: `≤ ${MAX_RATIO} × a bare commit, none over 1 s`,
    holds: ratio <= MAX_RATIO && Math.max(...waits) <= MAX_WAIT_MS,
    details,
  };
}

const meanOf = (values: readonly number[]) =>
  values.reduce((sum, each) => sum + each, 0) / values.length;
