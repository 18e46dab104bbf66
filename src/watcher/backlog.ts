// When much has changed at once (a block full of payments, a start after a long rest), it is proven and written
// down first, and shops hear after it. The commits are fuller then, so that even the last shop hears no later
// than if both were done by turns. It lasts a second at most, and another goes by before the next: changes
// that come and go, as a server could make up, hold shops up for half of the time at most.
//
// At a start shops wait until a server has told its tip: what was owed may tell of a block that left the chain
// meanwhile. Where none can be reached, not for ever.

import type { Cancel, World } from '../world/world.ts';

/** Scripts that wait to be recorded, above which it is a backlog: two full commits. */
export const minBacklog = 200;
/** How long shops wait for it at most. */
export const maxBacklogMs = 1_000;
/** How long they wait at a start for the first tip, at most. */
export const maxStartMs = 30_000;
/** How long they do not wait after that. */
export const minRestMs = 1_000;

export interface Backlog {
  /** How many scripts wait now. */
  count(scripts: number): void;
  /** A server was followed to its tip. */
  tipKnown(): void;
  /** Whether shops are to wait. */
  isHolding(): boolean;
}

/** @param onOver shops need not wait any longer */
export function createBacklog(world: World, onOver: () => void): Backlog {
  let isDeep = false;
  let holds = false;
  let isFollowing = false;
  const startsUntil = world.monotonic() + maxStartMs;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let cancel: Cancel = () => {};

  function begin(): void {
    if (world.monotonic() < restsUntil) return;
    holds = true;
    cancel = world.after(maxBacklogMs, end);
  }

  function end(): void {
    if (!holds) return;
    holds = false;
    restsUntil = world.monotonic() + minRestMs;
    cancel();
    onOver();
  }

  return {
    count(scripts) {
      if (scripts > minBacklog === isDeep) return;
      isDeep = !isDeep;
      if (isDeep) begin();
      else end();
    },
    tipKnown() {
      if (isFollowing) return;
      isFollowing = true;
      onOver();
    },
    isHolding: () => holds || (!isFollowing && world.monotonic() < startsUntil),
  };
}
