// Logs refused requests, so that the operator finds shops with an ended key and clients that probe
// keys. Only a few a minute are logged for each key, because strangers may send thousands.
// Requests without a valid key never use up the share of a shop.

import { type Bucket, type Rate, takeToken } from '../../domain/access/rate-limit.ts';
import type { Logger } from '../../world/world.ts';

export interface Refusal {
  readonly client: string;
  /** The path of the operation, because the request's own path may contain a secret. */
  readonly path?: string;
  readonly reason: string;
  /** The id of a key that is or was valid. */
  readonly key?: number | undefined;
  /** Clients that use up a share of their own, if no key does; it is not logged. */
  readonly share?: string;
}

export interface RefusalLog {
  /** Returns whether it was logged. */
  note(refusal: Refusal): boolean;
}

/** For one key, or one share. All other requests without a known key have one bucket. */
const loggedRate: Rate = { perMinute: 6, burst: 10 };

interface Share {
  readonly bucket: Bucket;
  readonly unlogged: number;
}

/**
 * @param monotonic milliseconds
 * @param message what is logged
 */
export function createRefusalLog(
  log: Logger,
  monotonic: () => number,
  message = 'a request was refused',
): RefusalLog {
  /** By key or share; the operator has made all keys, and there are few shares. */
  const shares = new Map<number | string | undefined, Share>();
  return {
    note({ key, share, ...refusal }) {
      const who = key ?? share;
      const { bucket: before, unlogged = 0 } = shares.get(who) ?? {};
      const { bucket, waitMs } = takeToken(loggedRate, before, monotonic());
      shares.set(who, { bucket, unlogged: waitMs > 0 ? unlogged + 1 : 0 });
      if (waitMs > 0) return false;
      log.warn(message, {
        ...refusal,
        ...(key !== undefined && { key }),
        ...(unlogged > 0 && { unlogged }),
      });
      return true;
    },
  };
}
