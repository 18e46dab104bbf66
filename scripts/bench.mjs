#!/usr/bin/env node
// `npm run bench [-- --only NAME] [-- --json] [-- --write]`: how fast paygate is, each number beside its floor,
// which is what the library, the disk or the Electrum server costs alone, measured in the same run. Absolute
// numbers are those of this machine at this moment; the ratios are what can be compared. Progress goes to
// standard error, the table (or JSON) to standard output, and that of a whole run, or of any with --write, to
// docs/benchmarks.md; the exit code is 1 when a bench failed. A target that was missed is told in the table and
// fails nothing.

import { execFile } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { endAll } from './bench/ending.mjs';
import { chooseFolder } from './bench/folder.mjs';
import { writeResults } from './bench/page-of-results.mjs';
import { asJson, asText, inShort } from './bench/table.mjs';

const checkout = fileURLToPath(new URL('..', import.meta.url));
/** The Node that npm installs for the project; earlier ones do not run TypeScript. */
const LEAST_NODE = 24;

/**
 * @typedef {object} Context
 * @property {string} folder for databases, on a real disk; removed in the end
 * @property {string} checkout
 * @property {(message: string) => void} progress
 *
 * @typedef {import('./bench/table.mjs').Row} Row
 * @typedef {(context: Context) => Promise<Row | Row[]>} Bench one row, or one of each size
 */

/**
 * Loaded when it is their turn.
 * @type {Record<string, () => Promise<Bench>>}
 */
const benches = {
  derive: async () => (await import('./bench/derive.mjs')).benchDerive,
  'new_address-1': async () => (await import('./bench/new-address.mjs')).benchNewAddress1,
  'new_address-64': async () => (await import('./bench/new-address.mjs')).benchNewAddress64,
  'new_address-sustained': async () => (await import('./bench/sustained.mjs')).benchSustained,
  'new_address-slow-disk': async () => (await import('./bench/slow-issue.mjs')).benchSlowIssue,
  commits: async () => (await import('./bench/commits.mjs')).benchCommits,
  'payment-fsyncs': async () => (await import('./bench/payment-fsyncs.mjs')).benchPaymentFsyncs,
  'peer-issue': async () => (await import('./bench/peer-issue.mjs')).benchPeerIssue,
  'grouped-writes': async () => (await import('./bench/grouped-writes.mjs')).benchGroupedWrites,
  'grouped-writes-slow-disk': async () =>
    (await import('./bench/grouped-writes.mjs')).benchGroupedWritesSlowDisk,
  'callback-wake': async () => (await import('./bench/callbacks.mjs')).benchCallbackWake,
  callbacks: async () => (await import('./bench/callbacks-healthy.mjs')).benchCallbacks,
  'callbacks-bad-hosts': async () => (await import('./bench/callbacks.mjs')).benchBadHosts,
  'merchant/tx': async () => endpoint('merchant/tx?addr=ADDRESS'),
  tx_detail: async () => endpoint('tx_detail?txid=TXID'),
  'balance-address': async () => endpoint('balance?addr=ADDRESS'),
  'balance-wallet': async () => endpoint('balance?addr=XPUB'),
  searchhistory: async () => endpoint('searchhistory?addr=XPUB'),
  'balance-100': async () => endpoint('balance?addr=ADDRESSES'),
  'balance-scan': async () => (await import('./bench/scan.mjs')).benchScan,
  address: async () => endpoint('address?&no_balance=true&only_xpub=true&get_callback=true'),
  'v2/wallets': async () => endpoint('v2/wallets'),
  'v2/wallets-balance': async () => endpoint('v2/wallets/1?balance=true'),
  'v2/stores': async () => endpoint('v2/stores?wallets=true'),
  'v2/store': async () => endpoint('v2/stores/1'),
  'v2/store-wallets': async () => endpoint('v2/stores/1/wallets'),
  price: async () => endpoint('price?currency=USD'),
  currencies: async () => endpoint('currencies'),
  'page-overview': async () => page('/dashboard'),
  'page-payments': async () => page('/dashboard/payments'),
  'page-payments-deep': async () => page('/dashboard/payments?before=1000&store=1'),
  'page-payments-state': async () => page('/dashboard/payments?state=unconfirmed'),
  'page-payments-days': async () => page('/dashboard/payments?to=2020-01-01'),
  'page-payment': async () => page('/dashboard/payments/50000'),
  'page-callbacks': async () => page('/dashboard/callbacks'),
  'page-callbacks-failed': async () => page('/dashboard/callbacks?state=exhausted'),
  'page-callbacks-doubted': async () => page('/dashboard/callbacks?state=flagged'),
  'page-addresses': async () => page('/dashboard/addresses'),
  'page-addresses-unpaid': async () => page('/dashboard/addresses?state=unpaid'),
  'page-stores': async () => page('/dashboard/stores'),
  receipt: async () => endpoint('tx?txid=TXID&addr=ADDRESS'),
  'openapi.json': async () => endpoint('openapi.json'),
  connect: async () => (await import('./bench/connect.mjs')).benchConnect,
  'full-block': async () => (await import('./bench/full-block.mjs')).benchFullBlock,
  'full-block-slow-disk': async () =>
    (await import('./bench/full-block.mjs')).benchFullBlockSlowDisk,
  'cold-start': async () => (await import('./bench/cold-start.mjs')).benchColdStart,
  'pages-1M': async () => (await import('./bench/pages.mjs')).benchPages,
  growth: async () => (await import('./bench/growth.mjs')).benchGrowth,
  'start-100k': async () => (await import('./bench/start.mjs')).benchStart,
  'listening-100k': async () => listening(100_000),
  'listening-1M': async () => listening(1_000_000),
  'memory-10k': async () => memory(10_000, { anonymous: 70, resident: 128 }),
  'memory-1M': async () => memory(1_000_000, { anonymous: 200 }),
  'new-block-1M': async () => (await import('./bench/new-block.mjs')).benchNewBlock,
  'event-loop-block': async () => (await import('./bench/event-loop.mjs')).benchBlockStall,
  'event-loop-sweep': async () => (await import('./bench/event-loop.mjs')).benchSweepStall,
  'event-loop-files': async () => (await import('./bench/event-loop.mjs')).benchFileStalls,
  notify: async () => (await import('./bench/notify.mjs')).benchNotify,
};

