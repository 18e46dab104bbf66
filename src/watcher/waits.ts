// How long something that failed is left alone before it is tried again, and how long others wait for a server.

import { minuteMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';

/** What has not come right by then seldom does soon, and a public server bills each refusal. */
const eagerTries = 10;
/**
 * So long a server is asked for what one history names before the other one is heard; then twice as long each
 * time, up to 16 minutes, so that a long history at a slow server comes to its end.
 */
const firstTimeoutMs = 120_000;
const mostDoublings = 3;

/**
 * Each minute at first, then every ten minutes.
 * @param failures in a row
 */
export const tryAgainMs = (failures: number): number =>
  failures < eagerTries ? minuteMs : 10 * minuteMs;

/**
 * For what one history names.
 * @param failures in a row
 * @returns what begins it, and then says whether it is over
 */
export function deadlineAfter(
  world: Pick<World, 'monotonic'>,
  failures: number,
): () => () => boolean {
  const timeoutMs = firstTimeoutMs * 2 ** Math.min(mostDoublings, failures);
  return () => {
    const deadline = world.monotonic() + timeoutMs;
    return () => world.monotonic() >= deadline;
  };
}

/** Waits until work has ended, and no longer than so: it goes on by itself. */
export function waitFor(
  world: Pick<World, 'after'>,
  work: Promise<void>,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = world.after(timeoutMs, resolve);
    work.then(resolve, reject).finally(cancel);
  });
}
