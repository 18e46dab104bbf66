// A server of the pool's list: what is known of it from one connection to the next.

import type { Budget } from './budget.ts';
import type { Closings, Overlong } from './refusals.ts';
import type { ServerAddress } from './server-address.ts';
import type { Session } from './session.ts';
import type { Refused } from './trust.ts';

export interface Member {
  readonly server: ServerAddress;
  /** What it may be asked: it remembers what we spent over a reconnect. */
  readonly budget: Budget;
  readonly overlong: Overlong;
  readonly closings: Closings;
  /** The member with the lowest turn is tried next. */
  turn: number;
  connecting: boolean;
  live: Live | undefined;
  /** Failures in a row. */
  failures: number;
  /** Monotonic times. */
  notBefore: number;
  bannedUntil: number;
  /** The memory has the ban, so that its absence there means that a person has lifted it. */
  banKept: boolean;
  lastError: string | undefined;
  /** Its name was not resolved at the last try. */
  isUnresolved: boolean;
  refused: Refused | undefined;
}

export interface Live {
  readonly session: Session;
  /** Epoch milliseconds, for people. */
  readonly since: number;
  /** Monotonic. */
  readonly startedAt: number;
  /** Why it is not counted on. */
  doubt: string | undefined;
}
