// Says when the merchant's own wallet stops looking before the last address that paygate gave out: money
// would arrive, be told, and not be seen there (rules §4). It refuses nothing.

import { gapLimitNeeded } from '../domain/allocation.ts';
import type { Store } from '../store/open.ts';

export interface GapOptions {
  readonly store: Pick<Store, 'catalog' | 'addresses'>;
  /** What the merchant's own wallet is set to. */
  readonly walletGap: number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
}

/** How long the widest step of a wallet is remembered: thousands of its addresses are looked at for it. */
const widestKeptMs = 600_000;

/** @returns the warnings of this moment */
export function createGapWarnings({ store, walletGap, monotonic }: GapOptions): () => string[] {
  const known = new Map<number, { readonly at: number; readonly widest: number }>();

  function widestOf(walletId: number): number {
    const now = monotonic();
    const kept = known.get(walletId);
    if (kept !== undefined && now - kept.at < widestKeptMs) return kept.widest;
    const widest = store.addresses.widestStep(walletId);
    known.set(walletId, { at: now, widest });
    return widest;
  }

  return () =>
    store.catalog.wallets().flatMap(({ id }) => {
      const gaps = { unpaid: store.addresses.unpaidRun(id), widest: widestOf(id) };
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
