// Whether the wall clock can be believed. A machine without a battery wakes in 1970, and one whose time is
// wrong signs callbacks that shops refuse and finds sound certificates invalid. Pure.

/** How far a block may be ahead of us: its own time may be two hours ahead of the network's. */
const toleratedMs = 2 * 3_600_000;

export interface Times {
  /** What the clock says, epoch milliseconds, as the others. */
  readonly now: number;
  /** No clock that is right shows an earlier time. */
  readonly earliest: number;
  /** What the newest proven header says; undefined before there is one. */
  readonly newestBlock: number | undefined;
}

/** Why the clock cannot be right; undefined while nothing speaks against it. */
export function clockFault({ now, earliest, newestBlock }: Times): string | undefined {
  const says = `the clock of this machine says ${new Date(now).toISOString().slice(0, 16)} UTC`;
  if (now < earliest) return `${says}, which is before this paygate was made`;
  if (newestBlock !== undefined && newestBlock - now > toleratedMs) {
    return `${says}, which is hours behind the newest block`;
  }
  return undefined;
}
