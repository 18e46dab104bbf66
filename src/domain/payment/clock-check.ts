// Finds a clock that is wrong. A time before this release, or far before the newest block, has
// already passed. A time long after the newest block has not come yet, or there would be more
// blocks.

import type { NetworkName } from '../../bitcoin/network.ts';
import { hourMs, minuteMs } from '../../lib/time-units.ts';
import { formatTime } from '../text/format.ts';

/** Consensus: a block's time may be this far in the future. */
export const maxBlockAheadMs = 2 * hourMs;

/**
 * How old the newest block of a network may be. A block comes after ten minutes on average. The
 * newest one is more than 3 hours old at e^-18 of all moments, 2 in 100 million. With half of the
 * miners gone these are e^-9, 1 in 8,000. A block's own time may be an hour behind. Test networks
 * stand still for longer, and regtest has no schedule.
 */
const maxBlockAgesMs: Readonly<Record<NetworkName, number | undefined>> = {
  mainnet: 3 * hourMs,
  testnet3: 8 * hourMs,
  testnet4: 8 * hourMs,
  signet: 8 * hourMs,
  regtest: undefined,
};

/** Undefined for a network without a schedule. */
export const maxBlockAgeMs = (network: NetworkName): number | undefined => maxBlockAgesMs[network];

/** A stored time this far in the future is still plausible: the clock may have been set back. */
export const maxSetBackMs = minuteMs;

export interface KnownTimes {
  /** Release date of this paygate, epoch milliseconds; without it only blocks count. */
  readonly releasedAt?: number | undefined;
  /** Time of the newest block of our chain, epoch seconds; undefined without one. */
  readonly newestBlockTime: number | undefined;
  /** How old that block may be, if it is the newest of all; without it as old as it likes. */
  readonly maxAgeMs?: number | undefined;
}

/**
 * @param now epoch milliseconds
 * @returns why the clock is wrong; undefined if nothing shows it
 */
export function clockError(
  now: number,
  { releasedAt = 0, newestBlockTime = 0, maxAgeMs = Number.POSITIVE_INFINITY }: KnownTimes,
): string | undefined {
  const newestMs = newestBlockTime * 1000;
  const wrong = (known: string) =>
    `the clock of this machine is wrong: it shows ${formatTime(now)}, but ${known}`;
  if (now < releasedAt) return wrong(`this paygate was released on ${formatTime(releasedAt)}`);
  const isBehind = now < newestMs - maxBlockAheadMs;
  const isAhead = newestMs > 0 && now > newestMs + maxAgeMs;
  if (!isBehind && !isAhead) return undefined;
  return wrong(`the newest block is of ${formatTime(newestMs)}`);
}
