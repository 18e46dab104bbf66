#!/usr/bin/env node
// `npm run bench`: how fast paygate is. Each row has a figure, a floor and, where one exists, a peer
// that is measured in turns in the same run. Progress goes to standard error, the table to standard
// output. The exit code is 1 when a row failed or does not hold its floor, 2 for a wrong
// argument. See docs/benchmarks.md.

import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { asLine, asText, type Bench, type Row } from './bench/row.ts';

const usage = `usage: npm run bench -- [--small] [--list] [--only ROW]…
  --small      on a small machine: a quarter of a core, 256 MiB, a slow card
  --list       print the names of the rows
  --only ROW   measure this row
`;

/** A module is loaded when its row is measured. */
type Benches = Readonly<Record<string, () => Promise<Bench>>>;

const benches: Benches = {
  'orders-64': async () => (await import('./bench/orders.ts')).benchOrders,
  'full-block': async () => (await import('./bench/full-block.ts')).benchFullBlock,
  'checkpoint-1M': async () => (await import('./bench/checkpoint.ts')).benchCheckpoint,
  'pages-1M': async () => (await import('./bench/pages.ts')).benchPages,
  'order-page-1M': async () => (await import('./bench/pages.ts')).benchOrderPage,
  growth: async () => (await import('./bench/growth.ts')).benchGrowth,
  'first-answer': async () => (await import('./bench/executable.ts')).benchFirstAnswer,
  commands: async () => (await import('./bench/commands.ts')).benchCommands,
  'memory-10k': async () => (await import('./bench/executable.ts')).benchMemory,
};

/** The rows of `--small`; the last one sums up the others. */
const smallBenches: Benches = {
  'small-first-answer': async () => (await import('./bench/small/look.ts')).benchSmallStart,
  'small-orders': async () => (await import('./bench/small/orders.ts')).benchSmallOrders,
  'small-notify': async () => (await import('./bench/small/payment.ts')).benchSmallNotify,
  'small-block': async () => (await import('./bench/small/block.ts')).benchSmallBlock,
  'small-pages': async () => (await import('./bench/small/look.ts')).benchSmallPages,
  'small-reconnect': async () => (await import('./bench/small/beside.ts')).benchSmallReconnect,
  'small-backup': async () => (await import('./bench/small/beside.ts')).benchSmallBackup,
  'small-wear': async () => (await import('./bench/small/payment.ts')).benchSmallWear,
  'small-memory': async () => (await import('./bench/small/look.ts')).benchSmallMemory,
};

function readArguments() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      list: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      small: { type: 'boolean', default: false },
    },
  });
  const from = values.small ? smallBenches : benches;
  const names = Object.keys(from);
  const unknown = values.only.find((name) => !names.includes(name));
  if (unknown) throw new Error(`no row is named ${unknown}; choose from ${names.join(', ')}`);
  return { ...values, from, names: values.only.length === 0 ? names : values.only };
}

/** One bench after the other, because two would disturb each other. One that fails stops no other. */
async function runAll(from: Benches, names: readonly string[]): Promise<Row[]> {
  const { checkout, cleanUp, progress } = await import('./bench/run.ts');
  progress('building paygate…');
  execFileSync(process.execPath, ['build.mjs'], { cwd: checkout, stdio: 'inherit' });
  const rows: Row[] = [];
  for (const name of names) {
    progress(`${name}…`);
    try {
      const row = await (await from[name]?.())?.();
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
  const { help, list, small, from, names } = readArguments();
  if (help || list) {
    process.stdout.write(help ? usage : `${names.join('\n')}\n`);
    return;
  }
  if (small) (await import('./bench/small/group.ts')).requireGroup();
  process.stdout.write(asText(await runAll(from, names)));
}

main().catch((error: NodeJS.ErrnoException) => {
  process.stderr.write(`bench: ${error.message}\n`);
  process.exitCode = error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
});
