// Method: a shop asks for an address, waits for the answer, and asks again 5 ms later, for as long as something heavy is
// under way in the same paygate; what counts is the p99 of its waits. `event-loop-block`: the full block of
// full-block.mjs, until its last callback is marked. `event-loop-sweep`: 100,000 hot addresses are compared, each
// subscribed at a simulated Electrum server in another thread, after a connection that was lost. `event-loop-start`: the same
// at a start, where the first requests wait for code that never ran before. `event-loop-export` and `event-loop-backup`: a file with
// 1,000,000 payments, while the dashboard sends all of them as CSV to a third process, and while `paygate backup` copies it.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { measure, prepare } from './full-block.mjs';
import { startChain } from './new-block.mjs';
import { startHelper } from './process.mjs';
import {
  launcher,
  serveArguments,
  startProgram,
  untilCaughtUp,
  untilElectrum,
} from './program.mjs';
import { issuedFile, paidFile, TOKEN } from './sized.mjs';
import { percentile } from './stats.mjs';

const PAYMENTS = 1_000_000;
const SWEPT = 100_000;
const POLL_MS = 20;
const MOST_P99_MS = 25;
const PAUSE_MS = 5;
const ROUNDS = 3;
/** One takes half a second. */
const SWEEPS = 8;
/** Nobody listens there. */
const NOBODY = 'tcp://127.0.0.1:1';

/** @type {import('../bench.mjs').Bench} */
export async function benchBlockStall(context) {
  const scene = await prepare();
  /** @type {number[]} */
  const waitsMs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await measure(context, scene, `event-loop-${round}`, {}, (origin, apiKey, callbackUrl) => {
      const query = `match_callback=${encodeURIComponent(callbackUrl)}`;
      return beginAsking(`${origin}/api/new_address?${query}`, apiKey, waitsMs);
    });
  }
  return describe('event-loop-block', waitsMs, 'while 4,000 addresses confirm and are told');
}

/** @type {import('../bench.mjs').Bench} */
export async function benchSweepStall(context) {
  const { path, apiKey } = await issuedFile(context, SWEPT);
  const { electrum, disconnect } = await startChain();
  /** @type {number[]} */
  const atStart = [];
  /** @type {number[]} */
  const atReconnect = [];
  for (let round = 0; round < SWEEPS; round += 1) {
    const program = await startProgram(launcher(context), serveArguments(path, electrum));
    const url = `${program.origin}/api/new_address`;
    /** @param {number[]} waitsMs */
    async function sweep(waitsMs) {
      const stop = beginAsking(url, apiKey, waitsMs);
      await untilCaughtUp(program.origin, POLL_MS);
      await stop();
    }
    await sweep(atStart);
    await disconnect();
    await untilElectrum(program.origin, POLL_MS, ({ server }) => server === null);
    await untilElectrum(program.origin, POLL_MS, ({ server }) => server !== null);
    await sweep(atReconnect);
    await program.end();
  }
  return [
    describe('event-loop-sweep', atReconnect, `while ${SWEPT} addresses are compared anew`),
    describe('event-loop-start', atStart, `while ${SWEPT} addresses are compared after a start`),
  ];
}

/** @type {import('../bench.mjs').Bench} */
export async function benchFileStalls(context) {
  const { path, apiKey } = await paidFile(context, PAYMENTS);
  const { port } = await startProgram(launcher(context), serveArguments(path, NOBODY));
  const origin = `http://127.0.0.1:${port}`;

  /** @param {() => Promise<unknown>} work */
  async function during(work) {
    /** @type {number[]} */
    const waitsMs = [];
    const stop = beginAsking(`${origin}/api/new_address`, apiKey, waitsMs);
    await work();
    await stop();
    return waitsMs;
  }

  const exported = await during(() => exportAll(origin));
  const copied = await during(() =>
    promisify(execFile)(launcher(context), [
      ...['backup', '--db', path, join(context.folder, 'copy.db')],
    ]),
  );
  return [
    describe('event-loop-export', exported, `while ${PAYMENTS} payments are exported as CSV`),
    describe('event-loop-backup', copied, `while a file of ${PAYMENTS} payments is backed up`),
  ];
}

/** @param {string} origin */
async function exportAll(origin) {
  const reader = startHelper(new URL('export-reader.mjs', import.meta.url));
  const url = `${origin}/dashboard/payments/export`;
  const cookie = `paygate-${new URL(origin).port}=${TOKEN}`;
  const { status, lines } = await reader.ask({ url, cookie });
  if (status !== 200) throw new Error(`the export answered ${status}`);
  if (lines <= PAYMENTS) throw new Error(`the export had ${lines} lines`);
}

/**
 * @param {string} url
 * @param {string} apiKey
 * @param {number[]} waitsMs where they go
 * @returns {() => Promise<void>} ends it
 */
function beginAsking(url, apiKey, waitsMs) {
  let isOver = false;
  async function ask() {
    while (!isOver) {
      const began = performance.now();
      const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`new_address answered ${response.status}`);
      waitsMs.push(performance.now() - began);
      await sleep(PAUSE_MS);
    }
  }
  const asked = ask();
  asked.catch(() => {}); // whoever ends it hears of it
  return () => {
    isOver = true;
    return asked;
  };
}

/**
 * @param {string} name
 * @param {number[]} waitsMs
 * @param {string} what
 * @returns {import('./table.mjs').Row}
 */
function describe(name, waitsMs, what) {
  const p99 = percentile(waitsMs, 0.99);
  return {
    name,
    unit: 'ms',
    ours: p99,
    pairs: 1,
    latencyMs: { p50: percentile(waitsMs, 0.5), p99 },
    targets: [{ text: `p99 < ${MOST_P99_MS} ms`, met: p99 < MOST_P99_MS }],
    notes: [
      `${waitsMs.length} requests for an address, one after the other, ${what}; the slowest took ` +
        `${Math.max(...waitsMs).toFixed(0)} ms.`,
    ],
  };
}
