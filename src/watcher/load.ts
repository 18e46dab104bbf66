// How much of what servers tell is held until it is written down: many histories are gathered at once, each
// of any number of transactions, and a server may make them all up. And how much of that is written down: the bytes of what
// is in no block cost a server nothing, and stay for weeks.

import { type Bucket, type Rate, takeToken } from '../domain/rate-limit.ts';
import type { Observation, Seen } from '../store/records/ledger.ts';

export interface Load {
  /** Opens what one look will hold. */
  open(): Held;
  /** What is to be written down: without the bytes of what is in no block where they are too many. */
  bounded(observation: Observation): Observation;
}

export interface Held {
  /** Takes so many bytes; false when there is no room for them now. */
  take(bytes: number): boolean;
  /** To be called when they are written down, or let go of. */
  release(): void;
  /** The look has ended: what still comes of it is let go of at once. */
  close(): void;
}

/** Bytes of transactions in no block that are kept: 12 MB an hour, which is more than all of Bitcoin pays by. */
const bytesKept: Rate = { perMinute: 200_000, burst: 32_000_000 };

/**
 * @param most bytes of all that is open
 * @param monotonic milliseconds
 */
export function createLoad(most: number, monotonic: () => number): Load {
  let total = 0;
  let kept: Bucket | undefined;
  function mayKeep({ block, raw }: Seen): boolean {
    if (block !== null || raw === undefined) return true;
    const { bucket, waitMs } = takeToken(bytesKept, kept, monotonic(), raw.length);
    kept = bucket;
    return waitMs === 0;
  }
  return {
    bounded: (observation) => ({
      ...observation,
      seen: observation.seen.map((each) => (mayKeep(each) ? each : withoutBytes(each))),
    }),
    open() {
      let own = 0;
      let isOpen = true;
      const release = (): void => {
        total -= own;
        own = 0;
      };
      return {
        take(bytes) {
          if (!isOpen || total + bytes > most) return false;
          total += bytes;
          own += bytes;
          return true;
        },
        release,
        close() {
          isOpen = false;
          release();
        },
      };
    },
  };
}

const withoutBytes = ({ raw: _, ...seen }: Seen): Seen => seen;
