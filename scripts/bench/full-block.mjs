// Method: 4,000 addresses of 100 stores on 100 hosts, issued by the built `./paygate serve` over HTTP; each was
// paid by a transaction of its own that paygate has seen in the mempool and told of. Then one block has all of
// them: the Electrum server (a process of its own, block-server.mjs) tells of the header and of 4,000 changed
// statuses at once. The clock runs from that moment to the commit that holds the last proven payment, and to
// the one that marks the last callback as delivered, as the file shows them to a reader who looks every few
// milliseconds. The shops are a third process. Beside it, in turns, the bare pipeline (bare-block.mjs): the same
// requests, read, and the callbacks by undici on kept connections; nothing is proven, decided or stored.
// `full-block-slow-disk`: the same with 10 ms added to each fsync of paygate.

import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { stores } from '../../src/store/db/schema.ts';
import { openStore } from '../../src/store/open-store.ts';
import { atEnd } from './ending.mjs';
import { accountKey } from './keys.mjs';
import { addStore } from './paygate.mjs';
import { processorMs, startHelper, startPaygate } from './process.mjs';
import { untilCaughtUp } from './program.mjs';
import { slowDisk } from './slow-disk.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const PAYMENTS = 4_000;
const STORES = 100;
const ROUNDS = 5;
const SLOW_FSYNC_MS = 10;
const POLL_MS = 5;
/** Longer than a backlog rests (watcher/backlog.ts): what was told of the mempool was one, and another goes by after it. */
const SETTLE_MS = 1_500;
const ISSUED_AT_ONCE = 64;

/**
 * @typedef {ReturnType<typeof startHelper>} Helper
 *
 * @typedef {object} Scene
 * @property {Helper} chain
 * @property {number} port of the Electrum server
 * @property {{ address: string, scripthash: string }[]} payments
 * @property {string[]} callbackUrls one a store
 *
 * @typedef {{ provenMs: number, deliveredMs: number, processorMs: number }} Outcome
 */

/** @type {import('../bench.mjs').Bench} */
export async function benchFullBlock(context) {
  const scene = await prepare();
  /** @type {Outcome[]} */
  const ours = [];
  /** @type {Outcome[]} */
  const bare = [];
  const { delivered, floor } = await takeTurns(ROUNDS, {
    async delivered() {
      ours.push(await measure(context, scene, `full-block-${ours.length}`, {}));
      context.progress(`full-block: ${show(ours.at(-1))}`);
      return ours.at(-1)?.deliveredMs ?? 0;
    },
    async floor() {
      bare.push(await measureBare(scene));
      context.progress(`full-block, bare: ${show(bare.at(-1))}`);
      return bare.at(-1)?.deliveredMs ?? 0;
    },
  });
  return describe(ours, bare, pairedRatio(delivered, floor));
}

/** @type {import('../bench.mjs').Bench} */
export async function benchFullBlockSlowDisk(context) {
  const scene = await prepare();
  const env = slowDisk(context.folder, SLOW_FSYNC_MS);
  /** @type {Outcome[]} */
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    runs.push(await measure(context, scene, `slow-block-${round}`, env));
    context.progress(`full-block-slow-disk: ${show(runs.at(-1))}`);
  }
  const deliveredMs = median(runs.map((run) => run.deliveredMs));
  return {
    name: 'full-block-slow-disk',
    unit: 'ms',
    ours: deliveredMs,
    pairs: ROUNDS,
    targets: [{ text: '≤ 3,000 ms delivered', met: deliveredMs <= 3_000 }],
    notes: [
      `as full-block, with ${SLOW_FSYNC_MS} ms added to each fsync; proven and durable in ` +
        `${median(runs.map((run) => run.provenMs)).toFixed(0)} ms.`,
    ],
  };
}

/** @param {Outcome | undefined} outcome */
const show = (outcome) =>
  `proven ${outcome?.provenMs.toFixed(0)} ms, delivered ${outcome?.deliveredMs.toFixed(0)} ms, ` +
  `processor ${outcome?.processorMs.toFixed(0)} ms`;