/** @param {string} path */
const endpoint = async (path) => (await import('./bench/endpoint.mjs')).benchEndpoint(path);

/** @param {string} path */
const page = async (path) => (await import('./bench/pages.mjs')).benchPage(path);

/** @param {number} addresses */
const listening = async (addresses) =>
  (await import('./bench/cold-start.mjs')).benchListening(addresses);

/**
 * @param {number} addresses
 * @param {import('./bench/memory.mjs').Limits} limits
 */
const memory = async (addresses, limits) =>
  (await import('./bench/memory.mjs')).benchMemory(addresses, limits);

/** @param {string} message */
const progress = (message) => process.stderr.write(`bench: ${message}\n`);

function readArguments() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const names = Object.keys(benches);
  const unknown = values.only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new Error(`there is no bench "${unknown}", but ${names.join(', ')}`);
  }
  const { json, only } = values;
  const whole = only.length === 0;
  return { json, write: values.write || whole, chosen: whole ? names : only };
}

/**
 * One bench after the other: they would disturb each other. One that fails does not stop the rest.
 * @param {string[]} chosen
 * @param {Context} context
 */
async function runAll(chosen, context) {
  /** @type {Row[]} */
  const rows = [];
  for (const name of chosen) {
    progress(`${name}…`);
    try {
      const bench = await benches[name]?.();
      const measured = bench === undefined ? [] : [await bench(context)].flat();
      for (const row of measured) progress(inShort(row));
      rows.push(...measured);
    } catch (error) {
      progress(`${name} FAILED: ${error instanceof Error ? error.stack : error}`);
      process.exitCode = 1;
    } finally {
      await endAll();
    }
  }
  return rows;
}

async function main() {
  if (Number.parseInt(process.versions.node, 10) < LEAST_NODE) {
    throw new Error(`this is Node ${process.versions.node}; start it as: npm run bench`);
  }
  const { json, write, chosen } = readArguments();
  const { folder, fileSystem } = chooseFolder(checkout);
  progress('building paygate…');
  await promisify(execFile)(process.execPath, ['build.mjs'], { cwd: checkout });
  const rows = await runAll(chosen, { folder, checkout, progress });
  const machine = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    node: process.version,
    folder,
    fileSystem,
  };
  process.stdout.write(json ? asJson(machine, rows) : asText(machine, rows));
  if (write && process.exitCode !== 1) writeResults(checkout, machine, rows);
}

/** An interrupted run leaves no node, no server and no folder behind. */
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => {
    progress(`stopped by ${signal}, tidying up…`);
    process.exitCode = 1;
    endAll().finally(() => process.exit());
  });
}

main().catch((error) => {
  progress(error.message);
  process.exitCode = 1;
});
