// Signals and exits of the commands that run until a signal stops them.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { reasonOf } from '../../lib/errors.ts';
import type { StoreEvents } from '../../store/db/store-events.ts';
import type { World } from '../../world/world.ts';

/** A shutdown that takes longer is cut off. */
const stopTimeoutMs = 10_000;
/** The first requests after a start go before the garbage collection. */
const collectAfterMs = 3_000;

/**
 * Resolves after a signal, once all is stopped. Further signals are ignored: Ctrl-C under npm sends
 * two at once, and the second would cut off the shutdown.
 */
export function stopOnSignal(stop: () => Promise<void>, world: World): Promise<void> {
  return new Promise((resolve, reject) => {
    let isStopping = false;
    function onSignal(signal: string): void {
      if (isStopping) return;
      isStopping = true;
      world.log.info('paygate is stopping', { signal });
      world.after(stopTimeoutMs, () => exit(1));
      stop().then(resolve, reject);
    }
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, onSignal);
  });
}

/**
 * A write was lost, so the file's content is uncertain: nothing more may be written or answered.
 */
export function exitOnLostWrite(world: World): (error: Error) => never {
  return (error) => {
    world.log.error('the disk lost a write, paygate ends at once', { reason: reasonOf(error) });
    exit(74);
  };
}

/**
 * Ends the process, also while V8 compiles in the background. Node joins V8's threads, and a thread
 * that waits for a garbage collection waits for this one:
 * https://github.com/nodejs/node/issues/54918. A collection releases it.
 */
export function exit(code: number): never {
  collectGarbage();
  process.exit(code);
}

/**
 * Runs a full garbage collection after every address was first compared. Subscribing 10,000
 * addresses leaves 40 MiB that V8 would not collect for hours, because its heap may still grow.
 */
export function collectAfterStart(world: World, events: StoreEvents): void {
  let isPlanned = false;
  events.on('caughtUp', () => {
    if (!isPlanned) world.after(collectAfterMs, collectGarbage);
    isPlanned = true;
  });
}

/**
 * Runs a full garbage collection, which blocks the process, and returns memory to the system. See
 * docs/decisions/044.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const gc: (options: { type: 'major'; flavor: 'last-resort' }) => void = runInNewContext('gc');
  gc({ type: 'major', flavor: 'last-resort' });
}
