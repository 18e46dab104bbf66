// Rate limits as token buckets. A bucket is a value and the caller passes the time. It starts full
// and refills evenly; a request takes one token or more.

import { PaygateError } from '../../lib/errors.ts';
import { minuteMs } from '../../lib/time-units.ts';

export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

export interface Bucket {
  readonly tokens: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

export interface TokensTaken {
  readonly bucket: Bucket;
  /** Milliseconds until there are enough tokens; 0 if they were taken. */
  readonly waitMs: number;
}

const maxPerMinute = 1_000_000;

/** Parses `30` or `300:100` a minute; undefined for `off`. @throws PaygateError invalid */
export function parseRate(text: string): Rate | undefined {
  if (text === 'off') return undefined;
  const [, perMinute, burst = perMinute] = /^(\d{1,7})(?::(\d{1,7}))?$/.exec(text) ?? [];
  const rate = { perMinute: Number(perMinute), burst: Number(burst) };
  const isPossible = (count: number): boolean => count >= 1 && count <= maxPerMinute;
  if (isPossible(rate.perMinute) && isPossible(rate.burst)) return rate;
  throw new PaygateError(
    'invalid',
    `a number a minute such as 30 or 300:100, or off, not "${text}"`,
  );
}

/**
 * Takes `count` tokens, or none.
 * @param bucket undefined for the first request
 * @param now monotonic milliseconds
 */
export function takeToken(
  rate: Rate,
  bucket: Bucket | undefined,
  now: number,
  count = 1,
): TokensTaken {
  const tokens = tokensAt(rate, bucket, now);
  if (tokens >= count) return { bucket: { tokens: tokens - count, at: now }, waitMs: 0 };
  // The bucket is not updated, so that repeated requests do not add up rounding errors.
  return {
    bucket: bucket ?? { tokens, at: now },
    waitMs: ((count - tokens) * minuteMs) / rate.perMinute,
  };
}

export const isFull = (rate: Rate, bucket: Bucket, now: number): boolean =>
  tokensAt(rate, bucket, now) >= rate.burst;

function tokensAt({ perMinute, burst }: Rate, bucket: Bucket | undefined, now: number): number {
  if (bucket === undefined) return burst;
  return Math.min(burst, bucket.tokens + ((now - bucket.at) * perMinute) / minuteMs);
}
