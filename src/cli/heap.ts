// V8's heap, told what it can't know: that a start is over, or that the process is.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { World } from '../world/world.ts';

/** How often it is asked whether a start is over, and then whether all is quiet. */
const lookEveryMs = 3_000;
/** 100,000 addresses that are subscribed at once take 300 MB for a moment. */
const plentyBytes = 1024 ** 3;
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
 * Where memory is short, the heap grows in small steps from now on: a start with 100,000 addresses takes twice as much
 * processor for half as much memory. To be called when all is loaded: Node would compile its own modules anew.
 */
export function startLean(): void {
  if (process.availableMemory() < plentyBytes) setFlagsFromString('--optimize-for-size');
}

/** Once a start is over the heap grows as it needs, for a burst of payments takes half the time then. */
export function growFreelyAfter(world: World, isStarted: () => boolean): void {
  world.after(lookEveryMs, () => {
    if (!isStarted()) return growFreelyAfter(world, isStarted);
    setFlagsFromString('--no-optimize-for-size');
    giveBackWhenQuiet(world);
  });
}

/** As soon as nobody asks anything, 60 ms give back what the start has left (docs/benchmarks.md). */
function giveBackWhenQuiet(world: World): void {
  const before = performance.eventLoopUtilization();
  world.after(lookEveryMs, () => {
    const { utilization } = performance.eventLoopUtilization(before);
    if (utilization < quiet) collect('last-resort');
    else giveBackWhenQuiet(world);
  });
}
