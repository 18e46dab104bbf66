// How long a payment has been in nobody's words. A server follows the chain first and its node's mempool
// after it, so that around a block all of them may leave out, for a few seconds, what was never gone.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { World } from '../world.ts';

/** How long it must last before it counts: ElectrumX reads the mempool every 5 s, electrs every 10 s. */
const silenceMs = 30_000;

export interface Silence {
  /**
   * Nobody names these payments of the script now.
   * @returns those that nobody has named for half a minute
   */
  lasting(scripthash: Scripthash, paymentIds: readonly number[]): ReadonlySet<number>;
  /** It was named again. */
  end(paymentId: number): void;
}

/**
 * Not kept over a restart: it is counted anew then.
 * @param lookAgain called when a silence that has begun may count
 */
export function createSilence(world: World, lookAgain: (scripthash: Scripthash) => void): Silence {
  const since = new Map<number, number>();
  return {
    lasting(scripthash, paymentIds) {
      const now = world.monotonic();
      const begun = paymentIds.filter((id) => !since.has(id));
      for (const id of begun) since.set(id, now);
      if (begun.length > 0) world.after(silenceMs, () => lookAgain(scripthash));
      return new Set(paymentIds.filter((id) => now - (since.get(id) ?? now) >= silenceMs));
    },
    end: (paymentId) => void since.delete(paymentId),
  };
}
