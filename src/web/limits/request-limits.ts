// Rate limits by key or by client: one bucket for each, in memory, evicted when it is full.

import { type Bucket, isFull, type Rate, takeToken } from '../../domain/access/rate-limit.ts';
import { PaygateError } from '../../lib/errors.ts';

/** Undefined means no limit. */
export interface Rates {
  /** Rate for one key. */
  readonly newAddress: Rate | undefined;
  /** Rate for one key. */
  readonly balance: Rate | undefined;
  /** Rate for one key. */
  readonly searchHistory: Rate | undefined;
  /** Rate for one client. */
  readonly price: Rate | undefined;
  /** Rate for one client, for requests with an invalid key. */
  readonly unknownKey: Rate | undefined;
  /** Rate for one client, for lookups of addresses and payments that are not ours. */
  readonly unknownAddress: Rate | undefined;
  /** Rate for one key, for changes of stores, links and orders. */
  readonly write: Rate | undefined;
}

export interface Limits<Name extends string = keyof Rates> {
  /** @throws PaygateError limited, with the time to wait */
  take(rate: Name, who: string | number): void;
  /** Like `take`, but takes no token. @throws PaygateError limited */
  require(rate: Name, who: string | number): void;
}

/** Buckets of one limit; beyond that, full buckets are evicted first, then the oldest. */
const maxBuckets = 10_000;

/** @param monotonic milliseconds */
export function createLimits<Name extends string>(
  rates: Readonly<Record<Name, Rate | undefined>>,
  monotonic: () => number,
): Limits<Name> {
  const buckets = new Map<Name, Map<string | number, Bucket>>();
  return {
    take(name, who) {
      const rate = rates[name];
      if (rate === undefined) return;
      const known = buckets.get(name) ?? new Map<string | number, Bucket>();
      buckets.set(name, known);
      const now = monotonic();
      const { bucket, waitMs } = takeToken(rate, known.get(who), now);
      known.set(who, bucket);
      if (known.size > maxBuckets) evictBuckets(rate, known, now);
      if (waitMs > 0) throw limited(rate, waitMs);
    },
    require(name, who) {
      const rate = rates[name];
      if (rate === undefined) return;
      const { waitMs } = takeToken(rate, buckets.get(name)?.get(who), monotonic());
      if (waitMs > 0) throw limited(rate, waitMs);
    },
  };
}

function evictBuckets(rate: Rate, buckets: Map<string | number, Bucket>, now: number): void {
  for (const [who, bucket] of buckets) if (isFull(rate, bucket, now)) buckets.delete(who);
  for (const who of buckets.keys()) {
    if (buckets.size <= maxBuckets / 2) return;
    buckets.delete(who);
  }
}

/** How often a rate allows something: `300 a minute are allowed`. */
export const rateText = ({ perMinute }: Pick<Rate, 'perMinute'>): string =>
  perMinute < 1
    ? `one in ${Math.round(1 / perMinute)} minutes is allowed`
    : `${perMinute} a minute are allowed`;

const limited = (rate: Rate, waitMs: number): PaygateError =>
  new PaygateError('limited', `Too many requests: ${rateText(rate)}, wait a little`, {
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
