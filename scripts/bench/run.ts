// One run of the benches: its folder, its progress, and what must end with each row.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export const checkout = resolve(import.meta.dirname, '../..');

const beside = dirname(checkout);
const isOnDisk = statSync(tmpdir()).dev === statSync(beside).dev;
/** On a real disk, because a commit to memory costs nothing. The temporary folder may be memory. */
export const folder = mkdtempSync(join(isOnDisk ? tmpdir() : beside, 'paygate-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

export const progress = (message: string) => process.stderr.write(`bench: ${message}\n`);

const steps: (() => unknown)[] = [];
let running: Promise<void> | undefined;

/** Runs a step when the row is over, whether it succeeds, fails or is interrupted. */
export const atEnd = (step: () => unknown) => void steps.push(step);

/** Runs the steps, the last one first. A second caller waits for the first one's. */
export function cleanUp(): Promise<void> {
  running ??= runSteps().finally(() => {
    running = undefined;
  });
  return running;
}

async function runSteps() {
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    try {
      await step();
    } catch (error) {
      progress(`clean-up failed: ${error}`);
      process.exitCode = 1;
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    progress(`stopped by ${signal}`);
    cleanUp().finally(() => process.exit(1));
  });
}
