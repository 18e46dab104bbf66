// The clock of the sandbox: the wall clock of this machine, which a visitor may set forward.

import type { World } from '../world/world.ts';

export interface SandboxWorld extends World {
  /** Sets the wall clock forward to this time, epoch milliseconds. It never goes back. */
  passTo(time: number): void;
  /** The wall clock of this machine, which other programs here have as well. */
  machineNow(): number;
}

export function movableClock(world: World): SandboxWorld {
  let aheadMs = 0;
  const now = (): number => world.now() + aheadMs;
  const passTo = (time: number): void => {
    aheadMs += Math.max(0, time - now());
  };
  return { ...world, now, passTo, machineNow: () => world.now() };
}
