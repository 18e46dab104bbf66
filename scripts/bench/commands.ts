// Row `commands`: processor time of the executable's `health`, with a closed port, and `--version`.
// Peer: `node -e 0` of the same Node.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { freePort } from '../ports.mjs';
import { buildExecutable } from './executable.ts';
import { median, pairedRatio, type Row, takeTurns } from './row.ts';

const ROUNDS = 15;
/** In one measurement, because the kernel counts in steps of 10 ms. */
const RUNS = 10;
const MAX_RATIO = 1.5;
const TICK_MS = 10;

export async function benchCommands(): Promise<Row> {
  const executable = await buildExecutable();
  const closed = `127.0.0.1:${await freePort()}`;
  const contenders = {
    health: () => cpuMs(executable, ['health', '--listen', closed], 1),
    version: () => cpuMs(executable, ['--version'], 0),
    bare: () => cpuMs(process.execPath, ['-e', '0'], 0),
  };
  await takeTurns(1, contenders); // the files are in the page cache
  const { health, version, bare } = await takeTurns(ROUNDS, contenders);
  const ratios = [pairedRatio(health, bare), pairedRatio(version, bare)] as const;
  const ratio = Math.max(...ratios);
  return {
    name: 'commands',
    unit: 'ms',
    figure: median(health),
    peer: { name: 'node -e 0', figure: median(bare) },
    ratio,
    floor: `≤ ${MAX_RATIO}`,
    holds: ratio <= MAX_RATIO,
    details: [`health ${ratios[0].toFixed(2)}, --version ${ratios[1].toFixed(2)}`],
  };
}

/** Processor time of one run, in milliseconds. */
function cpuMs(program: string, args: readonly string[], expectedCode: number): number {
  const before = childTicks();
  for (let run = 0; run < RUNS; run += 1) {
    const { status } = spawnSync(program, args, { stdio: 'ignore' });
    if (status !== expectedCode) throw new Error(`${program} ${args[0]} ended with ${status}`);
  }
  return ((childTicks() - before) * TICK_MS) / RUNS;
}

/** User and system time of the processes that this one waited for (cutime, cstime in proc(5)). */
function childTicks(): number {
  const [, rest = ''] = readFileSync('/proc/self/stat', 'utf8').split(/\) (?=\S )/);
  const fields = rest.split(' ');
  return Number(fields[13]) + Number(fields[14]);
}
