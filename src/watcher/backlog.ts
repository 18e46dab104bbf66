// When much has changed at once (a block full of payments, a start after a long rest), all of it is proven and
// written down before shops hear of any. The commits are fuller then, so that even the last shop hears
// no later than if both were done by turns; none waits for it longer than a second.

import type { Cancel, World } from '../world.ts';

/** Scripts that wait to be recorded, above which it is a backlog: two full commits. */
export const backlogAbove = 200;
/** How long shops wait for it at most. */
export const backlogHoldsMs = 1_000;

export interface Backlog {
  /** How many scripts wait now. */
  counts(scripts: number): void;
  /** Whether shops are to wait. */
  holds(): boolean;
}

/** @param onOver shops need not wait any longer */
export function createBacklog(world: Pick<World, 'after'>, onOver: () => void): Backlog {
  let isDeep = false;
  let holds = false;
  let cancel: Cancel = () => {};

  function begin(): void {
    holds = true;
    cancel = world.after(backlogHoldsMs, end);
  }

  function end(): void {
    if (!holds) return;
    holds = false;
    cancel();
    onOver();
  }

  return {
    counts(scripts) {
      if (scripts > backlogAbove === isDeep) return;
      isDeep = !isDeep;
      if (isDeep) begin();
      else end();
    },
    holds: () => holds,
  };
}
