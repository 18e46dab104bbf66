// Holds deliveries back while many scripts wait to be recorded, so that commits are full and the
// last shop gets its callback no later. One hold lasts a second, and a second passes before the
// next: invented changes delay shops for half of the time at most. A start waits for the first tip,
// within a limit.

import type { Cancel, World } from '../world/world.ts';

/** More waiting scripts than this are a backlog: two full commits. */
export const minBacklog = 200;
/** How long a backlog holds deliveries back. */
export const maxBacklogMs = 1_000;
/** How long a start holds deliveries back without a tip. */
export const maxStartMs = 30_000;
/** How long no hold begins after the last one. */
export const minRestMs = 1_000;

export type Backlog = ReturnType<typeof createBacklog>;

/** @param onOver called when deliveries may go on */
export function createBacklog(world: World, onOver: () => void) {
  let isDeep = false;
  let isHolding = false;
  let hasTip = false;
  const startUntil = world.monotonic() + maxStartMs;
  let restUntil = Number.NEGATIVE_INFINITY;
  let cancel: Cancel = () => {};

  function begin(): void {
    if (world.monotonic() < restUntil) return;
    isHolding = true;
    cancel = world.after(maxBacklogMs, end);
  }

  function end(): void {
    if (!isHolding) return;
    isHolding = false;
    restUntil = world.monotonic() + minRestMs;
    cancel();
    onOver();
  }

  return {
    count(scripts: number): void {
      if (scripts > minBacklog === isDeep) return;
      isDeep = !isDeep;
      if (isDeep) begin();
      else end();
    },
    /** Our chain reaches a server's tip. */
    tipKnown(): void {
      if (hasTip) return;
      hasTip = true;
      onOver();
    },
    isHolding: (): boolean => isHolding || (!hasTip && world.monotonic() < startUntil),
  };
}