/** @returns {Promise<Scene>} */
export async function prepare() {
  const account = accountKey('regtest');
  const chain = startHelper(new URL('block-server.mjs', import.meta.url), [
    ...[account, String(PAYMENTS)],
  ]);
  const { port, payments } = await chain.next();
  const shops = startHelper(new URL('shops.mjs', import.meta.url), [String(STORES)]);
  const { origins } = await shops.next();
  const callbackUrls = origins.map(
    (/** @type {string} */ origin, /** @type {number} */ index) => `${origin}/shop-${index}/`,
  );
  return { chain, port, payments, callbackUrls };
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {Scene} scene
 * @param {string} name of the file
 * @param {Record<string, string>} env of paygate
 * @param {(origin: string, apiKey: string, callbackUrl: string) => () => Promise<void>} [meanwhile] begins at
 *   the block; what it answers ends it
 * @returns {Promise<Outcome>}
 */
export async function measure(context, { chain, port, callbackUrls }, name, env, meanwhile) {
  await chain.ask({ move: 'empty' });
  const shop = await addStore(context, name, callbackUrls[0]);
  await addStores(shop.path, callbackUrls.slice(1));
  const paygate = await startPaygate(context, shop.path, `tcp://127.0.0.1:${port}`, { env });
  await untilCaughtUp(paygate.origin);
  await issueAll(paygate.origin, shop.apiKey, callbackUrls);
  await until(async () => (await chain.ask({})).subscribed >= PAYMENTS);
  const file = new SqliteDatabase(shop.path, { readonly: true });
  atEnd(() => file.close());
  const count = (/** @type {string} */ state) =>
    file.prepare(`select count(*) from payments where state = '${state}'`).pluck().get();
  const owed = file.prepare("select count(*) from callbacks where state = 'owed'").pluck();
  await chain.ask({ move: 'mempool' });
  await until(() => count('unconfirmed') === PAYMENTS && owed.get() === 0);
  await sleep(SETTLE_MS);

  const before = processorMs(paygate.pid);
  const stop = meanwhile?.(paygate.origin, shop.apiKey, callbackUrls[0] ?? '');
  const { at } = await chain.ask({ move: 'block' });
  await until(() => count('confirming') === PAYMENTS);
  const provenMs = Date.now() - at;
  await until(() => owed.get() === 0);
  const deliveredMs = Date.now() - at;
  const usedMs = processorMs(paygate.pid) - before;
  await stop?.();
  file.close();
  await paygate.end();
  return { provenMs, deliveredMs, processorMs: usedMs };
}

/**
 * @param {string} path
 * @param {string[]} callbackUrls
 */
async function addStores(path, callbackUrls) {
  const { database } = await openStore({
    ...{ path, create: false, network: 'regtest', newInstance: () => '' },
  });
  const [first] = database.orm.select().from(stores).all();
  if (first === undefined) throw new Error('there is no store');
  const { id: _, ...like } = first;
  await database.write(() => {
    for (const callbackUrl of callbackUrls) {
      database.orm
        .insert(stores)
        .values({ ...like, callbackUrl })
        .run();
    }
  });
  await database.close();
}

/**
 * As many addresses of each store.
 * @param {string} origin
 * @param {string} apiKey
 * @param {string[]} callbackUrls
 */
async function issueAll(origin, apiKey, callbackUrls) {
  const headers = { authorization: `Bearer ${apiKey}` };
  let asked = 0;
  async function lane() {
    while (asked < PAYMENTS) {
      const url = callbackUrls[asked % callbackUrls.length] ?? '';
      asked += 1;
      const query = `match_callback=${encodeURIComponent(url)}`;
      const response = await fetch(`${origin}/api/new_address?${query}`, { headers });
      if (response.status !== 200) throw new Error(`new_address: ${await response.text()}`);
      await response.arrayBuffer();
    }
  }
  await Promise.all(Array.from({ length: ISSUED_AT_ONCE }, lane));
}

/** @param {() => boolean | Promise<boolean>} isSo */
async function until(isSo) {
  while (!(await isSo())) await sleep(POLL_MS);
}

/**
 * @param {Scene} scene
 * @returns {Promise<Outcome>}
 */
async function measureBare({ chain, port, payments, callbackUrls }) {
  await chain.ask({ move: 'mempool' });
  const bare = startHelper(new URL('bare-block.mjs', import.meta.url));
  const scripts = payments.map(({ scripthash }, index) => ({
    ...{ scripthash, url: callbackUrls[index % callbackUrls.length] ?? '' },
  }));
  await bare.ask({ port, scripts });
  await sleep(SETTLE_MS);
  const before = processorMs(bare.pid);
  const done = bare.next();
  const { at } = await chain.ask({ move: 'block' });
  const { provenAt, sentAt } = await done;
  const usedMs = processorMs(bare.pid) - before;
  bare.end();
  return { provenMs: provenAt - at, deliveredMs: sentAt - at, processorMs: usedMs };
}

/**
 * @param {Outcome[]} ours
 * @param {Outcome[]} bare
 * @param {number} ratio
 * @returns {import('./table.mjs').Row}
 */
function describe(ours, bare, ratio) {
  const of = (/** @type {Outcome[]} */ runs, /** @type {keyof Outcome} */ what) =>
    median(runs.map((run) => run[what]));
  const provenRatio = pairedRatio(
    ours.map((run) => run.provenMs),
    bare.map((run) => run.provenMs),
  );
  const perPayment = of(ours, 'processorMs') / PAYMENTS;
  const proven = of(ours, 'provenMs');
  const delivered = of(ours, 'deliveredMs');
  return {
    name: 'full-block',
    unit: 'ms',
    ours: delivered,
    floor: of(bare, 'deliveredMs'),
    ratio,
    pairs: ours.length,
    targets: [
      {
        text: `proven ≤ 600 ms or ≤ 1.6 × bare (${proven.toFixed(0)}, ${provenRatio.toFixed(2)} ×)`,
        met: proven <= 600 || provenRatio <= 1.6,
      },
      {
        text: `delivered ≤ 1,200 ms or ≤ 1.6 × bare`,
        met: delivered <= 1_200 || ratio <= 1.6,
      },
      {
        text: `≤ 0.35 ms of processor a payment (${perPayment.toFixed(2)})`,
        met: perPayment <= 0.35,
      },
    ],
    notes: [
      `${PAYMENTS} watched addresses of ${STORES} stores confirm in one block; ours: until all callbacks are ` +
        `delivered and marked; proven and durable after ${proven.toFixed(0)} ms. Floor: the same requests ` +
        `and callbacks without proofs, rules and storage; asked after ${of(bare, 'provenMs').toFixed(0)} ms, ` +
        `${(of(bare, 'processorMs') / PAYMENTS).toFixed(2)} ms of processor a payment.`,
    ],
  };
}
