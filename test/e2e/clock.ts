// A wall clock of paygate that a test moves while paygate runs. The system's clock is that of the
// node. On a clock that is ahead of it, a block is older than the payments in it.

import { renameSync, writeFileSync } from 'node:fs';
import { secondMs } from '../../src/lib/time-units.ts';

export interface Clock {
  /** For each paygate that has this clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** Epoch milliseconds, as paygate reads them. */
  now(): number;
  /** Moves it towards the system's clock, and beyond it. */
  advance(seconds: number): void;
}

const preload = new URL('shifted-clock.mjs', import.meta.url).href;

/** @param file belongs to this clock */
export function createClock(file: string, behindSeconds: number): Clock {
  let behindMs = behindSeconds * secondMs;

  function write(): void {
    // A reader finds the old number or the new one.
    writeFileSync(`${file}.new`, `${behindMs}`);
    renameSync(`${file}.new`, file);
  }

  write();
  return {
    environment: { NODE_OPTIONS: `--import=${preload}`, SHIFTED_CLOCK_FILE: file },
    now: () => Date.now() - behindMs,
    advance(seconds) {
      behindMs -= seconds * secondMs;
      write();
    },
  };
}
