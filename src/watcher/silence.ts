// How long a payment has been in nobody's words. A server follows the chain first and its node's mempool
// after it, so that around a block all of them may leave out, for a few seconds, what was never gone.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import type { World } from '../world/world.ts';

/** How long it must last before it counts: ElectrumX reads the mempool every 5 s, electrs every 10 s. */
const silenceMs = 30_000;

export interface Silence {
  /**
   * Nobody names these payments of the script now, and no others of it are left out.
   * @returns those that nobody has named for half a minute
   */
  lasting(scripthash: Scripthash, txids: readonly Txid[]): ReadonlySet<Txid>;
}

/**
 * Not kept over a restart: it is counted anew then.
 * @param lookAgain called when a silence that has begun may count
 */
export function createSilence(world: World, lookAgain: (scripthash: Scripthash) => void): Silence {
  const scripts = new Map<Scripthash, ReadonlyMap<Txid, number>>();
  return {
    lasting(scripthash, txids) {
      const now = world.monotonic();
      const before = scripts.get(scripthash);
      const since = new Map(txids.map((txid) => [txid, before?.get(txid) ?? now]));
      if (txids.length === 0) scripts.delete(scripthash);
      else scripts.set(scripthash, since);
      if (txids.some((txid) => before?.has(txid) !== true)) {
        world.after(silenceMs, () => lookAgain(scripthash));
      }
      return new Set(txids.filter((txid) => now - (since.get(txid) ?? now) >= silenceMs));
    },
  };
}
