// Requests that were refused for who asked: a shop whose key has ended is found by them, and a stranger who guesses. A few
// a minute are in the log, for strangers send them by thousands; they crowd out no shop's.

import { type Bucket, type Rate, takeToken } from '../domain/rate-limit.ts';
import type { Logger } from '../world/world.ts';

export interface Refusal {
  readonly client: string;
  /** The operation's own: what was sent may hold a secret. */
  readonly path: string;
  readonly reason: string;
  /** The id of a key that is valid, or was. */
  readonly key: number | undefined;
}

export interface RefusalLog {
  /** @returns whether it is in the log */
  note(refusal: Refusal): boolean;
}

/** Of one key; all who show none that is or was ours count as one. */
const loggedRate: Rate = { perMinute: 6, burst: 10 };

interface Share {
  readonly bucket: Bucket;
  readonly unlogged: number;
}

/** @param monotonic milliseconds */
export function createRefusalLog(log: Logger, monotonic: () => number): RefusalLog {
  /** By key: as many as the operator ever made. */
  const shares = new Map<number | undefined, Share>();
  return {
    note({ key, ...refusal }) {
      const { bucket: before, unlogged = 0 } = shares.get(key) ?? {};
      const { bucket, waitMs } = takeToken(loggedRate, before, monotonic());
      shares.set(key, { bucket, unlogged: waitMs > 0 ? unlogged + 1 : 0 });
      if (waitMs > 0) return false;
      log.warn('a request was refused', {
        ...refusal,
        ...(key !== undefined && { key }),
        ...(unlogged > 0 && { unlogged }),
      });
      return true;
    },
  };
}
