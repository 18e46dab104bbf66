// V8's heap, told what it can't know: that a start is over, or that the process is.

import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { World } from '../world.ts';

/** How often it is asked whether a start is over. */
const lookEveryMs = 4_000;
/** The event loop has less to do than this share of the time. */
const quiet = 0.05;

type Flavor = 'regular' | 'last-resort';

/** A full collection, which holds the process; a last resort gives back to the system what it freed. */
export function collect(flavor: Flavor): void {
  setFlagsFromString('--expose-gc');
  const gc: (options: { type: 'major'; flavor: Flavor }) => void = runInNewContext('gc');
  gc({ type: 'major', flavor });
}

/**
 * A start grows the heap to more than twice of what is needed afterwards, most of it for objects that are gone at
 * once. Once it is over and nobody asks anything, 60 ms give that back (docs/benchmarks.md).
 */
export function giveBackAfter(world: World, isStarted: () => boolean): void {
  const before = performance.eventLoopUtilization();
  world.after(lookEveryMs, () => {
    const { utilization } = performance.eventLoopUtilization(before);
    if (isStarted() && utilization < quiet) collect('last-resort');
    else giveBackAfter(world, isStarted);
  });
}
