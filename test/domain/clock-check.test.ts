import { expect, test } from 'vitest';
import { clockError } from '../../src/domain/clock-check.ts';

const releasedAt = Date.UTC(2026, 10, 21);
const hourMs = 3_600_000;
const newestBlockTime = (releasedAt + 24 * hourMs) / 1000;
const newestMs = newestBlockTime * 1000;

test.each([
  [releasedAt - 1, undefined, 'this paygate was released on 2026-11-21 00:00:00'],
  [releasedAt, undefined, undefined],
  [releasedAt + hourMs, newestBlockTime, 'the newest block is of 2026-11-22 00:00:00'],
  [newestMs - 2 * hourMs - 1, newestBlockTime, 'the newest block'],
  // As far ahead as consensus allows a block's time.
  [newestMs - 2 * hourMs, newestBlockTime, undefined],
  [newestMs + 1000 * hourMs, newestBlockTime, undefined],
])('at %i with a block of %s', (now, newest, said) => {
  const fault = clockError(now, { releasedAt, newestBlockTime: newest });
  if (said === undefined) expect(fault).toBeUndefined();
  else expect(fault).toContain(said);
});
