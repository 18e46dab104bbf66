import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Bucket, isFull, takeToken } from '../../../src/domain/access/rate-limit.ts';

const rate = { perMinute: 60, burst: 3 };

test('a burst goes through, the next one waits for its token and no longer', () => {
  let bucket: Bucket | undefined;
  for (let count = 0; count < 3; count += 1) {
    const taken = takeToken(rate, bucket, 1_000);
    expect(taken.waitMs).toBe(0);
    bucket = taken.bucket;
  }
  const refused = takeToken(rate, bucket, 1_000);
  expect(refused.waitMs).toBe(1_000);
  expect(takeToken(rate, refused.bucket, 1_999).waitMs).toBeCloseTo(1);
  expect(takeToken(rate, refused.bucket, 2_000).waitMs).toBe(0);
});

test('several at once are taken together, or none of them', () => {
  const { bucket } = takeToken(rate, undefined, 0, 2);
  const refused = takeToken(rate, bucket, 0, 2);
  expect(refused).toEqual({ bucket, waitMs: 1_000 });
  expect(takeToken(rate, refused.bucket, 1_000, 2)).toEqual({
    bucket: { tokens: 0, at: 1_000 },
    waitMs: 0,
  });
});

test('after a rest the bucket is full, never fuller', () => {
  const { bucket } = takeToken(rate, undefined, 0);
  expect(isFull(rate, bucket, 999)).toBe(false);
  expect(isFull(rate, bucket, 1_000)).toBe(true);
  expect(takeToken(rate, bucket, 1e9).bucket.tokens).toBe(2);
});

test('at any times, no more pass than the rate and one burst allow', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5_000), { maxLength: 200 }), (pauses) => {
      let bucket: Bucket | undefined;
      let now = 0;
      let passed = 0;
      for (const pause of pauses) {
        now += pause;
        const taken = takeToken(rate, bucket, now);
        bucket = taken.bucket;
        if (taken.waitMs === 0) passed += 1;
      }
      expect(passed).toBeLessThanOrEqual(rate.burst + (now * rate.perMinute) / 60_000);
    }),
  );
});
