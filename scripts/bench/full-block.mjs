// Row `full-block`: 4,000 addresses of 100 stores on 100 hosts, each paid by a transaction of its
// own that paygate has seen in the mempool. Then one block has all of them: the Electrum server
// (block-server.mjs) announces the header and 4,000 statuses at once. The clock runs from there to
// the commit of the last proven payment, and on to that of the last delivery.
// Peer: the same requests and callbacks, without proofs, rules and storage (bare-block.mjs).

import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { accountKey } from './account-key.mjs';
import { atEnd } from './cleanup.mjs';
import { addStore, addStores } from './database.mjs';
import { startHelper } from './helper.mjs';
import { burst } from './load.mjs';
import { cpuMs, serve, untilCaughtUp } from './server.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const PAYMENTS = 4_000;
const STORES = 100;
const ROUNDS = 5;
const POLL_MS = 5;
/** Longer than the work that the mempool leaves behind. */
const SETTLE_MS = 1_500;
const MAX_RATIO = 1.8;

/**
 * @typedef {object} Scene
 * @property {ReturnType<typeof startHelper>} chain
 * @property {number} port of the Electrum server
 * @property {{ address: string, scripthash: string }[]} payments
 * @property {string[]} callbackUrls one a store
 *
 * @typedef {import('./load.mjs').Load} Load
 * @typedef {{ provenMs: number, deliveredMs: number, cpuMs: number }} Outcome
 */

/** @type {import('../bench.mjs').Bench} */
export async function benchFullBlock(context) {
  const scene = await prepareBlock();
  /** @type {Outcome[]} */
  const runs = [];
  const { ours, bare } = await takeTurns(ROUNDS, {
    async ours() {
      const run = await confirmBlock(context, scene, `full-block-${runs.length}`);
      runs.push(run);
      return run.provenMs;
    },
    bare: async () => (await confirmBare(scene)).provenMs,
  });
  const ratio = pairedRatio(ours, bare);
  const deliveredMs = median(runs.map((run) => run.deliveredMs));
  const cpuOfEach = median(runs.map((run) => run.cpuMs)) / PAYMENTS;
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

/** @returns {Promise<Scene>} */
export async function prepareBlock(count = PAYMENTS, stores = STORES) {
  const chain = startHelper('block-server.mjs', [accountKey('regtest'), count]);
  const { port, payments } = await chain.next();
  const { callbackUrls } = await startHelper('many-shops.mjs', [stores]).next();
  return { chain, port, payments, callbackUrls };
}

/**
 * @typedef {object} Beside
 * @property {(target: import('./load.mjs').Target) => () => Promise<Load>} [begin]
 *   begins requests for addresses at the block; returns what ends them
 * @property {(path: string, electrum: string) => Promise<import('./server.mjs').Server>} [start]
 *   starts paygate, by default without limits
 *
 * @param {import('../bench.mjs').Context} context
 * @param {Scene} scene
 * @param {string} name of the file
 * @param {Beside} [beside]
 * @returns {Promise<Outcome & { during: Load | undefined }>}
 */
export async function confirmBlock(context, scene, name, { begin, start } = {}) {
  const { chain, port, callbackUrls } = scene;
  const count = scene.payments.length;
  await chain.ask({ move: 'empty' });
  const [callbackUrl = '', ...others] = callbackUrls;
  const { path, apiKey } = await addStore(context, name, { callbackUrl });
  addStores(path, others);
  const begun = start ?? ((...place) => serve(context, ...place));
  const server = await begun(path, `tcp://127.0.0.1:${port}`);
  await untilCaughtUp(server);
  const targets = callbackUrls.map((url) => ({
    ...{ origin: server.origin, apiKey, connections: 1 },
    path: `/api/new_address?match_callback=${encodeURIComponent(url)}`,
  }));
  const issue = (/** @type {import('./load.mjs').Target} */ target) =>
    burst(target, count / callbackUrls.length, { leadIn: 0 });
  await Promise.all(targets.map(issue));
  await until(async () => (await chain.ask({})).subscribed >= count);
  const file = new SqliteDatabase(path, { readonly: true });
  atEnd(() => file.close());
  const payments = file.prepare('SELECT count(*) FROM payments WHERE state = ?').pluck();
  const due = file
    .prepare("SELECT count(*) FROM deliveries WHERE channel = 'callback' AND state = 'owed'")
    .pluck();
  await chain.ask({ move: 'mempool' });
  await until(() => payments.get('unconfirmed') === count && due.get() === 0);
  await sleep(SETTLE_MS);

  const before = cpuMs(server);
  const end = targets[0] && begin?.(targets[0]);
  const { at } = await chain.ask({ move: 'block' });
  await until(() => payments.get('confirming') === count);
  const provenMs = Date.now() - at;
  await until(() => due.get() === 0);
  const deliveredMs = Date.now() - at;
  const usedMs = cpuMs(server) - before;
  const during = await end?.();
  file.close();
  await server.end();
  return { provenMs, deliveredMs, cpuMs: usedMs, during };
}

/** @param {() => boolean | Promise<boolean>} isSo */
async function until(isSo) {
  while (!(await isSo())) await sleep(POLL_MS);
}

/**
 * @param {Scene} scene
 * @param {{ add?: (pid: number) => void, env?: Record<string, string>, path?: string }} [place]
 *   where the peer runs, and the file in which it records payments and callbacks
 * @returns {Promise<{ provenMs: number, sentMs: number }>} until the last branch was read, and
 *   until the last callback was answered
 */
export async function confirmBare(scene, { add, env, path } = {}) {
  const { chain, port, payments, callbackUrls } = scene;
  await chain.ask({ move: 'mempool' });
  const bare = startHelper('bare-block.mjs', [], env);
  add?.(bare.pid);
  const scripts = payments.map(({ scripthash }, index) => ({
    scripthash,
    url: callbackUrls[index % callbackUrls.length] ?? '',
  }));
  await bare.ask({ port, scripts, path });
  await sleep(SETTLE_MS);
  const done = bare.next();
  const { at } = await chain.ask({ move: 'block' });
  const { provenAt, sentAt } = await done;
  bare.end();
  return { provenMs: provenAt - at, sentMs: sentAt - at };
}
