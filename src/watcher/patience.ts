// How long something that failed is left alone before it is tried again, and how long others wait for a server.

import type { World } from '../world.ts';

const minuteMs = 60_000;
/** What has not come right by then seldom does soon, and a public server bills each refusal. */
const eagerTries = 10;

/**
 * Each minute at first, then every ten minutes.
 * @param failures in a row
 */
export const tryAgainMs = (failures: number): number =>
  failures < eagerTries ? minuteMs : 10 * minuteMs;

/** Waits until work has ended, and no longer than so: it goes on by itself. */
export function waitFor(
  world: Pick<World, 'after'>,
  work: Promise<void>,
  mostMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = world.after(mostMs, resolve);
    work.then(resolve, reject).finally(cancel);
  });
}
