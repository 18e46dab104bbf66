// Requests that were refused for who asked: a shop whose key has ended is found by them, and a stranger who guesses. A few
// a minute are in the log, for strangers send them by thousands.

import { type Bucket, type Rate, takeToken } from '../domain/rate.ts';
import type { Logger } from '../world.ts';

export interface Refusal {
  readonly client: string;
  /** The operation's own: what was sent may hold a secret. */
  readonly path: string;
  readonly reason: string;
  /** The id of a key that is valid, or was. */
  readonly key: number | undefined;
}

export interface Refusals {
  note(refusal: Refusal): void;
}

/** Of all clients together. */
const inLog: Rate = { perMinute: 6, burst: 10 };

/** @param monotonic milliseconds */
export function createRefusals(log: Logger, monotonic: () => number): Refusals {
  let bucket: Bucket | undefined;
  let unlogged = 0;
  return {
    note({ key, ...refusal }) {
      const taken = takeToken(inLog, bucket, monotonic());
      bucket = taken.bucket;
      if (taken.waitMs > 0) {
        unlogged += 1;
        return;
      }
      log.warn('a request was refused', {
        ...refusal,
        ...(key !== undefined && { key }),
        ...(unlogged > 0 && { unlogged }),
      });
      unlogged = 0;
    },
  };
}
