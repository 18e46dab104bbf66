// The version that the orders of a copy go on from. A shop ignores an order whose version it knows,
// and the file that the copy came from may have sent any number of events since. The version grows
// with time, because a copy on another machine knows of no other copy. A clock may be wrong:
// therefore it is also above what the files at hand say. See docs/decisions/054.

import { unixSeconds } from '../../lib/time-units.ts';

/** More events than an order has between two copies that the clock does not separate. */
export const versionStep = 1_000;

export interface KnownVersions {
  /** The highest version in the file. */
  readonly highest: number;
  /** What the orders of the last copy at this place got, by the mark file; 0 for none. */
  readonly marked: number;
}

/**
 * The Unix time, because an order has fewer events than seconds; more if the clock is not ahead of
 * what is known.
 * @param now epoch milliseconds
 */
export function raisedVersion({ highest, marked }: KnownVersions, now: number): number {
  const known = Math.max(highest, marked);
  const byTime = unixSeconds(now);
  return byTime > known ? byTime : known + versionStep;
}
