// A wall clock of paygate that a test moves while paygate runs. It is never ahead of the system's
// clock, which the node has. On a clock that is ahead, a block is older than the payments in it. A
// payment then counts as seen at the time of its block, which can be before the quote ended.

import { renameSync, writeFileSync } from 'node:fs';
import { secondMs } from '../../src/lib/time-units.ts';

export interface Clock {
  /** For each paygate that has this clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** Epoch milliseconds, as paygate reads them. */
  now(): number;
  /** Moves it towards the system's clock. */
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
      if (behindMs < 0) throw new Error("the clock would be ahead of the system's clock");
      write();
    },
  };
}
