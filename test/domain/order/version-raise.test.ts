// The versions of a copy: above all that is known, and by the clock where nothing is.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { raisedVersion } from '../../../src/domain/order/version-raise.ts';

const now = 1_763_650_000_999;
const byTime = 1_763_650_000;

test.each([
  ['by the clock, in whole seconds', 3, 0, byTime],
  ['by the clock, if it is ahead of a version by a second', byTime - 1, 0, byTime],
  ['by the clock, if it is ahead of the mark file by a second', 3, byTime - 1, byTime],
  ['above the highest, if the clock stood still', byTime, 0, byTime + 1_000],
  ['above the mark file, if the clock stood still', 3, byTime, byTime + 1_000],
  ['above the higher of both, if the clock is behind', byTime + 9, byTime + 5, byTime + 1_009],
])('%s', (_what, highest, marked, expected) => {
  expect(raisedVersion({ highest, marked }, now)).toBe(expected);
});

test('it is above what is known, and exact in JSON, whatever the clock shows', () => {
  const version = fc.integer({ min: 0, max: 2 ** 50 });
  const time = fc.integer({ min: 0, max: 8.64e15 });
  fc.assert(
    fc.property(version, version, time, (highest, marked, at) => {
      const raised = raisedVersion({ highest, marked }, at);
      expect(raised).toBeGreaterThan(Math.max(highest, marked));
      expect(raised).toBeGreaterThanOrEqual(Math.floor(at / 1000));
      expect(Number.isSafeInteger(raised)).toBe(true);
    }),
  );
});
