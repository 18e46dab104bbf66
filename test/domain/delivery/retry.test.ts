import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  deadlineCode,
  nextAttempt,
  outcomeOf,
  parseRetryAfter,
  retryScheduleMs,
} from '../../../src/domain/delivery/retry.ts';

const now = 1_763_650_000_000;
const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const failedAttempts = fc.integer({ min: 1, max: retryScheduleMs.length });

describe('P-68 the schedule', () => {
  it('is the documented one', () => {
    const waits = retryScheduleMs.map((_, index) => {
      const at = nextAttempt({ attemptCount: index + 1, now, jitter: 0.5 }) ?? 0;
      return (at - now) / 1000;
    });
    const hour = 3600;
    expect(waits).toEqual([
      ...[4, 8, 16, 32, 64, 128, 256, 900],
      ...[1 * hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 24 * hour],
    ]);
  });

  it('is exhausted after its last delay', () => {
    const attemptCount = retryScheduleMs.length + 1;
    expect(nextAttempt({ attemptCount, now, jitter: 0.5 })).toBeUndefined();
    expect(nextAttempt({ attemptCount, now, jitter: 0.5, retryAfterSeconds: 60 })).toBeUndefined();
  });

  it('has at most 20 % jitter', () => {
    fc.assert(
      fc.property(failedAttempts, jitter, (attemptCount, fraction) => {
        const wait = (nextAttempt({ attemptCount, now, jitter: fraction }) ?? 0) - now;
        const scheduled = retryScheduleMs[attemptCount - 1] ?? 0;
        expect(wait).toBeGreaterThanOrEqual(Math.floor(scheduled * 0.8));
        expect(wait).toBeLessThanOrEqual(Math.ceil(scheduled * 1.2));
      }),
    );
  });

  it('honours Retry-After between one and two times the delay', () => {
    const asked = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(failedAttempts, jitter, asked, (attemptCount, fraction, retryAfterSeconds) => {
        const failed = { attemptCount, now, jitter: fraction };
        const own = (nextAttempt(failed) ?? 0) - now;
        const wait = (nextAttempt({ ...failed, retryAfterSeconds }) ?? 0) - now;
        const wish = retryAfterSeconds * 1000;
        expect(wait).toBeGreaterThanOrEqual(own);
        expect(wait).toBeLessThanOrEqual(2 * own + 1);
        if (wish > own && wish < 2 * own - 1) expect(wait).toBe(wish);
      }),
    );
  });
});

describe('P-68 Retry-After', () => {
  it.each([
    ['0', 0],
    ['120', 120],
    [' 7 ', 7],
    ['99999999999999999999', 1e20],
    [new Date(now + 90_000).toUTCString(), 90],
    [new Date(now - 90_000).toUTCString(), 0],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['2026-01-01T00:00:00Z', undefined],
    ['Xxx, 99 Xxx 2026 99:99:99 GMT', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %s seconds', (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });
});

describe('the class of an outcome', () => {
  it.each([
    [{ phase: 'body', status: 200 }, 'delivered'],
    [{ phase: 'body', status: 201 }, 'status'],
    [{ phase: 'body', status: 204 }, 'status'],
    [{ phase: 'body', status: 302 }, 'redirect'],
    [{ phase: 'body', status: 304 }, 'status'],
    [{ phase: 'body', status: 500, errorCode: deadlineCode }, 'status'],
    [{ phase: 'body', status: 200, errorCode: 'ECONNRESET' }, 'body'],
    [{ phase: 'body', status: 200, errorCode: deadlineCode }, 'timeout'],
    [{ phase: 'response', errorCode: 'UND_ERR_SOCKET' }, 'response'],
    [{ phase: 'response', errorCode: deadlineCode }, 'timeout'],
    [{ phase: 'connect', errorCode: 'ECONNREFUSED' }, 'connect'],
    [{ phase: 'connect', errorCode: 'UND_ERR_CONNECT_TIMEOUT' }, 'timeout'],
    [{ phase: 'connect', errorCode: 'CERT_HAS_EXPIRED' }, 'tls'],
    [{ phase: 'connect', errorCode: 'ERR_TLS_CERT_ALTNAME_INVALID' }, 'tls'],
    [{ phase: 'connect', errorCode: 'EPROTO' }, 'tls'],
    [{ phase: 'resolve', errorCode: 'ENOTFOUND' }, 'dns'],
  ] as const)('of %j is %s', (ending, outcome) => {
    expect(outcomeOf(ending)).toBe(outcome);
  });
});
