// What the commands that run until they are told to stop have in common.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { reasonOf } from '../lib/errors.ts';
import type { World } from '../world/world.ts';

/** A wedged shutdown is cut off after this long. */
const stopTimeoutMs = 10_000;

/**
 * Resolves once a signal came and all is stopped. Further ones change nothing: of a Ctrl-C under npm two come at once, one of
 * the terminal and one of npm, and the second would cut off what the first began.
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

/** The file is no longer certain: no more may be written to it, or promised. */
export function endAtOnce(world: World): (error: Error) => never {
  return (error) => {
    world.log.error('the disk lost a write, paygate ends at once', { reason: reasonOf(error) });
    exit(74);
  };
}

/**
 * Ends the process, also while V8 compiles in the background. Node joins V8's threads, and a thread
 * that waits for a garbage collection waits for this one: https://github.com/nodejs/node/issues/54918.
 * A collection lets it go on.
 */
export function exit(code: number): never {
  collectGarbage();
  process.exit(code);
}

/** A full collection, which holds the process. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const gc: () => void = runInNewContext('gc');
  gc();
}
