// Compares the wall clock with the newest block and with the monotonic clock. A clock that is
// ahead would delete what is young, and expire what has time left. What goes by age asks here. See
// docs/decisions/055.

import { clockError } from '../domain/payment/clock-check.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { World } from './world.ts';

/** Whether something may be deleted, expire or fail for good because of its age. */
export interface AgeJudge {
  /** Whether the clock is as a recent block says, and made no jump since. */
  isSure(): boolean;
  /** The latest time that has certainly passed, epoch milliseconds. */
  passed(now: number): number;
}

/** For parts that are used without a chain. */
export const trustedClock: AgeJudge = { isSure: () => true, passed: (now) => now };

export interface ClockWatchParts {
  readonly world: Pick<World, 'now' | 'monotonic'>;
  /** Release date of this paygate, epoch milliseconds. */
  readonly releasedAt: number | undefined;
  /** Time of the newest block of our chain, epoch seconds. */
  readonly newestBlockTime: () => number | undefined;
  /** Whether that is the newest block of a connected server. */
  readonly isCaughtUp: () => boolean;
  /** How old that block may be; undefined on a network without a schedule. */
  readonly maxAgeMs: number | undefined;
}

/** Less is a correction of the clock. */
const maxStepMs = minuteMs;

export class ClockWatch implements AgeJudge {
  readonly #parts: ClockWatchParts;
  /** How far the wall clock was ahead of the monotonic one when a block last agreed with it. */
  #lead: number | undefined;

  constructor(parts: ClockWatchParts) {
    this.#parts = parts;
  }

  /** Called each minute: a block that agrees now vouches for the clock until it jumps. */
  tick(): void {
    const { isCaughtUp, maxAgeMs } = this.#parts;
    if (maxAgeMs !== undefined && isCaughtUp() && this.#error(maxAgeMs) === undefined) {
      this.#lead = this.#leadNow();
    }
  }

  /** Why the clock is wrong; undefined if nothing shows it. */
  fault(): string | undefined {
    this.tick();
    const { isCaughtUp, maxAgeMs } = this.#parts;
    return this.#error(!this.#isSteady() && isCaughtUp() ? maxAgeMs : undefined);
  }

  isSure(): boolean {
    if (this.fault() !== undefined) return false;
    return this.#parts.maxAgeMs === undefined || this.#isSteady();
  }

  passed(now: number): number {
    return this.isSure() ? now : Math.min(now, (this.#parts.newestBlockTime() ?? 0) * 1000);
  }

  /** A block agreed with the clock, which went on evenly since: no new block is needed. */
  #isSteady(): boolean {
    return this.#lead !== undefined && Math.abs(this.#leadNow() - this.#lead) < maxStepMs;
  }

  #leadNow(): number {
    const { world } = this.#parts;
    return world.now() - world.monotonic();
  }

  #error(maxAgeMs: number | undefined): string | undefined {
    const { world, releasedAt, newestBlockTime } = this.#parts;
    return clockError(world.now(), { releasedAt, newestBlockTime: newestBlockTime(), maxAgeMs });
  }
}
