// Whether the clock of the machine can be right. It can't prove that it is: only a time that has been
// before, by the program's own date or by a block's, is known to be wrong (rules §5).

import { hourMs, minuteMs } from '../lib/time-units.ts';
import { formatTime } from './format.ts';

/** Blocks may claim a time so far ahead of the true one. */
export const maxBlockAheadMs = 2 * hourMs;

/** The clock may be set back so far without ending what it opened; a time further ahead is none of its own. */
export const maxSetBackMs = minuteMs;

export interface KnownTimes {
  /** When this paygate was released, epoch milliseconds; not looked at without it. */
  readonly releasedAt?: number | undefined;
  /** What the newest block of our chain claims, epoch seconds; undefined without one. */
  readonly newestBlockTime: number | undefined;
}

/**
 * @param now epoch milliseconds
 * @returns what shows that it is wrong, in words; undefined while nothing does
 */
export function clockError(now: number, { releasedAt = 0, newestBlockTime = 0 }: KnownTimes) {
  const newestMs = newestBlockTime * 1000;
  const wrong = (known: string) =>
    `the clock of this machine is wrong: it shows ${formatTime(now)}, but ${known}`;
  if (now < releasedAt) return wrong(`this paygate was released on ${formatTime(releasedAt)}`);
  if (now >= newestMs - maxBlockAheadMs) return undefined;
  return wrong(`the newest block is of ${formatTime(newestMs)}`);
}
