// Row `full-block`: 4,000 addresses of 100 stores on 100 hosts, each paid by a transaction of its
// own that paygate has seen in the mempool. Then one block has all of them: the Electrum server
// (block-server.ts) announces the header and 4,000 statuses at once. The clock runs from there to
// the commit of the last proven payment, and on to that of the last delivery.
// Peer: the same requests and callbacks, without proofs, rules and storage (bare-block.ts).

import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import type { Place } from './bare-block.ts';
import type { Phase } from './block-server.ts';
import { ACCOUNT, addStore, addStores } from './database.ts';
import { startHelper } from './helper.ts';
import { burst, type Load, type Target } from './load.ts';
import { median, pairedRatio, type Row, takeTurns } from './row.ts';
import { atEnd } from './run.ts';
import { cpuMs, type Environment, type Server, serve, untilCaughtUp } from './server.ts';

const PAYMENTS = 4_000;
const STORES = 100;
const ROUNDS = 5;
const POLL_MS = 5;
/** Longer than the work that the mempool leaves behind. */
const SETTLE_MS = 1_500;
const MAX_RATIO = 1.8;

export type Scene = Awaited<ReturnType<typeof prepareBlock>>;

export async function benchFullBlock(): Promise<Row> {
  const scene = await prepareBlock(PAYMENTS, STORES);
  const runs: Awaited<ReturnType<typeof confirmBlock>>[] = [];
  const { ours, bare } = await takeTurns(ROUNDS, {
    async ours() {
      const run = await confirmBlock(scene, `full-block-${runs.length}`, serve);
      runs.push(run);
      return run.provenMs;
    },
    bare: async () => (await confirmBare(scene)).provenMs,
  });
  const ratio = pairedRatio(ours, bare);
  const deliveredMs = median(runs.map((run) => run.deliveredMs));
  const cpuOfEach = median(runs.map((run) => run.usedMs)) / PAYMENTS;
  return {
    name: 'full-block',
    unit: 'ms',
    figure: median(ours),
    peer: { name: 'bare pipeline', figure: median(bare) },
    ratio,
    floor: `≤ ${MAX_RATIO} × the bare pipeline`,
    holds: ratio <= MAX_RATIO,
    details: [
      `all callbacks delivered after ${deliveredMs.toFixed(0)} ms; ` +
        `${cpuOfEach.toFixed(2)} ms of processor a payment`,
    ],
  };
}

export async function prepareBlock(count: number, stores: number) {
  const chain = startHelper('block-server', [ACCOUNT, count]);
  const { port, scripthashes } = await chain.next<{ port: number; scripthashes: string[] }>();
  const shops = startHelper('many-shops', [stores]);
  const { callbackUrls } = await shops.next<{ callbackUrls: string[] }>();
  /** @returns when it began, and how many paid addresses have a subscription */
  const move = (phase?: Phase) => chain.ask<{ at: number; subscribed: number }>({ phase });
  return { move, port, scripthashes, callbackUrls };
}

/**
 * @param name of the file
 * @param start starts paygate
 * @param begin begins requests at the block; returns what ends them
 */
export async function confirmBlock(
  { move, port, scripthashes, callbackUrls }: Scene,
  name: string,
  start: (path: string, electrum: string) => Promise<Server>,
  begin?: (target: Pick<Required<Target>, 'origin' | 'apiKey'>) => () => Promise<Load>,
) {
  const count = scripthashes.length;
  await move('empty');
  const [callbackUrl = '', ...others] = callbackUrls;
  const { path, apiKey } = await addStore(name, { callbackUrl });
  addStores(path, others);
  const server = await start(path, `tcp://127.0.0.1:${port}`);
  await untilCaughtUp(server);
  const target = { origin: server.origin, apiKey };
  await Promise.all(
    callbackUrls.map((url) => {
      const route = `/api/new_address?match_callback=${encodeURIComponent(url)}`;
      return burst({ ...target, path: route }, count / callbackUrls.length);
    }),
  );
  await until(async () => (await move()).subscribed >= count);
  const file = new SqliteDatabase(path, { readonly: true });
  atEnd(() => file.close());
  const payments = file.prepare('SELECT count(*) FROM payments WHERE state = ?').pluck();
  const due = file
    .prepare("SELECT count(*) FROM deliveries WHERE channel = 'callback' AND state = 'owed'")
    .pluck();
  await move('mempool');
  await until(() => payments.get('unconfirmed') === count && due.get() === 0);
  await sleep(SETTLE_MS);

  const before = cpuMs(server);
  const end = begin?.(target);
  const { at } = await move('block');
  await until(() => payments.get('confirming') === count);
  const provenMs = Date.now() - at;
  await until(() => due.get() === 0);
  const deliveredMs = Date.now() - at;
  const usedMs = cpuMs(server) - before;
  const during = await end?.();
  file.close();
  await server.end();
  return { provenMs, deliveredMs, usedMs, during };
}

async function until(isSo: () => boolean | Promise<boolean>) {
  while (!(await isSo())) await sleep(POLL_MS);
}

/**
 * @param place where the peer runs, and the file in which it records payments and callbacks
 * @returns milliseconds until the last branch was read, and until the last callback was answered
 */
export async function confirmBare(
  { move, port, scripthashes, callbackUrls }: Scene,
  { add, env, path }: { add?: (pid: number) => void; env?: Environment; path?: string } = {},
) {
  await move('mempool');
  const bare = startHelper('bare-block', [], env);
  add?.(bare.pid);
  const place: Place = { port, scripthashes, callbackUrls, ...(path && { path }) };
  await bare.ask(place);
  await sleep(SETTLE_MS);
  const done = bare.next<{ provenAt: number; sentAt: number }>();
  const { at } = await move('block');
  const { provenAt, sentAt } = await done;
  bare.end();
  return { provenMs: provenAt - at, sentMs: sentAt - at };
}
