// Row `growth`: the same work with 10,000 and with 1,000,000 paid addresses in the file, by
// `./paygate serve` on a simulated chain. Issued addresses, payments (recorded and delivered),
// blocks that pay nobody and pages are measured in processor time, less what an idle paygate
// uses. The figure is the largest ratio of the two. What grows with the logarithm of the size
// grows 1.5 ×.

import { setTimeout as sleep } from 'node:timers/promises';
import { startChain } from './chain.mjs';
import { paidFile, sessionCookie, setCallbackUrl } from './database.mjs';
import { burst } from './load.mjs';
import { cpuMs, serve, untilCaughtUp } from './server.mjs';
import { startShop } from './shop.mjs';
import { median } from './stats.mjs';

const SIZES = /** @type {const} */ ([10_000, 1_000_000]);
const STARTS = 3;
const ROUNDS = 7;
const PAYMENTS = 200;
const PAGES = 100;
const BLOCKS = 20;
const BLOCK_MS = 100;
/** A start leaves work behind. */
const SETTLE_MS = 10_000;
/** Addresses are derived and subscribed after they were issued. */
const AFTER_MS = 1_000;
const POLL_MS = 5;
const MAX_GROWTH = 2;

/**
 * Milliseconds.
 * @typedef {{ start: number, address: number, payment: number, block: number, page: number }} Costs
 */

/** @type {import('../bench.mjs').Bench} */
export async function benchGrowth(context) {
  let callbacks = 0;
  const callbackUrl = await startShop((query) => {
    if (query.get('status') === '0') callbacks += 1;
  });
  const chain = await startChain();
  /** @type {Costs[]} */
  const costs = [];
  for (const size of SIZES) {
    context.progress(`growth: ${size.toLocaleString('en')} addresses`);
    const file = await paidFile(context, size);
    setCallbackUrl(file.path, callbackUrl);
    costs.push(await measure(context, file, chain, () => callbacks));
  }
  const [small, large] = /** @type {[Costs, Costs]} */ (costs);
  const parts = /** @type {(keyof Costs)[]} */ (Object.keys(small));
  const figure = Math.max(...parts.map((part) => large[part] / small[part]));
  return {
    name: 'growth',
    unit: '×',
    figure,
    floor: `≤ ${MAX_GROWTH} × at 100 × the size`,
    holds: figure <= MAX_GROWTH,
    details: parts.map(
      (part) => `${part} ${small[part].toFixed(2)} → ${large[part].toFixed(2)} ms`,
    ),
  };
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {import('./database.mjs').File} file
 * @param {import('./chain.mjs').Chain} chain
 * @param {() => number} callbacks how many the shop received until now
 * @returns {Promise<Costs>}
 */
async function measure(context, { path, apiKey }, chain, callbacks) {
  const starts = [];
  let server = await serve(context, path, chain.electrum);
  for (let start = 0; start < STARTS; start += 1) {
    await server.end();
    server = await serve(context, path, chain.electrum);
    starts.push(server.answeredMs);
  }
  await untilCaughtUp(server);
  await sleep(SETTLE_MS);
  const target = { origin: server.origin, path: '/api/new_address', apiKey, connections: 8 };
  const idle = await idleCpu(server);
  const block = [];
  while (block.length < BLOCKS) {
    const mine = () => chain.tell('mine').then(() => sleep(BLOCK_MS));
    block.push((await cpuOf(server, idle, mine)).cpu);
  }
  const address = [];
  const payment = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { answers, ...issued } = await cpuOf(server, idle, async () => {
      const run = await burst(target, PAYMENTS, { leadIn: 0 });
      await sleep(AFTER_MS);
      return run;
    });
    address.push(issued.cpu / PAYMENTS);
    const pay = answers.map((each) => JSON.parse(each).address);
    const wanted = callbacks() + PAYMENTS;
    const { cpu } = await cpuOf(server, idle, async () => {
      await chain.tell({ pay });
      while (callbacks() < wanted) await sleep(POLL_MS);
      await sleep(AFTER_MS);
    });
    payment.push(cpu / PAYMENTS);
  }
  const cookie = sessionCookie(server);
  const shown = { origin: server.origin, path: '/dashboard', cookie, connections: 8 };
  const pages = await cpuOf(server, idle, () => burst(shown, PAGES, { leadIn: 0 }));
  await server.end();
  return {
    start: median(starts),
    address: median(address),
    payment: median(payment),
    block: median(block),
    page: pages.cpu / PAGES,
  };
}

/**
 * @param {import('./server.mjs').Server} server
 * @returns {Promise<number>} milliseconds of processor a millisecond
 */
async function idleCpu(server) {
  const shares = [];
  while (shares.length < BLOCKS) {
    const before = cpuMs(server);
    await sleep(BLOCK_MS);
    shares.push((cpuMs(server) - before) / BLOCK_MS);
  }
  return median(shares);
}

/**
 * @template {object | void} Result
 * @param {import('./server.mjs').Server} server
 * @param {number} idle
 * @param {() => Promise<Result>} work
 * @returns {Promise<Result & { cpu: number }>} its result and its processor time, milliseconds
 */
async function cpuOf(server, idle, work) {
  const [startedAt, before] = [performance.now(), cpuMs(server)];
  const result = await work();
  const cpu = cpuMs(server) - before - idle * (performance.now() - startedAt);
  return { ...result, cpu };
}
