// Finds a clock that is certainly wrong. A time before this release, or far before the newest
// block, has already passed. Nothing proves that a clock is right.

import { hourMs, minuteMs } from '../lib/time-units.ts';
import { formatTime } from './format.ts';

/** Consensus: a block's time may be this far in the future. */
export const maxBlockAheadMs = 2 * hourMs;

/** A stored time this far in the future is still plausible: the clock may have been set back. */
export const maxSetBackMs = minuteMs;

export interface KnownTimes {
  /** Release date of this paygate, epoch milliseconds; without it only blocks count. */
  readonly releasedAt?: number | undefined;
  /** Time of the newest block of our chain, epoch seconds; undefined without one. */
  readonly newestBlockTime: number | undefined;
}

/**
 * @param now epoch milliseconds
 * @returns why the clock is wrong; undefined if nothing shows it
 */
export function clockError(now: number, { releasedAt = 0, newestBlockTime = 0 }: KnownTimes) {
  const newestMs = newestBlockTime * 1000;
  const wrong = (known: string) =>
    `the clock of this machine is wrong: it shows ${formatTime(now)}, but ${known}`;
  if (now < releasedAt) return wrong(`this paygate was released on ${formatTime(releasedAt)}`);
  if (now >= newestMs - maxBlockAheadMs) return undefined;
  return wrong(`the newest block is of ${formatTime(newestMs)}`);
}
