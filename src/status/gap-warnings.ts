// Warns when the merchant's own wallet stops looking before the last address that paygate issued.
// Money would arrive and call back, but the wallet would not show it (rules §4). It refuses
// nothing.

import { gapLimitNeeded, unpaidLimitOf } from '../domain/store/allocation.ts';
import type { Records } from '../store/open-records.ts';
import type { Finding } from './findings.ts';

export interface GapOptions {
  readonly records: Pick<Records, 'catalog' | 'addresses'>;
  readonly walletGap: number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
}

/** The widest step is cached, because thousands of addresses are read for it. */
const widestStepCachedMs = 600_000;
/** The unpaid run is cached until the next address is issued: anybody may ask for /healthz. */
const unpaidRunCachedMs = 5_000;

/** A finding of one wallet. */
type WalletFinding = Required<Pick<Finding, 'subject' | 'fact' | 'hint'>>;

export function createGapWarnings({
  records,
  walletGap,
  monotonic,
}: GapOptions): () => WalletFinding[] {
  const widestOf = cached(widestStepCachedMs, monotonic, records.addresses.widestStep);
  const unpaidOf = cached(unpaidRunCachedMs, monotonic, records.addresses.unpaidRun);
  return () =>
    records.catalog.wallets().flatMap(({ id, nextIndex }) => {
      const gaps = { unpaid: unpaidOf(id, nextIndex), widest: widestOf(id) };
      const needed = gapLimitNeeded(gaps, walletGap);
      if (needed === undefined) return [];
      const fact =
        gaps.widest > walletGap
          ? `has ${gaps.widest - 1} unpaid addresses before a paid one`
          : `has issued ${gaps.unpaid} addresses since the last paid one`;
      return {
        subject: `wallet ${id}`,
        fact: `wallet ${id} ${fact}, and wallets stop looking after ${walletGap}`,
        hint: `: set the gap limit of the merchant's wallet to ${needed}, and start serve with --wallet-gap ${needed}`,
      };
    });
}

const gapLimit =
  "the gap limit of the merchant's wallet, and start serve with the same --wallet-gap";

export interface GapRefusalOptions extends GapOptions {
  readonly records: Pick<Records, 'catalog' | 'addresses' | 'linkView'>;
  /** `--refuse-gap`. */
  readonly refuseGap: number | undefined;
}

/** Returns what is refused at this moment because too many addresses in a row are unpaid. */
export function createGapRefusals(options: GapRefusalOptions): () => WalletFinding[] {
  const { records, walletGap, refuseGap, monotonic } = options;
  const { catalog, addresses, linkView } = records;
  const linkLimit = unpaidLimitOf(walletGap);
  const unpaidOf = cached(unpaidRunCachedMs, monotonic, addresses.unpaidSinceBlock);
  const isRefused = cached(unpaidRunCachedMs, monotonic, (id) =>
    Number(refuseGap !== undefined && addresses.isUnpaidFor(id, refuseGap)),
  );
  return () => {
    const linked = new Set(linkView.activeCurrencies().map(({ storeId }) => storeId));
    const running = catalog.stores();
    return catalog.wallets().flatMap(({ id, nextIndex }) => {
      const stores = running.filter(({ walletId }) => walletId === id);
      if (stores.length > 0 && isRefused(id, nextIndex) === 1) {
        return {
          subject: `wallet ${id}`,
          fact: `wallet ${id}: its last ${refuseGap} addresses are unpaid, so --refuse-gap ${refuseGap} refuses every new one`,
          hint: `; raise ${gapLimit} and a higher --refuse-gap`,
        };
      }
      const isLinked = stores.some((each) => linked.has(each.id));
      const unpaid = isLinked ? unpaidOf(id, nextIndex) : 0;
      return unpaid < linkLimit
        ? []
        : {
            subject: `links of wallet ${id}`,
            fact: `wallet ${id}: its last ${unpaid} addresses are unpaid, so its links make no order`,
            hint: `; the rest of its gap limit is for the shop. Raise ${gapLimit}`,
          };
    });
  };
}

/** Caches a number of each wallet for a time, or until `place` differs. */
function cached(
  maxAgeMs: number,
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
    if (last?.place === place && at - last.at < maxAgeMs) return last.found;
    const found = find(walletId);
    known.set(walletId, { place, at, found });
    return found;
  };
}
