#!/usr/bin/env node
// `npm run bench [-- --small] [-- --list] [-- --only ROW]… [-- --json]`: how fast paygate is. Each
// row has a figure, a floor and, where one exists, a peer that is measured in turns in the same run.
// Progress goes to standard error, the table or the JSON to standard output.
// The exit code is 1 when a row failed or does not hold its floor. See docs/benchmarks.md.

import { execFile } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { cleanUp } from './bench/cleanup.mjs';
import { chooseFolder } from './bench/folder.mjs';
import { asJson, asLine, asText } from './bench/table.mjs';

const checkout = fileURLToPath(new URL('..', import.meta.url));
/** The Node that npm installs for the project; earlier ones do not run TypeScript. */
const MIN_NODE = 24;

/**
 * @typedef {object} Context
 * @property {string} folder for databases, on a real disk; it is removed at the end
 * @property {string} checkout
 * @property {(message: string) => void} progress
 *
 * @typedef {import('./bench/table.mjs').Row} Row
 * @typedef {(context: Context) => Promise<Row>} Bench
 */

/**
 * A module is loaded when its row is measured.
 * @type {Record<string, () => Promise<Bench>>}
 */
const benches = {
  'orders-64': async () => (await import('./bench/orders.mjs')).benchOrders,
  'full-block': async () => (await import('./bench/full-block.mjs')).benchFullBlock,
  'checkpoint-1M': async () => (await import('./bench/checkpoint.mjs')).benchCheckpoint,
  'pages-1M': async () => (await import('./bench/pages.mjs')).benchPages,
  'order-page-1M': async () => (await import('./bench/pages.mjs')).benchOrderPage,
  growth: async () => (await import('./bench/growth.mjs')).benchGrowth,
  'first-answer': async () => (await import('./bench/executable.mjs')).benchFirstAnswer,
  commands: async () => (await import('./bench/commands.mjs')).benchCommands,
  'memory-10k': async () => (await import('./bench/executable.mjs')).benchMemory,
};

/** The rows of `--small`; the last one sums up the others. @type {typeof benches} */
const smallBenches = {
  'small-first-answer': async () => (await import('./bench/small/start.mjs')).benchSmallStart,
  'small-new_address': async () => (await import('./bench/small/issuing.mjs')).benchSmallAddress,
  'small-orders': async () => (await import('./bench/small/issuing.mjs')).benchSmallOrders,
  'small-notify': async () => (await import('./bench/small/payment.mjs')).benchSmallNotify,
  'small-block': async () => (await import('./bench/small/block.mjs')).benchSmallBlock,
  'small-pages': async () => (await import('./bench/small/look.mjs')).benchSmallPages,
  'small-reconnect': async () => (await import('./bench/small/beside.mjs')).benchSmallReconnect,
  'small-backup': async () => (await import('./bench/small/beside.mjs')).benchSmallBackup,
  'small-wear': async () => (await import('./bench/small/payment.mjs')).benchSmallWear,
  'small-memory': async () => (await import('./bench/small/look.mjs')).benchSmallMemory,
};

/** @param {string} message */
const progress = (message) => process.stderr.write(`bench: ${message}\n`);

function readArguments() {
  const { values } = parseArgs({
    options: {
      list: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      small: { type: 'boolean', default: false },
    },
  });
  const rows = values.small ? smallBenches : benches;
  const names = Object.keys(rows);
  const unknown = values.only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new Error(`no row is named ${unknown}; choose from ${names.join(', ')}`);
  }
  return { ...values, rows, names: values.only.length === 0 ? names : values.only };
}

/**
 * Runs one bench after the other, because two at once would disturb each other.
 * A bench that fails does not stop the rest.
 * @param {typeof benches} from
 * @param {string[]} names
 * @param {Context} context
 */
async function runAll(from, names, context) {
  /** @type {Row[]} */
  const rows = [];
  for (const name of names) {
    progress(`${name}…`);
    try {
      const bench = await from[name]?.();
      const row = await bench?.(context);
      if (row === undefined) continue;
      progress(asLine(row));
      rows.push(row);
      if (!row.holds) process.exitCode = 1;
    } catch (error) {
      progress(`${name} FAILED: ${error instanceof Error ? error.stack : error}`);
      process.exitCode = 1;
    } finally {
      await cleanUp();
    }
  }
  return rows;
}

async function main() {
  if (Number.parseInt(process.versions.node, 10) < MIN_NODE) {
    throw new Error(`this is Node ${process.versions.node}; start it with: npm run bench`);
  }
  const { list, json, rows: from, names } = readArguments();
  if (list) {
    process.stdout.write(`${names.join('\n')}\n`);
    return;
  }
  if (from === smallBenches) (await import('./bench/small/group.mjs')).requireGroup();
  const { folder, fileSystem } = chooseFolder(checkout);
  progress('building paygate…');
  await promisify(execFile)(process.execPath, ['build.mjs'], { cwd: checkout });
  const rows = await runAll(from, names, { folder, checkout, progress });
  const machine = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    node: process.version,
    fileSystem,
  };
  process.stdout.write(json ? asJson(machine, rows) : asText(machine, rows));
}

/** An interrupted run leaves no process and no folder behind. */
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => {
    progress(`stopped by ${signal}`);
    process.exitCode = 1;
    cleanUp().finally(() => process.exit());
  });
}

main().catch((error) => {
  progress(error.message);
  process.exitCode = 1;
});
