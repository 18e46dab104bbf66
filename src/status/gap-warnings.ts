// Warns when the merchant's own wallet stops looking before the last address that paygate issued.
// Money would arrive and call back, but the wallet would not show it (rules §4). It refuses
// nothing.

import { gapLimitNeeded, unpaidLimitOf } from '../domain/store/allocation.ts';
import { formatCount } from '../domain/text/format.ts';
import type { Records } from '../store/open-records.ts';
import type { WalletRow } from '../store/wallets/catalog.ts';
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

const raiseGapLimit =
  "raise the gap limit of the merchant's wallet, and start serve with the same --wallet-gap";

export interface GapRefusalOptions extends GapOptions {
  readonly records: Pick<Records, 'catalog' | 'addresses' | 'linkView'>;
  /** `--refuse-gap`. */
  readonly refuseGap: number | undefined;
}

/** What is refused at this moment because too many addresses in a row are unpaid. */
export interface GapRefusals {
  /** By `--refuse-gap`: every address. */
  readonly refused: () => WalletFinding[];
  /** By the guard against strangers: their orders by links. */
  readonly linksStopped: () => WalletFinding[];
}

export function createGapRefusals(options: GapRefusalOptions): GapRefusals {
  const { records, walletGap, refuseGap, monotonic } = options;
  const { catalog, addresses, linkView } = records;
  const linkLimit = unpaidLimitOf(walletGap);
  const unpaidOf = cached(unpaidRunCachedMs, monotonic, addresses.unpaidSinceBlock);
  const refusedIn = cached(unpaidRunCachedMs, monotonic, (id) =>
    Number(refuseGap !== undefined && addresses.isUnpaidFor(id, refuseGap)),
  );
  const storesOf = (id: number) => catalog.stores().filter(({ walletId }) => walletId === id);
  const isRefused = ({ id, nextIndex }: WalletRow): boolean =>
    storesOf(id).length > 0 && refusedIn(id, nextIndex) === 1;
  return {
    refused: () =>
      catalog
        .wallets()
        .filter(isRefused)
        .map(({ id }) => ({
          subject: `wallet ${id}`,
          fact: `wallet ${id}: its last ${refuseGap} addresses are unpaid, so --refuse-gap ${refuseGap} refuses every new one`,
          hint: `; ${raiseGapLimit} and a higher --refuse-gap`,
        })),
    linksStopped() {
      const linked = new Set(linkView.activeCurrencies().map(({ storeId }) => storeId));
      const isStopped = ({ id, nextIndex }: WalletRow): boolean =>
        storesOf(id).some((store) => linked.has(store.id)) && unpaidOf(id, nextIndex) >= linkLimit;
      const stopped = catalog.wallets().filter((each) => isStopped(each) && !isRefused(each));
      return stopped.map(({ id }) => stoppedFinding(records, id, linkLimit));
    },
  };
}

function stoppedFinding(
  { addresses }: GapRefusalOptions['records'],
  id: number,
  limit: number,
): WalletFinding & Pick<Finding, 'since'> {
  const { orders, networks, since } = addresses.strangersSinceBlock(id, limit - 1);
  const unpaid = formatCount(addresses.unpaidSinceBlock(id), 'address', 'addresses');
  const strangers = `${formatCount(orders, 'order')} by links from ${formatCount(networks, 'network')}`;
  return {
    subject: `links of wallet ${id}`,
    since,
    fact: `wallet ${id}: its links make no order, because ${unpaid} in a row are unpaid (${strangers})`,
    hint: `; the rest of its gap limit is for the shop. Either ${raiseGapLimit}, or switch the link off`,
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
