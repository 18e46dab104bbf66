// Whether the clock of the machine can be right. It can't prove that it is: only a time that has been
// before, by the program's own date or by a block's, is known to be wrong (rules §5).

/** Blocks may claim a time so far ahead of the true one. */
const aheadMs = 2 * 3_600_000;

export interface KnownTimes {
  /** When this paygate was released, epoch milliseconds. */
  readonly releasedAt: number;
  /** What the newest block of our chain claims, epoch seconds; undefined without one. */
  readonly newestBlockTime: number | undefined;
}

/**
 * @param now epoch milliseconds
 * @returns what shows that it is wrong, in words; undefined while nothing does
 */
export function clockFault(now: number, { releasedAt, newestBlockTime }: KnownTimes) {
  const newestMs = (newestBlockTime ?? 0) * 1000;
  const shown = `the clock of this machine is wrong: it shows ${iso(now)}, but`;
  if (now < releasedAt) return `${shown} this paygate was released on ${iso(releasedAt)}`;
  return now < newestMs - aheadMs ? `${shown} the newest block is of ${iso(newestMs)}` : undefined;
}

const iso = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ');
