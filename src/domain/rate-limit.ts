// Rate limits as token buckets. Pure: a bucket is a value, time comes in. Full at first, it gives tokens,
// mostly one a request, and fills up again evenly.

import { PaygateError } from '../lib/errors.ts';
import { minuteMs } from '../lib/time-units.ts';

export interface Rate {
  readonly perMinute: number;
  /** How many at once, after a rest. */
  readonly burst: number;
}

export interface Bucket {
  readonly tokens: number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly at: number;
}

export interface TokensTaken {
  readonly bucket: Bucket;
  /** Milliseconds until there are as many tokens; 0 when they were taken. */
  readonly waitMs: number;
}

const maxPerMinute = 1_000_000;

/** Reads `30` or `300:100` a minute; undefined for `off`. @throws PaygateError invalid */
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
 * @param bucket undefined for the first request
 * @param count all of them, or none
 */
export function takeToken(
  rate: Rate,
  bucket: Bucket | undefined,
  now: number,
  count = 1,
): TokensTaken {
  const tokens = tokensAt(rate, bucket, now);
  if (tokens >= count) return { bucket: { tokens: tokens - count, at: now }, waitMs: 0 };
  // Not brought up to now: whoever asks again and again must not gather errors of rounding.
  return {
    bucket: bucket ?? { tokens, at: now },
    waitMs: ((count - tokens) * minuteMs) / rate.perMinute,
  };
}

/** Whether a bucket is as good as none: it may be forgotten. */
export const isFull = (rate: Rate, bucket: Bucket, now: number): boolean =>
  tokensAt(rate, bucket, now) >= rate.burst;

function tokensAt({ perMinute, burst }: Rate, bucket: Bucket | undefined, now: number): number {
  if (bucket === undefined) return burst;
  return Math.min(burst, bucket.tokens + ((now - bucket.at) * perMinute) / minuteMs);
}
