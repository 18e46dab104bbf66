// Says when the merchant's own wallet stops looking before the last address that paygate gave out: money
// would arrive, be told, and not be seen there (rules §4). It refuses nothing.

import { gapLimitNeeded } from '../domain/allocation.ts';
import type { Store } from '../store/open-store.ts';

export interface GapOptions {
  readonly store: Pick<Store, 'catalog' | 'addresses'>;
  /** What the merchant's own wallet is set to. */
  readonly walletGap: number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
}

/** How long the widest step of a wallet is remembered: thousands of its addresses are looked at for it. */
const widestStepCachedMs = 600_000;
/** The same for those since the last paid one, while no more are given out: strangers may ask for /healthz. */
const unpaidRunCachedMs = 5_000;

/** @returns the warnings of this moment */
export function createGapWarnings({ store, walletGap, monotonic }: GapOptions): () => string[] {
  const widestOf = cached(widestStepCachedMs, monotonic, store.addresses.widestStep);
  const unpaidOf = cached(unpaidRunCachedMs, monotonic, store.addresses.unpaidRun);
  return () =>
    store.catalog.wallets().flatMap(({ id, nextIndex }) => {
      const gaps = { unpaid: unpaidOf(id, nextIndex), widest: widestOf(id) };
      const needed = gapLimitNeeded(gaps, walletGap);
      if (needed === undefined) return [];
      const fact =
        gaps.widest > walletGap
          ? `has ${gaps.widest - 1} unpaid addresses before a paid one`
          : `has given out ${gaps.unpaid} addresses since the last paid one`;
      return [
        `wallet ${id} ${fact}, and wallets stop looking after ${walletGap}: set the gap limit of the ` +
          `merchant's wallet to ${needed}, and start serve with --wallet-gap ${needed}`,
      ];
    });
}

/** @returns what is found of a wallet, remembered for so long and as long as it is asked for at the same place */
function cached(
  keptMs: number,
  monotonic: () => number,
  find: (walletId: number) => number,
): (walletId: number, place?: number) => number {
  interface Known {
    readonly place: number;
    readonly at: number;
    readonly found: number;
  }
  const known = new Map<number, Known>();
  return (walletId, place = 0) => {
    const at = monotonic();
    const last = known.get(walletId);
    if (last?.place === place && at - last.at < keptMs) return last.found;
    const found = find(walletId);
    known.set(walletId, { place, at, found });
    return found;
  };
}
