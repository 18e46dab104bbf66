// The time by which prices grow old. The monotonic clock stands still while a machine is suspended, and a price
// of last night would be fresh in the morning. The wall clock alone may be set back.

import type { World } from '../world/world.ts';

/** A clock that is corrected little by little has not slept. */
const leapMs = 1_000;

/**
 * Milliseconds of a clock that never runs backwards, and goes on while the machine sleeps: each leap ahead of the
 * wall clock counts as sleep, also where somebody set it.
 */
export function createElapsed({ now, monotonic }: Pick<World, 'now' | 'monotonic'>): () => number {
  let lead = now() - monotonic();
  let sleptMs = 0;
  return () => {
    const at = monotonic();
    const leap = now() - at - lead;
    if (Math.abs(leap) >= leapMs) {
      lead += leap;
      sleptMs += Math.max(0, leap);
    }
    return at + sleptMs;
  };
}
